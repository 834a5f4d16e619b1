// SPDX-License-Identifier: BSD-3-Clause
// What the engines of a box and its peers say to each other, on its way between the box's workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/speaker.hpp"
#include "relay/messages.hpp"

struct rte_ring;

namespace longhaul::box {

struct PeerMessage {
  Speaker peer = 0;         ///< who has said it; on its way to a peer: whom it is for
  std::uint64_t epoch = 0;  ///< of the peer's life in which it said it, or for which it is
  std::uint16_t from = 0;   ///< on its way to a peer: the worker that says it
  relay::To to = relay::To::one;
  relay::Type type = relay::Type::bind;
  bool owner_known = true;  ///< false: BIND on its way to the flow's home, which knows its owner
  std::shared_ptr<const std::vector<std::uint8_t>> body;  ///< messages to all workers share it
};

/// From all workers to one: a ring for each of them, first in, first out. What finds no room is lost, as on a wire.
class PeerMessages {
 public:
  static constexpr std::uint32_t kMost = 511;  ///< of one worker

  /// Throws std::bad_alloc, std::runtime_error.
  explicit PeerMessages(unsigned workers);
  ~PeerMessages();
  PeerMessages(const PeerMessages&) = delete;
  PeerMessages& operator=(const PeerMessages&) = delete;

  /// By the thread of worker `from`.
  void put(unsigned from, std::unique_ptr<PeerMessage> message);
  /// By the thread of the one that they are for. Null when there is none.
  std::unique_ptr<PeerMessage> take();
  bool empty() const { return waiting_.load(std::memory_order_relaxed) == 0; }

 private:
  static constexpr unsigned kAtOnce = 16;  ///< of one worker, before it is another one's turn

  std::vector<rte_ring*> rings_;            ///< by worker
  std::size_t turn_ = 0;                    ///< whose message is taken next
  unsigned taken_ = 0;                      ///< of that one, in a row
  std::atomic<std::uint32_t> waiting_ = 0;  ///< so that a look costs no look at each ring
};

}  // namespace longhaul::box
