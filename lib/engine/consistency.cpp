// SPDX-License-Identifier: BSD-3-Clause
#include "custody/consistency.hpp"

#include "engine/engine_impl.hpp"

namespace longhaul::engine {

std::string_view Engine::inconsistency() const {
  const custody::Budget& budget = impl_->near.budget();
  custody::Budget sum;
  for (flow::ConnectionIndex index = 0; index < impl_->connections.size(); ++index) {
    const Connection& connection = impl_->connections[index];
    const custody::NearFlow& flow = connection.near;
    if (const std::string_view broken = custody::inconsistency(flow); !broken.empty()) return broken;
    if (flow.queue.bytes() > budget.flow_bytes_limit) return "a flow's custody exceeds its limit";
    sum.packets += flow.queue.packets();
    sum.bytes += flow.queue.bytes();
    sum.large_mbufs += custody::large_mbufs_of(flow);
    if (!impl_->table.in_use(index) && (!flow.queue.empty() || !connection.dreqs.empty()))
      return "a closed connection holds packets";
    if (impl_->table.in_use(index) && flow.connection != index) return "a flow has another connection's index";
    if (connection.touched) return "a flow was touched and not looked at";
    if (impl_->table.in_use(index) && flow.deadline < impl_->timers.deadline(index)) return "a timer comes too late";
    if (connection.scheduled != impl_->timers.deadline(index)) return "a timer is not when its connection believes";
  }
  if (sum.packets != budget.packets || sum.bytes != budget.bytes || sum.large_mbufs != budget.large_mbufs)
    return "the box's custody is not the sum of its flows'";
  if (budget.bytes > budget.box_bytes_limit) return "custody exceeds the box's limit";
  if (budget.large_mbufs > budget.large_mbufs_limit) return "custody exceeds its share of mbufs";
  return {};
}

}  // namespace longhaul::engine
