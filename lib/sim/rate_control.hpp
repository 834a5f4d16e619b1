// SPDX-License-Identifier: BSD-3-Clause
// Congestion control of a NIC's requester: how fast one queue pair may send.
//
// DCQCN is the reaction point of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015,
// section 3): a CNP cuts the rate, then time and bytes raise it again in three stages. What NICs do by their vendors'
// defaults differs in numbers only (the table in rate_control.cpp).
//
// Control by round trips stands for NVIDIA's ZTR_RTTCC, which is not published: it slows down where a round trip takes
// longer than the shortest one.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace longhaul::sim {

enum class Congestion : std::uint64_t {
  none,
  dcqcn,         ///< with the paper's parameters
  dcqcn_vendor,  ///< with NVIDIA's defaults
  round_trip
};

/// Numbers of a DCQCN reaction point.
struct DcqcnNumbers {
  double g;                  ///< weight of a CNP in alpha
  Duration alpha_period;     ///< alpha is updated once in this time
  Duration rate_period;      ///< the rate is increased once in this time,
  std::uint64_t rate_bytes;  ///< and once for this many bytes sent
  unsigned stages;           ///< increases of fast recovery
  double additive_mbps;      ///< an additive increase of the target
  double hyper_mbps;         ///< and a hyper increase
  double least_factor;       ///< one decrease leaves at least this part of the rate
  Duration decrease_period;  ///< CNPs that come sooner after a decrease do not decrease
  double least_mbps;
};
const DcqcnNumbers& dcqcn_numbers(Congestion control);

struct RatePlan {
  Congestion control = Congestion::none;
  std::uint64_t line_mbps = 0;  ///< of the port; 0: there is nothing to control
};

class RateControl {
 public:
  explicit RateControl(const RatePlan& plan)
      : plan_(plan), rate_(static_cast<double>(plan.line_mbps)), target_(rate_) {}

  /// No packet may leave before.
  Time free_at() const { return free_at_; }
  void on_sent(std::uint64_t bytes, Time now);
  void on_cnp(Time now);
  void on_round_trip(Duration took, Time now);
  /// Without a line rate it is 0.
  double rate_mbps() const { return rate_; }
  std::uint64_t cnps() const { return cnps_; }

 private:
  bool is_dcqcn() const { return plan_.control == Congestion::dcqcn || plan_.control == Congestion::dcqcn_vendor; }
  bool limits() const { return plan_.line_mbps != 0 && plan_.control != Congestion::none; }
  void advance(Time now);
  void increase();

  RatePlan plan_;
  double rate_;
  double target_;
  Time free_at_ = 0;
  std::uint64_t cnps_ = 0;
  // DCQCN, since the last CNP
  double alpha_ = 1;
  Time alpha_at_ = kNever;  ///< next update; kNever: no CNP has come yet
  Time rate_at_ = kNever;
  Time decreased_at_ = 0;
  std::uint64_t bytes_ = 0;
  unsigned by_time_ = 0;  ///< increases
  unsigned by_bytes_ = 0;
  // by round trips
  Duration shortest_ = kNever;
  Time slowed_at_ = 0;
};

}  // namespace longhaul::sim
