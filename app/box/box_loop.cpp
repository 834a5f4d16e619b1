// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/box_loop.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/box/tap.hpp"
#include "box/peer_desk.hpp"

namespace longhaul::app {

// A frame that the port has accepted is no longer ours, so the tap sees each frame before the port does. The tap takes
// back a frame that the port refuses.
std::uint16_t PortSink::transmit_tapped(Side out, rte_mbuf** frames, std::uint16_t count) {
  drivers::Port& port = *ports_[out];
  for (std::uint16_t i = 0; i < count; ++i) {
    const bool kept = tap_->see(out, Tap::Way::out, {&frames[i], 1}) > 0;
    if (port.transmit(&frames[i], 1) == 1) continue;
    if (kept) tap_->take_back();
    return i;
  }
  return count;
}

BoxLoop::BoxLoop(box::Worker& worker, drivers::Port& host, drivers::Port& wan, const drivers::Clock& clock,
                 BoxLoopOptions options)
    : worker_(worker), engine_(worker.engine()), ports_{&host, &wan}, clock_(clock), options_(std::move(options)) {}

void BoxLoop::to_engine(Side side, std::span<rte_mbuf* const> frames, Time received_at) {
  if (options_.sink != nullptr && options_.sink->tap() != nullptr) [[unlikely]]
    options_.sink->tap()->see(side, Tap::Way::in, frames);
  engine_.receive(side, frames, received_at);
  if (engine_.has_accepted_acks()) engine_.acks_accepted(now());
}

std::uint16_t BoxLoop::receive(Side side) {
  std::array<rte_mbuf*, kBurst> frames;
  const std::uint16_t count = ports_[side]->receive(frames.data(), kBurst);
  if (count == 0) return 0;
  const Time received_at = now();
  worker_.take_in(side, {frames.data(), count}, received_at,
                  [&](Side from, std::span<rte_mbuf* const> own) { to_engine(from, own, received_at); });
  return count;
}

// Takes a burst from each other worker. Returns the size of the largest.
std::uint16_t BoxLoop::receive_from_workers() {
  const steer::Spreader* spreader = worker_.spreader();
  if (spreader == nullptr) return 0;
  std::uint16_t largest = 0;
  for (steer::Worker from = 0; from < spreader->workers(); ++from) {
    if (from == spreader->self()) continue;
    const Time received_at = now();
    largest = std::max(largest, worker_.take_over(from, received_at, [&](Side side, std::span<rte_mbuf* const> frames) {
      to_engine(side, frames, received_at);
    }));
  }
  return largest;
}

StopRecord BoxLoop::run(Requests& requests) {
  Idle idle(options_.sleep_when_idle);
  StopRecord record;
  const Time clock_started = clock_.now();
  engine::LoopTime& time = worker_.time();
  const Time started = time.went_round(clock_started);
  Time drain_until = kNever;
  Time now = started;
  Time last = started;
  Duration busy = 0;
  bool drained = false;
  for (;;) {
    const std::uint16_t from_host = receive(Side::host);
    const std::uint16_t from_wan = receive(Side::wan);
    const std::uint16_t from_workers = receive_from_workers();
    now = time.poll(clock_.now(), from_wan == kBurst || from_workers == kBurst);
    if (engine_.has_accepted_acks()) engine_.acks_accepted(this->now());
    worker_.attend_peers(now);

    const bool had_frames = from_host + from_wan + from_workers > 0;
    if (had_frames) busy += now - last;
    last = now;
    rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (time.pauses() != pauses_.load(std::memory_order_relaxed)) [[unlikely]] {
      paused_.store(time.paused(), std::memory_order_relaxed);
      pauses_.store(time.pauses(), std::memory_order_release);
    }
    if (options_.orders != nullptr && options_.orders->waiting()) [[unlikely]] {
      WorkerAccess access{worker_, {rounds(), now - started, busy}, now, options_.drain, options_.sink};
      options_.orders->carry_out(access);
    }
    const int stops = requests.stops.load(std::memory_order_relaxed);
    if (stops > 0) [[unlikely]] {
      if (drain_until == kNever) {
        drain_until = now + options_.drain;
        record.at_stop_packets = engine_.custody_packets();
        record.at_stop_bytes = engine_.custody_bytes();
        engine_.set_draining(true);
      }
      if (!drained && engine_.custody_packets() == 0 && engine_.waiting_frames() == 0) {
        drained = true;
        if (options_.together != nullptr) options_.together->drained();
      }
      const bool done = options_.together == nullptr ? drained : options_.together->all_drained();
      if (stops > 1 || now >= drain_until || done) break;
    }
    if (idle.round(had_frames, now, std::min(worker_.next_deadline(), drain_until))) last = time.idled(clock_.now());
  }
  if (box::PeerDesk* desk = worker_.desk()) desk->stop(now);
  record.left_packets = engine_.custody_packets();
  record.left_bytes = engine_.custody_bytes();
  record.ran = clock_.now() - clock_started;
  return record;
}

}  // namespace longhaul::app
