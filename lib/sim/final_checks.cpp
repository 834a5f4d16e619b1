// SPDX-License-Identifier: BSD-3-Clause
#include "sim/final_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

// A responder that took a former life's packet in place of an atomic never has an answer for the requester.
bool is_haunted(const Scene& scene, const Connection& connection) {
  return scene.judge.haunted(connection.flow[0]) || scene.judge.haunted(connection.flow[1]);
}

void check_requester(Scene& scene, const Connection& connection, unsigned host, bool must_succeed) {
  const Requester& requester = connection.qp[host]->requester();
  const std::size_t posted = connection.work[host]->messages().size();
  scene.totals.messages += requester.succeeded();
  if (requester.failed()) ++scene.totals.failed_requesters;
  scene.judge.check_end(connection.flow[host], requester, connection.qp[1 - host]->responder(), scene.now);
  if (!connection.qp[host]->open()) return;
  if (!requester.ended() && !is_haunted(scene, connection))
    scene.judge.report(scene.judge.flow_failed(connection.flow[host]) ? Rule::fail_loudly : Rule::live,
                       fmt::format("{} never ended: {} of {} messages", direction_name(host, connection.number),
                                   requester.succeeded(), posted),
                       scene.now);
  const bool cut = connection.left && !connection.done;
  if (must_succeed && !cut && connection.qp[1 - host]->open() && requester.succeeded() != posted)
    scene.judge.report(
        Rule::live,
        fmt::format("{}: {} of {} messages completed, status {}", direction_name(host, connection.number),
                    requester.succeeded(), posted, static_cast<int>(requester.status())),
        scene.now);
}

std::uint64_t custody_of(const Box& box) { return box.running() ? box.custody_packets() : 0; }

}  // namespace

void check_limits(Scene& scene, const Topology& topology, const Applications& applications) {
  for (unsigned b = 0; b < 2; ++b) {
    const Box& box = topology.box(b);
    if (!box.running()) continue;
    const engine::Settings& share = box.share();
    std::uint64_t limit = share.custody_box_bytes;
    if (!is_attacked(scene.plan)) limit = std::min(limit, share.custody_flow_bytes * applications.lives());
    for (const auto& worker : box.workers()) scene.judge.check_limits(b, worker->engine(), limit, scene.now);
  }
}

void check_end(Scene& scene, const Topology& topology, const Applications& applications, const Operators& operators) {
  for (const Connection* connection : applications.all()) {
    // When a requester ends, both directions end.
    const bool unconfirmed =
        ended_unconfirmed(scene, connection->flow[0]) || ended_unconfirmed(scene, connection->flow[1]);
    const bool must_succeed = must_complete(scene.plan) && !unconfirmed && !is_haunted(scene, *connection);
    for (unsigned h = 0; h < 2; ++h) check_requester(scene, *connection, h, must_succeed);
  }
  for (unsigned b = 0; b < 2; ++b) {
    const Box& box = topology.box(b);
    if (!box.running()) continue;
    if (box.custody_packets() != 0)
      scene.judge.report(Rule::live, fmt::format("box {} still has {} packets in custody", b, box.custody_packets()),
                         scene.now);
    if (operators.ran_whole(b)) scene.judge.check_end(b, scene.now);
  }
}

void report_no_end(Scene& scene, const Topology& topology, const Applications& applications) {
  std::string who;
  bool told = true;
  bool haunted = false;
  for (const auto& c : applications.newest()) {
    if (is_haunted(scene, *c)) {
      haunted = true;
      continue;
    }
    for (unsigned h = 0; h < 2; ++h) {
      const Requester& requester = c->qp[h]->requester();
      if (requester.ended()) continue;
      who += fmt::format(" {}: {} of {} messages;", direction_name(h, c->number), requester.succeeded(),
                         c->work[h]->messages().size());
      if (scene.judge.flow_failed(c->flow[h])) told = false;
    }
  }
  if (haunted && who.empty()) return;
  scene.judge.report(told ? Rule::live : Rule::fail_loudly,
                     fmt::format("no end in sight after {} events:{} custody {} and {} packets", scene.totals.steps,
                                 who, custody_of(topology.box(0)), custody_of(topology.box(1))),
                     scene.now);
}

std::vector<Delivery> deliveries(const Scene& scene, const Applications& applications) {
  std::vector<Delivery> all;
  for (const Connection* connection : applications.all()) {
    for (unsigned h = 0; h < 2; ++h) {
      const Requester& requester = connection->qp[h]->requester();
      if (connection->work[h]->messages().empty()) continue;
      Delivery delivery;
      delivery.flow = flow_name(h, connection->number, connection->generation);
      delivery.host = h;
      delivery.began = requester.first_sent() != kNever;
      delivery.died = requester.failed();
      const Time accepted = scene.judge.accepted_all_at(connection->flow[h]);
      delivery.accepted = accepted != kNever;
      if (delivery.accepted) delivery.took = accepted - requester.first_sent();
      if (is_attacked(scene.plan)) {
        delivery.posted = connection->work[h]->messages().size();
        delivery.delays = requester.delays();
        if (connection->closing_at != kNever && connection->over_at != kNever)
          delivery.closed_in = std::max<Duration>(connection->over_at - connection->closing_at, 1);
        if (requester.succeeded() == delivery.posted)
          delivery.completed_took = requester.measured_to() - requester.first_sent();
      }
      all.push_back(std::move(delivery));
    }
  }
  return all;
}

}  // namespace longhaul::sim
