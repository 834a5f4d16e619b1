// SPDX-License-Identifier: BSD-3-Clause
#include "link/direction.hpp"

#include <algorithm>
#include <functional>

#include <rte_mbuf.h>

#include "link/impair.hpp"
#include "wire/frame.hpp"

namespace longhaul::link {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

Duration time_on_wire(std::uint64_t bytes, std::uint64_t rate_bps) {
  return static_cast<Duration>(static_cast<Wide>(bytes) * 8 * kNanosecondsPerSecond / rate_bps);
}

std::uint64_t bytes_in(Duration time, std::uint64_t rate_bps) {
  return static_cast<std::uint64_t>(static_cast<Wide>(time) * rate_bps / (8 * kNanosecondsPerSecond));
}

std::span<std::uint8_t> bytes_of(rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, std::uint8_t*), rte_pktmbuf_data_len(frame)};
}

rte_mbuf* copy_of(const rte_mbuf* frame) { return rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX); }

}  // namespace

Direction::Direction(const Settings& settings, Way way, std::size_t max_frames)
    : settings_(settings.directions[static_cast<std::size_t>(way)]), max_frames_(max_frames), fates_(settings, way) {
  for (const Event& event : settings.events) {
    if (event.way == way) script_.push_back({event});
  }
}

Direction::~Direction() {
  for (const Travelling& t : in_order_) rte_pktmbuf_free(t.frame);
  for (; !late_.empty(); late_.pop()) rte_pktmbuf_free(late_.top().frame);
}

void Direction::consult_script(const rte_mbuf* frame, Fate& fate) {
  wire::Frame view;
  const wire::ParseStatus status =
      wire::parse({rte_pktmbuf_mtod(frame, const std::uint8_t*), rte_pktmbuf_data_len(frame)}, view);
  if (status != wire::ParseStatus::roce && status != wire::ParseStatus::unknown_opcode) return;
  for (Script& script : script_) {
    const Event& event = script.event;
    if (event.qpn && *event.qpn != view.destination_qpn()) continue;
    if (event.psn && *event.psn != view.psn()) continue;
    ++script.matched;
    const std::uint64_t first = event.nth.value_or(1);
    if (script.matched < first || script.matched - first >= event.count) continue;
    switch (event.action) {
      case Action::drop:
        fate.event_drop = true;
        break;
      case Action::duplicate:
        fate.event_duplicate = true;
        break;
      case Action::corrupt:
        fate.event_corrupt = true;
        break;
      case Action::ecn:
        fate.ecn = true;
        break;
      case Action::delay:
        fate.late = true;
        fate.extra += event.delay;
        fate.event_delay = true;
        break;
    }
  }
}

/// The frame itself when nobody else holds it, else a copy in its place. When there is no buffer for a copy: nullptr,
/// and the frame is left alone.
rte_mbuf* Direction::own(rte_mbuf* frame) {
  if (rte_mbuf_refcnt_read(frame) == 1 && RTE_MBUF_DIRECT(frame)) return frame;
  rte_mbuf* copy = copy_of(frame);
  if (copy == nullptr) {
    ++counters_.copy_failed;
    return nullptr;
  }
  rte_pktmbuf_free(frame);
  return copy;
}

void Direction::travel(rte_mbuf* frame, Time arrival, bool late) {
  const std::uint64_t number = entered_++;
  if (late) {
    late_.push({arrival, number, frame});
    return;
  }
  last_arrival_ = std::max(last_arrival_, arrival);
  in_order_.push_back({last_arrival_, number, frame});
}

void Direction::offer(rte_mbuf* frame, Time now) {
  ++counters_.received;
  Fate fate{fates_.draw(frame)};
  const bool reordered = fate.late;
  if (reordered) fate.extra = settings_.reorder_extra;
  if (!script_.empty()) consult_script(frame, fate);

  const auto drop = [frame](std::uint64_t& counter) {
    ++counter;
    rte_pktmbuf_free(frame);
  };
  if (max_frames_ != 0 && held() >= max_frames_) return drop(counters_.buffer_dropped);

  const std::uint64_t size = rte_pktmbuf_pkt_len(frame);
  Time left = now;
  bool queue_marks = false;
  if (settings_.rate_bps != 0 || settings_.frame_time != 0) {
    const Time start = std::max(now, transmitter_free_);
    const bool rated = settings_.rate_bps != 0;
    const std::uint64_t queued = rated ? bytes_in(start - now, settings_.rate_bps) : 0;
    if (rated && settings_.queue_bytes != 0 && queued + size > settings_.queue_bytes)
      return drop(counters_.queue_dropped);
    if (settings_.ecn_bytes != 0 && queued >= settings_.ecn_bytes) queue_marks = true;
    const Duration on_wire = rated ? time_on_wire(size + settings_.line_overhead, settings_.rate_bps) : 0;
    left = transmitter_free_ = start + std::max(on_wire, settings_.frame_time);
  }
  if (fate.event_drop) return drop(counters_.event_drop);
  if (fate.lost) return drop(counters_.lost);
  if (reordered) ++counters_.reordered;
  if (fate.event_delay) ++counters_.event_delay;

  if (fate.corrupt || fate.event_corrupt || fate.ecn || queue_marks) {
    if (rte_mbuf* mine = own(frame)) {
      frame = mine;
      if (fate.ecn || queue_marks) {
        wire::Frame view;
        wire::parse(bytes_of(frame), view);
        mark_congestion(bytes_of(frame), view);
        if (fate.ecn) ++counters_.event_ecn;
      }
      if (fate.corrupt || fate.event_corrupt) {
        flip_bit(bytes_of(frame), fate.corrupt_bit);
        ++(fate.event_corrupt ? counters_.event_corrupt : counters_.corrupted);
      }
    }
  }

  const Time arrival = left + settings_.delay + fate.jitter + fate.extra;
  travel(frame, arrival, fate.late);
  const auto add_copy = [&](std::uint64_t& counter) {
    rte_mbuf* copy = copy_of(frame);
    if (copy == nullptr) {
      ++counters_.copy_failed;
      return;
    }
    ++counter;
    travel(copy, arrival, fate.late);
  };
  if (fate.duplicate) add_copy(counters_.duplicated);
  if (fate.event_duplicate) add_copy(counters_.event_duplicate);
}

std::size_t Direction::collect(rte_mbuf** out, std::size_t count, Time now) {
  std::size_t n = 0;
  while (n < count) {
    const bool from_late = !late_.empty() && (in_order_.empty() || in_order_.front() > late_.top());
    if (!from_late && in_order_.empty()) break;
    const Travelling next = from_late ? late_.top() : in_order_.front();
    if (next.arrival > now) break;
    if (from_late)
      late_.pop();
    else
      in_order_.pop_front();
    out[n++] = next.frame;
    ++counters_.sent;
    counters_.sent_bytes += rte_pktmbuf_pkt_len(next.frame);
  }
  return n;
}

Time Direction::next_deadline() const noexcept {
  Time next = kNever;
  if (!in_order_.empty()) next = in_order_.front().arrival;
  if (!late_.empty()) next = std::min(next, late_.top().arrival);
  return next;
}

}  // namespace longhaul::link
