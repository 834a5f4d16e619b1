// SPDX-License-Identifier: BSD-3-Clause
// What happens to what a box receives from its peer, beyond what the long haul does to all frames: it is cut for a
// while, comes late, and comes again long after, altered or not, from somebody without the key.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "sim/case.hpp"
#include "sim/random.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace longhaul::sim {

class ControlPath {
 public:
  /// `pool`: of what comes again.
  ControlPath(const BoxPlan& plan, Random random, rte_mempool* pool);
  ~ControlPath();
  ControlPath(const ControlPath&) = delete;
  ControlPath& operator=(const ControlPath&) = delete;

  /// Whether it does anything.
  bool active() const;
  /// Takes the frame. `since`: time since the box first started.
  void take(rte_mbuf* frame, Duration since, Time now);
  /// Those that arrive by now: the caller's.
  std::vector<rte_mbuf*> arrived(Time now);
  Time next_deadline() const { return under_way_.empty() ? kNever : under_way_.front().at; }
  /// Loses what is under way.
  void clear();
  /// Nothing comes again from here on.
  void stop();

 private:
  struct UnderWay {
    rte_mbuf* frame;
    Time at;
  };
  void send(rte_mbuf* frame, Time at);
  void send_again(Time now);

  Duration cut_at_, cut_until_;
  Duration late_;
  Number replayed_;
  Random random_;
  rte_mempool* pool_;
  std::deque<UnderWay> under_way_;  ///< by time
  std::deque<std::vector<std::uint8_t>> kept_;
};

}  // namespace longhaul::sim
