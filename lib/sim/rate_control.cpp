// SPDX-License-Identifier: BSD-3-Clause
#include "sim/rate_control.hpp"

#include <algorithm>

namespace longhaul::sim {

namespace {

// The paper, sections 3.1 and 5.2: g 1/256, K and T 55 us, B 10 MB, F 5, R_AI 40 Mbit/s. It names hyper increase and no
// step for it: QCN's (IEEE 802.1Qau: 50 Mbit/s). It bounds no decrease, and says nothing of the least rate.
constexpr DcqcnNumbers kPaper = {
    .g = 1.0 / 256,
    .alpha_period = microseconds(55),
    .rate_period = microseconds(55),
    .rate_bytes = 10'000'000,
    .stages = 5,
    .additive_mbps = 40,
    .hyper_mbps = 50,
    .least_factor = 0.5,
    .decrease_period = 0,
    .least_mbps = 1,
};

// NVIDIA, "DCQCN CC Parameters" (DOCA documentation): dce_tcp_g 1019/1024, dce_tcp_rtt 1 us, rpg_min_dec_fac 50,
// rate_reduce_monitor_period 4 us, rpg_min_rate 1. Of the increase (Mellanox community, "DCQCN Parameters", from
// memory (?)): rpg_time_reset 300 us, rpg_byte_reset 32767 (KB (?)), rpg_threshold 1, rpg_ai_rate 5, rpg_hai_rate 50.
constexpr DcqcnNumbers kVendor = {
    .g = 5.0 / 1024,
    .alpha_period = microseconds(1),
    .rate_period = microseconds(300),
    .rate_bytes = 32'767'000,
    .stages = 1,
    .additive_mbps = 5,
    .hyper_mbps = 50,
    .least_factor = 0.5,
    .decrease_period = microseconds(4),
    .least_mbps = 1,
};

/// By squaring, so that the result is the same everywhere.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if ((exponent & 1) != 0) result *= base;
  return result;
}

constexpr Duration kTargetQueue = microseconds(25);  // (?)
constexpr double kRoundTripStep = 20;                // Mbit/s for each round trip (?)

}  // namespace

const DcqcnNumbers& dcqcn_numbers(Congestion control) { return control == Congestion::dcqcn_vendor ? kVendor : kPaper; }

void RateControl::on_sent(std::uint64_t bytes, Time now) {
  if (!limits()) return;
  if (is_dcqcn()) {
    advance(now);
    const DcqcnNumbers& numbers = dcqcn_numbers(plan_.control);
    bytes_ += bytes;
    for (; bytes_ >= numbers.rate_bytes; bytes_ -= numbers.rate_bytes) {
      ++by_bytes_;
      increase();
    }
  }
  if (rate_ >= static_cast<double>(plan_.line_mbps)) {
    free_at_ = now;  // the port limits
    return;
  }
  free_at_ = std::max(free_at_, now) + static_cast<Duration>(static_cast<double>(bytes) * 8000 / rate_);
}

void RateControl::on_cnp(Time now) {
  ++cnps_;
  if (!limits() || !is_dcqcn()) return;
  const DcqcnNumbers& numbers = dcqcn_numbers(plan_.control);
  advance(now);
  if (alpha_at_ == kNever || now - decreased_at_ >= numbers.decrease_period) {
    target_ = rate_;
    rate_ = std::max(rate_ * std::max(1 - alpha_ / 2, numbers.least_factor), numbers.least_mbps);
    decreased_at_ = now;
  }
  alpha_ = (1 - numbers.g) * alpha_ + numbers.g;
  alpha_at_ = now + numbers.alpha_period;
  rate_at_ = now + numbers.rate_period;
  bytes_ = 0;
  by_time_ = by_bytes_ = 0;
}

// Alpha decays while no CNP comes, and time raises the rate.
void RateControl::advance(Time now) {
  if (alpha_at_ == kNever) return;
  const DcqcnNumbers& numbers = dcqcn_numbers(plan_.control);
  if (now >= alpha_at_) {
    const std::uint64_t periods = (now - alpha_at_) / numbers.alpha_period + 1;
    alpha_ *= power(1 - numbers.g, periods);
    alpha_at_ += periods * numbers.alpha_period;
  }
  while (now >= rate_at_) {
    if (rate_ >= static_cast<double>(plan_.line_mbps)) {
      rate_at_ += ((now - rate_at_) / numbers.rate_period + 1) * numbers.rate_period;
      break;
    }
    rate_at_ += numbers.rate_period;
    ++by_time_;
    increase();
  }
}

void RateControl::increase() {
  const DcqcnNumbers& numbers = dcqcn_numbers(plan_.control);
  const auto line = static_cast<double>(plan_.line_mbps);
  if (std::max(by_time_, by_bytes_) > numbers.stages) {
    const unsigned both = std::min(by_time_, by_bytes_);
    target_ += both > numbers.stages ? (both - numbers.stages) * numbers.hyper_mbps : numbers.additive_mbps;
  }
  target_ = std::min(target_, line);
  rate_ = (rate_ + target_) / 2;
  // The last part of a megabit would take for ever.
  if (line - rate_ < 1) rate_ = line;
}

void RateControl::on_round_trip(Duration took, Time now) {
  if (!limits() || plan_.control != Congestion::round_trip) return;
  shortest_ = std::min(shortest_, took);
  const Duration wanted = shortest_ + kTargetQueue;
  if (took <= wanted) {
    rate_ = std::min(rate_ + kRoundTripStep, static_cast<double>(plan_.line_mbps));
    return;
  }
  // Once for each round trip: those that follow saw the same queue.
  if (now < slowed_at_ + took) return;
  slowed_at_ = now;
  const double excess = 1 - static_cast<double>(wanted) / static_cast<double>(took);
  rate_ = std::max(1.0, rate_ * std::max(0.5, 1 - 0.8 * excess));
}

}  // namespace longhaul::sim
