// SPDX-License-Identifier: BSD-3-Clause
// One direction of an emulated link. Time is an argument, there is no I/O: the same code runs in the
// link process and in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "base/time.hpp"
#include "link/counters.hpp"
#include "link/fates.hpp"
#include "link/settings.hpp"

struct rte_mbuf;

namespace longhaul::link {

/// A frame's way: queue and transmitter (rate), then losses and other harm, then propagation (delay). Frames must be in
/// one segment; bytes after the first segment are not looked at.
class Direction {
 public:
  /// Follows those `settings.events` that are for `way`. Holds at most `max_frames` at a time (0: no limit) and drops
  /// more.
  Direction(const Settings& settings, Way way, std::size_t max_frames = 0);
  ~Direction();
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;

  /// A frame enters; the direction owns it. `now` must not go backwards from call to call.
  void offer(rte_mbuf* frame, Time now);

  /// Up to `count` frames that have arrived by `now`, in order of arrival; the caller owns them.
  std::size_t collect(rte_mbuf** out, std::size_t count, Time now);

  /// When the next frame arrives; kNever when none is under way.
  Time next_deadline() const noexcept;

  std::size_t held() const noexcept { return in_order_.size() + late_.size(); }
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Travelling {
    Time arrival;
    std::uint64_t number;  ///< order of entry, among equal arrivals
    rte_mbuf* frame;
    bool operator>(const Travelling& other) const noexcept {
      return arrival != other.arrival ? arrival > other.arrival : number > other.number;
    }
  };
  struct Script {
    Event event;
    std::uint64_t matched = 0;
  };
  /// What is going to happen to one frame: by chance, and by the events.
  struct Fate : Chances {
    bool event_drop = false;
    bool event_duplicate = false;
    bool event_corrupt = false;
    bool ecn = false;
    bool event_delay = false;
    Duration extra = 0;
  };

  void consult_script(const rte_mbuf* frame, Fate& fate);
  rte_mbuf* own(rte_mbuf* frame);
  void travel(rte_mbuf* frame, Time arrival, bool late);

  DirectionSettings settings_;
  std::size_t max_frames_;
  std::vector<Script> script_;
  Fates fates_;

  Time transmitter_free_ = 0;  ///< when the last frame in the queue will have left
  Time last_arrival_ = 0;      ///< of the frames in order
  std::uint64_t entered_ = 0;
  std::deque<Travelling> in_order_;
  std::priority_queue<Travelling, std::vector<Travelling>, std::greater<>> late_;
  Counters counters_;
};

}  // namespace longhaul::link
