// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan`: what a long haul carries, and what limits it.
#include "app/commands.hpp"

namespace longhaul::app {

void add_plan(CLI::App& app, int& exit_code) {
  CLI::App* plan = app.add_subcommand("plan", "plan a long haul: what it carries, and what limits it");
  plan->require_subcommand(1);
  add_plan_nic(*plan, exit_code);
}

}  // namespace longhaul::app
