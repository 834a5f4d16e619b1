// SPDX-License-Identifier: BSD-3-Clause
// Who wants to watch what the near part does, event by event: the replay judge, tests. Null in a running box.
#pragma once

#include <cstdint>
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
  /// A real ACK (not NAK) from beyond the box. `confirmed` tells whether the flow was confirmed before it came.
  /// `frontier` is h before the ACK.
  virtual void on_real_ack(const FlowIdentity&, const AckFields&, bool confirmed, std::uint32_t frontier, Time) {}
  virtual void on_flow_learned(const FlowIdentity&, Time) {}
  /// Acknowledged data could not be delivered (design rule 6): `bytes` were in custody below h.
  virtual void on_flow_failed(const FlowIdentity&, std::string_view why, std::uint64_t bytes, Time) {}
  /// The same of an earlier process, found in the restart record when this one started.
  virtual void on_found_in_record(const FlowIdentity&, std::uint64_t bytes) {}
  /// A failed flow's connection closed, and its requester never sent a request that could be answered by the fatal NAK.
  virtual void on_closed_untold(const FlowIdentity&, std::uint64_t bytes, Time) {}
  /// The responder's side closed while packets it had not answered were in custody: whether they arrived is not known.
  virtual void on_unconfirmed_at_close(const FlowIdentity&, std::uint64_t packets, std::uint64_t bytes, Time) {}
  /// The flow's QPs may have begun another life: nothing is said for it (identity.cpp).
  virtual void on_doubted(const FlowIdentity&, Time) {}
  /// Answers showed that they have not.
  virtual void on_resumed(const FlowIdentity&, Time) {}
  /// Answers showed that they have: the flow follows the new life.
  virtual void on_began_again(const FlowIdentity&, Time) {}
  /// Custody of a doubted flow ended, and no answer showed that its acknowledged packets, `bytes`, were delivered.
  virtual void on_unconfirmed_in_doubt(const FlowIdentity&, std::uint64_t packets, std::uint64_t bytes, Time) {}
  /// `packets_left` custody packets at the end of a flow, before they were let go.
  virtual void on_flow_closed(const FlowIdentity&, std::uint64_t packets_left, Time) {}
};

}  // namespace longhaul::custody
