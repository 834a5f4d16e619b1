// SPDX-License-Identifier: BSD-3-Clause
// What an operator asks and changes while the engine runs.
#include <algorithm>

#include "engine/engine_impl.hpp"
#include "wire/psn.hpp"

namespace longhaul::engine {

void Engine::Impl::set_bypass(bool on, Time time) {
  now = time;
  if (bypass && !on) {
    // What the engine knows is from before the bypass.
    for (flow::ConnectionIndex index = 0; index < table.capacity(); ++index) forget(index, "bypass ended");
    learner.start_anew(now);
    looks_since = now;
  }
  bypass = on;
  if (peering == nullptr || !on) return;
  peering->far.forget_all(now);
  peering->repairs.hand_on_all();
  out(Side::host).flush();
  out(Side::wan).flush();
}

void Engine::Impl::set_draining(bool draining) {
  near.set_draining(draining);
  if (!draining) return;
  // At the end of the next call, each is asked whether it has to wait.
  for (flow::ConnectionIndex index = 0; index < table.capacity(); ++index)
    if (table.in_use(index) && !connections[index].near.queue.empty()) touch(index);
}

void Engine::Impl::fail(flow::ConnectionIndex index, std::string_view why) {
  Connection& connection = connections[index];
  out(Side::wan).flush();  // frames in the burst point at the flow
  near.abandon(connection.near, why, now);
  // A requester with requests under way can be told now; others are told when they send the next one.
  if (connection.near.owed.fatal_nak) near.acknowledge(connection.near, now);
  out(Side::host).flush();
  near.freed().flush();
}

void Engine::Impl::forget(flow::ConnectionIndex index, std::string_view why) {
  if (!table.in_use(index)) return;
  fail(index, why);
  close(index);
  near.freed().flush();
}

void Engine::Impl::reconfigure(const Settings& changed) {
  settings.policies = changed.policies;
  settings.confirm = changed.confirm;
  settings.wan_rate_bps = changed.wan_rate_bps;
  settings.wan_overhead = changed.wan_overhead;
  settings.estimate_wan_rate = changed.estimate_wan_rate;
  settings.learn_from_traffic = changed.learn_from_traffic;
  settings.rto_initial = changed.rto_initial;
  settings.rto_min = changed.rto_min;
  settings.rto_max = changed.rto_max;
  settings.give_up = changed.give_up;
  settings.longest_give_up = changed.longest_give_up;
  settings.confirm_again = changed.confirm_again;
  settings.dreq_hold = changed.dreq_hold;
  settings.cnp = changed.cnp;
  settings.reorder_wait = changed.reorder_wait;
  settings.ack_unasked = changed.ack_unasked;
  configure_pace();
  near.set_times(near_settings(settings));
}

// A life that nobody announced has agreed on nothing that was seen.
std::optional<flow::EceExchange> Engine::Impl::ece_of(flow::ConnectionIndex index) const {
  return connections[index].from_traffic ? std::nullopt : table[index].ece;
}

bool Engine::Impl::apply_policy(flow::ConnectionIndex index) {
  if (!table.in_use(index)) return false;
  custody::NearFlow& flow = connections[index].near;
  const flow::Policy policy = settings.policies.lookup(flow.identity.requester, flow.identity.responder, ece_of(index));
  if (policy == flow.next_policy) return false;
  custody::NearPart::set_policy(flow, policy);
  return true;
}

ConnectionState Engine::Impl::describe(flow::ConnectionIndex index, Time time) const {
  const Connection& connection = connections[index];
  const custody::NearFlow& flow = connection.near;
  ConnectionState state;
  state.serial = flow.identity.serial;
  state.info = table[index];
  state.info.ece = ece_of(index);
  state.from_traffic = connection.from_traffic;
  state.closing = connection.close_deadline != kNever;
  state.trusted = !flow.trust.lost();
  state.phase = flow.phase;
  state.policy = flow.policy;
  state.next_policy = flow.next_policy;
  state.custody_packets = flow.queue.packets();
  state.custody_bytes = flow.queue.bytes();
  state.unconfirmed_bytes = flow.unconfirmed_bytes();
  state.taken_bytes = flow.bytes_taken;
  state.refused_requests = flow.refused;
  state.plain = flow.plain;
  state.lost_bytes = flow.failure.lost_bytes;
  state.oldest = flow.queue.empty() ? 0 : time - std::min(time, flow.unanswered_since);
  state.idle = time - std::min(time, connection.last_seen);
  state.round_trip = flow.rtt.smoothed();
  state.una = flow.una;
  state.msn = wire::psn_add(flow.msn_base, flow.msn_released);
  state.h = flow.h;
  state.tail = flow.tail;
  return state;
}

// ---- the public face --------------------------------------------------------------------------

namespace {

/// Calls `work` for each slot in use among the `count` slots from `first` on.
template <typename Work>
void for_slots(const flow::ConnectionTable& table, std::uint32_t first, std::uint32_t count, Work work) {
  const std::uint32_t end = first + std::min(count, table.capacity() - std::min(first, table.capacity()));
  for (flow::ConnectionIndex index = first; index < end; ++index)
    if (table.in_use(index)) work(index);
}

}  // namespace

void Engine::set_bypass(bool bypass, Time now) { impl_->set_bypass(bypass, now); }
bool Engine::bypass() const { return impl_->bypass; }
std::uint32_t Engine::connection_slots() const { return impl_->table.capacity(); }

void Engine::forget(std::uint32_t first, std::uint32_t count, std::string_view why, Time now) {
  impl_->now = now;
  for_slots(impl_->table, first, count, [&](flow::ConnectionIndex index) { impl_->forget(index, why); });
}

void Engine::fail(std::uint32_t first, std::uint32_t count, std::string_view why, Time now) {
  impl_->now = now;
  for_slots(impl_->table, first, count, [&](flow::ConnectionIndex index) { impl_->fail(index, why); });
}

void Engine::reconfigure(const Settings& changed) { impl_->reconfigure(changed); }

std::uint32_t Engine::apply_policies(std::uint32_t first, std::uint32_t count) {
  std::uint32_t changed = 0;
  for_slots(impl_->table, first, count, [&](flow::ConnectionIndex index) { changed += impl_->apply_policy(index); });
  return changed;
}

void Engine::describe(std::uint32_t first, std::uint32_t count, Time now, std::vector<ConnectionState>& out) const {
  for_slots(impl_->table, first, count,
            [&](flow::ConnectionIndex index) { out.push_back(impl_->describe(index, now)); });
}

}  // namespace longhaul::engine
