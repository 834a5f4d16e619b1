// SPDX-License-Identifier: BSD-3-Clause
// The far host's side of a pair: what is lost between the far box and its host goes again from copies, without a round
// trip over the long haul (docs/peer-protocol.md, section 11).
//
//   a request that is handed on    is kept until an answer of the host covers it
//   a PSN NAK that fits            does not pass: the copies from its PSN on go again, before anything newer
//   silence, after max(1 ms, 4 host round trips), doubled each time
//                                  has one request that asks for an answer sent again, three times at most; after such
//                                  a NAK, all copies
//   a NAK of another kind          ends it: what follows is the near box's
//   a flow whose host has lost     is handed on no more than a window of requests without an answer. A NAK halves the
//                                  window, and answers make it grow, until it is no limit any more
//
// A NAK fits if there is a copy of what it asks for, and the MSN counted over the copies is its own: a responder of
// another life counts anew. Copies belong to one binding, and none is older than lifetime_for() the peer's distance.
// They are a cache: the near box has everything in custody still, and its own timer and repair stay underneath.
//
// The copies of a flow are a chain, without gaps in their PSNs. An answer takes off its front what it covers, so the
// work for it is that of handing on. Who asks again and again has no more sent again than two copies for each request
// that is handed on.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.hpp"
#include "metrics/counter_set.hpp"
#include "relay/far_held.hpp"
#include "relay/far_outlet.hpp"
#include "relay/host_shares.hpp"
#include "relay/reports.hpp"
#include "wire/frame.hpp"

namespace longhaul::relay {

class RequestCopies {
 public:
  static std::uint64_t flow_bytes(std::uint32_t flows) { return flows * sizeof(Flow); }

  /// For the bindings of a FarPart, which have numbers below `flows`, and `packets` that are kept.
  RequestCopies(std::uint32_t flows, std::uint64_t packets, Counters& counters, FarOutlet& outlet);
  ~RequestCopies();
  RequestCopies(const RequestCopies&) = delete;
  RequestCopies& operator=(const RequestCopies&) = delete;

  /// A binding of this peer begins at this PSN, or ends: then its copies are dropped. `peer` is there until then.
  void begin(std::uint32_t number, std::uint32_t psn, const Heard& peer, std::uint32_t hosts);
  void end(std::uint32_t number);

  /// The next request of the flow may go to the host now.
  bool takes(std::uint32_t number) const { return flows_[number].takes(); }
  /// The flow waits for its host no longer.
  void end_window(std::uint32_t number, Time now);
  /// This request, which has its FarHeld, goes to the host now. The caller keeps its reference.
  void handed_on(std::uint32_t number, rte_mbuf* mbuf, Time now);

  /// An answer of the flow's host, ICRC verified. True: it is dealt with, and does not pass.
  bool answer(std::uint32_t number, const wire::Frame& frame, Time now);

  /// Calls `opened` with each flow whose host may have become ready for more. What had come by `read_until` has been
  /// heard: answers that wait to be read are no silence.
  template <typename Opened>
  void poll(Time now, Time read_until, Opened&& opened) {
    for (std::size_t left = blocked_.size(); left > 0 && outlet_.host_takes(); --left) opened(unblock(now));
    for (unsigned i = 0; i < kAtOnce && !looks_.empty() && looks_.front().at <= now; ++i) opened(look(now, read_until));
  }
  Time deadline() const { return !blocked_.empty() ? 0 : looks_.empty() ? kNever : looks_.front().at; }

 private:
  static constexpr std::uint32_t kMost = 4096;       ///< copies of a flow
  static constexpr std::uint32_t kLeastWindow = 16;  ///< packets
  static constexpr std::uint32_t kNoWindow = kMost;  ///< nothing is lost beyond the far box
  static constexpr unsigned kMostNaks = 3;           ///< that are dealt with while the host comes no further
  static constexpr unsigned kMostProbes = 3;         ///< the same for silence
  static constexpr std::uint32_t kAgainForEach = 2;  ///< request that is handed on, copies go again
  static constexpr unsigned kAtOnce = 256;           ///< flows that are looked at in one call
  static constexpr Duration kSilence = milliseconds(1);

  struct Flow {
    const Heard* peer = nullptr;  ///< null: not bound
    rte_mbuf* first = nullptr;
    rte_mbuf* last = nullptr;
    rte_mbuf* again = nullptr;     ///< of the copies that go again, the next; it and those behind it count as unsent
    rte_mbuf* question = nullptr;  ///< newest copy that asks for an answer, and may go again for one alone
    std::uint32_t binding = 0;     ///< counts those of this number
    std::uint32_t hosts = 0;
    std::uint32_t end = 0;  ///< PSN: first one after the newest request
    std::uint32_t msn = 0;  ///< of all before the first copy
    std::uint32_t copies = 0;
    std::uint32_t sent = 0;       ///< of those; without an answer
    std::uint32_t questions = 0;  ///< of those
    std::uint32_t window = kNoWindow;
    std::uint32_t grown = 0;          ///< requests answered since the window last grew
    std::uint32_t allowance = kMost;  ///< copies that may still go again
    std::uint8_t naks = 0;
    std::uint8_t probes = 0;
    bool msn_known = false;
    bool nak_mended = false;  ///< the host has asked, and has said nothing since
    bool stopped = false;     ///< it has refused something: nothing goes again
    bool look_queued = false;
    bool blocked = false;  ///< by the host's port
    Time waiting_since = 0;
    Duration host_round_trip = 0;

    bool is_open() const { return sent < window || window == kNoWindow || questions == 0; }
    bool takes() const { return again == nullptr && is_open(); }
    std::uint32_t front() const { return first == nullptr ? end : far_held_in(first).psn; }
  };
  struct Look {
    std::uint32_t number;
    std::uint32_t binding;
    Time at;
  };

  bool make_room(Flow& flow, const rte_mbuf* mbuf, Time now);
  static void pass_over(Flow& flow, Time now);
  static void count_sent(Flow& flow, rte_mbuf* mbuf, Time now);
  static bool is_old(const Flow& flow, const rte_mbuf* mbuf, Time now);
  void drop_first(Flow& flow);
  void drop_all(Flow& flow);
  void drop_answered(Flow& flow, std::uint32_t end, bool measures, Time now);
  bool agrees(Flow& flow, std::uint32_t end, std::uint32_t msn);
  bool mend(std::uint32_t number, std::uint32_t psn, Time now);
  void go_back(std::uint32_t number, Time now);
  void send_again(std::uint32_t number, Time now);
  void send(rte_mbuf* mbuf, Time now);
  void look_later(std::uint32_t number, Time now);
  std::uint32_t look(Time now, Time read_until);
  std::uint32_t unblock(Time now);
  void drop_old(Flow& flow, Time now);
  void probe(std::uint32_t number, Time now);

  Counters& counters_;
  FarOutlet& outlet_;
  HostShares room_;
  std::vector<Flow> flows_;
  std::deque<Look> looks_;  ///< by time
  std::deque<std::uint32_t> blocked_;
};

}  // namespace longhaul::relay
