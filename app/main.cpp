// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/command/completion.hpp"
#include "app/command/logging.hpp"
#include "app/command/subcommands.hpp"
#include "app/command/usage.hpp"
#include "app/ctl/client.hpp"
#include "app/plan/workload_files.hpp"
#include "app/process/port_checks.hpp"
#include "config/box_config.hpp"
#include "drivers/interface.hpp"

namespace {

using namespace longhaul;

std::string checked_box(const std::string& file) {
  const config::BoxConfig config = config::load_box(file);
  app::check_arguments(config.host, config.wan, config.process.workers());
  return config.name;
}

void add_ctl(CLI::App& app, int& exit_code) { app::add_ctl(app, exit_code, checked_box); }

using AddCommand = void (*)(CLI::App&, int&);
// In the order of --help.
constexpr AddCommand kCommands[] = {app::add_run,  add_ctl,          app::add_doctor, app::add_link, app::add_replay,
                                    app::add_plan, app::add_metrics, app::add_schema, app::add_key};

std::vector<std::string> boxes() {
  std::vector<std::string> out;
  for (const std::string& socket : app::sockets_in(app::kSocketDirectory))
    out.push_back(std::filesystem::path(socket).stem());
  return out;
}

std::vector<std::string> workloads() {
  std::vector<std::string> out;
  for (const std::filesystem::path& file : app::workload_files()) out.push_back(file.stem());
  return out;
}

std::vector<std::string> rdma_devices() {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator device("/sys/class/infiniband", error), end; !error && device != end;
       device.increment(error))
    out.push_back(device->path().filename());
  return out;
}

// Values that completion knows, by what the help calls them.
const app::ValueSources& values() {
  static const app::ValueSources sources = {{"BOX", boxes},
                                            {"SOCKET", [] { return app::sockets_in(app::kSocketDirectory); }},
                                            {"WORKLOAD", workloads},
                                            {"INTERFACE", drivers::interface_names},
                                            {"DEVICE", rdma_devices}};
  return sources;
}

}  // namespace

int main(int argc, char** argv) {
  app::set_up_logging();
  CLI::App parser("longhaul: an RDMA WAN accelerator with its tools", "longhaul");
  parser.set_version_flag("--version", std::string(LONGHAUL_VERSION));
  parser.require_subcommand(1);
  int exit_code = 0;
  for (const AddCommand add : kCommands) add(parser, exit_code);
  if (argc > 1 && std::string_view(argv[1]) == app::kCompleteCommand) {
    const std::vector<std::string> words(argv + 2, argv + argc);
    fmt::print("{}", app::complete(parser, words, values()).to_lines());
    return 0;
  }
  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return parser.exit(error);  // --help and --version
    fmt::print(stderr, "{}{}", app::failure_prefix(), app::usage_error(parser, error));
    return 2;
  }
  return exit_code;
}
