// SPDX-License-Identifier: BSD-3-Clause
// The far box's bookkeeping for one request that it holds or has a copy of. It is where custody's Held is in the near
// box: no packet is in both.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <new>

#include "base/time.hpp"
#include "custody/held.hpp"
#include "wire/frame.hpp"

namespace longhaul::relay {

struct FarHeld {
  rte_mbuf* next = nullptr;  ///< copy of the flow
  Time came_at = 0;
  Time sent_at = 0;  ///< when the host's port last had it
  std::uint32_t psn = 0;
  std::uint32_t end = 0;         ///< first PSN after it
  std::uint16_t bth_offset = 0;  ///< bytes
  std::uint16_t bytes = 0;       ///< from BTH to ICRC: what is before changes on the way
  bool ends_message : 1 = false;
  bool asks : 1 = false;            ///< for an answer
  bool wants_response : 1 = false;  ///< a READ or an atomic
  bool sent_again : 1 = false;      ///< so its answer measures no round trip (Karn)
};
static_assert(sizeof(FarHeld) <= custody::kMbufPrivateSize);

inline FarHeld& far_held_in(rte_mbuf* mbuf) { return *static_cast<FarHeld*>(rte_mbuf_to_priv(mbuf)); }
inline const FarHeld& far_held_in(const rte_mbuf* mbuf) { return far_held_in(const_cast<rte_mbuf*>(mbuf)); }

/// From BTH to ICRC.
inline std::uint16_t bytes_of(const wire::Frame& frame) {
  return static_cast<std::uint16_t>(frame.icrc_offset + sizeof(wire::Be32) - frame.bth_offset);
}

/// Of a request with a known opcode, which takes the PSNs up to before `end`.
inline void begin_far_held(rte_mbuf* mbuf, const wire::Frame& frame, std::uint32_t end, Time now) {
  const bool wants_response = frame.opcode->wants_response();
  new (&far_held_in(mbuf)) FarHeld{.came_at = now,
                                   .psn = frame.psn(),
                                   .end = end,
                                   .bth_offset = static_cast<std::uint16_t>(frame.bth_offset),
                                   .bytes = bytes_of(frame),
                                   .ends_message = frame.opcode->ends_message(),
                                   .asks = wants_response || frame.ack_req(),
                                   .wants_response = wants_response};
}

}  // namespace longhaul::relay
