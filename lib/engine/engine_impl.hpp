// SPDX-License-Identifier: BSD-3-Clause
// The engine's inside. engine.cpp: frames and time; learn.cpp: how connections begin; teardown.cpp: how they end;
// restart.cpp: what is written down for a later process, and what an earlier one left.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "custody/near_part.hpp"
#include "engine/egress.hpp"
#include "engine/engine.hpp"
#include "engine/held_dreqs.hpp"
#include "engine/pacer.hpp"
#include "engine/timer_heap.hpp"
#include "flow/cm_tracker.hpp"
#include "flow/connection_table.hpp"
#include "flow/traffic_learner.hpp"
#include "wire/cm.hpp"

namespace longhaul::engine {

/// What the engine keeps beside a connection's entry in the table. Its one near flow is the requests of its
/// host-side end; the other end's requests are the other box's near flow.
struct Connection {
  custody::NearFlow near;
  HeldDreqs dreqs;
  Time close_deadline = kNever;  ///< when a connection with a DREQ but no DREP is taken as closed
  Time last_seen = 0;
  bool from_traffic = false;  ///< not by RDMA-CM: its communication IDs are not known
  bool touched = false;       ///< stands in the list of this burst
};

struct Engine::Impl final : custody::Outlet, EgressEvents {
  Impl(const Settings& settings, const Pools& pools, Sink& sink, custody::Observer* observer);
  ~Impl() override;

  // engine.cpp
  void receive(Side side, std::span<rte_mbuf* const> frames, Time time);
  void poll(Time time, bool answers_waiting);
  Time next_deadline() const;
  std::uint64_t waiting_frames() const;

  void frame(Side side, rte_mbuf* mbuf);
  custody::Verdict roce(Side side, const wire::Frame& frame, rte_mbuf* mbuf);
  custody::Verdict rc(Side side, const wire::Frame& frame, rte_mbuf* mbuf);
  bool intact(const wire::Frame& frame);
  void end_of_burst();
  void service_backlog();
  void run_timers(Time due);
  void touch(flow::ConnectionIndex index);
  void schedule(flow::ConnectionIndex index);
  void forward(Side out, rte_mbuf* mbuf);
  flow::ConnectionIndex index_of(const custody::NearFlow& flow) const;

  // learn.cpp
  custody::Verdict cm(Side side, const wire::Frame& frame, rte_mbuf* mbuf);
  std::optional<flow::ConnectionIndex> admit(const flow::ConnectionInfo& info, bool from_traffic);
  void learn(const flow::ConnectionInfo& info);
  void learn_from_traffic(Side side, const wire::Frame& frame);
  static custody::FlowIdentity identity_of(const flow::ConnectionInfo& info);
  void make_room();

  // teardown.cpp
  custody::Verdict disconnect_requested(Side side, flow::ConnectionIndex index, const wire::CmMessage& message,
                                        rte_mbuf* mbuf);
  void release_dreqs(flow::ConnectionIndex index, Time due);
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

  // custody::Outlet
  bool may_send() override { return !wan_full && pacer.may_send(now); }
  void send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) override;
  void settle() override { out(Side::wan).flush(); }
  void send_to_requester(custody::NearFlow& flow, rte_mbuf* frame, Time cause) override {
    egress[0].send_made(flow, frame, cause);
  }
  void wait_to_send(custody::NearFlow& flow) override;

  // EgressEvents
  void held_sent(custody::NearFlow& flow, rte_mbuf* held) override;
  void held_refused(custody::NearFlow& flow, rte_mbuf* held) override;
  void forwarded(Side out) override;
  void made_sent(Time cause) override;
  void dropped(Side out, bool made) override;

  Egress& out(Side side) { return egress[static_cast<int>(side)]; }

  const Settings settings;
  Counters counters;
  custody::Observer* observer;
  Egress egress[2];
  Pacer pacer;
  custody::NearPart near;
  flow::ConnectionTable table;
  flow::CmTracker tracker;
  flow::TrafficLearner learner;
  std::vector<Connection> connections;
  std::span<custody::RecordSlot> record;  ///< one for each of `connections`, or none at all
  TimerHeap timers;
  std::vector<flow::ConnectionIndex> touched;
  std::deque<flow::ConnectionIndex> backlog;
  metrics::Histogram pseudo_ack_delay;
  Time now = 0;
  bool wan_full = false;                 ///< the WAN port refused a frame during this call
  std::vector<Time> accepted;            ///< causes of the made frames that the host port accepted, not recorded yet
  flow::ConnectionIndex clock_hand = 0;  ///< where the search for an idle connection goes on
};

}  // namespace longhaul::engine
