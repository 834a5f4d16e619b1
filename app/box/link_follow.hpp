// SPDX-License-Identifier: BSD-3-Clause
// Link-loss forwarding: decides which port's link to take down or up, so that the hosts on one side see a loss on the
// other.
#pragma once

#include <cstdint>
#include <optional>

#include "base/side.hpp"
#include "base/time.hpp"

namespace longhaul::app {

///   settling --both up, or kSettle has passed--> following --one port lost its link--> holding (the other's is down)
///       ^                                                                                   |
///       +------------------------ the lost one is back: the other goes up again ------------+
class LinkFollow {
 public:
  /// Links need time to come up. A link that is down during this time is not a loss.
  static constexpr Duration kSettle = seconds(5);

  struct Change {
    Side side;
    bool up;
    bool operator==(const Change&) const = default;
  };

  /// The links have just been set up.
  explicit LinkFollow(Time now) : settling_until_(now + kSettle) {}

  /// Takes the state of both links. Returns what to change.
  std::optional<Change> look(bool host_up, bool wan_up, Time now);

  /// The port whose link is held down, if any.
  std::optional<Side> held() const { return held_; }

 private:
  std::optional<Side> held_;
  Time settling_until_;  ///< kNever: following
};

}  // namespace longhaul::app
