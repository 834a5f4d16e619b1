// SPDX-License-Identifier: BSD-3-Clause
// What the subcommands of `longhaul plan` share: options, and the output of answers.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/config_error.hpp"
#include "config/quantity.hpp"
#include "plan/plot.hpp"
#include "plan/preset.hpp"
#include "plan/scenario.hpp"
#include "plan/table.hpp"

namespace longhaul::app {

/// The longest round trip that is planned for.
constexpr Duration kLongestPlanned = seconds(60);

/// --json, --csv, --plot FILE.
struct PlanOutput {
  bool json = false;
  bool csv = false;
  std::string plot;

  void add_to(CLI::App& command);
  plan::Format format() const;
  /// Prints the report, and draws if --plot asks for it: only then calls `draw_what`. Throws if standard output cannot
  /// be written.
  void give(const plan::Report& report, const std::function<plan::Plot()>& draw_what) const;
};

/// Throws if standard output cannot be written.
void print_answer(const std::string& text);

/// --rate or --preset, and --distance or --rtt.
struct PlanLink {
  std::string rate;  ///< empty: the preset's, or 100 Gbit/s
  const plan::Preset* preset = nullptr;
  std::vector<std::string> distances;
  std::vector<std::string> round_trips;

  /// `several` says what several distances mean; empty if only one is allowed. `otherwise` says what holds without any.
  void add_to(CLI::App& command, const std::string& several = "", const std::string& otherwise = "");
  /// Returns one or more. Throws ConfigError.
  std::vector<Duration> read_round_trips() const;
  /// Throws ConfigError if there are several.
  plan::Link read() const;
  std::uint64_t read_rate() const;
  /// Workers and QPs where none are given.
  std::uint32_t usual_workers() const { return preset == nullptr ? 1 : preset->workers; }
};

/// Times that are not the link's, and workers: --turnaround, --local-rtt, --frame-time, --workers.
class PlanLocal {
 public:
  void add_to(CLI::App& command);
  /// `usual_workers` holds without --workers. Throws ConfigError.
  void read(std::uint32_t usual_workers, plan::Hosts& hosts, plan::Pair& pair) const;

 private:
  std::string turnaround_ = "2us";
  std::string local_rtt_ = "4us";
  std::string frame_time_ = "300ns";
  std::uint32_t workers_ = 0;  ///< 0: not given
};

/// Adds --name N, where N is at least `least`.
void add_number(CLI::App& command, const char* name, std::uint32_t& value, std::uint32_t least,
                const std::string& help);

/// The value that `parse` makes of an option's text. Throws ConfigError that names the option.
template <typename Parse>
auto read_option(std::string_view name, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const config::QuantityError& error) {
    throw config::ConfigError(fmt::format("{}: {}", name, error.what()));
  }
}

/// The bytes of each. Throws ConfigError unless they are 1 to 2^31, the largest message that RC allows.
std::vector<std::uint64_t> read_messages(const std::vector<std::string>& texts);

/// --operation write|send|read.
CLI::Option* add_operation(CLI::App& command, plan::Operation& operation);
/// The path MTU.
CLI::Option* add_path_mtu(CLI::App& command, std::uint32_t& mtu, const std::string& name = "--mtu");

}  // namespace longhaul::app
