// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan workload`: what an application gets over a link.
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command/guard.hpp"
#include "app/plan/options.hpp"
#include "app/plan/plan_subcommands.hpp"
#include "app/plan/workload_files.hpp"
#include "base/suggestion.hpp"
#include "config/document.hpp"
#include "plan/workload.hpp"

namespace longhaul::app {
namespace {

namespace fs = std::filesystem;

struct WorkloadArguments {
  PlanLink link;
  PlanLocal local;
  PlanOutput output;
  plan::Circumstances circumstances;
  std::string what;
  bool list = false;
  std::string loss = "0";
  std::string dirty_rate;
  std::string bandwidth;
  std::string downtime;

  WorkloadArguments() {
    circumstances.hosts.nic_depth = 128;
    circumstances.deep.depth = 2048;
    circumstances.deep.nic_depth = 16384;
  }
};

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const fs::path& file : workload_files()) out.push_back(file.stem());
  return out;
}

std::string listed(const std::vector<std::string>& known) {
  return known.empty() ? "none are installed" : fmt::format("{}", fmt::join(known, ", "));
}

/// A name is a workload that came with the program. Everything else is a file.
std::string find(const std::string& what) {
  if (what.find('/') != std::string::npos || what.ends_with(".yaml") || what.ends_with(".yml")) return what;
  for (const fs::path& file : workload_files())
    if (file.stem() == what) return file;
  std::error_code error;
  if (fs::exists(what, error)) return what;
  const std::vector<std::string> known = names();
  throw config::ConfigError(fmt::format("\"{}\" is neither a known workload nor a file{} (known workloads: {})", what,
                                        did_you_mean(what, std::vector<std::string_view>(known.begin(), known.end())),
                                        listed(known)));
}

int list() {
  for (const fs::path& file : workload_files())
    fmt::print("{:<24} {}\n", file.stem().string(), plan::read_workload(config::Value::load(file)).title);
  return 0;
}

/// Applies options that only mean something for one kind of workload.
void apply_migration(const WorkloadArguments& arguments, plan::Workload& workload) {
  auto* load = std::get_if<plan::MigrationLoad>(&workload.load);
  const std::pair<const char*, const std::string*> options[] = {{"--dirty-rate", &arguments.dirty_rate},
                                                                {"--bandwidth", &arguments.bandwidth},
                                                                {"--downtime", &arguments.downtime}};
  for (const auto& [name, text] : options)
    if (!text->empty() && load == nullptr)
      throw config::ConfigError(
          fmt::format("{}: only a migration has this option, and \"{}\" is not a migration", name, workload.title));
  if (load == nullptr) return;
  if (!arguments.bandwidth.empty()) {
    load->host_rate = read_option("--bandwidth", arguments.bandwidth, config::parse_rate);
    if (load->host_rate == 0) throw config::ConfigError("--bandwidth: expected more than 0");
  }
  if (!arguments.downtime.empty()) {
    load->downtime = read_option("--downtime", arguments.downtime, config::parse_duration);
    if (load->downtime == 0)
      throw config::ConfigError("--downtime: expected more than 0, because the last part takes some time");
  }
  if (!arguments.dirty_rate.empty())
    load->dirty_rate = read_option("--dirty-rate", arguments.dirty_rate, config::parse_rate);
}

int run(const WorkloadArguments& arguments) {
  if (arguments.list) return list();
  if (arguments.what.empty())
    throw config::ConfigError(fmt::format("no workload given: give a FILE, or a NAME of {}", listed(names())));
  plan::Workload workload = plan::read_workload(config::Value::load(find(arguments.what)));
  apply_migration(arguments, workload);
  plan::Circumstances circumstances = arguments.circumstances;
  circumstances.link = arguments.link.distances.empty() && arguments.link.round_trips.empty()
                           ? plan::Link{arguments.link.read_rate(), workload.round_trip}
                           : arguments.link.read();
  plan::Hosts& hosts = circumstances.hosts;
  hosts.rate_bps = circumstances.link.rate_bps;
  arguments.local.read(arguments.link.usual_workers(), hosts, circumstances.pair);
  circumstances.deep.read_depth = hosts.read_depth;
  circumstances.loss = read_option("--loss", arguments.loss, config::parse_fraction);
  if (circumstances.loss > 0 && !std::holds_alternative<plan::StreamLoad>(workload.load))
    throw config::ConfigError(
        fmt::format("--loss: \"{}\" is acknowledged and repaired, for which there is no formula here: `longhaul plan "
                    "buffer --loss` shows what repairs take",
                    workload.title));
  try {
    const plan::WorkloadAnswer answer = plan::answer(workload, circumstances);
    arguments.output.give(answer.report, [&answer] { return answer.plot; });
  } catch (const std::invalid_argument& error) {
    throw config::ConfigError(error.what());
  }
  return 0;
}

}  // namespace

void add_plan_workload(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<WorkloadArguments>();
  plan::Hosts& hosts = arguments->circumstances.hosts;
  plan::Hosts& deep = arguments->circumstances.deep;
  CLI::App* command = plan.add_subcommand(
      "workload",
      "what an application gets and what would help it: NVMe-oF mixes, VM migration, UC streams, databases, files");
  command->footer(
      "Examples:\n"
      "  longhaul plan workload --list\n"
      "  longhaul plan workload retail-web --distance 380km --plot retail.svg\n"
      "  longhaul plan workload vm-migration --bandwidth 40Gbps --dirty-rate 8Gbps\n"
      "  longhaul plan workload my-own.yaml --rtt 3.81ms --json\n"
      "To write your own, copy a listed workload: its comments explain each key. The default NIC depth, 128 = 2^7,\n"
      "is the LOG_MAX_OUTSTANDING_WQE published for a NIC without tuning (`longhaul plan nic` finds yours).");
  command->add_option("workload", arguments->what, "a FILE, or the NAME of a workload that comes with longhaul")
      ->type_name("WORKLOAD");
  command->add_flag("--list", arguments->list, "list the workloads that come with longhaul");
  arguments->link.add_to(*command, "", "default: from the workload");
  add_path_mtu(*command, hosts.path_mtu);
  add_number(*command, "--nic-depth", hosts.nic_depth, 0,
             "work requests that the NIC handles at once on a QP (default 128; 0: all that are posted)");
  add_number(*command, "--read-depth", hosts.read_depth, 1, "unanswered READs on a QP (default 16)");
  add_number(*command, "--deep-depth", deep.depth, 1,
             "deep queues: messages posted (default 2048; I/Os: from the workload)");
  add_number(*command, "--deep-nic-depth", deep.nic_depth, 0,
             "deep queues: work requests that the NIC handles at once on a QP (default 16384)");
  arguments->local.add_to(*command);
  command->add_option("--loss", arguments->loss, "UC streams: fraction of packets that the path loses (default 0)")
      ->type_name("FRACTION");
  command
      ->add_option("--dirty-rate", arguments->dirty_rate,
                   "migration: rate at which the guest writes to its memory, such as 4Gbps")
      ->type_name("RATE");
  command->add_option("--bandwidth", arguments->bandwidth, "migration: highest rate at which the hosts copy")
      ->type_name("RATE");
  command->add_option("--downtime", arguments->downtime, "migration: longest time that the guest may stand still")
      ->type_name("TIME");
  arguments->output.add_to(*command);
  command->callback([arguments, &exit_code] { exit_code = guarded("plan workload", [&] { return run(*arguments); }); });
}

}  // namespace longhaul::app
