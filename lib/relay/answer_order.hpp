// SPDX-License-Identifier: BSD-3-Clause
// The near box's side of answers: which of them are missing, and what the far box is told of it (docs/peer-protocol.md,
// section 10.3). What has overtaken a READ response waits in custody/reorder_answers.cpp; here are only its PSNs.
//
//   waits     a response has come beyond the next one: what is between is missing
//   the end   an ANSWER_CLOCK says how far the far box has sent: what is before that is missing, too
//   ANSWER_STATE  answers each ANSWER_CLOCK, and names what is missing
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/time.hpp"
#include "custody/near_flow.hpp"
#include "relay/clockwork.hpp"
#include "relay/messages.hpp"
#include "relay/reports.hpp"
#include "relay/runs.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

class OrderOutlet {
 public:
  virtual ~OrderOutlet() = default;
  /// As in RepairsOutlet.
  virtual custody::NearFlow* flow_of(std::uint32_t handle) = 0;
  virtual void send(Speaker to, Type type, Bytes body) = 0;
  /// Responses of the flows that this speaker has that had come already.
  virtual std::uint32_t repeated_responses(Speaker peer) const = 0;
};

class AnswerOrder {
 public:
  static std::uint64_t flow_bytes(std::uint32_t flows) { return flows * sizeof(Order); }

  /// For handles below `flows`.
  AnswerOrder(std::uint32_t flows, OrderOutlet& outlet) : outlet_(outlet), orders_(flows) {}

  /// The response with this PSN waits for others.
  void waits(const custody::NearFlow& flow, std::uint32_t psn, Time now);
  /// It found no room to wait: it is missing, too.
  void dropped(const custody::NearFlow& flow, std::uint32_t psn, Time now);
  /// The peer was asked for the response with this PSN, or for a later one.
  bool may_be_copy(const custody::NearFlow& flow, std::uint32_t psn) const {
    const Order& order = orders_[flow.connection];
    return order.asked_in != 0 && wire::psn_lt(psn, order.asked_end);
  }
  /// Those that waited have gone on without what is missing.
  void goes_on(const custody::NearFlow& flow);
  /// Call for each flow that something has happened to.
  void tend(custody::NearFlow& flow) {
    if (flow.pairing.bound && flow.pairing.responses_to != flow.read_next) [[unlikely]]
      note_progress(flow);
  }

  /// ANSWER_CLOCK. It is answered by ANSWER_STATE.
  void clock(Speaker peer, Bytes body, Time now);
  void set_round_trip(Speaker peer, Duration round_trip, Duration spacing = 0) {
    heard_[peer].round_trip = round_trip;
    heard_[peer].spacing = spacing;
  }
  void forget(PeerNumber peer) {
    std::erase_if(heard_, [peer](const auto& heard) { return peer_of(heard.first) == peer; });
  }

 private:
  static constexpr std::int32_t kReach = 1 << 20;
  static constexpr unsigned kFullReports = 8;  ///< in a round trip: so long are copies kept beyond it

  struct Order {
    std::uint32_t binding = 0;  ///< of what follows
    bool listed = false;
    bool moved = false;           ///< its responses have come further since the last full report
    std::uint32_t asked_in = 0;   ///< the binding in which a report last named something; 0: none did
    std::uint32_t asked_end = 0;  ///< PSN: first one after all that reports named in it
    Runs runs;
  };

  Order& order_of(const custody::NearFlow& flow);
  Runs& list_gap(const custody::NearFlow& flow);
  void note_progress(custody::NearFlow& flow);
  void list(const custody::NearFlow& flow);
  void report(Speaker peer, Time now);
  static bool may_ask(const custody::NearFlow& flow);
  static std::uint32_t next_of(const custody::NearFlow& flow) {
    return flow.queue.first_read() == nullptr ? flow.una : flow.read_next;
  }

  OrderOutlet& outlet_;
  std::vector<Order> orders_;  ///< by handle
  std::map<Speaker, Heard> heard_;
  ReportTurns listed_;  ///< by handle
};

}  // namespace longhaul::relay
