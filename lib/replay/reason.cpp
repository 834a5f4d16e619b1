// SPDX-License-Identifier: BSD-3-Clause
// Why a real ACK has no pseudo-ACK to compare with: only what the capture proves, the strongest proof first.
#include <fmt/format.h>

#include "replay/ack_comparison.hpp"
#include "wire/psn.hpp"

namespace longhaul::replay {

std::string AckComparison::reason_for(const Flow& flow, std::uint32_t psn, std::uint32_t frontier) const {
  if (flow.acked_before_confirmation && wire::psn_le(psn, *flow.acked_before_confirmation)) {
    return "repeated ACK of a PSN acknowledged by the responder before confirmation";
  }
  if (flow.acked_by_responder_first && wire::psn_le(psn, *flow.acked_by_responder_first)) {
    return "repeated ACK of a PSN that the responder itself acknowledged first";
  }
  const Seen* request = flow.history.find(psn);
  if (request == nullptr) return "request not in the capture (lost before it)";
  if (request->bad_icrc == request->arrivals) return "request with a wrong ICRC";
  if (request->beyond_gap == request->arrivals) return "request arrived beyond a gap and was dropped";
  if (request->unknown_opcode) return "request with an opcode that is not known";
  if (request->wants_response) return "ACK of a READ or atomic";
  if (!request->ack_req) return "request did not ask for an ACK";
  if (wire::psn_le(frontier, psn)) {
    if (const auto read = flow.history.read_or_atomic_between(frontier, psn); read) {
      return fmt::format("outstanding READ or atomic at PSN {}", *read);
    }
    if (const auto plain = flow.history.plain_between(frontier, psn); plain) {
      return fmt::format("request passed without custody at PSN {}", *plain);
    }
    return "pseudo-ACK withheld";
  }
  return "unexplained";
}

}  // namespace longhaul::replay
