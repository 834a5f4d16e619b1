// SPDX-License-Identifier: BSD-3-Clause
#include "sim/samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace longhaul::sim {

void Ratios::add(double ratio) {
  const double steps = std::log(ratio) / kStep;
  const double bounded = std::clamp(std::round(steps), -static_cast<double>(kMiddle), static_cast<double>(kMiddle));
  ++counts_[static_cast<std::size_t>(static_cast<int>(bounded) + kMiddle)];
}

void Ratios::add(const Ratios& others) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += others.counts_[i];
}

std::uint64_t Ratios::count() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

double Ratios::quantile(double part) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count())));
  if (wanted == 0) return 0;
  std::uint64_t below = 0;
  std::size_t i = 0;
  while ((below += counts_[i]) < wanted) ++i;
  return std::exp((static_cast<double>(i) - kMiddle) * kStep);
}

void Sample::add(double value) {
  ++count_;
  sum_ += value;
  squares_ += value * value;
}

double Sample::variance_of_mean() const {
  if (count_ < 2) return INFINITY;
  const auto n = static_cast<double>(count_);
  return std::max(0.0, squares_ - sum_ * sum_ / n) / (n - 1) / n;
}

bool is_greater(const Sample& large, const Sample& small, double factor, double more) {
  // Student's t with 31 degrees of freedom exceeds this one time in a million; fewer values prove nothing.
  constexpr double kBeyond = 5.83;
  constexpr std::size_t kLeast = 32;
  if (large.count() < kLeast || small.count() < kLeast) return false;
  const double difference = large.mean() - factor * small.mean() - more;
  const double variance = large.variance_of_mean() + factor * factor * small.variance_of_mean();
  return difference > kBeyond * std::sqrt(variance) && difference > 1e-9;
}

}  // namespace longhaul::sim
