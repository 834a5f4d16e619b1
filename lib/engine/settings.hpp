// SPDX-License-Identifier: BSD-3-Clause
// An engine's settings, typed and checked already: where the values come from is not the engine's business.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "custody/congestion.hpp"
#include "flow/policy.hpp"

namespace longhaul::engine {

/// When a flow learned from RDMA-CM may be acknowledged for the first time.
enum class Confirm : std::uint8_t {
  answer,  ///< after one real answer that agrees in QPN, PSN and MSN has come from the WAN (default)
  cm,      ///< at once: trusts that answers take this path
};

struct Settings {
  flow::PolicyTable policies;
  Confirm confirm = Confirm::answer;

  /// Rate at which frames leave the WAN port, bits per second; 0 means that none is known.
  std::uint64_t wan_rate_bps = 0;
  /// Bytes that each frame takes of a configured rate beside its own, which has no FCS. Ethernet: 7 of preamble, 1 of
  /// delimiter, 4 of FCS, 12 of gap (IEEE 802.3, 3.1.1 and 4.4.2).
  std::uint32_t wan_overhead = 24;
  /// When no rate is known. True: custody leaves at the rate that the link carries, as answers show
  /// (custody/link_estimate.hpp). False: it leaves as fast as it comes.
  bool estimate_wan_rate = true;

  std::uint64_t custody_box_bytes = 256ull << 20;  ///< frame bytes in custody, all flows
  std::uint64_t custody_flow_bytes = 64ull << 20;  ///< frame bytes in custody, one flow
  std::uint32_t custody_mbufs = 16384;             ///< large mbufs in custody, all flows
  std::uint64_t initial_window_bytes = 1ull
                                       << 20;  ///< unanswered bytes a flow may have before its delivery rate is known

  /// What one pair of hosts may have of custody's bytes and buffers, and of the connections: from 0 to 1. The rest is
  /// for others.
  double custody_pair_share = 1;
  double connections_pair_share = 1;

  /// The usual packets of usual flows take the lane (engine/lane.hpp). False: all take the general path, which does the
  /// same with more instructions. For tests.
  bool lane = true;

  custody::CnpSettings cnp;  ///< congestion notifications

  std::uint32_t max_connections = 4096;  ///< RC connections followed at once; others pass through
  /// Connections that RDMA-CM did not announce to this box are learned from their requests and ACKs.
  bool learn_from_traffic = true;
  std::uint32_t max_candidates = 4096;  ///< connections watched at once in order to learn them this way
  std::uint32_t max_pending_cm = 4096;  ///< RDMA-CM exchanges followed at once
  std::uint32_t max_held_dreqs = 4096;  ///< DREQs that wait for custody; RDMA-CM repeats those that find no place

  Duration rto_initial = seconds(1);        ///< before a round trip was measured
  Duration rto_min = milliseconds(10);      ///< a resend by timer never comes earlier
  Duration rto_max = seconds(2);            ///< doubling stops here
  Duration give_up = seconds(60);           ///< unanswered for this long: the flow fails, visibly
  Duration longest_give_up = seconds(600);  ///< for a requester that RDMA-CM says is more patient than give_up
  /// After a longer time without traffic a flow is not acknowledged until an answer has confirmed it again. For a flow
  /// that RDMA-CM did not announce, this time is one second at most.
  Duration confirm_again = seconds(600);
  Duration dreq_hold = seconds(3);  ///< a closing host waits at most this long for its custody
  /// A packet that is missing may be this late before it counts as lost (custody/reorder.cpp); 0: it may not.
  Duration reorder_wait = microseconds(200);
  /// A message's end is acknowledged after this time though its requester has not asked (custody/acknowledge.cpp); 0:
  /// never.
  Duration ack_unasked = microseconds(100);
};

}  // namespace longhaul::engine
