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
#include "sim/load.hpp"
#include "sim/segment.hpp"
#include "sim/strays.hpp"
#include "sim/totals.hpp"

namespace longhaul::sim {

/// What became of all that one requester posted.
struct Delivery {
  std::string flow;
  unsigned host = 0;      ///< of the requester
  bool began = false;     ///< it has sent something
  bool died = false;      ///< its queue pair went into error
  bool accepted = false;  ///< its responder has accepted all
  Duration took = 0;      ///< from its first packet until then
};

struct Result {
  std::optional<Violation> violation;
  Totals totals;
  Duration lasted = 0;                        ///< virtual
  std::vector<Delivery> deliveries;           ///< of all that posted something
  std::array<std::uint64_t, 2> wan_frames{};  ///< that entered the long link, by link::Way
};

/// Hears of each frame: when, where, what.
using Trace = std::function<void(Time since_start, const char* where, const View& frame)>;

class World {
 public:
  World(const Case& c, const engine::Pools& pools, Trace trace = nullptr);
  ~World();

  /// Lets it happen. Call once. After so many events no end is in sight: the longest of a million took 3.6 million.
  Result run(std::uint64_t max_events = kMaxEvents);
  static constexpr std::uint64_t kMaxEvents = 10000000;

  // For tests that look closer, after run().
  const Requester& requester(unsigned host, unsigned connection = 0) const;
  const Responder& responder(unsigned host, unsigned connection = 0) const;
  /// Of the engine that ran last; zero for one that crashed.
  std::uint64_t count(unsigned box, Counter counter) const;

 private:
  struct Port;
  struct Connection;

  void connect(unsigned connection, unsigned generation, Time when);
  void make_strays();
  std::vector<Target> targets_of(unsigned host) const;
  void plan_timeline();
  void plan_next_hop();
  void tell_next_hop(unsigned times);
  bool next_hop_is_dead(unsigned host) const;
  bool lost_at_next_hop(unsigned host, const rte_mbuf* frame) const;
  rte_mbuf* from_new_next_hop(unsigned host, rte_mbuf* frame) const;

  Time next_event() const;
  void step();
  void deliver(unsigned segment, link::Way way);
  void at_box(unsigned box, Side side, std::span<rte_mbuf* const> frames);
  void from_box(unsigned box, Side out, rte_mbuf* frame);
  void offer(unsigned segment, link::Way way, rte_mbuf* frame);
  bool ended_unconfirmed(std::size_t flow) const;
  void look_at_connections();
  bool finished(const Connection& connection) const;
  void leave(Connection& connection);
  void come_back(unsigned number);
  void appoint_next_life(unsigned number);
  bool quiet() const;
  void start_box(unsigned box);
  void crash_box(unsigned box);
  void bypass_box(unsigned box, Duration look);
  void appoint(Time when, std::function<void()> what);
  void check_boxes();
  void check_end();
  std::vector<Delivery> deliveries() const;
  void count_engine(unsigned box);
  void tell(const char* where, const rte_mbuf* frame) const;
  std::uint64_t buffers_in_use() const;

  Case case_;
  engine::Pools pools_;
  Trace trace_;
  Time start_;
  Time now_;
  Time newest_life_ = 0;  ///< when it began, or will
  std::uint64_t in_use_before_;
  Judge judge_;
  std::array<std::unique_ptr<Segment>, 3> segments_;
  std::array<std::unique_ptr<Port>, 2> ports_;
  std::array<std::unique_ptr<Host>, 2> hosts_;
  std::array<std::unique_ptr<Box>, 2> boxes_;
  std::array<std::unique_ptr<Strays>, 2> strays_;
  std::array<std::unique_ptr<Load>, 2> loads_;
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
