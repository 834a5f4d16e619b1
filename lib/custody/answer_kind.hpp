// SPDX-License-Identifier: BSD-3-Clause
// What an answer of a responder is: an ACK, a NAK, or a response to a READ or atomic. All need a known opcode.
#pragma once

#include <cstdint>

#include "wire/frame.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

/// An ACK or a NAK of any kind: not a response.
[[gnu::always_inline]] inline bool is_acknowledge(const wire::Frame& answer) {
  return answer.opcode->operation == wire::Operation::acknowledge;
}

/// An ACK: neither a response nor a NAK of any kind.
[[gnu::always_inline]] inline bool is_ack(const wire::Frame& answer) {
  return is_acknowledge(answer) && wire::aeth_kind(answer.aeth().syndrome) == wire::AethKind::ack;
}

/// First PSN that an ACK or NAK does not acknowledge.
inline std::uint32_t acknowledged_end(const wire::Frame& acknowledge) {
  return wire::psn_add(acknowledge.psn(), is_ack(acknowledge) ? 1 : 0);
}

}  // namespace longhaul::custody
