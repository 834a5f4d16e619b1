// SPDX-License-Identifier: BSD-3-Clause
// What binds a near flow to its peer, the box at the other end of the long haul (docs/peer-protocol.md, section 9).
#pragma once

#include <cstdint>

#include "base/speaker.hpp"
#include "base/time.hpp"

namespace longhaul::custody {

struct Pairing {
  std::uint32_t binding = 0;   ///< a number that is not used again; 0: the flow is not bound, and its peer is not asked
  Speaker peer = 0;            ///< once it is bound: who has it
  bool bound = false;          ///< the peer has said so, of this binding or of the one before it
  bool asking = false;         ///< it has not said so of this one yet
  bool top_queued = false;     ///< the flow's end is to be announced once it is quiet
  std::uint8_t tops_left = 0;  ///< how often it is still to be announced
  std::uint32_t from = 0;      ///< PSN from which on the peer puts the flow in order
  std::uint32_t top = 0;       ///< PSN: first that had not been sent when the flow was last looked at
  std::uint32_t asked_us = 0;  ///< when it was last asked, us modulo 2^32
  Time top_at = 0;             ///< when that last changed
  Time gap_at = 0;             ///< when either box last said that packets are missing, or have just been
  // Answers that come before their turn wait for what the peer can send again.
  Duration patience = 0;           ///< for so long
  std::uint32_t responses_to = 0;  ///< NearFlow::read_next when the peer was last told of it
  // After a sign of another life, until the peer says that the binding has ended: it may hold requests of the former.
  std::uint32_t ending = 0;  ///< that binding; 0: there is none
  Time waits_until = 0;      ///< the flow's requests do not pass before; 0: they do

  /// The far box may hold requests of another life, or send copies of its answers.
  bool waits(Time now) const { return now < waits_until; }
};

}  // namespace longhaul::custody
