// SPDX-License-Identifier: BSD-3-Clause
#include "engine/egress.hpp"

#include <rte_mbuf.h>

#include "engine/engine.hpp"

namespace longhaul::engine {

void Egress::settle_sent(const Entry& entry) {
  if (entry.held != nullptr)
    events_.held_sent(*entry.flow, entry.held);
  else if (entry.made)
    events_.made_sent(entry.cause);
  else
    events_.forwarded(out_);
}

void Egress::retry_refused() {
  while (!refused_.empty()) {
    const Entry entry = refused_.front();
    rte_mbuf* frame = entry.frame;
    if (sink_.transmit(out_, &frame, 1) == 0) return;
    refused_.pop_front();
    settle_sent(entry);
  }
}

void Egress::flush() {
  if (!refused_.empty()) retry_refused();
  if (count_ == 0) return;
  // No event stages another frame: the burst does not change under the loops.
  std::uint16_t sent = 0;
  if (refused_.empty()) {
    std::array<rte_mbuf*, kBurst> frames;
    for (std::size_t i = 0; i < count_; ++i) frames[i] = burst_[i].frame;
    sent = sink_.transmit(out_, frames.data(), static_cast<std::uint16_t>(count_));
  }
  for (std::size_t i = 0; i < sent; ++i) settle_sent(burst_[i]);
  for (std::size_t i = sent; i < count_; ++i) {
    const Entry& entry = burst_[i];
    if (entry.held != nullptr) {
      // Custody has it still.
      rte_pktmbuf_free(entry.frame);
      events_.held_refused(*entry.flow, entry.held);
    } else if (refused_.size() < kMaxRefused) {
      refused_.push_back(entry);
    } else {
      rte_pktmbuf_free(entry.frame);
      events_.dropped(out_, entry.made);
    }
  }
  count_ = 0;
}

void Egress::drop_made_for(const custody::NearFlow& flow) {
  flush();
  std::erase_if(refused_, [&](const Entry& entry) {
    if (!entry.made || entry.flow != &flow) return false;
    rte_pktmbuf_free(entry.frame);
    events_.dropped(out_, true);
    return true;
  });
}

std::uint64_t Egress::waiting() const {
  std::uint64_t frames = 0;
  for (const Entry& entry : refused_)
    if (!entry.made) ++frames;
  for (std::size_t i = 0; i < count_; ++i)
    if (!burst_[i].made && burst_[i].held == nullptr) ++frames;
  return frames;
}

void Egress::discard() {
  for (const Entry& entry : refused_) rte_pktmbuf_free(entry.frame);
  refused_.clear();
  for (std::size_t i = 0; i < count_; ++i) rte_pktmbuf_free(burst_[i].frame);
  count_ = 0;
}

}  // namespace longhaul::engine
