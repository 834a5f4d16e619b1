// SPDX-License-Identifier: BSD-3-Clause
// The outcome of a world.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "sim/rules.hpp"
#include "sim/totals.hpp"

namespace longhaul::sim {

/// The outcome of everything that one requester posted.
struct Delivery {
  std::string flow;
  unsigned host = 0;      ///< of the requester
  bool began = false;     ///< it has sent something
  bool died = false;      ///< its queue pair went into error
  bool accepted = false;  ///< its responder has accepted all
  Duration took = 0;      ///< from its first packet until its responder has accepted all
};

struct Result {
  std::optional<Violation> violation;
  Totals totals;
  Duration lasted = 0;                        ///< virtual time
  std::vector<Delivery> deliveries;           ///< of all that posted something
  std::array<std::uint64_t, 2> wan_frames{};  ///< that entered the long link, by link::Way
};

}  // namespace longhaul::sim
