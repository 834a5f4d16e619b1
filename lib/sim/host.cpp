// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host.hpp"

#include <algorithm>
#include <ranges>

namespace longhaul::sim {

void Host::add(std::shared_ptr<QueuePair> queue_pair) {
  by_qpn_[queue_pair->plan().qpn] = queue_pair.get();
  queue_pairs_.push_back(std::move(queue_pair));
}

void Host::receive(const rte_mbuf* frame, Time now) {
  const View view(frame);
  if (!view.intact || !(view.frame.destination == address_) || !(view.frame.vlan == vlan_)) return;
  if (const auto message = wire::parse_cm(view.frame)) return cm(*message, now);
  const bool cnp = view.roce && view.frame.service() == wire::Service::cnp;
  if (!view.reliable() && !cnp) return;
  const auto found = by_qpn_.find(view.qpn());
  if (found == by_qpn_.end() || view.frame.bth().p_key != found->second->plan().p_key) return;
  if (cnp)
    found->second->receive_cnp(now);
  else
    found->second->receive(view, now);
}

// A REQ is matched by its service, everything else by both communication IDs. If several queue pairs match, the newest
// is meant.
void Host::cm(const wire::CmMessage& message, Time now) {
  using wire::CmAttribute;
  if (listener_.receive(message, now)) return;
  for (const auto& qp : queue_pairs_ | std::views::reverse) {
    const CmAgent* agent = qp->cm();
    if (agent == nullptr) continue;
    const CmPlan& plan = agent->plan();
    bool its = false;
    if (message.attribute == CmAttribute::req) {
      its = !qp->plan().active && plan.service == message.service_id &&
            (agent->remote_id() == 0 || agent->remote_id() == message.local_comm_id);
    } else {
      its = plan.comm_id == message.remote_comm_id &&
            (agent->remote_id() == 0 ? qp->plan().active && plan.transaction == message.transaction_id
                                     : agent->remote_id() == message.local_comm_id);
    }
    if (its) return qp->receive(message, now);
  }
}

Time Host::next_deadline() const {
  Time next = listener_.next_deadline();
  for (const auto& qp : queue_pairs_) next = std::min(next, qp->next_deadline());
  return next;
}

void Host::poll(Time now) {
  if (listener_.next_deadline() <= now) listener_.poll(now);
  const std::size_t first = turn_;
  for (std::size_t i = 0; i < queue_pairs_.size(); ++i) {
    const std::size_t number = (first + i) % queue_pairs_.size();
    QueuePair& qp = *queue_pairs_[number];
    if (qp.next_deadline() > now) continue;
    const bool free = port_.free_at() <= now;
    qp.poll(now);
    // The queue pair that sent last comes last the next time.
    if (free && port_.free_at() > now) turn_ = number + 1;
  }
}

}  // namespace longhaul::sim
