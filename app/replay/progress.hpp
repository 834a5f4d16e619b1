// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace longhaul::app {

/// One line on standard error that says how far a replay is, if that is a terminal. Gone at the end.
class ReplayProgress {
 public:
  /// `bytes` is the size of the file, 0 if it is not known.
  ReplayProgress(bool wanted, std::string capture, std::size_t number, std::size_t of, std::uint64_t bytes);
  ~ReplayProgress();
  ReplayProgress(const ReplayProgress&) = delete;
  ReplayProgress& operator=(const ReplayProgress&) = delete;

  /// After each frame; `bytes_read()` gives the place in the file.
  template <typename Place>
  void at(std::uint64_t frames, Place bytes_read) {
    // The clock is not read for each frame.
    constexpr std::uint64_t kEvery = 4096;
    if (shown_ && frames % kEvery == 0) show(frames, bytes_read());
  }

 private:
  void show(std::uint64_t frames, std::uint64_t bytes_read);

  bool shown_;
  std::string capture_;
  std::size_t number_;
  std::size_t of_;
  std::uint64_t bytes_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = began_;
};

}  // namespace longhaul::app
