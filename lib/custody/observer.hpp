// SPDX-License-Identifier: BSD-3-Clause
// Watches what the near part does, event by event: for the replay judge and tests. Null in a running box.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.hpp"
#include "wire/frame.hpp"

namespace longhaul::custody {

/// A flow as an observer sees it: the requester's side of one direction of a connection.
struct FlowIdentity {
  std::uint64_t serial = 0;  ///< unique for the life of the engine
  wire::IpAddress requester;
  wire::IpAddress responder;
  std::uint32_t requester_qpn = 0;
  std::uint32_t responder_qpn = 0;
};

/// The fields of an ACK that a requester looks at.
struct AckFields {
  std::uint32_t destination_qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t msn = 0;
  std::uint8_t syndrome = 0;
  std::uint16_t p_key = 0;
  bool operator==(const AckFields&) const = default;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_pseudo_ack(const FlowIdentity&, const AckFields&, Time) {}
  /// A real ACK (not NAK) from beyond the box. `confirmed` tells whether the flow was confirmed before the ACK came.
  /// `frontier` is h before the ACK.
  virtual void on_real_ack(const FlowIdentity&, const AckFields&, bool confirmed, std::uint32_t frontier, Time) {}
  /// A congestion notification was made for the flow's requester. `silent`: the box says nothing else to it now.
  virtual void on_cnp_made(const FlowIdentity&, bool silent, Time) {}
  virtual void on_flow_learned(const FlowIdentity&, Time) {}
  /// This request came beyond a gap, has waited for what is missing, and is dropped now.
  virtual void on_waited_in_vain(const FlowIdentity&, std::span<const std::uint8_t> /*frame*/) {}
  /// Acknowledged data could not be delivered (design rule 6): `bytes` were in custody below h.
  virtual void on_flow_failed(const FlowIdentity&, std::string_view why, std::uint64_t bytes, Time) {}
  /// As on_flow_failed(), for a flow of an earlier process, found in the restart record when this process started.
  virtual void on_found_in_record(const FlowIdentity&, std::uint64_t bytes) {}
  /// A failed flow's connection closed before its requester sent a request that the fatal NAK could answer.
  virtual void on_closed_untold(const FlowIdentity&, std::uint64_t bytes, Time) {}
  /// The responder's side closed while unanswered packets were in custody: whether they arrived is not known.
  virtual void on_unconfirmed_at_close(const FlowIdentity&, std::uint64_t packets, std::uint64_t bytes, Time) {}
  /// The flow's QPs may have begun another life: the box says nothing for the flow (identity.cpp).
  virtual void on_doubted(const FlowIdentity&, Time) {}
  /// Answers showed that the QPs have not begun another life.
  virtual void on_resumed(const FlowIdentity&, Time) {}
  /// Answers showed that the QPs have begun another life: the flow follows it.
  virtual void on_began_again(const FlowIdentity&, Time) {}
  /// Custody of a doubted flow ended, and no answer showed that these acknowledged packets were delivered.
  virtual void on_unconfirmed_in_doubt(const FlowIdentity&, std::uint64_t packets, std::uint64_t bytes, Time) {}
  /// A flow ended with `packets_left` packets in custody, which are dropped.
  virtual void on_flow_closed(const FlowIdentity&, std::uint64_t packets_left, Time) {}
};

}  // namespace longhaul::custody
