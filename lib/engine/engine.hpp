// SPDX-License-Identifier: BSD-3-Clause
// One engine is one worker's whole box: frames in from two sides, frames out to two sides, time as an
// argument. It knows no port type, reads no clock and blocks nowhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/side.hpp"
#include "base/time.hpp"
#include "custody/observer.hpp"
#include "custody/restart_record.hpp"
#include "engine/busy_pairs.hpp"
#include "engine/connection_state.hpp"
#include "engine/link_state.hpp"
#include "engine/own_frames.hpp"
#include "engine/peer_link.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"
#include "engine/shared.hpp"
#include "flow/connection.hpp"
#include "metrics/counter_set.hpp"
#include "metrics/histogram.hpp"

struct rte_mbuf;

namespace longhaul::engine {

/// Where an engine's frames go. transmit() takes ownership of the first N frames it accepts and returns N
/// (as rte_eth_tx_burst does); the rest stay the engine's.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) = 0;
};

class Engine {
 public:
  /// `sink` and `observer` (may be null) must outlive the engine. Throws when tables cannot be allocated.
  Engine(const Settings& settings, const Pools& pools, Sink& sink, custody::Observer* observer = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Writes down in `record` what the process owes, for a later process (design section 6). `record` has at least
  /// max_connections slots and must outlive the engine. Flows that an earlier process left owing begin as failed, are
  /// counted (flows_failed_by_restart) and reported to the observer. Call at most once, before the first receive().
  /// Throws std::invalid_argument when there are too few slots.
  void use_record(std::span<custody::RecordSlot> record, Time now);

  /// Shares with the engines of the box's other workers what each of them sees. `shared` must outlive the engine. Call
  /// at most once, before the first receive().
  void share(Shared& shared);
  /// Asks `may_learn` before a connection is learned from its traffic. For an engine that may not see all frames
  /// between two hosts.
  void ask_before_learning(std::function<bool(const flow::ConnectionInfo& info, Time now)> may_learn);

  /// Frames for the box itself go to `own`, which must outlive the engine. Call at most once, before the first
  /// receive().
  void set_own_frames(OwnFrames& own);

  /// Flows are repaired together with peers (docs/peer-protocol.md, section 9). `link` must outlive the engine.
  /// `workers`: of this box, each of which has an engine. Call at most once, before the first receive().
  void join(PeerLink& link, unsigned workers = 1);
  /// The peer is there, and has this number of `workers`. Call again when its `round_trip` (0: not known) is another
  /// one.
  void peer_up(PeerNumber peer, Duration round_trip, unsigned workers = 1);
  /// It is not there, or remembers nothing of what was said before.
  void peer_gone(PeerNumber peer, Time now);
  /// A worker of a peer that is there has said this. BIND: this engine gets the flow's packets. Not within receive() or
  /// poll().
  void peer_said(Speaker peer, relay::To to, relay::Type type, relay::Bytes body, Time now);

  /// Frames that came in on `side`, in order; the engine owns them from here on. Everything they cause
  /// (forwarding, pseudo-ACKs) has been handed to the sink when this returns, or waits for poll().
  void receive(Side side, std::span<rte_mbuf* const> frames, Time now);

  /// Runs timers, and sends paced frames and frames that a port refused. Call at least when next_deadline() has come.
  /// `read_until`: all that came before this time has been received; later frames may still wait in the rings. Timers
  /// with later deadlines wait, for kTimerPatience at most: the answers they wait for may be in the rings.
  void poll(Time now, Time read_until);
  void poll(Time now) { poll(now, now); }
  static constexpr Duration kTimerPatience = milliseconds(100);

  /// The process stood still for `lasted`, and times go on as if it had not (LoopTime takes care of that). The pause is
  /// counted, and what was sent before `now` gives no sample of the round trip.
  void paused(Duration lasted, Time now);

  /// When poll() next has something to do; kNever when nothing waits for a time.
  Time next_deadline() const;

  /// Stops (true) or allows (false) new custody and pseudo-ACKs; all else goes on.
  void set_draining(bool draining);
  bool draining() const;

  // What an operator asks and changes while it runs (operator_orders.cpp). Connections are numbered from 0 to
  // connection_slots() - 1. Calls go through them in portions, so that frames need not wait.

  /// With bypass all frames pass unexamined, and nothing is learned. Answers pass unseen too, so the caller ends
  /// custody: by a drain before, or by forget(). When bypass ends, all connections that are left are forgotten, because
  /// their traffic went on unseen.
  void set_bypass(bool bypass, Time now);
  bool bypass() const;
  std::uint32_t connection_slots() const;
  /// Connections with acknowledged data that is not delivered fail, for the reason `why`, and stay: the requester's
  /// next request is answered by the fatal NAK. Other connections are left alone.
  void fail(std::uint32_t first, std::uint32_t count, std::string_view why, Time now);
  /// Closes the connections from `first` on, `count` slots of them. One with acknowledged data that is not delivered
  /// fails first, for the reason `why`.
  void forget(std::uint32_t first, std::uint32_t count, std::string_view why, Time now);
  /// Takes over what may change while it runs: policies, confirm, wan_rate_bps, wan_overhead, estimate_wan_rate,
  /// learn_from_traffic, give_up (for new connections), confirm_again, dreq_hold, cnp, reorder_wait, ack_unasked and
  /// the rto_*. The rest of `changed` is ignored. Known connections keep their policy until apply_policies().
  void reconfigure(const Settings& changed);
  /// Gives known connections their new policy: for custody from now on; what is in custody goes on as before. Returns
  /// how many connections have another policy now.
  std::uint32_t apply_policies(std::uint32_t first, std::uint32_t count);
  /// Appends the state of the connections in `count` slots from `first` on.
  void describe(std::uint32_t first, std::uint32_t count, Time now, std::vector<ConnectionState>& out) const;

  /// The pairs of hosts on which time was spent since the last call.
  std::vector<BusyPair> take_busy_pairs();

  /// Whether a known connection has `info`'s key for frames from `from` (flow::ConnectionTable::holder()).
  bool knows(const flow::ConnectionInfo& info, Side from) const;

  std::uint64_t custody_packets() const;
  std::uint64_t custody_bytes() const;
  /// Frame bytes of requests from the WAN that wait behind a gap.
  std::uint64_t far_bytes() const;
  /// What is believed of the long link, and the pace of custody.
  LinkState link_state() const;
  /// Frame bytes acknowledged to requesters and not answered by responders yet. Walks custody: not for the hot path.
  std::uint64_t unconfirmed_bytes() const;
  /// Frames taken in that neither went out nor were dropped: in custody's unsent part, held DREQs, refused by a port.
  std::uint64_t waiting_frames() const;

  const Counters& counters() const;

  /// The first internal rule that is broken, in words; empty when none is. Walks everything: for tests and fuzzers,
  /// between calls.
  std::string_view inconsistency() const;

  /// The host port has accepted pseudo-ACKs since the last acks_accepted(). (Pseudo-ACKs withheld by design, behind a
  /// READ, a limit or before confirmation, are not in the histogram.)
  bool has_accepted_acks() const;
  /// Records their delay; `now` is a time read after the call that sent them. Call after receive() and poll().
  void acks_accepted(Time now);
  /// Nanoseconds from the return of the receive burst to the port's acceptance of the pseudo-ACK.
  const metrics::Histogram& pseudo_ack_delay() const;
  /// Nanoseconds from a request's first transmission to its answer (Karn's rule observed).
  const metrics::Histogram& wan_rtt() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::engine
