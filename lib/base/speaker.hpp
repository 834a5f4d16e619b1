// SPDX-License-Identifier: BSD-3-Clause
// Who speaks to a box: the workers of its peers (docs/peer-protocol.md, section 9.6).
#pragma once

#include <cstdint>

namespace longhaul {

/// Tells peers apart: a number is not used again.
using PeerNumber = std::uint32_t;

/// One worker of a peer, or all of them. What is said of flows belongs to the worker that says it.
using Speaker = std::uint32_t;

inline constexpr unsigned kSpeakerBits = 7;
inline constexpr unsigned kSpeakers = 1u << kSpeakerBits;  ///< of one peer; more than workers
inline constexpr unsigned kAllWorkers = kSpeakers - 1;

constexpr Speaker speaker_of(PeerNumber peer, unsigned worker) { return peer << kSpeakerBits | worker; }
constexpr PeerNumber peer_of(Speaker speaker) { return speaker >> kSpeakerBits; }
constexpr unsigned worker_of(Speaker speaker) { return speaker & (kSpeakers - 1); }

}  // namespace longhaul
