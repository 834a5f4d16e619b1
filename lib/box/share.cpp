// SPDX-License-Identifier: BSD-3-Clause
#include "box/share.hpp"

#include <algorithm>

namespace longhaul::box {

namespace {

std::uint32_t divided(std::uint32_t whole, unsigned workers) { return (whole + workers - 1) / workers; }

}  // namespace

engine::Settings share_of(const engine::Settings& box, unsigned workers) {
  engine::Settings share = box;
  // A share of 0 would mean unlimited.
  if (box.wan_rate_bps > 0) share.wan_rate_bps = std::max<std::uint64_t>(box.wan_rate_bps / workers, 1);
  share.custody_box_bytes = box.custody_box_bytes / workers;
  share.custody_flow_bytes = std::min(box.custody_flow_bytes, share.custody_box_bytes);
  share.initial_window_bytes = std::min(box.initial_window_bytes, share.custody_flow_bytes);
  share.custody_mbufs = box.custody_mbufs / workers;
  share.max_connections = divided(box.max_connections, workers);
  share.max_held_dreqs = divided(box.max_held_dreqs, workers);
  share.max_candidates = divided(box.max_candidates, workers);
  return share;
}

std::uint32_t record_slots(const engine::Settings& box, unsigned workers) {
  return share_of(box, workers).max_connections * workers;
}

}  // namespace longhaul::box
