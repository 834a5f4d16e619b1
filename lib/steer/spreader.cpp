// SPDX-License-Identifier: BSD-3-Clause
#include "steer/spreader.hpp"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <cstring>

namespace longhaul::steer {

namespace {

bool parse(const rte_mbuf* mbuf, wire::Frame& frame) {
  if (mbuf->nb_segs != 1) return false;
  return wire::is_roce(wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, frame));
}

Counter counter_of(const HandedFrame& frame) {
  if (frame.shown()) return Counter::cm_requests_shown;
  return frame.to_home() ? Counter::handed_home : Counter::handed_over;
}

}  // namespace

Spreader::Spreader(const SteeringSettings& settings, HandOverRings& rings, rte_mempool* shown)
    : self_(settings.self), rings_(rings), shown_(shown), steering_(settings, counters_), stages_(rings.workers()) {
  staged_to_.reserve(rings.workers());
}

std::uint16_t Spreader::keep(Side side, rte_mbuf** frames, std::uint16_t count, Time now) {
  // The mbuf first, then the headers it points to: two cache lines hold the headers of any frame without IP options.
  constexpr std::uint16_t kMbufsAhead = 8;
  constexpr std::uint16_t kAhead = 4;
  const auto prefetch = [&](std::uint16_t i) {
    const char* bytes = rte_pktmbuf_mtod(frames[i], const char*);
    rte_prefetch0(bytes);
    rte_prefetch0(bytes + RTE_CACHE_LINE_SIZE);
  };
  for (std::uint16_t i = 0; i < count && i < kMbufsAhead; ++i) rte_prefetch0(frames[i]);
  for (std::uint16_t i = 0; i < count && i < kAhead; ++i) prefetch(i);
  std::uint16_t kept = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    if (i + kMbufsAhead < count) rte_prefetch0(frames[i + kMbufsAhead]);
    if (i + kAhead < count) prefetch(static_cast<std::uint16_t>(i + kAhead));
    rte_mbuf* mbuf = frames[i];
    wire::Frame frame;
    // A frame that is not RoCE belongs to no flow: it stays with the worker that received it.
    if (!parse(mbuf, frame)) {
      frames[kept++] = mbuf;
    } else if (const Worker home = home_of(frame, workers()); home != self_) {
      stage(home, {mbuf, side, HandedFrame::kToHome});
    } else if (settle(side, mbuf, frame, now)) {
      frames[kept++] = mbuf;
    }
  }
  flush();
  return kept;
}

bool Spreader::settle(Side side, rte_mbuf* mbuf, const wire::Frame& frame, Time now) {
  const Target target = steering_.owner_of(side, frame, now);
  if (target.worker == self_) return true;
  if (!target.request.empty() && !show(target.worker, other(side), target.request)) {
    ++counters_[Counter::dropped_unshown];
    rte_pktmbuf_free(mbuf);
    return false;
  }
  stage(target.worker, {mbuf, side, 0});
  return false;
}

std::uint16_t Spreader::take(Worker from, Received& out, Time now) {
  std::array<HandedFrame, kBurst> taken;
  const std::uint32_t count = rings_.take(from, self_, taken);
  out.shown_count = out.bursts[Side::host].count = out.bursts[Side::wan].count = 0;
  if (count == 0) return 0;
  for (std::uint32_t i = 0; i < count; ++i) rte_prefetch0(taken[i].mbuf());  // all are read next
  for (std::uint32_t i = 0; i < count; ++i) {
    const HandedFrame handed = taken[i];
    const Side side = handed.side();
    wire::Frame frame;
    if (handed.shown())
      out.shown[out.shown_count++] = {side, handed.mbuf()};
    else if (!handed.to_home() || !parse(handed.mbuf(), frame) || settle(side, handed.mbuf(), frame, now))
      out.bursts[side].add(handed.mbuf());
  }
  flush();
  return static_cast<std::uint16_t>(count);
}

bool Spreader::sees_whole(const flow::ConnectionInfo& info, Time now) const {
  return home_of(info.end(Side::host).ip, info.end(Side::wan).ip, workers()) == self_ &&
         steering_.sees_whole(info, now);
}

bool Spreader::is_shown(const rte_mbuf* frame) const { return frame->pool == shown_; }

// The owner's engine must know the REQ before the REP comes. Without a buffer for the REQ, the REP must not go on
// either: RDMA-CM repeats the REP, while an engine that missed the REQ would never learn all about the connection.
bool Spreader::show(Worker to, Side side, std::span<const std::uint8_t> request) {
  rte_mbuf* copy = rte_pktmbuf_alloc(shown_);
  if (copy == nullptr) return false;
  char* bytes = rte_pktmbuf_append(copy, static_cast<std::uint16_t>(request.size()));
  if (bytes == nullptr) {
    rte_pktmbuf_free(copy);
    return false;
  }
  std::memcpy(bytes, request.data(), request.size());
  stage(to, {copy, side, HandedFrame::kShown});
  return true;
}

void Spreader::stage(Worker to, HandedFrame frame) {
  Stage& stage = stages_[to];
  if (stage.count == 0) staged_to_.push_back(to);
  stage.frames[stage.count++] = frame;
  ++counters_[counter_of(frame)];
}

void Spreader::flush() {
  for (const Worker to : staged_to_) flush(to);
  staged_to_.clear();
}

// Frames that find no room are dropped, as in a NIC's full queue; the hosts repeat them. If such a frame went past its
// worker instead, it would overtake the frames in the ring and break the order of its flow.
void Spreader::flush(Worker to) {
  Stage& stage = stages_[to];
  const std::uint32_t count = stage.count;
  stage.count = 0;
  for (std::uint32_t i = rings_.put(self_, to, {stage.frames.data(), count}); i < count; ++i) {
    --counters_[counter_of(stage.frames[i])];
    if (!stage.frames[i].shown()) ++counters_[Counter::dropped_ring_full];
    rte_pktmbuf_free(stage.frames[i].mbuf());
  }
}

}  // namespace longhaul::steer
