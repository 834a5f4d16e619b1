// SPDX-License-Identifier: BSD-3-Clause
#include "sim/queue_pair.hpp"

#include <algorithm>

namespace longhaul::sim {

namespace {

wire::PacketBuilder rc_frame(const QueuePairPlan& plan, wire::PacketBuilder frame) {
  return frame.qpn(plan.remote_qpn).p_key(plan.p_key).udp_source_port(plan.udp_port);
}

}  // namespace

QueuePair::QueuePair(const QueuePairPlan& plan, const Work& work, const wire::PacketBuilder& frame, Outlet& outlet,
                     ResponderWatch& watch, Requester::Complain complain)
    : plan_(plan),
      requester_(plan.requester, work, rc_frame(plan, frame), outlet, std::move(complain)),
      responder_(plan.responder, rc_frame(plan, frame), outlet, watch),
      notification_(plan.cnp_interval, rc_frame(plan, frame), outlet) {
  if (plan.cm) cm_.emplace(*plan.cm, frame, outlet);
}

void QueuePair::receive(const View& view, Time now) {
  if (in_error_) return;
  const bool is_answer = view.frame.opcode != nullptr && view.frame.opcode->is_response();
  if (cm_) {
    const auto state = cm_->state();
    if (state == CmAgent::State::idle || state == CmAgent::State::req_sent || state == CmAgent::State::refused) return;
    // No peer sends a PSN before the first one: a forger's READ (strays.cpp) does not stand for the RTU.
    if (!is_answer && responder_.may_be_next(view.frame.psn())) cm_->traffic_came();
    follow_cm(now);
  }
  if (is_answer)
    requester_.receive(view, now);
  else
    responder_.receive(view, now);
  notification_.receive(view, now);
  follow_errors();
}

void QueuePair::receive_cnp(Time now) {
  if (!in_error_) requester_.on_cnp(now);
}

void QueuePair::receive(const wire::CmMessage& message, Time now) {
  cm_->receive(message, now);
  follow_cm(now);
}

void QueuePair::follow_cm(Time now) {
  if (!cm_) return;
  if (cm_->state() == CmAgent::State::established && !open_ && !in_error_) {
    open_ = true;
    requester_.start(now);
  }
  if (cm_->state() == CmAgent::State::closed || cm_->state() == CmAgent::State::refused) enter_error();
}

// An error of either half puts the whole QP into error.
void QueuePair::follow_errors() {
  if (requester_.failed() || responder_.failed()) enter_error();
}

void QueuePair::enter_error() {
  in_error_ = true;
  requester_.flush();
  responder_.kill();
}

void QueuePair::close(Time now) {
  enter_error();
  if (cm_) cm_->disconnect(now);
}

void QueuePair::vanish() {
  enter_error();
  cm_.reset();
}

bool QueuePair::over() const {
  if (!cm_) return in_error_;
  return cm_->state() == CmAgent::State::closed || cm_->state() == CmAgent::State::refused;
}

Time QueuePair::next_deadline() const {
  Time next = std::min(requester_.next_deadline(), responder_.next_deadline());
  if (cm_) next = std::min(next, cm_->next_deadline());
  if (!asked_ && (plan_.active || !cm_)) next = std::min(next, plan_.starts_at);
  return next;
}

void QueuePair::poll(Time now) {
  if (!asked_ && plan_.starts_at <= now) {
    asked_ = true;
    if (cm_ && plan_.active) cm_->connect(now);
    if (!cm_) {
      open_ = true;
      requester_.start(now);
    }
  }
  if (cm_ && cm_->next_deadline() <= now) {
    cm_->poll(now);
    follow_cm(now);
  }
  if (requester_.next_deadline() <= now) requester_.poll(now);
  if (responder_.next_deadline() <= now) responder_.poll(now);
  follow_errors();
}

}  // namespace longhaul::sim
