// SPDX-License-Identifier: BSD-3-Clause
// host A - segment 0 - box A - segment 1 (the long haul) - box B - segment 2 - host B, and how frames go from one to
// the next.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "link/settings.hpp"
#include "sim/attacker.hpp"
#include "sim/box.hpp"
#include "sim/host.hpp"
#include "sim/load.hpp"
#include "sim/scene.hpp"
#include "sim/segment.hpp"
#include "sim/strays.hpp"

namespace longhaul::sim {

class Topology {
 public:
  explicit Topology(Scene& scene);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  Host& host(unsigned number) { return *hosts_[number]; }
  Box& box(unsigned number) { return *boxes_[number]; }
  const Box& box(unsigned number) const { return *boxes_[number]; }
  /// A host's way onto its segment.
  Outlet& port(unsigned host);
  /// Puts a frame on a segment, which owns it from then on.
  void offer(unsigned segment, link::Way way, rte_mbuf* frame);

  /// Starts the traffic beside the connections. The forgers know these targets, by host.
  void begin_strays(const std::array<std::vector<Target>, 2>& targets);
  /// New targets for the forgers that pretend to be `host`, from `when` on. Does nothing before begin_strays().
  void aim_strays(unsigned host, std::vector<Target> targets, Time when);

  Time next_deadline() const;
  /// Runs what is due now.
  void poll();
  /// Ends the traffic beside the connections. True when no frame is under way or in custody.
  bool come_to_rest();
  bool a_box_stands_still() const;

  /// Adds the counters of a box's engines to the totals, before the engines go.
  void count_engines(unsigned box);
  /// A counter of the engines that were counted last.
  std::uint64_t count(unsigned box, Counter counter) const { return last_counters_[box][counter]; }
  /// What the attacker has sent; nothing without one.
  std::vector<SentFrame> attack_frames() const;
  /// Frames that entered the long link in this direction.
  std::uint64_t wan_frames(link::Way way) const;
  /// The end of the world: adds up the rest, and returns all buffers.
  void dismantle();

 private:
  struct Port;

  void deliver(unsigned segment, link::Way way);
  void own_copies(std::span<rte_mbuf*> frames);
  bool is_misled(unsigned host, const rte_mbuf* frame) const;
  void to_host(unsigned host, std::span<rte_mbuf* const> frames);
  std::span<rte_mbuf*> past_routers(unsigned host, std::span<rte_mbuf*> frames);
  void at_box(unsigned box, Side side, std::span<rte_mbuf* const> frames);
  void from_box(unsigned box, Side out, rte_mbuf* frame);
  void tell(const char* where, const rte_mbuf* frame) const;

  Scene& scene_;
  std::array<std::unique_ptr<Segment>, 3> segments_;
  std::array<std::unique_ptr<Port>, 2> ports_;
  std::array<std::unique_ptr<Host>, 2> hosts_;
  std::array<std::unique_ptr<Box>, 2> boxes_;
  std::array<std::unique_ptr<Strays>, 2> strays_;
  std::array<std::unique_ptr<Load>, 2> loads_;
  std::unique_ptr<Attacker> attacker_;  ///< null: there is none
  std::array<Counters, 2> last_counters_{};
};

}  // namespace longhaul::sim
