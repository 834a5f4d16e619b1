// SPDX-License-Identifier: BSD-3-Clause
// Link-loss forwarding: which port's link is to be taken down or up again, so that what one side lost is seen on the
// other.
#pragma once

#include <cstdint>
#include <optional>

#include "base/side.hpp"
#include "base/time.hpp"

namespace longhaul::app {

///   settling --both up, or kSettle has passed--> following --one port lost its link--> holding (the other's is down)
///       ^                                                                                   |
///       +----------------------------- the lost one is back: the other is let go -----------+
class LinkFollow {
 public:
  /// Links need time to come up: one that is down meanwhile is no loss.
  static constexpr Duration kSettle = seconds(5);

  struct Change {
    Side side;
    bool up;
    bool operator==(const Change&) const = default;
  };

  /// The links have just been set up.
  explicit LinkFollow(Time now) : settling_until_(now + kSettle) {}

  /// What the links are like; what to do about it.
  std::optional<Change> look(bool host_up, bool wan_up, Time now);

  /// The port whose link is held down, if any.
  std::optional<Side> held() const { return held_; }

 private:
  std::optional<Side> held_;
  Time settling_until_;  ///< kNever: following
};

}  // namespace longhaul::app
