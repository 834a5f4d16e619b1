// SPDX-License-Identifier: BSD-3-Clause
// The near box's side of selective repeat: binds flows to the peer that has the far end, tells it the time and where
// flows end, and sends again what it reports as missing (docs/peer-protocol.md, section 9).
//
//   BIND     when custody has requests of a flow that was answered; again, ever later, until the peer says that it is
//            bound; anew when custody goes back
//   CLOCK    each clamp(round trip / 64, 100 us, 1 ms) while packets are under way. A flow that has sent nothing for 50
//            us is named in it, twice
//   STATE    the answer. What it calls missing, and what was sent longer than a window before the CLOCK that it echoes,
//            is lost: custody sends it again, in as many copies as the loss rate demands, 50 us apart
//
// Nothing here releases custody or acknowledges anything.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "custody/near_part.hpp"
#include "flow/key_index.hpp"
#include "metrics/counter_set.hpp"
#include "relay/clockwork.hpp"
#include "relay/loss_rate.hpp"
#include "relay/messages.hpp"

namespace longhaul::relay {

class RepairsOutlet {
 public:
  virtual ~RepairsOutlet() = default;
  /// The flow of the connection with this number; null if there is none.
  virtual custody::NearFlow* flow_of(std::uint32_t handle) = 0;
  /// Handles are smaller.
  virtual std::uint32_t flows() const = 0;
  /// Of the flow's requests, as its far box receives them.
  virtual flow::KeyIndex::Key key_of(const custody::NearFlow& flow) const = 0;
  virtual void send(Speaker to, Type type, Bytes body) = 0;
  /// Packets of custody that were handed to the WAN port.
  virtual std::uint64_t packets_sent() const = 0;
  /// Hands on to the WAN a request that had been withheld (one reference).
  virtual void hand_on_to_wan(rte_mbuf* mbuf) = 0;
};

class Repairs {
 public:
  /// `workers`: of this box. Each has its own.
  Repairs(custody::NearPart& near, Counters& counters, RepairsOutlet& outlet, unsigned workers)
      : near_(near), counters_(counters), outlet_(outlet), spacing_(spacing_of(workers)) {}
  ~Repairs();
  Repairs(const Repairs&) = delete;
  Repairs& operator=(const Repairs&) = delete;

  /// The peer is there, at this distance (0: not known), with so many workers.
  void peer_up(PeerNumber peer, Duration round_trip, unsigned workers);
  /// It is not, or remembers nothing: its flows go on alone.
  void peer_gone(PeerNumber peer);

  /// Call for each flow that something has happened to, before anything of the flow goes to the WAN that may be of
  /// another life, and once all of its packets have been handed to the port.
  void tend(custody::NearFlow& flow, Time now);
  /// Custody goes back: call before it sends anything again.
  void goes_back(custody::NearFlow& flow, Time now);
  /// The flow is no more.
  void forget(custody::NearFlow& flow, Time now);
  /// Keeps a request that must wait, until it need not. False: there is no room.
  bool withhold(const custody::NearFlow& flow, rte_mbuf* mbuf);
  /// Nothing waits any more.
  void hand_on_all();
  /// What waits may be of former lives.
  void drop_all();
  std::uint64_t withheld() const { return withheld_frames_; }

  void state(Speaker peer, Bytes body, Time now);
  void poll(Time now);
  Time deadline() const;

 private:
  static constexpr Duration kQuiet = microseconds(50);
  static constexpr Duration kFirstRetry = milliseconds(10);
  static constexpr Duration kBoundRetry = milliseconds(100);  ///< each new binding makes the far box drop what it holds
  static constexpr Duration kLeastRebind = milliseconds(1);
  static constexpr Duration kLastRetry = seconds(1);
  static constexpr std::uint8_t kTops = 2;
  static constexpr unsigned kUnbinds = 3;
  static constexpr std::size_t kMostEnded = 256;
  static constexpr unsigned kAtOnce = 256;              ///< of bindings that are looked at in one call
  static constexpr std::uint64_t kMostWithheld = 4096;  ///< frames
  static constexpr std::size_t kMostWithheldOfOne = 512;

  /// A flow under one of its bindings. When it has another one, whatever is planned for it is void.
  struct Bound {
    std::uint32_t handle;
    std::uint32_t binding;
  };
  struct Asked {
    Bound flow;
    Duration wait;
  };
  struct Quiet {
    Bound flow;
    Time at;
  };
  struct Ended {
    UnbindEntry entry;
    PeerNumber peer;       ///< whose answer counts; 0: anybody's, or before `until` nobody's
    std::uint64_t silent;  ///< workers of `peer` that have not answered, a bit each
    unsigned left;         ///< CLOCKs with which it is said again
    Time again_at;         ///< later, until it is answered; kNever: it need not be
    Duration wait;         ///< and then after so long
    Time until;            ///< several peers may hold requests until then; kNever: one at most

    Time due() const { return left > 0 ? 0 : again_at; }
  };
  struct Lost {
    Bound flow;
    std::uint32_t psn;
  };
  /// Of a flow, until its binding has ended.
  struct Withheld {
    Time until = 0;
    std::vector<rte_mbuf*> requests;
  };

  void end_wait(custody::NearFlow& flow, Time now);
  void give_back(Withheld& withheld);
  void drop(Withheld& withheld);
  void hand_on(Withheld& withheld);
  void hand_on_due(Time now);
  void bind(custody::NearFlow& flow, Time now);
  void ask(custody::NearFlow& flow, Duration wait, Time now);
  void unbind(custody::NearFlow& flow, bool keep, Time now);
  void ended(Speaker peer, const Name& name, Time now);
  static void release(custody::Pairing& pairing);
  /// Null when the flow has another binding now, or is no more.
  custody::NearFlow* bound(const Bound& bound) const;
  static Bound binding_of(const custody::NearFlow& flow) { return {flow.connection, flow.pairing.binding}; }
  void note_quiet(custody::NearFlow& flow, Time at);
  void announce(custody::NearFlow& flow);
  void repair(custody::NearFlow& flow, const std::vector<Missing>& missing, std::uint64_t echo, Time now);
  void send_clock(Time now);
  void note_ends();
  void ask_again(Time now);
  void look_at_quiet(Time now);
  void look_at_losses(std::uint64_t echo, Time now);
  void be_active(Time now);
  void note_round_trips();
  Duration interval() const { return std::max(clock_interval(longest_round_trip_), spacing_); }
  static Name name_of(const custody::NearFlow& flow) { return {flow.connection, flow.pairing.binding}; }

  custody::NearPart& near_;
  Counters& counters_;
  RepairsOutlet& outlet_;
  struct Peer {
    Duration round_trip = 0;
    unsigned workers = 1;
    std::map<Speaker, std::uint32_t> repeats;  ///< that each of them has told

    /// Whom a message for all of its workers is for.
    unsigned all() const { return workers == 1 ? 0 : kAllWorkers; }
  };
  Duration spacing_;  ///< between this box's clocks, if it has several workers
  std::map<PeerNumber, Peer> peers_;
  Duration longest_round_trip_ = 0;  ///< of those
  std::uint32_t last_binding_ = 0;
  std::multimap<Time, Asked> asked_;
  std::deque<Quiet> quiet_;  ///< by time
  MoreCopies<Lost> copies_;
  std::vector<Ended> ended_;
  Time ends_at_ = kNever;                                 ///< when the next of them must be said
  std::unordered_map<std::uint32_t, Withheld> withheld_;  ///< by handle
  std::uint64_t withheld_frames_ = 0;
  Time withheld_until_ = kNever;                           ///< the earliest
  std::vector<std::pair<Speaker, ClockEntry>> announced_;  ///< in the next CLOCKs to them
  Time active_until_ = 0;
  Time clock_at_ = 0;
  ClockBudget clocks_;
  RebindBudget rebinds_;
  LossRate loss_;
  std::uint32_t repeats_ = 0;  ///< that the speakers have told, in all
  SentBefore sent_;
  std::vector<Missing> missing_;         ///< of the entry at hand
  std::vector<std::uint32_t> repaired_;  ///< PSNs, of one entry
  std::vector<Lost> lost_;               ///< and of the report
};

}  // namespace longhaul::relay
