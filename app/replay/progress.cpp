// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace longhaul::app {

ReplayProgress::ReplayProgress(bool wanted, std::string capture, std::size_t number, std::size_t of,
                               std::uint64_t bytes)
    : shown_(wanted && isatty(STDERR_FILENO) != 0),
      capture_(std::move(capture)),
      number_(number),
      of_(of),
      bytes_(bytes) {}

ReplayProgress::~ReplayProgress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ReplayProgress::show(std::uint64_t frames, std::uint64_t bytes_read) {
  constexpr auto kOften = std::chrono::milliseconds(200);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kOften) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  std::string line = of_ > 1 ? fmt::format("{} of {}: ", number_, of_) : std::string();
  line += fmt::format("{}: {} frames, {:.0f} a second", capture_, frames, static_cast<double>(frames) / seconds);
  if (bytes_ > 0 && bytes_read > 0) {
    const double done = std::min(1.0, static_cast<double>(bytes_read) / static_cast<double>(bytes_));
    line += fmt::format(", {:.0f} %, {:.0f} s to go", 100 * done, seconds * (1 - done) / done);
  }
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

}  // namespace longhaul::app
