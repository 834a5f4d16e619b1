// SPDX-License-Identifier: BSD-3-Clause
// What an emulated link does to frames.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace longhaul::link {

enum class Way : std::uint8_t { a_to_b = 0, b_to_a = 1 };
constexpr std::string_view name_of(Way way) { return way == Way::a_to_b ? "a_to_b" : "b_to_a"; }

struct DirectionSettings {
  Duration delay = 0;               ///< one way, propagation
  Duration jitter = 0;              ///< added at random from 0 to this; keeps the order
  std::uint64_t rate_bps = 0;       ///< bits per second of frames without preamble, gap and FCS; 0: unlimited
  std::uint32_t line_overhead = 0;  ///< bytes that each frame takes of the rate besides its own: FCS, preamble, gap
  Duration frame_time = 0;          ///< least time from one frame to the next, as the receiver needs it
  std::uint64_t queue_bytes = 0;    ///< before the transmitter; a frame that does not fit is dropped; 0: unlimited
  std::uint64_t ecn_bytes = 0;      ///< a frame that finds as many in the queue is marked "congestion"; 0: none is
  double loss = 0;                  ///< fraction of frames lost after the transmitter: they use up the rate
  double duplicate = 0;             ///< fraction of frames that arrive twice
  double corrupt = 0;               ///< fraction of frames with one bit flipped after the Ethernet header
  double reorder = 0;               ///< fraction of frames that arrive `reorder_extra` later, overtaken by others
  Duration reorder_extra = 0;
};

enum class Action : std::uint8_t { drop, duplicate, delay, corrupt, ecn };

/// One scripted impairment. It matches RoCE frames of its direction: those with this PSN, the first `count` of
/// them; or the `nth` (from 1) and the `count` - 1 after it. With `qpn`, only frames to this destination QPN match and
/// count.
struct Event {
  Way way = Way::a_to_b;
  std::optional<std::uint32_t> qpn;
  std::optional<std::uint32_t> psn;
  std::optional<std::uint64_t> nth;
  std::uint64_t count = 1;
  Action action = Action::drop;
  Duration delay = 0;  ///< for Action::delay, on top of the link's; others overtake the frame
};

/// What has the same fate with the same seed, whatever the timing.
enum class FatesBy : std::uint8_t {
  number,  ///< the nth frame of a direction
  packet   ///< the nth copy of a packet
};

struct Settings {
  std::uint64_t seed = 1;
  FatesBy fates_by = FatesBy::number;
  std::array<DirectionSettings, 2> directions{};  ///< indexed by Way
  std::vector<Event> events;
};

}  // namespace longhaul::link
