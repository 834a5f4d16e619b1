// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/inline_box.hpp"

#include <rte_cycles.h>
#include <valgrind/callgrind.h>

#include <array>

#include "app/box/box_loop.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/preemptions.hpp"

namespace longhaul::bench {

namespace {

// 32 frames of 1.5 KB take this long at 100 Gbit/s.
constexpr Duration kTurn = microseconds(4);

}  // namespace

// As in BoxLoop: a burst from each side in turn.
void InlineBox::offered(std::uint64_t frames) {
  const long preemptions_before = preemptions();
  std::uint64_t busy = 0;
  std::uint64_t received = 0;
  BySide<std::array<rte_mbuf*, app::BoxLoop::kBurst>> bursts;
  while (received < frames) {
    BySide<std::uint16_t> counts{};
    for (const Side side : {Side::host, Side::wan}) {
      counts[side] = ports_[side].receive(bursts[side].data(), app::BoxLoop::kBurst);
      received += counts[side];
    }
    now_ += kTurn;
    const std::uint64_t begin = rte_rdtsc();
    turn(std::span(bursts[Side::host]).first(counts[Side::host]),
         std::span(bursts[Side::wan]).first(counts[Side::wan]));
    busy += rte_rdtsc() - begin;
  }
  preempted_ = preemptions() != preemptions_before;
  work_ = {busy};
}

[[gnu::noinline]] void InlineBox::turn(std::span<rte_mbuf* const> from_host, std::span<rte_mbuf* const> from_wan) {
  if (measured_) CALLGRIND_TOGGLE_COLLECT;
  if (!from_host.empty()) engine_.receive(Side::host, from_host, now_);
  if (engine_.has_accepted_acks()) engine_.acks_accepted(now_);
  if (!from_wan.empty()) engine_.receive(Side::wan, from_wan, now_);
  if (engine_.has_accepted_acks()) engine_.acks_accepted(now_);
  engine_.poll(now_);
  if (engine_.has_accepted_acks()) engine_.acks_accepted(now_);
  if (measured_) CALLGRIND_TOGGLE_COLLECT;
}

std::uint16_t InlineBox::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  if (measured_) CALLGRIND_TOGGLE_COLLECT;
  const std::uint16_t sent = ports_[out].transmit(frames, count);
  if (measured_) CALLGRIND_TOGGLE_COLLECT;
  return sent;
}

std::string InlineBox::complaint() const { return complaint_of(engine_); }

}  // namespace longhaul::bench
