// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/service_notifier.hpp"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace longhaul::app {
namespace {

constexpr std::int64_t kMicrosecond = 1000;  // nanoseconds

// A newline ends a variable's value, and more lines would be other variables.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

ServiceNotifier::ServiceNotifier() : enabled_(std::getenv("NOTIFY_SOCKET") != nullptr) {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) > 0)
    watchdog_interval_ = static_cast<Duration>(microseconds / 2) * kMicrosecond;
}

void ServiceNotifier::ready(const std::string& text) { send("READY=1\nSTATUS=" + one_line(text)); }

void ServiceNotifier::watchdog() { send("WATCHDOG=1"); }

void ServiceNotifier::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // systemd compares it with the time of its request
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1'000'000 + now.tv_nsec / kMicrosecond));
}

void ServiceNotifier::status(const std::string& text) { send("STATUS=" + one_line(text)); }

void ServiceNotifier::stopping(const std::string& text, Duration at_most) {
  send(fmt::format("STOPPING=1\nSTATUS={}\nEXTEND_TIMEOUT_USEC={}", one_line(text), at_most / kMicrosecond));
}

void ServiceNotifier::send(const std::string& state) {
  if (!enabled_) return;
  const int result = sd_notify(0, state.c_str());
  static std::atomic<bool> told = false;
  if (result < 0 && !told.exchange(true))
    spdlog::warn("cannot notify the service manager: {} (NOTIFY_SOCKET={})", std::strerror(-result),
                 std::getenv("NOTIFY_SOCKET"));
}

}  // namespace longhaul::app
