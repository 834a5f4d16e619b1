// SPDX-License-Identifier: BSD-3-Clause
// `pairs --chance`: judges many worlds with chance together.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/case.hpp"

namespace longhaul::test {

struct ChanceOptions {
  std::uint64_t cases;
  std::uint64_t seed;
  unsigned jobs;
  std::function<sim::Case(std::uint64_t seed)> draw;
};

/// Prints the result, and its progress on standard error. Returns true if nothing is worse with boxes.
bool judge_by_chance(const ChanceOptions& options);

/// Prints the verdict on one world over many draws of luck.
void show_by_chance(const sim::Case& c);

}  // namespace longhaul::test
