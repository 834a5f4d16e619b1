// SPDX-License-Identifier: BSD-3-Clause
// The command line of `longhaul replay`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/policy.hpp"
#include "engine/engine.hpp"
#include "replay/checks.hpp"

namespace CLI {
class App;
}

namespace longhaul::app {

struct ReplayArguments {
  std::vector<std::string> captures;
  std::vector<std::string> near;
  flow::Policy policy = flow::Policy::full;
  engine::Confirm confirm = engine::Confirm::answer;
  std::string wan_rate = "0";
  std::string host_out;
  std::string wan_out;
  std::string annotated_out;
  replay::Demands demands;
  std::string expect;
  std::string write_expect;
  std::string junit;
  bool explain = false;
  bool json = false;
  bool quiet = false;
};

void add_options(CLI::App& command, ReplayArguments& arguments);

/// Throws std::runtime_error when two of the files are one, or when options do not go together. Opening an output
/// truncates it, so this comes first.
void check_files(const ReplayArguments& arguments);

}  // namespace longhaul::app
