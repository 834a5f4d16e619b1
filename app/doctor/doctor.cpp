// SPDX-License-Identifier: BSD-3-Clause
// `longhaul doctor`: what is wrong with this machine, and how to fix it.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/command/guard.hpp"
#include "app/command/json_file.hpp"
#include "app/command/subcommands.hpp"
#include "app/command/validators.hpp"
#include "app/doctor/checks.hpp"
#include "app/process/port_checks.hpp"

namespace longhaul::app {
namespace {

struct Options {
  std::string config;
  std::string root;
  bool json = false;
};

struct Result {
  std::size_t warnings = 0;
  std::size_t errors = 0;
  std::string text;
  Json findings = Json::array();
};

std::string indented(std::string_view title, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    out += fmt::format("         {:<6}{}\n", title, line);
    title = "";
  }
  return out;
}

void add(const Check& check, const Finding& finding, Result& result) {
  result.warnings += finding.level == Level::warning ? 1 : 0;
  result.errors += finding.level == Level::error ? 1 : 0;
  result.text += fmt::format("{:<8} {}: {}\n", name_of(finding.level), check.name, finding.seen);
  if (finding.level != Level::ok) result.text += indented("why:", check.why) + indented("fix:", finding.mend);
  result.findings.push_back({{"check", check.name},
                             {"level", name_of(finding.level)},
                             {"seen", finding.seen},
                             {"why", check.why},
                             {"mend", finding.mend}});
}

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

int examine(const Options& options) {
  std::optional<config::BoxConfig> config;
  if (!options.config.empty()) {
    config = config::load_box(options.config);
    check_arguments(config->host, config->wan, config->process.workers());
  }
  const drivers::Machine machine = drivers::Machine::read(options.root);
  const Patient patient{machine, config ? &*config : nullptr, options.root};
  Result result;
  for (const auto checks : {memory_checks(), processor_checks(), nic_checks()})
    for (const Check& check : checks)
      for (const Finding& finding : check.look(patient)) add(check, finding, result);
  if (options.json) {
    Json json;
    json["config"] = options.config.empty() ? Json() : Json(options.config);
    json["errors"] = result.errors;
    json["warnings"] = result.warnings;
    json["findings"] = std::move(result.findings);
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}longhaul doctor: {}, {}\n", result.text, counted(result.errors, "error"),
               counted(result.warnings, "warning"));
  }
  return result.errors > 0 ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "doctor", "check the memory, processors and NICs of this machine: what is wrong, why it matters, how to fix it");
  command
      ->add_option("--config", options->config,
                   "also check what this configuration of a box (YAML) needs; without it, doctor assumes a box with "
                   "two NICs, hugepages and one polling worker")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print the findings as JSON");
  command
      ->add_option("--root", options->root,
                   "read DIR/proc, DIR/sys, DIR/dev and DIR/lib/modules instead of those of this machine (for tests)")
      ->type_name("DIR")
      ->check(existing_directory());
  command->footer("Exit code: 0 no errors (there may be warnings), 1 errors, 2 wrong usage or configuration.");
  command->callback([options, &exit_code] { exit_code = guarded("doctor", [&] { return examine(*options); }); });
}

}  // namespace longhaul::app
