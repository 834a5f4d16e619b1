// SPDX-License-Identifier: BSD-3-Clause
// The inside of the engine. engine.cpp: frames and time; learn.cpp: how connections begin; teardown.cpp: how they end;
// follow.cpp: where hosts send; operator_orders.cpp: what an operator asks and changes; restart.cpp: what is written
// down for a later process, and what an earlier one left.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/huge_page_allocator.hpp"
#include "base/side.hpp"
#include "custody/near_part.hpp"
#include "engine/backlog.hpp"
#include "engine/busy_pairs.hpp"
#include "engine/egress.hpp"
#include "engine/engine.hpp"
#include "engine/fair_limit.hpp"
#include "engine/held_dreqs.hpp"
#include "engine/next_hop.hpp"
#include "engine/pacer.hpp"
#include "engine/peering.hpp"
#include "engine/shared.hpp"
#include "engine/timer_wheel.hpp"
#include "flow/cm_tracker.hpp"
#include "flow/connection_table.hpp"
#include "flow/traffic_learner.hpp"
#include "wire/cm.hpp"

namespace longhaul::engine {

custody::NearSettings near_settings(const Settings& settings);

/// What the engine keeps beside a connection's entry in the table. Its one near flow is the requests of the host-side
/// end. The requests of the other end are the other box's near flow.
struct alignas(64) Connection {
  Time last_seen = 0;
  Time scheduled = kNever;       ///< its deadline in the timer wheel, which is in another cache line
  Time close_deadline = kNever;  ///< when a connection with a DREQ but no DREP is taken as closed
  HeldDreqs dreqs;
  std::uint64_t shown = 0;  ///< shown_by() of its newest frame from the host side
  Time shown_at = 0;        ///< when that frame came; 0: none came
  NextHops::PairIndex pair = NextHops::kNone;
  bool from_traffic = false;  ///< not learned from RDMA-CM: its communication IDs are not known
  bool derived_port = false;  ///< its frames had the UDP source port that is derived from both QPNs
  bool touched = false;       ///< is in the list of this burst
  bool in_backlog = false;    ///< is in the list of connections with something to send
  custody::NearFlow near;

  /// How much of it, from the beginning, a frame from that side touches.
  static constexpr std::size_t hot_bytes(Side from) {
    constexpr std::size_t kOwn = 64;
    return kOwn + (from == Side::host ? custody::NearFlow::kRequestBytes : custody::NearFlow::kAnswerBytes);
  }
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // as in near_flow.hpp
static_assert(offsetof(Connection, near) == 64, "the connection's own state is one cache line");
#pragma GCC diagnostic pop
static_assert(Connection::hot_bytes(Side::host) == 6 * 64 && Connection::hot_bytes(Side::wan) == 9 * 64);

/// What tells a next hop from others: the destination's MAC address, and two bytes of the sender's.
inline std::uint64_t shown_by(const std::uint8_t* frame) {
  std::uint64_t head = 0;
  std::memcpy(&head, frame, sizeof(head));
  return head;
}

/// A frame of the burst that is being processed.
struct Arrival {
  rte_mbuf* mbuf;
  wire::Frame frame;  ///< as `status` says; of a usual frame only once it goes the general way
  wire::ParseStatus status;
  flow::ConnectionIndex connection;  ///< or ConnectionTable::kNone
  // For the lane.
  bool usual;  ///< it has the shape, and the lane knows its connection
  wire::UsualFrame shape;
  flow::LaneIndex::Key key;
  std::uint32_t place;  ///< of the key in the index
};

struct Engine::Impl final : custody::Outlet,
                            relay::FarOutlet,
                            relay::RepairsOutlet,
                            relay::OrderOutlet,
                            relay::CopiesOutlet {
  Impl(const Settings& settings, const Pools& pools, Sink& sink, custody::Observer* observer);
  ~Impl() override;

  // engine.cpp
  void begin_call(Time time);
  void receive(Side side, std::span<rte_mbuf* const> frames, Time time);
  void poll(Time time, Time read_until);
  void paused(Duration lasted, Time time);
  Time next_deadline() const;
  std::uint64_t waiting_frames() const;

  [[gnu::always_inline]] inline void burst(Side side, std::span<rte_mbuf* const> frames);
  void pass_by(Side side, std::span<rte_mbuf* const> frames);
  [[gnu::always_inline]] inline bool take_apart(Side side, std::span<rte_mbuf* const> frames);
  [[gnu::always_inline]] static void take_apart(Arrival& arrival) {
    const rte_mbuf* mbuf = arrival.mbuf;
    arrival.status = wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, arrival.frame);
  }
  void look_up(Side side, std::size_t count);
  void prefetch_connection(Side side, const Arrival& arrival) const;
  void prefetch_contents(Side side, const Arrival& arrival) const;
  void frame(Side side, const Arrival& arrival);
  [[gnu::noinline]] void other_frame(Side side, rte_mbuf* mbuf);
  [[gnu::cold, gnu::noinline]] bool is_own(Side side, rte_mbuf* mbuf);
  /// Forwards frames of which none is RoCE, or all are to pass unexamined, but for the box's own.
  [[gnu::always_inline]] void forward_others(Side side, std::span<rte_mbuf* const> frames) {
    if (own_taker == nullptr) [[likely]]
      out(other(side)).forward(frames);
    else
      forward_but_own(side, frames);
  }
  [[gnu::cold, gnu::noinline]] void forward_but_own(Side side, std::span<rte_mbuf* const> frames);
  [[gnu::always_inline]] inline custody::Verdict roce(Side side, const Arrival& arrival);
  [[gnu::always_inline]] inline custody::Verdict rc(Side side, const Arrival& arrival);
  flow::ConnectionIndex connection_of(Side side, const Arrival& arrival) const;
  [[gnu::cold, gnu::noinline]] flow::ConnectionIndex connection_now(Side side, const wire::Frame& frame) const;
  [[gnu::cold, gnu::noinline]] void implausible(Side side, const wire::Frame& frame, flow::ConnectionIndex index);
  [[gnu::cold, gnu::noinline]] void show_request(const custody::NearFlow& flow, const wire::Frame& frame);
  [[gnu::cold, gnu::noinline]] void show_answer(const wire::Frame& frame);
  bool intact(const wire::Frame& frame);
  /// `checksums`: whether those of the headers are good, asked only if the ICRC is.
  template <typename Checksums>
  [[gnu::always_inline]] bool count_intact(bool icrc, Checksums&& checksums) {
    if (!icrc) [[unlikely]] {
      ++counters[Counter::icrc_bad];
      return false;
    }
    if (!checksums()) [[unlikely]] {
      ++counters[Counter::header_checksum_bad];
      return false;
    }
    return true;
  }
  /// The frame comes by the next hop that its connection has shown last, and nothing newer was heard.
  [[gnu::always_inline]] bool is_newest_shown(const Connection& connection, const std::uint8_t* frame) const {
    return connection.shown == shown_by(frame) && connection.shown_at >= next_hops.heard_at();
  }

  // lane.hpp
  [[gnu::always_inline]] bool begin_lane(Side side);
  [[gnu::always_inline]] void end_lane(Side side, std::size_t frames, std::uint64_t taken);
  [[gnu::always_inline]] void note_place(Side side, Arrival& arrival);
  [[gnu::always_inline]] void find_places(std::size_t count);
  [[gnu::always_inline]] bool lane(Side side, const Arrival& arrival);
  [[gnu::always_inline]] bool intact(const wire::UsualFrame& frame);
  [[gnu::always_inline]] bool lane_request(Connection& connection, const Arrival& arrival);
  [[gnu::always_inline]] bool lane_answer(Connection& connection, const Arrival& arrival);

  // engine.cpp
  [[gnu::cold, gnu::noinline]] void take_sample(Side side, std::size_t frames);
  [[gnu::cold, gnu::noinline]] void note_busy(std::uint64_t ticks);
  Asked asked() const;
  void end_of_burst();
  bool follows_link() const { return settings.wan_rate_bps == 0 && settings.estimate_wan_rate; }
  void configure_pace();
  [[gnu::cold, gnu::noinline]] void follow_link();
  void service_backlog();
  bool give_turn(Backlog& of);
  void run_timers(Time due);
  [[gnu::always_inline]] void touch(flow::ConnectionIndex index);
  [[gnu::cold, gnu::noinline]] void lengthen_touched();
  void schedule(flow::ConnectionIndex index);
  void set_timer(flow::ConnectionIndex index, Time deadline);
  void forward(Side out, rte_mbuf* mbuf);

  // follow.cpp
  [[gnu::cold, gnu::noinline]] void note_next_hop(Connection& connection, const wire::Frame& frame);
  void note_next_hop(NextHops::PairIndex pair, const wire::Frame& frame);
  void note_next_hop(const wire::Frame& frame);
  [[gnu::cold, gnu::noinline]] void hear_neighbours(std::size_t count);
  void tell_of(const wire::Neighbour& said);
  [[gnu::cold, gnu::noinline]] void read_news();

  // learn.cpp
  custody::Verdict cm(Side side, const wire::Frame& frame, rte_mbuf* mbuf);
  std::optional<flow::ConnectionIndex> admit(const flow::ConnectionInfo& info, bool from_traffic);
  /// `proven`: the REQ was not forged, and none of the connection's packets can have passed yet. `wants_word`: the
  /// active end's word is still to come, by established().
  void learn(const flow::ConnectionInfo& info, bool proven, bool wants_word);
  void replied(const flow::CmOutcome& outcome, std::uint32_t host_comm_id);
  void established(const flow::CmOutcome& outcome);
  void exchange_repeated(flow::ConnectionIndex index);
  void learn_from_traffic(Side side, const wire::Frame& frame, bool unknown);
  bool knows(const flow::ConnectionInfo& info, std::uint32_t psn) const;
  bool elsewhere_seen(const flow::ConnectionInfo& info, std::uint32_t psn,
                      std::optional<Time> since = std::nullopt) const;
  bool contested_elsewhere(const UnknownRequests::Hosts& hosts, std::uint32_t psn,
                           std::optional<Time> since = std::nullopt) const;
  [[gnu::noinline]] bool fits_presumed(const UnknownRequests::Hosts& hosts, const wire::Frame& answer);
  std::optional<bool> judged_by_port(const custody::NearFlow& flow, std::uint32_t psn,
                                     std::optional<Time> since = std::nullopt) const;
  static custody::FlowIdentity identity_of(const flow::ConnectionInfo& info);
  [[nodiscard]] bool make_room(const flow::ConnectionInfo& info);

  // teardown.cpp
  custody::Verdict disconnect_requested(Side side, flow::ConnectionIndex index, const wire::CmMessage& message,
                                        rte_mbuf* mbuf);
  bool hold_dreq(Connection& connection, std::uint32_t sender, const rte_mbuf* mbuf);
  void release_dreqs(flow::ConnectionIndex index, Time due);
  void void_dreqs(flow::ConnectionIndex index);
  std::optional<flow::ConnectionIndex> disconnecting(Side side, const wire::Frame& frame,
                                                     const wire::CmMessage& message) const;
  void close_silent(flow::ConnectionIndex index);
  void close(flow::ConnectionIndex index);
  void close_when_told(Connection& connection) const;

  // restart.cpp
  void use_record(std::span<custody::RecordSlot> slots, Time time);
  void restore(flow::ConnectionIndex index);
  void damaged(flow::ConnectionIndex index);
  void record_connection(flow::ConnectionIndex index);

  // operator_orders.cpp
  void set_bypass(bool on, Time time);
  void set_draining(bool draining);
  void fail(flow::ConnectionIndex index, std::string_view why);
  void forget(flow::ConnectionIndex index, std::string_view why);
  void reconfigure(const Settings& changed);
  std::optional<flow::EceExchange> ece_of(flow::ConnectionIndex index) const;
  bool apply_policy(flow::ConnectionIndex index);
  ConnectionState describe(flow::ConnectionIndex index, Time time) const;

  // peering.cpp
  void join(PeerLink& link, unsigned workers);
  [[gnu::noinline]] bool far_request(const Arrival& arrival);
  [[gnu::noinline]] bool far_answer(const Arrival& arrival);
  [[gnu::cold, gnu::noinline]] custody::Verdict before_peer(custody::NearFlow& flow, rte_mbuf* mbuf,
                                                            custody::Verdict verdict);
  [[gnu::cold]] void end_pairing(flow::ConnectionIndex index);
  [[gnu::cold]] void drop_held(Time time);
  void peer_said(Speaker peer, relay::To to, relay::Type type, relay::Bytes body, Time time);
  void peer_up(PeerNumber peer, Duration round_trip, unsigned workers);
  void peer_gone(PeerNumber peer, Time time);
  [[gnu::noinline]] Time peering_deadline() const;
  // relay::FarOutlet, and what others of the outlets need too
  bool host_takes() override { return !egress[Side::host].has_refused(); }
  void hand_on(rte_mbuf* mbuf) override;
  void send_to_host(rte_mbuf* mbuf) override;
  void hand_on_to_wan(rte_mbuf* mbuf) override;
  bool hold(const rte_mbuf* mbuf) override;
  void let_go(const rte_mbuf* mbuf) override;
  // relay::RepairsOutlet
  custody::NearFlow* flow_of(std::uint32_t handle) override;
  std::uint32_t flows() const override { return static_cast<std::uint32_t>(connections.size()); }
  flow::KeyIndex::Key key_of(const custody::NearFlow& flow) const override;
  void send(Speaker to, relay::Type type, relay::Bytes body) override;
  std::uint64_t packets_sent() const override { return held_frames; }
  // relay::OrderOutlet
  std::uint32_t repeated_responses(Speaker peer) const override;
  // relay::CopiesOutlet
  bool wan_takes() override { return !wan_full && !egress[Side::wan].has_refused(); }
  void send_to_wan(rte_mbuf* mbuf) override;
  rte_mbuf* made_frame(std::uint16_t bytes) override;

  // custody::Outlet
  bool may_be_anothers(const custody::NearFlow& flow, std::uint32_t psn) override;
  bool may_have_moved(const custody::NearFlow& flow, std::uint32_t psn, Time since) override;
  bool may_listen_elsewhere(const custody::NearFlow& flow, std::uint32_t psn, Time since) override;
  void uncontested(const custody::NearFlow& flow) override;
  void began_again(const custody::NearFlow& flow) override;
  void rejoins(const custody::NearFlow& flow, const wire::Frame& frame) override { show_request(flow, frame); }
  bool may_send(const custody::NearFlow& flow) override {
    return is_unconfirmed(flow) ? may_send_unconfirmed() : may_send();
  }
  bool must_wait(const custody::NearFlow& flow) override { return others_wait(connections[flow.connection].pair); }
  std::int64_t turn_bytes() const override { return serves == nullptr ? Backlog::kTurnBytes : serves->turn_bytes(); }
  void passes_unconfirmed() override;
  bool takes() override { return !wan_full; }
  void send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) override;
  void pass(const custody::NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, bool contested) override;
  void pass_answer(rte_mbuf* mbuf) override { forward(Side::host, mbuf); }
  bool may_be_copy(const custody::NearFlow& flow, std::uint32_t psn) const override {
    return peering != nullptr && peering->order.may_be_copy(flow, psn);
  }
  void response_waits(const custody::NearFlow& flow, std::uint32_t psn) override {
    if (peering != nullptr) peering->order.waits(flow, psn, now);
  }
  void response_dropped(const custody::NearFlow& flow, std::uint32_t psn) override {
    if (peering != nullptr) peering->order.dropped(flow, psn, now);
  }
  void goes_back(custody::NearFlow& flow) override {
    if (peering != nullptr) peering->repairs.goes_back(flow, now);
  }
  void answers_go_on(const custody::NearFlow& flow) override {
    if (peering != nullptr) peering->order.goes_on(flow);
  }
  [[gnu::cold]] bool make_custody_room(const custody::NearFlow& flow) override;
  void settle() override { out(Side::wan).flush(); }
  void send_to_requester(custody::NearFlow& flow, rte_mbuf* frame, Time cause) override {
    out(Side::host).send_made(flow, frame, cause);
  }
  std::uint64_t fair_backlog() const override;
  double excess() const override;
  Duration cnps_apart() const override;
  std::uint64_t waiting_flows() const override { return backlog.size() + unconfirmed_backlog.size(); }
  Time heard_at(const custody::NearFlow& flow) const override { return connections[flow.connection].shown_at; }
  void wait_to_send(custody::NearFlow& flow) override;
  void newest_addresses(const custody::NearFlow& flow, wire::EthernetAddresses& addresses) override;

  // Events of Egress
  void held_sent(custody::NearFlow& flow, rte_mbuf* held);
  void held_refused(custody::NearFlow& flow, rte_mbuf* held);
  void forwarded(Side out, std::uint64_t frames);
  void made_sent(Time cause);
  void dropped(Side out, bool made);

  static bool is_unconfirmed(const custody::NearFlow& flow) { return flow.phase == custody::Phase::unconfirmed; }
  bool may_send() const { return !wan_full && pacer.may_send(); }
  bool may_send_unconfirmed() const { return !wan_full && (now < overtaken_until || pacer.may_send_unconfirmed()); }
  /// Connections of another pair of hosts wait to send.
  bool others_wait(std::uint32_t pair) const {
    return backlog.others_wait(pair) || unconfirmed_backlog.others_wait(pair);
  }
  void charge_held(std::uint64_t bytes) {
    pacer.charge_held(bytes);
    ++held_frames;
    held_bytes += bytes;
  }

  Egress<Impl>& out(Side side) { return egress[side]; }

  Settings settings;
  Counters counters;
  custody::Observer* observer;
  BySide<Egress<Impl>> egress;
  Pacer pacer;
  custody::NearPart near;
  flow::ConnectionTable table;
  flow::CmTracker tracker;
  flow::TrafficLearner learner;
  NextHops next_hops;
  FairLimit held_dreqs;
  rte_mempool* dreq_pool;                                                     ///< for their copies
  std::function<bool(const flow::ConnectionInfo& info, Time now)> may_learn;  ///< from traffic; empty: always
  OwnFrames* own_taker = nullptr;                                             ///< null: the box has no address
  std::unique_ptr<Peering> peering;                                           ///< null: the box works alone
  Shared* shared = nullptr;                       ///< with the engines of other workers; null: there are none
  UnknownRequests* contested_requests = nullptr;  ///< this engine's own among the shared ones
  const wire::Frame* answering = nullptr;         ///< the answer that a near flow looks at now
  UnknownRequests presumed_here;
  UnknownRequests* presumed_requests = &presumed_here;  ///< or the shared one
  std::uint64_t news_read = 0;                          ///< number of shared->next_hops' items already read
  std::vector<Connection, HugePageAllocator<Connection>> connections;
  std::span<custody::RecordSlot> record;  ///< one for each of `connections`, or none at all
  TimerWheel timers;
  /// The connections that this call has touched: the first `touched_count`.
  std::vector<flow::ConnectionIndex> touched;
  std::size_t touched_count = 0;
  Backlog backlog;
  Backlog unconfirmed_backlog;  ///< of flows that no answer has confirmed: they have a pace of their own
  BusyPairs busy_pairs;
  /// Of a frame of the last burst of this call, for busy_pairs.
  struct {
    bool wanted = false;
    bool taken = false;
    bool asks = false;  ///< it is a request that asks for an ACK
    flow::KeyIndex::Key hosts;
    flow::ConnectionIndex connection = 0;
    std::size_t frames = 0;  ///< in the burst
  } sample;
  metrics::Histogram pseudo_ack_delay;
  Time now = 0;
  bool bypass = false;            ///< all frames pass unexamined
  Time looks_since = 0;           ///< when the last bypass ended
  bool wan_full = false;          ///< the WAN port refused a frame during this call
  std::uint64_t held_frames = 0;  ///< of custody, handed to the WAN port
  std::uint64_t held_bytes = 0;   ///< of these frames
  Time overtaken_until = 0;       ///< unconfirmed flows do not wait for the pace before
  Backlog* serves = nullptr;      ///< whose turn it is
  /// Made frames that the host port accepted, not recorded yet; those of one burst have the same cause.
  struct Accepted {
    Time cause;
    std::uint64_t frames;
  };
  std::vector<Accepted> accepted;
  static constexpr std::size_t kBurst = 32;
  bool tries_lane = false;            ///< in this burst
  BySide<std::uint8_t> lane_rests{};  ///< bursts that the lane is not tried for
  std::array<Arrival, kBurst> arrivals;
  std::uint64_t looked_up_at = 0;          ///< table.changes() when the connections of `arrivals` were looked up
  flow::ConnectionIndex clock_hand = 0;    ///< where the search for an idle connection goes on
  flow::ConnectionIndex custody_hand = 0;  ///< and that for custody of which nothing was acknowledged
  Time no_such_custody_until = 0;          ///< it has just been looked for in vain
};

inline void Engine::Impl::touch(flow::ConnectionIndex index) {
  Connection& connection = connections[index];
  if (connection.touched) return;
  connection.touched = true;
  if (touched_count == touched.size()) [[unlikely]]
    lengthen_touched();
  touched[touched_count++] = index;
}

}  // namespace longhaul::engine
