// SPDX-License-Identifier: BSD-3-Clause
// The far box keeps copies of what the responders of bound flows answer, and sends again what the near box misses
// (docs/peer-protocol.md, section 10.2).
//
//   a response    is kept until the near box says that it has come
//   the last ACK  is kept until the next one
//   ANSWER_CLOCK  goes to the near box while answers are under way; a flow that has been quiet is named in it, twice
//   ANSWER_STATE  is its answer. What it calls missing, and what was sent longer than a window before the clock that it
//                 echoes, is lost
//
// Copies belong to one binding, and none is older than lifetime_for() the peer's distance. Nothing here makes an
// answer: what goes to the WAN is what the responder has said in this life.
//
// The responses of a flow are in the order of their PSNs, so a report's range is found by bisection, and the reports of
// a peer look at, or move, kMostLooks copies in 100 us. In order a response costs the same however many are kept, and
// otherwise no more than kMostMoved entries are moved.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "flow/key_index.hpp"
#include "metrics/counter_set.hpp"
#include "relay/clockwork.hpp"
#include "relay/host_shares.hpp"
#include "relay/loss_rate.hpp"
#include "relay/messages.hpp"
#include "wire/frame.hpp"

namespace longhaul::relay {

class CopiesOutlet {
 public:
  virtual ~CopiesOutlet() = default;
  /// The WAN's port takes another frame now.
  virtual bool wan_takes() = 0;
  /// Sends a copy (one reference) to the WAN.
  virtual void send_to_wan(rte_mbuf* mbuf) = 0;
  /// An empty frame of this size for the WAN; null when no buffer is left.
  virtual rte_mbuf* made_frame(std::uint16_t bytes) = 0;
  /// As in FarOutlet.
  virtual bool hold(const rte_mbuf* mbuf) = 0;
  virtual void let_go(const rte_mbuf* mbuf) = 0;
  virtual void send(Speaker to, Type type, Bytes body) = 0;
};

class AnswerCopies {
 public:
  static std::uint64_t table_bytes(std::uint32_t flows) { return flow::KeyIndex::bytes_needed(flows); }
  static std::uint64_t flow_bytes(std::uint32_t flows) { return flows * (sizeof(Flow) + kEmptyDequeBytes); }

  /// For the bindings of a FarPart, which have numbers below `flows`, and `packets` that are kept.
  AnswerCopies(std::uint32_t flows, std::uint64_t packets, Counters& counters, CopiesOutlet& outlet);
  ~AnswerCopies();
  AnswerCopies(const AnswerCopies&) = delete;
  AnswerCopies& operator=(const AnswerCopies&) = delete;

  /// A binding begins. Returns the one that had the same QPN for its answers, which ends here; kNone: there was none.
  std::uint32_t begin(std::uint32_t number, Speaker peer, const BindEntry& entry);
  /// It ends.
  void end(std::uint32_t number);

  /// Nothing is bound: there is nothing to find.
  bool empty() const { return bound_ == 0; }
  static constexpr std::uint32_t kNone = flow::KeyIndex::kNone;
  std::uint32_t find(const flow::KeyIndex::KeyView& key) const { return index_.find(key).value_or(kNone); }

  /// An answer of the responder with this number is about to go to the WAN, ICRC verified. The caller keeps its
  /// reference.
  void answer(std::uint32_t number, const wire::Frame& frame, rte_mbuf* mbuf, Time now);

  /// ANSWER_STATE.
  void state(Speaker peer, Bytes body, Time now);
  /// To this peer; 0 if it is not known.
  void set_round_trip(Speaker peer, Duration round_trip, Duration spacing = 0) {
    peers_[peer].round_trip = round_trip;
    peers_[peer].spacing = spacing;
  }
  /// With its bindings.
  void forget(PeerNumber peer);

  void poll(Time now);
  Time deadline() const;

 private:
  static constexpr std::int32_t kReach = 1 << 20;
  static constexpr std::ptrdiff_t kMostMoved = 1024;    ///< to make place for a copy amid others
  static constexpr std::size_t kMostAck = 128;          ///< bytes of a frame
  static constexpr unsigned kMostLooks = 1u << 14;      ///< at copies in 100 us, for the reports of one peer
  static constexpr std::size_t kEmptyDequeBytes = 600;  ///< that libstdc++ allocates
  static constexpr unsigned kAtOnce = 256;              ///< flows that are looked at in one call
  static constexpr std::uint8_t kTops = 2;
  static constexpr Duration kQuiet = microseconds(50);

  struct Ack {
    std::uint32_t psn = 0;
    std::uint16_t bytes = 0;  ///< 0: there is none
    Time came_at = 0;
    Time sent_at = 0;
    std::array<std::uint8_t, kMostAck> frame;
  };
  struct Peer {
    Duration round_trip = 0;
    Duration spacing = 0;  ///< spacing_of() the pairs of workers
    Time looks_from = 0;   ///< when they were counted anew
    unsigned looks = 0;    ///< left
    LossRate loss;
    SentBefore sent_before;
    std::uint64_t sent = 0;   ///< responses, repairs too
    std::uint64_t again = 0;  ///< of those, by the host once more
    LossRate::Counts counts;  ///< repairs and their copies, in all
    Time active_until = 0;
    Time clock_at = 0;    ///< the next may go
    Time clocked_at = 0;  ///< the last went
    ClockBudget clocks;
    std::uint64_t answers = 0;                ///< responses and ACKs of the hosts
    std::vector<AnswerClockEntry> announced;  ///< in the next ANSWER_CLOCK

    Duration interval() const { return std::max(clock_interval(round_trip), std::min(spacing, kWidestSpacing)); }
    /// After the last, where there is something to say.
    Duration shortest() const { return std::min(interval(), std::max(clock_interval(round_trip), kNarrowSpacing)); }
  };
  struct Copy {
    rte_mbuf* mbuf;
    std::uint32_t psn;
    Time came_at;
    Time sent_at;
  };
  struct Flow {
    bool in_use = false;
    bool quiet_queued = false;
    bool aging_queued = false;
    bool last_was_ack = false;
    bool mixed = false;  ///< responses are not in the order of time
    std::uint8_t tops_left = 0;
    std::uint32_t hosts = 0;
    Speaker peer = 0;
    Peer* at = nullptr;  ///< what is known of that peer; as long as it has bindings
    Name name{};
    std::uint32_t top = 0;  ///< PSN: first one after the newest answer
    Time top_at = 0;        ///< when that last changed
    flow::KeyIndex::Key key;
    std::deque<Copy> responses;  ///< by PSN
    Ack ack;
  };
  /// A flow under one of its bindings. When it has another one, whatever is planned for it is void.
  struct Bound {
    std::uint32_t number;
    Name name;
  };
  struct Quiet {
    Bound flow;
    Time at;
  };
  struct Lost {
    Bound flow;
    std::uint32_t psn;
  };

  void keep(Flow& flow, rte_mbuf* mbuf, std::uint32_t psn, Time now);
  void replace(Flow& flow, Copy& copy, rte_mbuf* mbuf, Time now);
  static void keep_ack(Flow& flow, const rte_mbuf* mbuf, std::uint32_t psn, Time now);
  void let_go(const Flow& flow, const Copy& copy);
  void drop_first(Flow& flow);
  void drop_before(Flow& flow, std::uint32_t next);
  void drop_all(Flow& flow);
  void age_from(std::uint32_t number, Time oldest);
  void look_at_age(Time now);
  void note_answer(std::uint32_t number, std::uint32_t end, bool is_ack, Time now);
  void queue_quiet(std::uint32_t number, Time at);
  void look_at_quiet(Time now);
  bool is_bound(const Bound& bound) const;
  std::uint32_t number_of(Speaker peer, const Name& name) const;
  static std::deque<Copy>::iterator at_or_behind(Flow& flow, std::uint32_t psn);
  unsigned& looks_of(Peer& peer, Time now);
  void drop_come(Flow& flow, std::uint32_t next, unsigned& looks);
  void send_again(std::uint32_t number, const Missing& missing, Time before, unsigned& looks, Time now);
  void send_copy(Flow& flow, Copy& copy, Time now);
  void send_ack_again(Flow& flow, Time now);
  bool send_lost(const Lost& lost, Time now);
  void look_at_losses(Peer& peer, std::uint64_t echo, std::uint32_t repeats, Time now);
  void send_clock(Speaker number, Peer& peer, Time now);
  Duration quiet_of(const Flow& flow) const;
  static std::uint64_t handle_key(Speaker peer, std::uint32_t handle) { return std::uint64_t{peer} << 32 | handle; }

  Counters& counters_;
  CopiesOutlet& outlet_;
  HostShares room_;
  flow::KeyIndex index_;
  std::vector<Flow> flows_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_handle_;  ///< only control messages ask it
  std::map<Speaker, Peer> peers_;
  std::uint32_t bound_ = 0;
  std::deque<Quiet> quiet_;           ///< by time
  std::multimap<Time, Bound> aging_;  ///< flows that have copies
  MoreCopies<Lost> copies_;
  std::vector<Missing> missing_;  ///< of the entry at hand
  std::vector<Lost> lost_;        ///< and of the report
};

}  // namespace longhaul::relay
