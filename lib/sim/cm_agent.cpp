// SPDX-License-Identifier: BSD-3-Clause
#include "sim/cm_agent.hpp"

#include <vector>

namespace longhaul::sim {

using wire::CmAttribute;

void CmAgent::enter(State state) {
  state_ = state;
  timer_ = kNever;
}

void CmAgent::send(CmAttribute attribute) {
  wire::CmMessage message;
  message.attribute = attribute;
  message.transaction_id = transaction_;
  message.local_comm_id = plan_.comm_id;
  message.remote_comm_id = remote_id_;
  if (attribute == CmAttribute::req || attribute == CmAttribute::rep) {
    message.local_qpn = plan_.qpn;
    message.starting_psn = plan_.peer_starting_psn;
    message.responder_resources = message.initiator_depth = plan_.resources;
    message.rnr_retry_count = plan_.rnr_retry;
    message.end_to_end_flow_control = plan_.flow_control;
    message.reliable_connected = true;
    message.path_mtu = plan_.path_mtu;
    message.retry_count = plan_.retry_count;
    message.local_ack_timeout = plan_.ack_timeout;
    message.max_cm_retries = static_cast<std::uint8_t>(plan_.tries);
    message.service_id = plan_.service;
  }
  if (attribute == CmAttribute::dreq) message.remote_qpn = remote_qpn_;
  constexpr std::uint16_t kConsumerReject = 28;
  if (attribute == CmAttribute::rej) message.reject_reason = kConsumerReject;
  std::vector<std::uint8_t> mad(wire::kMadSize);
  wire::write_cm(message, std::span<std::uint8_t, wire::kMadSize>(mad));
  wire::PacketBuilder builder = frame_;
  constexpr std::uint32_t kGsiQKey = 0x80010000;
  outlet_.put(builder.opcode(wire::kUdSendOnly).qpn(wire::kGsiQpn).deth(kGsiQKey, wire::kGsiQpn).payload(mad).build());
}

void CmAgent::send_and_wait(State state, CmAttribute attribute, Time now) {
  state_ = state;
  waits_with_ = attribute;
  tries_ = plan_.tries;
  timer_ = now + plan_.timeout;
  send(attribute);
}

void CmAgent::connect(Time now) {
  transaction_ = plan_.transaction;
  send_and_wait(State::req_sent, CmAttribute::req, now);
}

void CmAgent::disconnect(Time now) {
  if (state_ == State::rep_sent) state_ = State::established;
  if (state_ == State::established) send_and_wait(State::dreq_sent, CmAttribute::dreq, now);
}

void CmAgent::poll(Time now) {
  if (timer_ > now) return;
  if (tries_-- > 0) {
    timer_ = now + plan_.timeout;
    send(waits_with_);
    return;
  }
  enter(state_ == State::req_sent || state_ == State::rep_sent ? State::refused : State::closed);
}

void CmAgent::receive(const wire::CmMessage& message, Time now) {
  switch (message.attribute) {
    case CmAttribute::req:
      if (state_ == State::idle) {
        remote_id_ = message.local_comm_id;
        remote_qpn_ = message.local_qpn;
        transaction_ = message.transaction_id;
        if (plan_.rejects) {
          send(CmAttribute::rej);
          enter(State::refused);
        } else {
          send_and_wait(State::rep_sent, CmAttribute::rep, now);
        }
      } else if (state_ == State::rep_sent) {
        send(CmAttribute::rep);
      } else if (state_ == State::refused && plan_.rejects) {
        send(CmAttribute::rej);
      }
      return;
    case CmAttribute::rep:
      if (state_ == State::req_sent) {
        remote_id_ = message.local_comm_id;
        remote_qpn_ = message.local_qpn;
        enter(State::established);
      }
      if (state_ == State::established) send(CmAttribute::rtu);
      return;
    case CmAttribute::rtu:
      if (state_ == State::rep_sent) enter(State::established);
      return;
    case CmAttribute::rej:
      if (state_ == State::req_sent) enter(State::refused);
      return;
    case CmAttribute::dreq:
      if (state_ == State::idle || state_ == State::req_sent || state_ == State::refused) return;
      send(CmAttribute::drep);
      enter(State::closed);
      return;
    case CmAttribute::drep:
      if (state_ == State::dreq_sent) enter(State::closed);
      return;
    case CmAttribute::mra:
      return;
  }
}

}  // namespace longhaul::sim
