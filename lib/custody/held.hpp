// SPDX-License-Identifier: BSD-3-Clause
// Custody's bookkeeping for one packet lives in the private area of the mbuf that holds it, so that taking
// custody allocates nothing.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "base/time.hpp"

namespace longhaul::custody {

struct Held {
  rte_mbuf* next = nullptr;       ///< the following packet of the flow
  rte_mbuf* next_read = nullptr;  ///< of a READ or atomic: the following one; of the last: the first
  Time sent_at = 0;               ///< last time the WAN port accepted it
  Time received_at = 0;           ///< when the burst that brought it was received
  std::uint64_t end_bytes = 0;    ///< the flow's frame bytes ever taken into custody, up to and including this packet
  std::uint32_t psn = 0;          ///< its PSN; for a READ request the PSN of the first response
  std::uint32_t last_psn = 0;     ///< the same, but for a READ request the PSN of its last response
  std::uint32_t msn = 0;          ///< messages completed with this packet, counted from where custody of the flow began
  bool ack_req : 1 = false;
  bool wants_response : 1 = false;  ///< READ or atomic: only the responder can answer it
  bool is_atomic : 1 = false;       ///< of those two, atomic
  bool shortened : 1 = false;       ///< a READ, and its requester has asked for the tail of its range since
  bool sent : 1 = false;            ///< the WAN port accepted it at least once
  bool resent : 1 = false;          ///< it was sent more than once: its answer measures no round trip (Karn)
  bool takes_receive : 1 = false;   ///< ends a message that uses up one of the responder's receives
  bool small : 1 = false;           ///< in a small buffer of custody's own, not in a receive buffer
  bool indexed : 1 = false;         ///< in the PacketIndex, under `psn`
  bool repairing : 1 = false;       ///< handed to the port because the peer misses it, and the port has not said yet
  std::uint16_t read_number = 0;    ///< of a READ or atomic: counts them
  std::uint32_t number = 0;         ///< counts the packets of a stretch of custody
  std::uint32_t vouched = 0;        ///< the doubt (NearFlow::doubt_number) in which its requester sent the same bytes
};
static_assert(sizeof(Held) <= RTE_CACHE_LINE_MIN_SIZE, "one packet's bookkeeping stays within a cache line");

/// Private area that every pool of mbufs must have, bytes: a whole cache line, so that frames begin with one.
inline constexpr std::uint16_t kMbufPrivateSize = RTE_CACHE_LINE_MIN_SIZE;
static_assert((sizeof(rte_mbuf) + kMbufPrivateSize + RTE_PKTMBUF_HEADROOM) % RTE_CACHE_LINE_MIN_SIZE == 0);

inline Held& held_in(rte_mbuf* mbuf) { return *static_cast<Held*>(rte_mbuf_to_priv(mbuf)); }
inline const Held& held_in(const rte_mbuf* mbuf) {
  return *static_cast<const Held*>(rte_mbuf_to_priv(const_cast<rte_mbuf*>(mbuf)));
}

}  // namespace longhaul::custody
