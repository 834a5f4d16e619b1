// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/link_follow.hpp"

namespace longhaul::app {

std::optional<LinkFollow::Change> LinkFollow::look(bool host_up, bool wan_up, Time now) {
  const auto up = [&](Side side) { return side == Side::host ? host_up : wan_up; };
  if (held_) {
    if (!up(other(*held_))) return std::nullopt;
    const Side side = *held_;
    held_.reset();
    settling_until_ = now + kSettle;
    return Change{side, true};
  }
  if (settling_until_ != kNever) {
    if (!(host_up && wan_up) && now < settling_until_) return std::nullopt;
    settling_until_ = kNever;
  }
  if (host_up == wan_up) return std::nullopt;
  held_ = host_up ? Side::host : Side::wan;
  return Change{*held_, false};
}

}  // namespace longhaul::app
