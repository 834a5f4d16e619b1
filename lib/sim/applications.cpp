// SPDX-License-Identifier: BSD-3-Clause
#include "sim/applications.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

bool is_refused(const QueuePair& qp) { return qp.cm() != nullptr && qp.cm()->state() == CmAgent::State::refused; }

}  // namespace

std::string direction_name(unsigned requester_host, unsigned connection) {
  return fmt::format("{}{}", requester_host == 0 ? "A>B " : "B>A ", connection);
}

std::string flow_name(unsigned requester_host, unsigned connection, unsigned generation) {
  return fmt::format("{}.{}", direction_name(requester_host, connection), generation);
}

// Its requester gets no fatal NAK, and ends by its retry count.
bool ended_unconfirmed(const Scene& scene, std::size_t flow) {
  return scene.judge.ended_unconfirmed(flow, has_forgers(scene.plan));
}

Applications::Applications(Scene& scene, Topology& topology) : scene_(scene), topology_(topology) {
  const Case& c = scene.plan;
  for (unsigned n = 0; n < c.connections; ++n) {
    newest_.push_back(nullptr);
    const Number later = n + 1 == c.connections ? c.last_later_us : 0;
    connect(n, 0, scene.at(c.starts_us + later) + n * microseconds(c.apart_us));
  }
  topology.begin_strays({targets_of(0), targets_of(1)});
}

bool Applications::over() const {
  return std::ranges::all_of(newest_, [](const auto& c) { return c->over; });
}

bool Applications::waiting() const {
  return std::ranges::all_of(newest_, [](const auto& c) { return c->over || c->comes_back; });
}

std::vector<const Connection*> Applications::all() const {
  std::vector<const Connection*> every;
  for (const auto* list : {&old_, &newest_})
    for (const auto& connection : *list) every.push_back(connection.get());
  return every;
}

// ---- connecting -------------------------------------------------------------------------------

void Applications::connect(unsigned number, unsigned generation, Time when) {
  const Case& c = scene_.plan;
  Judge& judge = scene_.judge;
  auto connection = std::make_unique<Connection>();
  connection->number = number;
  connection->generation = generation;
  connection->began = newest_life_ = when;
  for (unsigned h = 0; h < 2; ++h) connection->work[h] = std::make_unique<Work>(work_plan(c, h, number, generation));
  for (unsigned h = 0; h < 2; ++h) connection->flow[h] = judge.add_flow(flow_plan(*connection, h, when));
  for (unsigned h = 0; h < 2; ++h) {
    const QueuePairPlan qp = queue_pair_plan(c, h, number, generation, when);
    connection->qp[h] = std::make_shared<QueuePair>(qp, *connection->work[h], frame_from(c, h), topology_.port(h),
                                                    judge.responder_watch(connection->flow[1 - h]),
                                                    judge.complainer(connection->flow[h]));
    topology_.host(h).add(connection->qp[h]);
    judge.set_requester(connection->flow[h], connection->qp[h]->requester());
  }
  if (newest_[number]) old_.push_back(std::move(newest_[number]));
  newest_[number] = std::move(connection);
  for (unsigned h = 0; h < 2; ++h) topology_.aim_strays(h, targets_of(h), when);
}

/// The plan of the flow of `host`'s requests.
FlowPlan Applications::flow_plan(const Connection& connection, unsigned host, Time when) const {
  const Case& c = scene_.plan;
  const unsigned number = connection.number, generation = connection.generation;
  FlowPlan flow;
  flow.name = flow_name(host, number, generation);
  flow.requester_host = host;
  flow.work = connection.work[host].get();
  flow.requester = address_of(c, host);
  flow.responder = address_of(c, 1 - host);
  flow.vlan = vlan_of(c);
  flow.requester_qpn = qpn_of(c, host, number, generation);
  flow.responder_qpn = qpn_of(c, 1 - host, number, generation);
  flow.p_key = static_cast<std::uint16_t>(c.p_key);
  for (unsigned end = 0; end < 2; ++end)
    if (const auto cm = queue_pair_plan(c, end, number, generation, when).cm) flow.comm_ids[end] = cm->comm_id;
  constexpr Number kWindow = number_of(BoxPolicy::window);
  const BoxPlan& near = box_plan(c, host);
  flow.completions_true = near.policy == kWindow && (near.repolicy_at_us == 0 || near.repolicy == kWindow);
  return flow;
}

std::vector<Target> Applications::targets_of(unsigned host) const {
  std::vector<Target> targets;
  for (const auto& connection : newest_)
    targets.push_back({connection->qp[host]->plan().qpn, connection->qp[1 - host]->plan().qpn,
                       connection->work[host]->plan().starting_psn, connection->work[1 - host]->plan().starting_psn});
  return targets;
}

// ---- closing ----------------------------------------------------------------------------------

void Applications::look() {
  for (unsigned n = 0; n < newest_.size(); ++n)
    if (!newest_[n]->over && !newest_[n]->comes_back) look_at(*newest_[n]);
}

void Applications::look_at(Connection& connection) {
  const Case& c = scene_.plan;
  for (unsigned h = 0; h < 2; ++h)
    if (ended_unconfirmed(scene_, connection.flow[h])) connection.qp[h]->lose_patience();
  close_when_done(connection);
  close_after_error(connection);
  if (c.leave_us != 0 && scene_.now >= connection.began + microseconds(c.leave_us) && !finished(connection))
    leave(connection);
  if (finished(connection)) begin_next(connection);
}

/// The applications close it, and RDMA-CM tells the other end.
bool Applications::is_closed_by_cm(const Connection& connection) const {
  return is_announced(scene_.plan, connection.generation) && scene_.plan.close != number_of(Closing::nobody);
}

void Applications::close_when_done(Connection& connection) {
  const Case& c = scene_.plan;
  if (!is_closed_by_cm(connection) || connection.closing || !connection.open()) return;
  const bool due = closes_early(c) ? scene_.now >= connection.qp[0]->plan().starts_at + microseconds(c.close_at_us)
                                   : connection.ended();
  if (!due) return;
  connection.closing = true;
  connection.closing_at = scene_.now;
  for (unsigned h = 0; h < 2; ++h)
    if (closes(c, h)) connection.qp[h]->close(scene_.now);
}

// The application closes a QP in error. The peer's application hears of it by a DREQ, or closes after a while.
void Applications::close_after_error(Connection& connection) {
  const bool with_cm = is_closed_by_cm(connection);
  for (unsigned h = 0; h < 2; ++h) {
    if (!connection.qp[h]->in_error()) continue;
    connection.error_since = std::min(connection.error_since, scene_.now);
    if (with_cm && !connection.closed[h]) connection.qp[h]->close(scene_.now);
    connection.closed[h] = true;
    const Duration patience = with_cm ? microseconds(scene_.plan.cm_timeout_us) * (kCmTries + 2) : seconds(2);
    if (scene_.now - connection.error_since > patience && !connection.qp[1 - h]->in_error())
      connection.qp[1 - h]->close(scene_.now);
  }
}

bool Applications::finished(const Connection& connection) const {
  const auto& qp = connection.qp;
  if (is_refused(*qp[0]) || is_refused(*qp[1])) {
    // The other end's CM messages may wait in a box that stands still.
    if (topology_.a_box_stands_still()) return false;
    return std::ranges::all_of(qp, [](const auto& end) { return end->over() || end->in_error() || !end->open(); });
  }
  if (!is_closed_by_cm(connection))
    return (connection.open() || qp[0]->in_error() || qp[1]->in_error()) && connection.ended();
  return qp[0]->over() && qp[1]->over();
}

// ---- the next generation ----------------------------------------------------------------------

void Applications::begin_next(Connection& connection) {
  const Case& c = scene_.plan;
  if (connection.generation < c.come_back) {
    if (!connection.left) leave(connection);
    come_back(connection.number);
    return;
  }
  connection.over = true;
  connection.over_at = scene_.now;
  const bool closed = is_closed_by_cm(connection) && connection.qp[0]->over() && connection.qp[1]->over();
  if (connection.generation < c.reconnect && closed) {
    // TIMEWAIT: everything under way has arrived or been lost.
    const Duration gap = 4 * microseconds(c.wan_delay_us) + pauses(c) + milliseconds(20);
    connect(connection.number, connection.generation + 1, scene_.now + gap);
  }
}

// Both applications are gone, and their QPs with them.
void Applications::leave(Connection& connection) {
  connection.done = connection.ended();
  connection.left = true;
  for (const auto& qp : connection.qp) qp->vanish();
}

// Crosswise lives begin only when all have ended, so that none takes a QPN that still lives.
void Applications::come_back(unsigned number) {
  newest_[number]->comes_back = true;
  if (scene_.plan.come_back_crosswise == 0) return appoint_next_life(number);
  if (!std::ranges::all_of(newest_, [](const auto& c) { return c->comes_back; })) return;
  for (unsigned n = 0; n < newest_.size(); ++n) appoint_next_life(n);
}

// By then everything that the hosts sent has arrived or been lost, as any transport must assume (IBTA vol. 1, 12.9.8.4,
// TimeWait).
void Applications::appoint_next_life(unsigned number) {
  const Case& c = scene_.plan;
  Duration lifetime = 4 * microseconds(c.wan_delay_us) + milliseconds(20);
  constexpr Duration kSlowQueue = milliseconds(300);
  if (c.wan_mbps != 0) lifetime += kSlowQueue;
  Time when = scene_.now + std::max(lifetime, microseconds(c.come_back_us));
  if (c.come_back_crosswise != 0) when += number * microseconds(c.apart_us);
  newest_life_ = std::max(newest_life_, when);
  scene_.timeline.appoint(
      when, [this, number, next = newest_[number]->generation + 1] { connect(number, next, scene_.now); });
}

}  // namespace longhaul::sim
