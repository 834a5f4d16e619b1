// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan depth`: what depth fills a link, and what distance a depth fills.
#pragma once

#include <vector>

#include "plan/framing.hpp"
#include "plan/plot.hpp"
#include "plan/scenario.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

struct DepthQuestion {
  Link link;
  Operation operation = Operation::write;
  Framing framing;
  std::vector<std::uint64_t> frames;    ///< bytes on the line, taken as they are; empty: computed from `framing`
  std::vector<std::uint64_t> messages;  ///< bytes of payload
  std::vector<std::uint64_t> depths;    ///< of which to say what distance they fill
};

Report report(const DepthQuestion& question);

/// Depth against message size, and the depths asked about as level lines.
Plot plot(const DepthQuestion& question);

}  // namespace longhaul::plan
