// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan depth`: the depth that fills a link, and the distance that a depth fills.
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
  std::vector<std::uint64_t> frames;    ///< bytes on the line, taken as given; empty: computed from `framing`
  std::vector<std::uint64_t> messages;  ///< bytes of payload
  std::vector<std::uint64_t> depths;    ///< the report gives the distance that each fills
};

Report report(const DepthQuestion& question);

/// Depth against message size, with the depths in question as horizontal lines.
Plot plot(const DepthQuestion& question);

}  // namespace longhaul::plan
