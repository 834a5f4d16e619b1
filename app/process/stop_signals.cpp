// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/stop_signals.hpp"

#include <csignal>

namespace longhaul::app {
namespace {

Requests g_requests;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "used in signal handlers");

extern "C" void on_stop(int) { g_requests.stops.fetch_add(1, std::memory_order_relaxed); }
extern "C" void on_reload(int) { g_requests.reload.store(true, std::memory_order_relaxed); }
extern "C" void on_report(int) { g_requests.report.store(true, std::memory_order_relaxed); }

void install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

Requests& requests_by_signal() {
  static const bool installed = [] {
    install(SIGTERM, on_stop);
    install(SIGINT, on_stop);
    install(SIGUSR1, on_report);
    install(SIGPIPE, SIG_IGN);  // the reader of our log may go away; a box with data in custody must not
    return true;
  }();
  static_cast<void>(installed);
  return g_requests;
}

void reload_by_signal() { install(SIGHUP, on_reload); }

}  // namespace longhaul::app
