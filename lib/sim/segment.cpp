// SPDX-License-Identifier: BSD-3-Clause
#include "sim/segment.hpp"

#include <rte_mbuf.h>

namespace longhaul::sim {

namespace {
constexpr std::uint64_t kBursts = 99;
}

Segment::Segment(const link::Settings& settings, const std::array<BurstPlan, 2>& bursts, const Outage& outage,
                 std::uint64_t number)
    : ways_{std::make_unique<link::Direction>(settings, link::Way::a_to_b),
            std::make_unique<link::Direction>(settings, link::Way::b_to_a)},
      bursts_(bursts),
      outage_(outage),
      by_packet_(settings.fates_by == link::FatesBy::packet),
      seed_(settings.seed),
      number_(number),
      random_(seed_, number, kBursts) {}

void Segment::offer(link::Way way, rte_mbuf* frame, Time now) {
  const auto w = static_cast<std::size_t>(way);
  if (now >= outage_.from && now < outage_.until) {
    ++outage_lost_;
    rte_pktmbuf_free(frame);
    return;
  }
  if (now > burst_ends_[w]) left_[w] = 0;
  if (bursts_[w].start != 0 && by_packet_) random_ = Random(seed_ ^ copies_[w].next(frame), number_, kBursts);
  if (bursts_[w].start != 0 && left_[w] == 0 && random_.chance(bursts_[w].start, 10000)) {
    left_[w] = random_.between(1, bursts_[w].frames);
    burst_ends_[w] = now + milliseconds(10);
  }
  if (left_[w] > 0) {
    --left_[w];
    ++burst_lost_;
    rte_pktmbuf_free(frame);
    return;
  }
  of(way).offer(frame, now);
}

}  // namespace longhaul::sim
