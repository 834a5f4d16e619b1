// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan nic`: which of a NIC's settings and counters limit a long haul, from dumps of the usual tools.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/command/validators.hpp"
#include "app/plan/options.hpp"
#include "app/plan/plan_subcommands.hpp"
#include "config/quantity.hpp"
#include "plan/nic/examine.hpp"
#include "plan/scenario.hpp"

namespace longhaul::app {
namespace {

using plan::nic::Haul;
using plan::nic::Operation;
using plan::nic::Origin;

constexpr int kNothingWrong = 0;
constexpr int kFaults = 1;
constexpr int kUnusable = 2;

struct NicArguments {
  std::vector<std::string> files;
  std::string rate;
  std::string distance;
  std::string rtt;
  std::string message;
  std::string device;
  Operation operation = Operation::write;
  std::uint32_t qps = 0;  ///< 0: not given
  std::uint32_t depth = 0;
  bool json = false;
};

/// Reads a quantity from the command line. An error names the option.
template <typename Parse>
auto option(const char* name, Parse parse, const std::string& text) {
  try {
    return parse(text);
  } catch (const config::QuantityError& error) {
    throw std::runtime_error(fmt::format("{}: {}", name, error.what()));
  }
}

Haul haul_of(const NicArguments& arguments) {
  Haul haul;
  if (!arguments.rate.empty()) {
    haul.rate_bps = option("--rate", config::parse_rate, arguments.rate);
    haul.rate_origin = Origin::given;
  }
  if (!arguments.rtt.empty()) {
    haul.rtt_ns = option("--rtt", config::parse_duration, arguments.rtt);
  } else if (!arguments.distance.empty()) {
    haul.rtt_ns = 2 * std::min(option("--distance", config::parse_distance, arguments.distance), kLongestPlanned);
    haul.rtt_origin = Origin::calculated;
  } else {
    throw std::runtime_error(
        "give the length of the haul (--distance 380km) or the RTT that ping shows (--rtt 3.81ms)");
  }
  if (!arguments.message.empty()) {
    haul.message_bytes = option("--message", config::parse_size, arguments.message);
    haul.message_origin = Origin::given;
  }
  if (haul.rate_bps == 0) throw std::runtime_error("--rate must be above 0");
  if (haul.rtt_ns == 0 || haul.rtt_ns > kLongestPlanned)
    throw std::runtime_error("--distance or --rtt: the RTT must be above 0 and at most 60 s");
  if (haul.message_bytes == 0 || haul.message_bytes > plan::kLargestMessage)
    throw std::runtime_error("--message must be from 1B to 2GiB");
  haul.operation = arguments.operation;
  if (arguments.qps != 0) {
    haul.qps = arguments.qps;
    haul.qps_origin = Origin::given;
  }
  haul.asked_depth = arguments.depth;
  return haul;
}

std::string contents(std::istream& stream, const std::string& name) {
  std::string out;
  char block[65536];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    out.append(block, static_cast<std::size_t>(stream.gcount()));
    if (out.size() > plan::nic::kLargestFile) break;  // Dumps::read says so
  }
  if (stream.bad()) throw std::runtime_error(fmt::format("{}: cannot be read", name));
  return out;
}

void read(const std::string& file, plan::nic::Dumps& dumps) {
  if (file == "-") {
    dumps.read("(standard input)", contents(std::cin, "standard input"));
    return;
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be opened for reading", file));
  dumps.read(file, contents(stream, file));
}

int run(const NicArguments& arguments) {
  const Haul haul = haul_of(arguments);
  plan::nic::Dumps dumps;
  for (const std::string& file : arguments.files) read(file, dumps);
  if (!arguments.device.empty()) dumps.keep_device(arguments.device);
  const plan::nic::Diagnosis diagnosis = plan::nic::examine(dumps, haul);
  print_answer(arguments.json ? to_json(diagnosis) : to_text(diagnosis));
  return diagnosis.count(plan::nic::Severity::fault) > 0 ? kFaults : kNothingWrong;
}

}  // namespace

void add_plan_nic(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<NicArguments>();
  CLI::App* command = plan.add_subcommand("nic",
                                          "find what limits a long haul in a NIC's settings and counters, from dumps "
                                          "of mlxconfig, ibv_devinfo, ethtool, rdma");
  command
      ->add_option("file", arguments->files,
                   "files with dumps, in any number and order; a file may hold several dumps (- is standard input)")
      ->required()
      ->type_name("FILE");
  command->add_option("--rate", arguments->rate, "rate of the long haul (100Gbps is assumed)")->type_name("RATE");
  command
      ->add_option("--distance", arguments->distance, "length of fibre one way, such as 380km (5 us per km each way)")
      ->type_name("KM");
  command->add_option("--rtt", arguments->rtt, "round trip as ping shows it, such as 3.81ms (instead of --distance)")
      ->type_name("TIME");
  add_choice<Operation>(*command, "--operation", arguments->operation,
                        {{"write", Operation::write}, {"send", Operation::send}, {"read", Operation::read}},
                        "operation that the application posts (default write)");
  command->add_option("--qps", arguments->qps, "queue pairs that the application uses (default 1)")
      ->type_name("N")
      ->check(whole_number(1, 1u << 24));
  command
      ->add_option("--depth", arguments->depth,
                   "work requests that the application keeps outstanding per QP (default: as many as the NIC allows)")
      ->type_name("N")
      ->check(whole_number(1, 1u << 30));
  command->add_option("--message", arguments->message, "size of the application's messages (default 4KiB)")
      ->type_name("SIZE");
  command->add_option("--device", arguments->device, "examine only this RDMA device of the dumps, such as mlx5_0")
      ->type_name("DEVICE");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->footer(
      "On the host, collect the dumps in one file (leave out missing tools; the report lists what it did not see):\n"
      "  (mlxconfig -d 0000:3b:00.0 -e query; mlxreg -d 0000:3b:00.0 --reg_name ROCE_ACCL --get; ibv_devinfo -v -d "
      "mlx5_0;\n"
      "   rdma link; ip link show enp59s0f0; ethtool -g enp59s0f0; ethtool -a enp59s0f0; rdma statistic show) > "
      "host.txt\n"
      "Then, on any machine, for 4 QPs that WRITE 64 KiB messages over 380 km:\n"
      "  longhaul plan nic host.txt --rate 100Gbps --distance 380km --qps 4 --message 64KiB\n"
      "fault: it limits or breaks this haul; advice: it may cost throughput, the dumps cannot tell; fine: good "
      "enough.\n"
      "Each finding shows what was read and where, what it means in figures, and the command that fixes it; figures\n"
      "are (read), (given), (assumed) or (calculated).\n"
      "Counters count since boot: give two dumps of rdma statistic, from before and after a run, and only the\n"
      "increase counts.\n"
      "Exit status: 0 no faults (there may be advice), 1 faults found, 2 wrong usage or no dump in a file.");
  command->callback([arguments, &exit_code] {
    try {
      exit_code = run(*arguments);
    } catch (const std::exception& error) {
      fmt::print(stderr, "longhaul plan nic: {}\n", error.what());
      exit_code = kUnusable;
    }
  });
}

}  // namespace longhaul::app
