// SPDX-License-Identifier: BSD-3-Clause
#include "engine/egress.hpp"

#include "engine/engine_impl.hpp"

namespace longhaul::engine {

template <typename Events>
void Egress<Events>::settle_sent(Kind kind, custody::NearFlow* flow, About about) {
  switch (kind) {
    case Kind::forwarded:
      events_.forwarded(out_, 1);
      return;
    case Kind::held:
      events_.held_sent(*flow, about.held);
      return;
    case Kind::made:
      events_.made_sent(about.cause);
      return;
  }
}

// No event stages another frame: the burst does not change under the loops.
template <typename Events>
void Egress<Events>::flush_burst() {
  std::size_t sent = 0;
  if (refused_.empty()) sent = sink_.transmit(out_, frames_.data(), static_cast<std::uint16_t>(count_));
  if (all_forwarded_) {
    events_.forwarded(out_, sent);
  } else {
    for (std::size_t i = 0; i < sent; ++i) settle_sent(kinds_[i], flows_[i], abouts_[i]);
  }
  for (std::size_t i = sent; i < count_; ++i) settle_refused(i);
  count_ = 0;
  all_forwarded_ = true;
}

template <typename Events>
void Egress<Events>::settle_refused(std::size_t i) {
  if (kinds_[i] == Kind::held) {
    // Custody still has it.
    rte_pktmbuf_free(frames_[i]);
    events_.held_refused(*flows_[i], abouts_[i].held);
  } else if (refused_.size() < kMaxRefused) {
    refused_.push_back(entry(i));
  } else {
    rte_pktmbuf_free(frames_[i]);
    events_.dropped(out_, kinds_[i] == Kind::made);
  }
}

template <typename Events>
void Egress<Events>::retry_refused() {
  while (!refused_.empty()) {
    const Entry entry = refused_.front();
    rte_mbuf* frame = entry.frame;
    if (sink_.transmit(out_, &frame, 1) == 0) return;
    refused_.pop_front();
    settle_sent(entry.kind, entry.flow, entry.about);
  }
}

template <typename Events>
void Egress<Events>::drop_made_for(const custody::NearFlow& flow) {
  flush();
  std::erase_if(refused_, [&](const Entry& entry) {
    if (entry.kind != Kind::made || entry.flow != &flow) return false;
    rte_pktmbuf_free(entry.frame);
    events_.dropped(out_, true);
    return true;
  });
}

template <typename Events>
std::uint64_t Egress<Events>::waiting() const {
  std::uint64_t frames = 0;
  for (const Entry& entry : refused_)
    if (entry.kind != Kind::made) ++frames;
  for (std::size_t i = 0; i < count_; ++i)
    if (kinds_[i] == Kind::forwarded) ++frames;
  return frames;
}

template <typename Events>
void Egress<Events>::discard() {
  for (const Entry& entry : refused_) rte_pktmbuf_free(entry.frame);
  for (std::size_t i = 0; i < count_; ++i) rte_pktmbuf_free(frames_[i]);
}

template class Egress<Engine::Impl>;

}  // namespace longhaul::engine
