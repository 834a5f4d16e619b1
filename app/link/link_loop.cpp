// SPDX-License-Identifier: BSD-3-Clause
#include "app/link/link_loop.hpp"

#include <algorithm>
#include <array>

#include <rte_mbuf.h>

#include "app/process/idle.hpp"

namespace longhaul::app {
namespace {

constexpr std::uint16_t kBurst = 32;

/// One direction with its two ports, and the frames that the far port has not accepted yet.
class Path {
 public:
  Path(drivers::Port& in, link::Direction& direction, drivers::Port& out) : in_(in), direction_(direction), out_(out) {}
  ~Path() { rte_pktmbuf_free_bulk(pending_.data(), count_); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  bool receive(const drivers::Clock& clock) {
    std::array<rte_mbuf*, kBurst> frames;
    const std::uint16_t n = in_.receive(frames.data(), kBurst);
    const Time now = clock.now();
    for (std::uint16_t i = 0; i < n; ++i) direction_.offer(frames[i], now);
    return n != 0;
  }

  bool deliver(Time now) {
    count_ = static_cast<std::uint16_t>(count_ +
                                        direction_.collect(pending_.data() + count_, pending_.size() - count_, now));
    if (count_ == 0) return false;
    const std::uint16_t sent = out_.transmit(pending_.data(), count_);
    std::copy(pending_.begin() + sent, pending_.begin() + count_, pending_.begin());
    count_ = static_cast<std::uint16_t>(count_ - sent);
    return sent != 0;
  }

  Time next_deadline() const { return direction_.next_deadline(); }

 private:
  drivers::Port& in_;
  link::Direction& direction_;
  drivers::Port& out_;
  std::array<rte_mbuf*, kBurst> pending_{};
  std::uint16_t count_ = 0;
};

}  // namespace

Duration run_link(link::Direction& a_to_b, link::Direction& b_to_a, drivers::Port& a, drivers::Port& b,
                  const drivers::Clock& clock, const LinkLoopOptions& options, Requests& requests) {
  Idle idle(options.sleep_when_idle);
  Path forth(a, a_to_b, b);
  Path back(b, b_to_a, a);
  const Time started = clock.now();
  Time now = started;
  while (requests.stops.load(std::memory_order_relaxed) == 0) {
    // All four in every round: || would skip those after the first that was busy.
    const bool came_forth = forth.receive(clock);
    const bool came_back = back.receive(clock);
    now = clock.now();
    const bool went_forth = forth.deliver(now);
    const bool went_back = back.deliver(now);
    if (requests.report.exchange(false, std::memory_order_relaxed) && options.on_report) options.on_report();
    idle.round(came_forth || came_back || went_forth || went_back, now,
               std::min(forth.next_deadline(), back.next_deadline()));
  }
  return now - started;
}

}  // namespace longhaul::app
