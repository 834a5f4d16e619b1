// SPDX-License-Identifier: BSD-3-Clause
// The lane: nearly all frames of a line that RDMA fills are usual packets (wire/usual_frame.hpp) of usual flows
// (custody/lane.hpp). They are not taken apart, one line of an index finds their connection, and one decision each
// takes them: the general path does the same, and is the reference (Settings::lane). What the lane declines, for
// whatever reason, has changed nothing, and goes the general way.
#pragma once

#include "custody/lane.hpp"
#include "engine/engine_impl.hpp"

namespace longhaul::engine {

/// Whether frames of this burst may take the lane.
inline bool Engine::Impl::begin_lane(Side side) {
  if (lane_rests[side] == 0) return settings.lane;
  --lane_rests[side];
  return false;
}

/// `taken` of the burst's `frames` took the lane. Where a large burst has none for it, the next bursts are not asked: a
/// line that carries other traffic does not pay for the question each time.
inline void Engine::Impl::end_lane(Side side, std::size_t frames, std::uint64_t taken) {
  constexpr std::size_t kLarge = 8;
  constexpr std::uint8_t kRest = 15;
  if (tries_lane && taken == 0 && frames >= kLarge) lane_rests[side] = kRest;
}

/// The frame has the usual shape. Its place in the index is fetched.
inline void Engine::Impl::note_place(Side side, Arrival& arrival) {
  arrival.status = wire::ParseStatus::roce;
  arrival.key = flow::LaneIndex::Key::of(side, arrival.shape.addresses(), arrival.shape.destination_qpn());
  arrival.place = table.lane().bucket_of(arrival.key);
  table.lane().prefetch(arrival.place);
}

/// Of the usual frames among the first `count`. Those of connections that the lane does not know go the general way.
inline void Engine::Impl::find_places(std::size_t count) {
  std::uint64_t usual = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Arrival& arrival = arrivals[i];
    if (!arrival.usual) continue;
    ++usual;
    arrival.connection = table.lane().find(arrival.key, arrival.place);
    if (arrival.connection != flow::ConnectionTable::kNone) [[likely]]
      continue;
    arrival.usual = false;
    take_apart(arrival);
  }
  counters.parsed[static_cast<std::size_t>(wire::ParseStatus::roce)] += usual;
}

/// Takes the frame, or returns false.
inline bool Engine::Impl::lane(Side side, const Arrival& arrival) {
  if (looked_up_at != table.changes()) [[unlikely]]
    return false;
  Connection& connection = connections[arrival.connection];
  return side == Side::host ? lane_request(connection, arrival) : lane_answer(connection, arrival);
}

// As intact().
inline bool Engine::Impl::intact(const wire::UsualFrame& frame) {
  return count_intact(
      frame.verify_icrc(), [&]() __attribute__((always_inline)) { return frame.verify_ipv4_checksum(); });
}

inline bool Engine::Impl::lane_request(Connection& connection, const Arrival& arrival) {
  const wire::UsualFrame& frame = arrival.shape;
  rte_mbuf* mbuf = arrival.mbuf;
  custody::NearFlow& flow = connection.near;
  const std::uint32_t psn = frame.psn();
  if (!frame.is_request() || !is_newest_shown(connection, frame.data())) return false;
  if (!near.lane_takes(flow, psn, mbuf->pkt_len, now) || !may_send() || others_wait(connection.pair)) return false;
  ++counters[Counter::lane_frames];
  connection.last_seen = connection.shown_at = now;
  if (!intact(frame)) [[unlikely]] {
    forward(Side::wan, mbuf);
    return true;
  }
  near.lane_take(flow, frame, psn, mbuf, now);
  charge_held(mbuf->pkt_len);
  out(Side::wan).send_held(flow, mbuf, mbuf);
  touch(arrival.connection);
  return true;
}

inline bool Engine::Impl::lane_answer(Connection& connection, const Arrival& arrival) {
  const wire::UsualFrame& frame = arrival.shape;
  custody::NearFlow& flow = connection.near;
  // An answer may release packets that wait in the burst: they must be out before, and the general path sees to that.
  if (frame.is_request() || !out(Side::wan).idle() || !near.lane_releases(flow, frame)) return false;
  ++counters[Counter::lane_frames];
  connection.last_seen = now;
  if (!intact(frame)) [[unlikely]] {
    forward(Side::host, arrival.mbuf);
    return true;
  }
  const bool rearmed = near.lane_release(flow, frame, now);
  near.absorbed(arrival.mbuf);
  // Otherwise the end of the burst would find nothing to do.
  if (rearmed || flow.queue.to_acknowledge() != nullptr || (flow.queue.empty() && !connection.dreqs.empty()))
    touch(arrival.connection);
  return true;
}

}  // namespace longhaul::engine
