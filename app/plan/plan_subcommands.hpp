// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of `longhaul plan`, in the order of its help. As in app/command/subcommands.hpp, each adds itself,
// and does its work in the parser's callback.
#pragma once

#include <CLI/CLI.hpp>

namespace longhaul::app {

void add_plan_throughput(CLI::App& plan, int& exit_code);
void add_plan_depth(CLI::App& plan, int& exit_code);
void add_plan_nic(CLI::App& plan, int& exit_code);
void add_plan_simulate(CLI::App& plan, int& exit_code);
void add_plan_buffer(CLI::App& plan, int& exit_code);
void add_plan_workload(CLI::App& plan, int& exit_code);

}  // namespace longhaul::app
