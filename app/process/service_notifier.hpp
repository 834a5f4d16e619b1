// SPDX-License-Identifier: BSD-3-Clause
// What the service manager is told (sd_notify(3)): ready, alive, stopping.
#pragma once

#include <optional>
#include <string>

#include "base/time.hpp"

namespace longhaul::app {

/// Speaks to systemd if it has started this process with Type=notify. Otherwise nothing here has an effect. Any thread
/// may call it. A failed message is logged once: a box does not stop because the service manager does not listen.
class ServiceNotifier {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceNotifier();

  /// A service manager listens.
  bool enabled() const { return enabled_; }
  /// Call watchdog() at least this often, which is half of WatchdogSec=. Empty if there is no watchdog.
  std::optional<Duration> watchdog_interval() const { return watchdog_interval_; }

  /// Frames are forwarded. `systemctl status` shows `text`. Also ends reloading().
  void ready(const std::string& text);
  /// All workers make progress.
  void watchdog();
  /// The configuration is being read again. ready() ends this.
  void reloading();
  /// `systemctl status` shows `text`.
  void status(const std::string& text);
  /// The end has begun and takes `at_most`. systemd waits this long even if TimeoutStopSec= is shorter.
  void stopping(const std::string& text, Duration at_most);

 private:
  void send(const std::string& state);

  bool enabled_ = false;
  std::optional<Duration> watchdog_interval_;
};

}  // namespace longhaul::app
