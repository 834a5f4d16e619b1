// SPDX-License-Identifier: BSD-3-Clause
// Combined results of many runs of worlds with chance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace longhaul::sim {

/// A histogram of ratios, in logarithmic steps of a thousandth. It has no pointers: a job may write it to a pipe.
class Ratios {
 public:
  /// Ratios beyond e^12 or below e^-12 count as these.
  void add(double ratio);
  void add(const Ratios& others);
  std::uint64_t count() const;
  /// The smallest ratio that is at least as large as `part` (0 to 1) of all ratios; 0 if there are none.
  double quantile(double part) const;

 private:
  static constexpr int kMiddle = 12000;  // the ratio 1
  static constexpr double kStep = 0.001;

  std::array<std::uint64_t, 2 * kMiddle + 1> counts_{};
};

/// Samples of one quantity.
class Sample {
 public:
  void add(double value);
  std::size_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// The squared standard error of the mean.
  double variance_of_mean() const;

 private:
  std::size_t count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

/// Whether the mean behind `large` is greater than `factor` times the mean behind `small`, plus `more`, by Welch's
/// test. The chance of a false positive is below one in a million.
bool is_greater(const Sample& large, const Sample& small, double factor, double more);

}  // namespace longhaul::sim
