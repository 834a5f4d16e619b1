// SPDX-License-Identifier: BSD-3-Clause
// The options that `plan throughput` and `plan simulate` share. The question is the same, so that answers can be
// compared.
#pragma once

#include <string>
#include <vector>

#include "app/plan/options.hpp"
#include "plan/throughput.hpp"

namespace longhaul::app {

class PlanScenario {
 public:
  PlanScenario();

  void add_to(CLI::App& command);
  /// Without --message, `messages` are used. Throws ConfigError.
  plan::ThroughputQuestion read(const std::vector<std::uint64_t>& messages) const;

 private:
  PlanLink link_;
  PlanLocal local_;
  plan::Scenario scenario_;
  plan::Hosts deep_;
  std::uint32_t qps_ = 0;  ///< 0: not given
  std::vector<std::string> messages_;
  std::string message_time_ = "0";
  std::string cap_;
};

}  // namespace longhaul::app
