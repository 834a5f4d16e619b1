// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "app/commands.hpp"

namespace {

using AddCommand = void (*)(CLI::App&, int&);
// In the order of --help.
constexpr AddCommand kCommands[] = {longhaul::app::add_run,  longhaul::app::add_ctl,    longhaul::app::add_doctor,
                                    longhaul::app::add_link, longhaul::app::add_replay, longhaul::app::add_metrics};

}  // namespace

int main(int argc, char** argv) {
  // Standard output is for results; what goes wrong is told on standard error.
  spdlog::set_default_logger(spdlog::stderr_color_mt("longhaul"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");

  CLI::App app("longhaul: an RDMA WAN accelerator, and what belongs to it", "longhaul");
  app.set_version_flag("--version", std::string(LONGHAUL_VERSION));
  app.require_subcommand(1);
  int exit_code = 0;
  for (const AddCommand add : kCommands) add(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // 0: --help and --version
  }
  return exit_code;
}
