// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan`: what to expect of a link. Needs no box, no privileges and no network.
#include "app/command/subcommands.hpp"
#include "app/plan/plan_subcommands.hpp"

namespace longhaul::app {
namespace {

using AddCommand = void (*)(CLI::App&, int&);
// In the order of --help.
constexpr AddCommand kCommands[] = {add_plan_throughput, add_plan_simulate, add_plan_depth,
                                    add_plan_buffer,     add_plan_workload, add_plan_nic};

constexpr const char* kFooter =
    "Start with your own link and look at the plot:\n"
    "  longhaul plan throughput --rate 100Gbps --distance 100km --plot link.svg\n"
    "\"standard\" is RDMA without changes, \"deep queues\" the same hosts with more under way, \"pair\" a pair of\n"
    "longhaul boxes.\n"
    "Every number is marked with its origin: calculated (by a formula), simulated, published (quoted) or measured.\n"
    "docs/plan.md has the formulas and compares them with the published figures.";

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("plan", "predict what a link delivers: rates, queue depths, buffers, whole workloads");
  command->require_subcommand(1);
  command->footer(kFooter);
  for (const AddCommand add : kCommands) add(*command, exit_code);
}

}  // namespace longhaul::app
