// SPDX-License-Identifier: BSD-3-Clause
// The connections that have packets to send when the WAN's pace or port allows. They take turns by pair of hosts, and
// within a pair by connection: a pair with a thousand connections has no more turns than a pair with one.
//
// A turn is kTurnBytes. The last frame of a turn may exceed it, and the pair's next turn is shorter by the excess. A
// turn that the pace has interrupted goes on (deficit round robin: Shreedhar and Varghese, IEEE/ACM Transactions on
// Networking 4(3), 1996). So pairs have equal shares, whatever the size of their frames.
//
//   first pair --> pair --> last pair        pop() takes the first connection of the first pair
//      |             |          |
//   connection    connection  connection
//   connection
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/connection_table.hpp"

namespace longhaul::engine {

class Backlog {
 public:
  /// Room for all of `connections`, and for pairs that are numbered below `pairs`. Greater numbers share a place.
  Backlog(std::uint32_t connections, std::uint32_t pairs) : next_(connections, kNone), pairs_(pairs + 1) {}

  /// More than a frame has, so that each turn sends something.
  static constexpr std::int64_t kTurnBytes = 9728;

  bool empty() const { return size_ == 0; }
  /// Connections that wait.
  std::size_t size() const { return size_; }
  /// Another pair than `pair` has a connection here.
  bool others_wait(std::uint32_t pair) const {
    return first_pair_ != kNone && (first_pair_ != last_pair_ || first_pair_ != place_of(pair));
  }

  /// The connection must not be here yet.
  void push(flow::ConnectionIndex connection, std::uint32_t its_pair) {
    const std::uint32_t pair = place_of(its_pair);
    Pair& of = pairs_[pair];
    next_[connection] = kNone;
    (of.first == kNone ? of.first : next_[of.last]) = connection;
    of.last = connection;
    if (!of.listed) append(pair);
    ++size_;
  }

  /// The connection whose turn it is. Do not call it when empty. It may come back before sent() ends its turn.
  flow::ConnectionIndex pop() {
    Pair& of = pairs_[first_pair_];
    const flow::ConnectionIndex connection = of.first;
    of.first = next_[connection];
    --size_;
    return connection;
  }
  /// How much is left of the first pair's turn, in frame bytes: more than 0.
  std::int64_t turn_bytes() const { return pairs_[first_pair_].credit; }
  /// The connection that pop() gave has sent `bytes`, of frames.
  void sent(std::uint64_t bytes) {
    const std::uint32_t pair = first_pair_;
    Pair& of = pairs_[pair];
    of.credit -= static_cast<std::int64_t>(bytes);
    if (of.first != kNone && of.credit > 0) return;
    first_pair_ = of.next;
    if (first_pair_ == kNone) last_pair_ = kNone;
    of.listed = false;
    if (of.first == kNone) {
      of.credit = kTurnBytes;
    } else {
      of.credit += kTurnBytes;
      append(pair);
    }
  }

  /// Ordinary memory for each connection and for each pair.
  static constexpr std::size_t kBytesPerConnection = sizeof(flow::ConnectionIndex);
  static constexpr std::size_t bytes_per_pair() { return sizeof(Pair); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Pair {
    flow::ConnectionIndex first = kNone;
    flow::ConnectionIndex last = kNone;
    std::uint32_t next = kNone;  ///< pair
    bool listed = false;         ///< among the pairs
    std::int64_t credit = kTurnBytes;
  };

  std::uint32_t place_of(std::uint32_t pair) const {
    return std::min(pair, static_cast<std::uint32_t>(pairs_.size()) - 1);
  }
  void append(std::uint32_t pair) {
    pairs_[pair].next = kNone;
    pairs_[pair].listed = true;
    (first_pair_ == kNone ? first_pair_ : pairs_[last_pair_].next) = pair;
    last_pair_ = pair;
  }

  std::vector<flow::ConnectionIndex> next_;  ///< of each connection, within its pair
  std::vector<Pair> pairs_;
  std::uint32_t first_pair_ = kNone;
  std::uint32_t last_pair_ = kNone;
  std::size_t size_ = 0;
};

}  // namespace longhaul::engine
