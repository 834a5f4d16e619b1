// SPDX-License-Identifier: BSD-3-Clause
#include "app/plan/options.hpp"

#include <cstdio>
#include <stdexcept>

#include "app/command/validators.hpp"
#include "plan/framing.hpp"

namespace longhaul::app {
namespace {

constexpr std::uint64_t kFastest = 100'000'000'000'000;

}  // namespace

void PlanOutput::add_to(CLI::App& command) {
  CLI::Option* as_json = command.add_flag("--json", json, "print one JSON object");
  command.add_flag("--csv", csv, "print the table as CSV, with units in the column names")->excludes(as_json);
  command.add_option("--plot", plot, "also draw a plot: FILE.svg or FILE.png (needs gnuplot)")
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](std::string& file) {
            return plan::can_draw(file)
                       ? ""
                       : fmt::format("expected the name of a picture that ends in .svg or .png, got \"{}\"", file);
          },
          ""));
}

plan::Format PlanOutput::format() const {
  if (json) return plan::Format::json;
  return csv ? plan::Format::csv : plan::Format::text;
}

void PlanOutput::give(const plan::Report& report, const std::function<plan::Plot()>& draw_what) const {
  if (!plot.empty()) plan::draw(draw_what(), plot);
  print_answer(plan::render(report, format()));
}

void print_answer(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw std::runtime_error("cannot write to standard output");
}

void PlanLink::add_to(CLI::App& command, const std::string& several, const std::string& otherwise) {
  const std::size_t most = several.empty() ? 1 : 1000;
  command.add_option("--rate", rate, "rate of the line (default 100Gbps)")->type_name("RATE");
  std::vector<std::pair<std::string, const plan::Preset*>> presets;
  for (const plan::Preset& one : plan::kPresets) presets.emplace_back(one.name, &one);
  add_choice(command, "--preset", preset, std::move(presets),
             "rate of such a port, and where there are workers and QPs, as many as it takes (400G: 4 of each)");
  CLI::Option* distance = command.add_option(
      "--distance", distances,
      "length of fibre one way, such as 100km" + several + (otherwise.empty() ? "" : " (" + otherwise + ")"));
  distance->type_name("KM")->expected(1, static_cast<int>(most));
  CLI::Option* rtt =
      command.add_option("--rtt", round_trips, "round trip instead of a distance, such as 3.81ms" + several);
  rtt->type_name("TIME")->expected(1, static_cast<int>(most))->excludes(distance);
}

std::uint64_t PlanLink::read_rate() const {
  if (rate.empty()) return preset == nullptr ? plan::Link{}.rate_bps : preset->rate_bps;
  const std::uint64_t bps = read_option("--rate", rate, config::parse_rate);
  if (bps == 0 || bps > kFastest)
    throw config::ConfigError(fmt::format("--rate: expected more than 0 and at most 100Tbps, got \"{}\"", rate));
  return bps;
}

std::vector<Duration> PlanLink::read_round_trips() const {
  std::vector<Duration> out;
  const auto add = [&out](const char* option, const std::string& text, Duration time) {
    if (time == 0 || time > kLongestPlanned)
      throw config::ConfigError(fmt::format(
          "{}: \"{}\" is a round trip of {} ns: expected more than 0 and at most 60 s", option, text, time));
    out.push_back(time);
  };
  for (const std::string& text : distances) {
    const Duration one_way = read_option("--distance", text, config::parse_distance);
    add("--distance", text, one_way > kLongestPlanned ? one_way : 2 * one_way);
  }
  for (const std::string& text : round_trips) add("--rtt", text, read_option("--rtt", text, config::parse_duration));
  if (out.empty()) throw config::ConfigError("give a distance: --distance such as 100km, or --rtt such as 1ms");
  return out;
}

plan::Link PlanLink::read() const {
  const std::vector<Duration> times = read_round_trips();
  if (times.size() != 1) throw config::ConfigError("give exactly one --distance or --rtt");
  return {read_rate(), times.front()};
}

void PlanLocal::add_to(CLI::App& command) {
  const auto time = [&command](const char* name, std::string& value, const std::string& help) {
    command.add_option(name, value, help)->type_name("TIME");
  };
  time("--turnaround", turnaround_, "time of NICs and application in addition to the link (default 2us)");
  time("--local-rtt", local_rtt_, "round trip from a host to its box (default 4us)");
  time("--frame-time", frame_time_,
       "time that a worker of a box takes for a frame (default 300ns; docs/performance.md)");
  add_number(command, "--workers", workers_, 1, "workers of a box; a connection stays with one worker (default 1)");
}

void PlanLocal::read(std::uint32_t usual_workers, plan::Hosts& hosts, plan::Pair& pair) const {
  hosts.turnaround = read_option("--turnaround", turnaround_, config::parse_duration);
  pair.local_round_trip = read_option("--local-rtt", local_rtt_, config::parse_duration);
  pair.frame_time = read_option("--frame-time", frame_time_, config::parse_duration);
  pair.workers = workers_ == 0 ? usual_workers : workers_;
}

void add_number(CLI::App& command, const char* name, std::uint32_t& value, std::uint32_t least,
                const std::string& help) {
  command.add_option(name, value, help)->type_name("N")->check(whole_number(least, 1u << 24));
}

std::vector<std::uint64_t> read_messages(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> out;
  for (const std::string& text : texts) {
    out.push_back(read_option("--message", text, config::parse_size));
    if (out.back() == 0 || out.back() > plan::kLargestMessage)
      throw config::ConfigError(
          fmt::format("--message: expected 1B to 2GiB, the largest message of RDMA, got \"{}\"", text));
  }
  return out;
}

CLI::Option* add_operation(CLI::App& command, plan::Operation& operation) {
  return add_choice<plan::Operation>(
      command, "--operation", operation,
      {{"write", plan::Operation::write}, {"send", plan::Operation::send}, {"read", plan::Operation::read}},
      "operation that is posted (default write)");
}

CLI::Option* add_path_mtu(CLI::App& command, std::uint32_t& mtu, const std::string& name) {
  std::vector<std::pair<std::string, std::uint32_t>> known;
  for (const std::uint32_t bytes : plan::path_mtus()) known.emplace_back(std::to_string(bytes), bytes);
  return add_choice(command, name, mtu, std::move(known),
                    "path MTU of the connections in bytes of payload (default 4096)");
}

}  // namespace longhaul::app
