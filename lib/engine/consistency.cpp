// SPDX-License-Identifier: BSD-3-Clause
#include "custody/consistency.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "engine/engine_impl.hpp"

namespace longhaul::engine {

std::string_view Engine::inconsistency() const {
  const custody::Budget& budget = impl_->near.budget();
  custody::Holding sum = impl_->near.lent();
  std::map<const custody::Holding*, custody::Holding> of_pairs;
  // A drain that has begun since the last call leaves some to the next.
  const auto will_be_looked_at = [touched = std::span(impl_->touched).first(impl_->touched_count)](auto index) {
    return std::ranges::find(touched, index) != touched.end();
  };
  for (flow::ConnectionIndex index = 0; index < impl_->connections.size(); ++index) {
    const Connection& connection = impl_->connections[index];
    const custody::NearFlow& flow = connection.near;
    if (const std::string_view broken = custody::inconsistency(flow); !broken.empty()) return broken;
    if (flow.queue.bytes() > budget.flow_bytes_limit) return "a flow's custody exceeds its limit";
    custody::Holding held{flow.queue.bytes(), static_cast<std::uint32_t>(flow.queue.packets()),
                          static_cast<std::uint32_t>(custody::large_mbufs_of(flow)), 0};
    for (const custody::WaitingList* list : {&flow.waiting, &flow.early_responses, &flow.early_acknowledges})
      held += {list->bytes, list->packets, list->packets, list->packets};
    sum += held;
    if (held.packets != 0) of_pairs[flow.holding] += held;
    if (!impl_->table.in_use(index) && (held.packets != 0 || !connection.dreqs.empty()))
      return "a closed connection holds packets";
    if (impl_->table.in_use(index) && flow.connection != index) return "a flow has another connection's index";
    if (connection.touched && !will_be_looked_at(index)) return "a flow was touched and will not be looked at";
    if (impl_->table.in_use(index) && flow.deadline < impl_->timers.deadline(index)) return "a timer comes too late";
    if (connection.scheduled != impl_->timers.deadline(index)) return "a timer is not when its connection believes";
  }
  if (sum != budget.held) return "the box's custody is not the sum of its flows'";
  for (const auto& [holding, held] : of_pairs)
    if (held != *holding) return "custody of a pair of hosts is not the sum of its flows'";
  if (budget.held.bytes > budget.box_bytes_limit) return "custody exceeds the box's limit";
  if (budget.held.large_mbufs > budget.large_mbufs_limit) return "custody exceeds its share of mbufs";
  return {};
}

}  // namespace longhaul::engine
