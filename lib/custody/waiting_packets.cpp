// SPDX-License-Identifier: BSD-3-Clause
#include "custody/waiting_packets.hpp"

#include <new>

#include "base/fair_share.hpp"

namespace longhaul::custody {

// The thresholds are always in force: what waits is gone soon, so nobody has to ask first.
bool WaitingPackets::has_place(const WaitingList& list, std::uint32_t most, std::uint32_t waiting) const {
  return list.packets < most && packets_ < most_ &&
         within_share(std::uint64_t{waiting} + 1, most_of_pair_, packets_, most_, true);
}

void WaitingPackets::add(std::uint32_t flow, WaitingList& list, rte_mbuf* mbuf, const Waiting& about) {
  Waiting& waiting = *new (&waiting_in(mbuf)) Waiting(about);
  waiting.newer = nullptr;
  waiting.older = list.newest;
  (list.newest == nullptr ? list.oldest : waiting_in(list.newest).newer) = mbuf;
  list.newest = mbuf;
  ++list.packets;
  if (waiting.copy && list.copies != WaitingList::kMany) ++list.copies;
  list.bytes += mbuf->pkt_len;
  ++packets_;
  table_.add(flow, number_of(list.kind, waiting.psn), mbuf);
}

void WaitingPackets::remove(std::uint32_t flow, WaitingList& list, rte_mbuf* mbuf) {
  const Waiting& waiting = waiting_in(mbuf);
  table_.remove(flow, number_of(list.kind, waiting.psn));
  (waiting.older == nullptr ? list.oldest : waiting_in(waiting.older).newer) = waiting.newer;
  (waiting.newer == nullptr ? list.newest : waiting_in(waiting.newer).older) = waiting.older;
  --list.packets;
  if (list.packets == 0)
    list.copies = 0;
  else if (waiting.copy && list.copies != WaitingList::kMany)
    --list.copies;
  list.bytes -= mbuf->pkt_len;
  --packets_;
}

}  // namespace longhaul::custody
