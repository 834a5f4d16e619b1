// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "app/command/logging.hpp"
#include "app/command/subcommands.hpp"
#include "config/box_config.hpp"

namespace {

void add_ctl(CLI::App& app, int& exit_code) {
  longhaul::app::add_ctl(app, exit_code, [](const std::string& file) { return longhaul::config::load_box(file).name; });
}

using AddCommand = void (*)(CLI::App&, int&);
// In the order of --help.
constexpr AddCommand kCommands[] = {longhaul::app::add_run,    add_ctl,
                                    longhaul::app::add_doctor, longhaul::app::add_link,
                                    longhaul::app::add_replay, longhaul::app::add_plan,
                                    longhaul::app::add_metrics};

}  // namespace

int main(int argc, char** argv) {
  longhaul::app::set_up_logging();
  CLI::App app("longhaul: an RDMA WAN accelerator with its tools", "longhaul");
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
