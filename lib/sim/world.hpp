// SPDX-License-Identifier: BSD-3-Clause
// host A - segment 0 - box A - segment 1 (the long haul) - box B - segment 2 - host B, in virtual time. Everything that
// happens is a function of the case.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/box.hpp"
#include "sim/case.hpp"
#include "sim/host.hpp"
#include "sim/judge.hpp"
#include "sim/segment.hpp"
#include "sim/strays.hpp"

namespace longhaul::sim {

/// What was done to frames, and what the boxes did, added up.
struct Totals {
  std::uint64_t frames = 0;
  std::uint64_t lost = 0, burst_lost = 0, outage_lost = 0, queue_dropped = 0;
  std::uint64_t duplicated = 0, reordered = 0, corrupted = 0, scripted = 0, forged = 0;
  std::uint64_t messages = 0, failed_requesters = 0;
  std::uint64_t pseudo_acks = 0, pseudo_naks = 0, resends = 0, absorbed = 0, fatal_naks = 0, flows_failed = 0;
  std::uint64_t unconfirmed = 0, dreqs_held = 0, refused_custody = 0, rejoined = 0, crashes = 0;
  std::uint64_t steps = 0;

  void add(const Totals& other);
  /// Calls visit(name, value) for each.
  void each(const std::function<void(const char*, std::uint64_t)>& visit) const;
};

struct Result {
  std::optional<Violation> violation;
  Totals totals;
  Duration lasted = 0;  ///< virtual
};

/// Hears of each frame: when, where, what.
using Trace = std::function<void(Time since_start, const char* where, const View& frame)>;

class World {
 public:
  World(const Case& c, const engine::Pools& pools, Trace trace = nullptr);
  ~World();

  /// Lets it happen. Call once.
  Result run();

  // For tests that look closer, after run().
  const Requester& requester(unsigned host, unsigned connection = 0) const;
  const Responder& responder(unsigned host, unsigned connection = 0) const;
  /// Of the engine that ran last; zero for one that crashed.
  std::uint64_t count(unsigned box, Counter counter) const;

 private:
  struct Port;
  struct Connection;
  enum class Node : std::uint8_t { host_a, box_a, box_b, host_b };

  engine::Settings box_settings(const BoxPlan& plan) const;
  link::Settings segment_settings(unsigned segment) const;
  wire::PacketBuilder frame_from(unsigned host) const;
  HostAddress address_of(unsigned host) const;
  std::unique_ptr<Work> make_work(unsigned host, unsigned connection, unsigned generation) const;
  void connect(unsigned connection, unsigned generation, Time when);
  void make_strays();
  void plan_timeline();

  Time next_event() const;
  void step();
  void deliver(unsigned segment, link::Way way);
  void at_box(unsigned box, Side side, std::span<rte_mbuf* const> frames);
  void from_box(unsigned box, Side out, rte_mbuf* frame);
  void offer(unsigned segment, link::Way way, rte_mbuf* frame);
  void look_at_connections();
  bool finished(const Connection& connection) const;
  bool quiet() const;
  void start_box(unsigned box);
  void crash_box(unsigned box);
  void check_boxes();
  void check_end();
  void count_engine(unsigned box);
  const BoxPlan& plan_of(unsigned box) const { return box == 0 ? case_.box_a : case_.box_b; }
  const HostPlan& host_plan(unsigned host) const { return host == 0 ? case_.a : case_.b; }
  void tell(const char* where, const rte_mbuf* frame) const;
  std::uint64_t buffers_in_use() const;

  Case case_;
  engine::Pools pools_;
  Trace trace_;
  Time start_;
  Time now_;
  std::uint64_t in_use_before_;
  Judge judge_;
  std::array<std::unique_ptr<Segment>, 3> segments_;
  std::array<std::unique_ptr<Port>, 2> ports_;
  std::array<std::unique_ptr<Host>, 2> hosts_;
  std::array<std::unique_ptr<Box>, 2> boxes_;
  std::array<std::unique_ptr<Strays>, 2> strays_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< the newest generation of each
  std::vector<std::unique_ptr<Connection>> old_;
  struct Appointment {
    Time at;
    std::function<void()> what;
  };
  std::vector<Appointment> timeline_;
  std::array<bool, 2> ran_whole_{true, true};  ///< the engine saw everything from its start to the end
  std::array<Counters, 2> last_counters_{};
  Totals totals_;
};

}  // namespace longhaul::sim
