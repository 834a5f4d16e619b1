// SPDX-License-Identifier: BSD-3-Clause
// What the service manager is told (sd_notify(3)): ready, alive, stopping.
#pragma once

#include <optional>
#include <string>

#include "base/time.hpp"

namespace longhaul::app {

/// Speaks to systemd when it has started this process with Type=notify; otherwise nothing here does anything. May be
/// called from any thread. What cannot be sent is logged once: a box does not stop because nobody listens.
class ServiceNotifier {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceNotifier();

  /// Somebody listens.
  bool enabled() const { return enabled_; }
  /// Call watchdog() at least this often, half of WatchdogSec=; nothing: nobody watches.
  std::optional<Duration> watchdog_interval() const { return watchdog_interval_; }

  /// Frames are forwarded; `text` is what `systemctl status` shows. Also the end of reloading().
  void ready(const std::string& text);
  /// All workers make progress.
  void watchdog();
  /// The configuration is being read again; ready() ends it.
  void reloading();
  /// What `systemctl status` shows.
  void status(const std::string& text);
  /// The end has begun, for `at_most`: systemd waits so long even if TimeoutStopSec= is shorter.
  void stopping(const std::string& text, Duration at_most);

 private:
  void send(const std::string& state);

  bool enabled_ = false;
  std::optional<Duration> watchdog_interval_;
};

}  // namespace longhaul::app
