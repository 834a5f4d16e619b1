// SPDX-License-Identifier: BSD-3-Clause
// Two hosts, two boxes and the links between them, in virtual time. Everything that happens is a function of the case.
#pragma once

#include <algorithm>

#include "sim/applications.hpp"
#include "sim/operators.hpp"
#include "sim/result.hpp"
#include "sim/scene.hpp"
#include "sim/topology.hpp"

namespace longhaul::sim {

class World {
 public:
  /// `imitated`: in place of the case's attack, harmless frames like these (Result::attack_frames of another world).
  World(const Case& c, const engine::Pools& pools, Trace trace = nullptr,
        const std::vector<SentFrame>* imitated = nullptr);

  /// Runs the world. Call once. After `max_events` no end is in sight: the longest of a million took 3.6 million.
  Result run(std::uint64_t max_events = kMaxEvents);
  static constexpr std::uint64_t kMaxEvents = 10000000;

  // For tests that look at details, after run().
  const Requester& requester(unsigned host, unsigned connection = 0) const;
  const Responder& responder(unsigned host, unsigned connection = 0) const;
  /// A counter of the engine that ran last; zero for one that crashed.
  std::uint64_t count(unsigned box, Counter counter) const { return topology_.count(box, counter); }
  const Box& box(unsigned box) const { return topology_.box(box); }

 private:
  void run_to_end(std::uint64_t max_events);
  Time next_event() const { return std::min(topology_.next_deadline(), scene_.timeline.next()); }
  void step();
  void note_attack(Result& result) const;

  Scene scene_;
  std::uint64_t in_use_before_;  ///< buffers
  Topology topology_;
  Applications applications_;
  Operators operators_;
};

}  // namespace longhaul::sim
