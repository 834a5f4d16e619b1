// SPDX-License-Identifier: BSD-3-Clause
#include "box/peer_messages.hpp"

#include <rte_ring.h>

#include <cstdlib>

#include "steer/hand_over.hpp"

namespace longhaul::box {

PeerMessages::PeerMessages(unsigned workers) {
  for (unsigned worker = 0; worker < workers; ++worker) rings_.push_back(steer::allocate_ring(kMost));
}

PeerMessages::~PeerMessages() {
  while (take() != nullptr) {
  }
  for (rte_ring* ring : rings_) std::free(ring);
}

void PeerMessages::put(unsigned from, std::unique_ptr<PeerMessage> message) {
  // Before it is there: a look too many does no harm.
  ++waiting_;
  if (rte_ring_sp_enqueue(rings_[from], message.get()) == 0)
    static_cast<void>(message.release());
  else
    --waiting_;
}

std::unique_ptr<PeerMessage> PeerMessages::take() {
  for (std::size_t i = 0; i <= rings_.size(); ++i) {
    void* message = nullptr;
    if (taken_ == kAtOnce || rte_ring_sc_dequeue(rings_[turn_], &message) != 0) {
      turn_ = (turn_ + 1) % rings_.size();
      taken_ = 0;
      continue;
    }
    ++taken_;
    --waiting_;
    return std::unique_ptr<PeerMessage>(static_cast<PeerMessage*>(message));
  }
  return nullptr;
}

}  // namespace longhaul::box
