// SPDX-License-Identifier: BSD-3-Clause
#include "app/box_loop.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace longhaul::app {

BoxLoop::BoxLoop(engine::Engine& engine, drivers::Port& host, drivers::Port& wan, const drivers::Clock& clock,
                 BoxLoopOptions options)
    : engine_(engine), ports_{&host, &wan}, clock_(clock), options_(std::move(options)) {}

std::uint16_t BoxLoop::receive(Side side) {
  std::array<rte_mbuf*, kBurst> frames;
  const std::uint16_t count = ports_[static_cast<std::size_t>(side)]->receive(frames.data(), kBurst);
  if (count == 0) return 0;
  const Time received_at = clock_.now();
  engine_.receive(side, {frames.data(), count}, received_at);
  if (engine_.has_accepted_acks()) engine_.acks_accepted(clock_.now());
  return count;
}

StopRecord BoxLoop::run(Requests& requests) {
  Idle idle(options_.sleep_when_idle);
  StopRecord record;
  const Time started = clock_.now();
  Time drain_until = kNever;
  Time now = started;
  for (;;) {
    const std::uint16_t from_host = receive(Side::host);
    const std::uint16_t from_wan = receive(Side::wan);
    now = clock_.now();
    engine_.poll(now, from_wan == kBurst);
    if (engine_.has_accepted_acks()) engine_.acks_accepted(clock_.now());

    if (requests.report.load(std::memory_order_relaxed)) {
      requests.report.store(false, std::memory_order_relaxed);
      if (options_.on_report) options_.on_report();
    }
    const int stops = requests.stops.load(std::memory_order_relaxed);
    if (stops > 0) [[unlikely]] {
      if (drain_until == kNever) {
        drain_until = now + options_.drain;
        record.at_stop_packets = engine_.custody_packets();
        record.at_stop_bytes = engine_.custody_bytes();
        engine_.set_draining(true);
      }
      if (stops > 1 || now >= drain_until || (engine_.custody_packets() == 0 && engine_.waiting_frames() == 0)) break;
    }
    idle.round(from_host + from_wan > 0, now, std::min(engine_.next_deadline(), drain_until));
  }
  record.left_packets = engine_.custody_packets();
  record.left_bytes = engine_.custody_bytes();
  record.ran = now - started;
  return record;
}

}  // namespace longhaul::app
