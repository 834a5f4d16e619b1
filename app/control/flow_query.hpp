// SPDX-License-Identifier: BSD-3-Clause
// Which flows are shown, in which order, and how one is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/control/arguments.hpp"
#include "app/control/box_control.hpp"
#include "flow/policy.hpp"

namespace longhaul::app {

struct FlowQuery {
  std::optional<flow::Prefix> host;  ///< contains either end
  std::optional<std::string> state;
  std::optional<std::string> policy;
  std::uint64_t min_custody = 0;  ///< frame bytes
  std::string sort = "custody";
  std::uint64_t limit = 0;  ///< 0: all

  /// Takes the arguments that it knows out of `arguments`. Throws CommandError.
  static FlowQuery from(Arguments& arguments);
  bool matches(const engine::ConnectionState& state) const;
  /// The flows that match, the largest first (for `idle` and `rtt`: the longest). Not cut to `limit`.
  std::vector<const Flow*> select(const std::vector<Flow>& flows) const;
};

/// All fields of a flow.
Json flow_json(const Flow& flow);

}  // namespace longhaul::app
