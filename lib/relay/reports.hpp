// SPDX-License-Identifier: BSD-3-Clause
// What the two receiving ends of selective repeat have in common (docs/peer-protocol.md, sections 9.2 and 10.3): when a
// report to a peer is full, and how flows that have something to report take turns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.hpp"

namespace longhaul::relay {

/// What a box has heard of a peer, and when its next full report is due.
struct Heard {
  std::uint64_t clock = 0;  ///< the newest
  Duration round_trip = 0;
  Duration spacing = 0;       ///< spacing_of() the pairs of workers; 0: there is one
  std::uint32_t repeats = 0;  ///< what it sent that had come already
  Time full_at = 0;
  Time said_at = 0;  ///< when the last report went

  void hear(std::uint64_t its_clock) { clock = std::max(clock, its_clock); }
  /// Whether the report that goes now is a full one. A round trip has `full_reports` of them.
  bool begin_report(unsigned full_reports, Time now) {
    if (now < full_at) return false;
    full_at = now + round_trip / full_reports;
    return true;
  }
  /// A report without entries is worth sending.
  bool may_say_nothing(Time now) const {
    return spacing == 0 || now >= said_at + std::max({round_trip / 4, milliseconds(1), spacing});
  }
};

/// Datagrams that answer one clock, at most.
inline constexpr unsigned kMostReports = 8;

/// Flows that have something to report, by number.
class ReportTurns {
 public:
  void add(std::uint32_t flow) { flows_.push_back(flow); }
  const std::vector<std::uint32_t>& flows() const { return flows_; }

  enum class Served : std::uint8_t { leaves, stays, found_no_place };
  /// Calls `serve` for each flow. The next turn begins with the first that found no place in this one.
  template <typename Serve>
  void take(Serve&& serve) {
    std::size_t kept = 0;
    std::optional<std::size_t> first_unserved;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const std::uint32_t flow = flows_[i];
      const Served served = serve(flow);
      if (served == Served::leaves) continue;
      if (served == Served::found_no_place && !first_unserved) first_unserved = kept;
      flows_[kept++] = flow;
    }
    flows_.resize(kept);
    std::rotate(flows_.begin(), flows_.begin() + static_cast<std::ptrdiff_t>(first_unserved.value_or(0)), flows_.end());
  }

 private:
  std::vector<std::uint32_t> flows_;
};

}  // namespace longhaul::relay
