// SPDX-License-Identifier: BSD-3-Clause
// All rules applied to all dumps, and the result.
#pragma once

#include <string>
#include <vector>

#include "plan/nic/dumps.hpp"
#include "plan/nic/haul.hpp"
#include "plan/nic/rule.hpp"

namespace longhaul::plan::nic {

/// A dump that is not among the files.
struct Missing {
  std::string command;
  std::string tells;
};

struct Diagnosis {
  Haul haul;
  std::vector<Dump> dumps;
  DepthLimit limit;               ///< limit of the depth; 0: nothing in the dumps limits it
  std::vector<Finding> findings;  ///< by severity, then in the order read
  std::vector<Missing> missing;

  std::size_t count(Severity severity) const;
};

/// The path MTU of the haul is replaced by the dumps', if they have one.
Diagnosis examine(const Dumps& dumps, Haul haul);

std::string to_text(const Diagnosis& diagnosis);
/// One JSON object, indented.
std::string to_json(const Diagnosis& diagnosis);

}  // namespace longhaul::plan::nic
