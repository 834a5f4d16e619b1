// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/attacks/stage.hpp"

#include <rte_mbuf.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <stdexcept>

namespace longhaul::bench {

namespace {

engine::Settings settings_for(std::uint32_t held) {
  constexpr std::uint64_t kPlenty = 1ull << 30;
  engine::Settings settings;
  settings.estimate_wan_rate = false;
  settings.custody_box_bytes = settings.custody_flow_bytes = settings.initial_window_bytes = kPlenty;
  settings.max_connections = settings.max_candidates = settings.max_pending_cm = held + 64;
  return settings;
}

}  // namespace

Stage::Stage(const engine::Pools& pools, std::uint32_t held, const box::PeerSettings& peers)
    : pools_(pools), engine_(settings_for(held), pools, *this), desk_(peers, 1, *this, pools, now_) {
  engine_.set_own_frames(desk_.window_of(0));
}

std::uint16_t Stage::transmit(Side, rte_mbuf** frames, std::uint16_t count) {
  rte_pktmbuf_free_bulk(frames, count);
  return count;
}

void Stage::send(Side from, const test::Bytes& frame) {
  now_ += step_;
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pools_.frames);
  if (mbuf == nullptr) throw std::runtime_error("no receive buffer is left");
  std::ranges::copy(frame, rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size())));
  if (counting_) CALLGRIND_TOGGLE_COLLECT;
  engine_.receive(from, {&mbuf, 1}, now_);
  if (counting_) CALLGRIND_TOGGLE_COLLECT;
}

void Stage::wait(Duration duration) {
  const Time until = now_ + duration;
  for (Time next = engine_.next_deadline(); next <= until; next = engine_.next_deadline()) {
    now_ = std::max(now_, next);
    engine_.poll(now_);
  }
  now_ = until;
}

}  // namespace longhaul::bench
