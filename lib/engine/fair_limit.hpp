// SPDX-License-Identifier: BSD-3-Clause
// A limit that pairs of hosts share: something that a box has a limited number of, and that its holder may keep for as
// long as it likes.
//
// A pair may hold as many as are left free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on
// Networking 6(2), 1998, with alpha 1). So one pair alone gets half, of two that want all each gets a third, and a pair
// that holds none always finds some. Nothing that is held has to be taken away for that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longhaul::engine {

class FairLimit {
 public:
  /// At most `limit` for all of up to `pairs` pairs of hosts, which are numbered from 0. Any greater number stands for
  /// those that have found no number: they share as one.
  FairLimit(std::uint32_t limit, std::uint32_t pairs) : limit_(limit), held_by_(pairs + 1) {}

  /// The pair takes one. False: it has its share.
  bool take(std::uint32_t pair) {
    std::uint32_t& held_by_it = held_by_[place_of(pair)];
    if (held_by_it >= limit_ - held_) return false;
    ++held_by_it;
    ++held_;
    return true;
  }
  void give_back(std::uint32_t pair, std::uint32_t count = 1) {
    held_by_[place_of(pair)] -= count;
    held_ -= count;
  }

  /// Ordinary memory for each pair.
  static constexpr std::size_t kBytesPerPair = sizeof(std::uint32_t);

  std::uint32_t held() const { return held_; }
  std::uint32_t held_by(std::uint32_t pair) const { return held_by_[place_of(pair)]; }

 private:
  std::size_t place_of(std::uint32_t pair) const { return std::min<std::size_t>(pair, held_by_.size() - 1); }

  std::uint32_t limit_;
  std::uint32_t held_ = 0;
  std::vector<std::uint32_t> held_by_;
};

}  // namespace longhaul::engine
