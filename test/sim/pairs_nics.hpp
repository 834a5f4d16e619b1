// SPDX-License-Identifier: BSD-3-Clause
// `pairs`: what boxes do to the times of connections, by the NIC family of their requesters.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/pair.hpp"

namespace longhaul::test {

class NicTimes {
 public:
  /// `worse`: the world is worse with boxes.
  void add(const sim::Case& c, const sim::Pair& pair, bool worse);
  void add(const NicTimes& others);

  std::uint64_t worse_worlds() const { return worse_worlds_; }
  /// A row for each family: how its connections' times with boxes are distributed, relative to those without.
  void print() const;

  void write(int pipe) const;
  static NicTimes read(int pipe);

 private:
  struct Row {
    std::vector<double> ratios;  ///< of connections that were delivered both ways
    std::uint64_t worlds = 0;    ///< in which the family's NICs post something
    std::uint64_t worse = 0;     ///< of these
    std::uint64_t lost = 0;      ///< connections that died or were not delivered with boxes only
    std::uint64_t saved = 0;     ///< and without boxes only
  };
  Row& row_of(const sim::HostPlan& host);

  std::uint64_t worse_worlds_ = 0;
  std::vector<Row> rows_;  ///< by HostPlan::nic; the first one is of hosts without a family
};

}  // namespace longhaul::test
