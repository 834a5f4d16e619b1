// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/time.hpp"

struct rte_mbuf;

namespace longhaul::engine {

/// What takes frames for the box itself. A box without an address has none (docs/peer-protocol.md, section 2).
class OwnFrames {
 public:
  virtual ~OwnFrames() = default;
  /// `frame`, of one segment, came from the WAN and is not RoCE. True: it was for the box, and its reference is taken
  /// over. Otherwise it passes.
  virtual bool take(rte_mbuf* frame, Time now) = 0;
};

}  // namespace longhaul::engine
