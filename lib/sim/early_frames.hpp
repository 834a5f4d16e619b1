// SPDX-License-Identifier: BSD-3-Clause
// What a queue pair that places data out of order keeps until the frames before it have come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/time.hpp"

namespace longhaul::sim {

class EarlyFrames {
 public:
  /// `patience`: how long it waits for what is missing; 0: it places nothing out of order.
  explicit EarlyFrames(Duration patience) : patience_(patience) {}

  bool places() const { return patience_ != 0; }
  bool empty() const { return frames_.empty(); }

  void keep(std::uint32_t number, std::span<const std::uint8_t> frame, Time now) {
    frames_.try_emplace(number, frame.begin(), frame.end());
    note_gap(now);
  }
  /// Something is missing.
  void note_gap(Time now) {
    if (gap_since_ == kNever) gap_since_ = now;
  }
  /// The frame with this number, which is next. Those before it are of no use any more.
  std::optional<std::vector<std::uint8_t>> take(std::uint32_t number) {
    frames_.erase(frames_.begin(), frames_.lower_bound(number));
    const auto found = frames_.begin();
    if (found == frames_.end() || found->first != number) return std::nullopt;
    std::vector<std::uint8_t> frame = std::move(found->second);
    frames_.erase(found);
    return frame;
  }
  /// Everything up to here has come, or has been asked for: the next gap has a time of its own. `more`: something is
  /// still missing.
  void close_gap(bool more, Time now) { gap_since_ = more ? now : kNever; }

  /// When what is missing counts as lost; kNever when nothing is missing.
  Time due() const { return gap_since_ == kNever ? kNever : gap_since_ + patience_; }
  void asked() { gap_since_ = kNever; }

 private:
  Duration patience_;
  Time gap_since_ = kNever;
  std::map<std::uint32_t, std::vector<std::uint8_t>> frames_;
};

}  // namespace longhaul::sim
