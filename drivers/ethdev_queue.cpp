// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_queue.hpp"

#include <algorithm>
#include <array>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace longhaul::drivers {

std::uint16_t EthdevQueue::receive(rte_mbuf** frames, std::uint16_t count) {
  return receives_ ? rte_eth_rx_burst(port_, number_, frames, count) : 0;
}

std::uint16_t EthdevQueue::transmit(rte_mbuf** frames, std::uint16_t count) {
  return af_packet_limit_ != 0 ? transmit_af_packet(frames, count) : rte_eth_tx_burst(port_, number_, frames, count);
}

// net_af_packet copies and frees each frame at once. But when the kernel then refuses to send (an interface that is
// down) it returns 0, as if the frames were still the caller's. And it frees an oversized frame without counting it.
// Either would make the caller use freed mbufs. So this function drops oversized frames first, holds a reference of its
// own meanwhile, and believes the reference counts. A frame that the driver has freed is in the ring, and goes out when
// the interface is up again.
std::uint16_t EthdevQueue::transmit_af_packet(rte_mbuf** frames, std::uint16_t count) {
  constexpr std::uint16_t kBurst = 64;
  const std::uint32_t limit = af_packet_limit_;
  std::array<std::uint16_t, kBurst> references{};
  std::uint16_t done = 0;
  while (done < count) {
    if (rte_pktmbuf_pkt_len(frames[done]) > limit) {
      rte_pktmbuf_free(frames[done++]);
      oversize_.store(oversize_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      continue;
    }
    rte_mbuf** burst = frames + done;
    std::uint16_t run = 1;
    // A frame that is in the burst twice (resent twice at once) ends the run: its reference count would not say which
    // of the two was taken.
    while (run < kBurst && done + run < count && rte_pktmbuf_pkt_len(burst[run]) <= limit &&
           std::find(burst, burst + run, burst[run]) == burst + run)
      ++run;
    for (std::uint16_t i = 0; i < run; ++i) {
      references[i] = rte_mbuf_refcnt_read(burst[i]);
      rte_mbuf_refcnt_update(burst[i], 1);
    }
    const std::uint16_t said = rte_eth_tx_burst(port_, number_, burst, run);
    std::uint16_t taken = said;
    while (taken < run && rte_mbuf_refcnt_read(burst[taken]) == references[taken]) ++taken;
    for (std::uint16_t i = 0; i < taken; ++i) rte_pktmbuf_free(burst[i]);
    for (std::uint16_t i = taken; i < run; ++i) rte_mbuf_refcnt_update(burst[i], -1);
    done = static_cast<std::uint16_t>(done + taken);
    if (taken < run) break;
  }
  return done;
}

}  // namespace longhaul::drivers
