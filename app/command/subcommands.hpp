// SPDX-License-Identifier: BSD-3-Clause
// The subcommands. Each adds itself to the parser. When chosen, it does its work in the parser's callback and leaves
// its exit code: 0 done, 1 failed at run time, 2 the configuration or command line is wrong.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace longhaul::app {

void add_run(CLI::App& app, int& exit_code);
void add_link(CLI::App& app, int& exit_code);
void add_metrics(CLI::App& app, int& exit_code);
/// `check_box(file)` returns the name of the box that a file configures. Throws config::ConfigError if it is not valid.
using CheckBox = std::function<std::string(const std::string& file)>;
void add_ctl(CLI::App& app, int& exit_code, const CheckBox& check_box);
void add_replay(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_schema(CLI::App& app, int& exit_code);
void add_key(CLI::App& app, int& exit_code);

}  // namespace longhaul::app
