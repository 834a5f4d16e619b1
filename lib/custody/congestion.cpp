// SPDX-License-Identifier: BSD-3-Clause
// Congestion: what CNPs from the WAN change, and which CNPs the box makes, as a responder's notification point would
// (IBTA Annex A17; Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). The responder is a
// long way off, and what waits in the box waits for the WAN's pace: so the box is the place where congestion shows
// first.
#include <algorithm>

#include "custody/near_part.hpp"
#include "flow/lifetimes.hpp"

namespace longhaul::custody {

namespace {

/// CNPs that a worker may make at once; after that, one in Outlet::cnps_apart().
constexpr Duration kAtOnce = 16;

// How often CNPs come follows a flow's backlog as PI controllers of queues do (Hollot et al., INFOCOM 2001; for DCQCN:
// Zhu et al., "ECN or Delay", CoNEXT 2016): by how far it is from what it may be, for each millisecond, and by how much
// it has grown. With less of the second, 16 flows behind a tenth of their line swing ever more.
constexpr double kIntegral = 0.2;
constexpr double kProportional = 4;
/// Backlogs beyond this many times what is allowed are all the same, and so are longer times without a look.
constexpr double kMuch = 16;
constexpr double kLong = 20;

/// From 0 to 1: where a pool of custody is between half full and full.
double pressure_of(std::uint64_t used, std::uint64_t limit) {
  if (limit == 0 || used <= limit / 2) return 0;
  return std::min(1.0, static_cast<double>(used - limit / 2) / static_cast<double>(limit - limit / 2));
}

}  // namespace

void NearPart::congestion(NearFlow& flow, Time now) {
  if (!flow.rtt.known()) return;
  const Time until = now + flow.rtt.smoothed();
  flow.window.on_congestion(until);
  // What the smaller window holds back may be acknowledged then, with or without answers.
  if (!flow.queue.empty()) flow.deadline = std::min(flow.deadline, until);
}

bool NearPart::absorbs_cnp(const NearFlow& flow) const {
  return settings_.cnp.from_wan == WanCnps::absorb && flow.owes() && flow.phase == Phase::confirmed &&
         flow.trust.silent == 0;
}

// The box knows the requester's QPN for certain: a real answer has shown it lately, or RDMA-CM has just announced it.
// (What RDMA-CM says is in doubt until the active end has named both IDs.)
bool NearPart::is_proven(const NearFlow& flow, Time now) {
  if (flow.trust.silent != 0 || flow.trust.lost()) return false;
  if (flow.phase == Phase::unconfirmed) return now - flow.unanswered_since <= kKeptBack;
  return (flow.trust.was_confirmed || flow.answered_at != 0) && !awaits_proof(flow, now);
}

// Its host has sent something on this connection so lately that no QP was created anew since (docs/design.md, 4.8): a
// CNP reaches nobody else.
bool NearPart::may_notify(const NearFlow& flow, Time now) const {
  if (flow.ack.empty() || flow.policy == flow::Policy::off || draining_ || is_over(flow.phase)) return false;
  return is_proven(flow, now) && now - outlet_.heard_at(flow) <= flow::kSoonestReuse;
}

// Bytes that the requester has sent faster than they leave: they wait to be sent, or their pseudo-ACKs wait for the
// window. What waits for the responder's receives or for a READ says nothing of the WAN.
std::uint64_t NearPart::held_up_bytes(const NearFlow& flow, Time now) const {
  if (flow.queue.empty() || flow.hold_until != 0) return 0;
  const rte_mbuf* first = flow.queue.unsent();
  if (first == nullptr) {
    first = flow.queue.to_acknowledge();
    if (first == nullptr || held_in(first).wants_response || link_.starting()) return 0;
    if (held_in(first).end_bytes - flow.bytes_answered <= window_of(flow, now)) return 0;
  }
  return held_in(flow.queue.newest()).end_bytes - held_in(first).end_bytes + first->pkt_len;
}

/// `waits` bytes wait now: how much there is to say, from 0 to 1.
double NearPart::follow_backlog(NearFlow& flow, std::uint64_t waits, Time now) const {
  CnpControl& control = flow.cnp;
  const auto allowed = static_cast<double>(std::max(settings_.cnp.least_backlog, outlet_.fair_backlog()));
  const double backlog = std::min(static_cast<double>(waits) / allowed, kMuch);
  const double elapsed = std::min(static_cast<double>(now - control.looked_at) / milliseconds(1), kLong);
  const double change =
      kIntegral * (backlog - 1) * elapsed + kProportional * (backlog - static_cast<double>(control.backlog));
  control.pressure = static_cast<float>(std::clamp(static_cast<double>(control.pressure) + change, 0.0, 1.0));
  control.backlog = static_cast<float>(backlog);
  return static_cast<double>(control.pressure);
}

// A flow in custody that the pace holds: its backlog, and how full custody is. One that passes, or whose packets leave
// as they come: how far all that leaves exceeds the WAN's pace.
double NearPart::pressure_on(NearFlow& flow, Time now) const {
  const bool passes =
      flow.phase == Phase::plain || (flow.phase == Phase::unconfirmed && flow.queue.unsent() == nullptr);
  if (passes) return link_.starting() ? 0 : outlet_.excess();
  const std::uint64_t waits = held_up_bytes(flow, now);
  const double pressure = follow_backlog(flow, waits, now);
  if (waits == 0) return 0;
  return std::max({pressure, pressure_of(budget_.held.bytes, budget_.box_bytes_limit),
                   pressure_of(budget_.held.large_mbufs, budget_.large_mbufs_limit),
                   pressure_of(flow.queue.bytes(), budget_.flow_bytes_limit)});
}

// The rarer, the less there is to say: a requester slows down smoothly, long before custody is full. CNPs come without
// further requests too: a slow requester sends a packet in a much longer time than its rate takes to rise again.
void NearPart::notify_congestion(NearFlow& flow, Time now) {
  const Duration apart = outlet_.cnps_apart();
  const Duration interval = std::max(settings_.cnp.interval, outlet_.waiting_flows() * apart);
  if (now < flow.cnp.looked_at + interval) return look_again(flow, flow.cnp.looked_at + interval);
  if (!may_notify(flow, now)) return;
  const double pressure = pressure_on(flow, now);
  flow.cnp.looked_at = now;
  look_again(flow, now + interval);
  const auto since = static_cast<double>(now - flow.cnp.sent_at);
  if (pressure <= 0 || (flow.cnp.sent_at != 0 && since * pressure < static_cast<double>(interval))) return;
  if (now < cnps_free_at_) return;
  cnps_free_at_ = std::max(cnps_free_at_, now - std::min(now, kAtOnce * apart)) + apart;
  rte_mbuf* frame = flow.ack.make_cnp(made_, settings_.cnp.dscp);
  if (frame == nullptr) {
    ++counters_[Counter::made_frames_lost];
    return;
  }
  flow.cnp.sent_at = now;
  ++counters_[Counter::cnps_made];
  if (observer_ != nullptr) observer_->on_cnp_made(flow.identity, flow.trust.silent != 0, now);
  outlet_.send_to_requester(flow, frame, kNever);
}

void NearPart::look_again(NearFlow& flow, Time at) {
  if (flow.queue.unsent() != nullptr || flow.phase == Phase::unconfirmed) flow.deadline = std::min(flow.deadline, at);
}

}  // namespace longhaul::custody
