// SPDX-License-Identifier: BSD-3-Clause
// What keeps a requester alive while nothing is answered.
//
// During an outage of the WAN the window of unanswered bytes (window.hpp) is soon used up, and the box falls silent,
// though custody has room. Then the requester's own retries would end the connection: 67 ms and 7 retries last half a
// second. So the box goes on acknowledging from custody, slowly: once two timeouts in a row have brought no answer, the
// next request that asks for an ACK gets it, and then another one each interval. Each ACK starts the requester's timer
// anew. It is a trickle, because all of it waits in custody for the end of the outage. The first answer ends it, and so
// does the last packet that had left when the outage began: what comes later waits for the probe's answer (resend.cpp),
// and nothing is acknowledged before it has left.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace longhaul::custody {

struct Trickle {
  /// Timeouts without an answer before it begins: one may be a lost packet.
  static constexpr unsigned kTimeouts = 2;
  /// Of a requester whose ACK timeout is not known. RDMA-CM tells it; NCCL's is 4.3 s, UCX's 1 s.
  static constexpr Duration kInterval = milliseconds(50);

  std::uint64_t end = 0;  ///< packets up to here, counted as Held::end_bytes, may be acknowledged beyond the window
  Time at = 0;            ///< when it was last extended; 0: never

  /// An ACK for each ACK timeout of the requester, so that at most one of its retries is used up in between.
  /// `ack_timeout`: 0 when it is not known.
  static Duration interval_of(Duration ack_timeout) {
    constexpr Duration kLeast = milliseconds(5);
    constexpr Duration kMost = milliseconds(500);
    return ack_timeout == 0 ? kInterval : std::clamp(ack_timeout, kLeast, kMost);
  }
};

}  // namespace longhaul::custody
