// SPDX-License-Identifier: BSD-3-Clause
// The PSNs of READ responses that went to the requester before one that was missing: a few runs, exactly. What finds no
// place is not remembered, and counts as missing.
#pragma once

#include <array>
#include <cstdint>

#include "wire/psn.hpp"

namespace longhaul::custody {

class AheadRuns {
 public:
  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  void add(std::uint32_t psn) {
    for (unsigned i = 0; i < count_; ++i) {
      Run& run = runs_[i];
      if (!wire::psn_lt(psn, run.begin) && wire::psn_lt(psn, run.end)) return;
      const bool before = wire::psn_add(psn, 1) == run.begin;
      if (!before && psn != run.end) continue;
      (before ? run.begin : run.end) = before ? psn : wire::psn_add(psn, 1);
      join(i);
      return;
    }
    if (count_ < kMost) runs_[count_++] = {psn, wire::psn_add(psn, 1)};
  }

  void forget_before(std::uint32_t psn) {
    for (unsigned i = count_; i-- > 0;)
      if (wire::psn_le(runs_[i].end, psn)) runs_[i] = runs_[--count_];
  }

  /// First PSN from `psn` on that is missing.
  std::uint32_t missing_from(std::uint32_t psn) const {
    for (unsigned i = 0; i < count_; ++i)
      if (!wire::psn_lt(psn, runs_[i].begin) && wire::psn_lt(psn, runs_[i].end)) return runs_[i].end;
    return psn;
  }

 private:
  static constexpr unsigned kMost = 6;

  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  // Run `grown` may touch another one now.
  void join(unsigned grown) {
    for (unsigned i = 0; i < count_; ++i) {
      if (i == grown || (runs_[i].begin != runs_[grown].end && runs_[i].end != runs_[grown].begin)) continue;
      if (runs_[i].begin == runs_[grown].end)
        runs_[grown].end = runs_[i].end;
      else
        runs_[grown].begin = runs_[i].begin;
      runs_[i] = runs_[--count_];
      return;
    }
  }

  std::array<Run, kMost> runs_{};
  unsigned count_ = 0;
};

}  // namespace longhaul::custody
