// SPDX-License-Identifier: BSD-3-Clause
// RDMA-CM at one end of one connection (IBTA vol. 1, 12.9): REQ, REP, RTU, REJ, DREQ, DREP, with retries.
#pragma once

#include <cstdint>

#include "base/time.hpp"
#include "sim/frames.hpp"
#include "sim/retries.hpp"
#include "wire/builder.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

struct CmPlan {
  bool rejects = false;  ///< the passive end says no
  std::uint32_t comm_id = 0;
  std::uint64_t transaction = 0;        ///< the active end's
  std::uint64_t service = 0;            ///< what the REQ asks for: one per connection
  std::uint32_t qpn = 0;                ///< its own
  std::uint32_t peer_starting_psn = 0;  ///< the PSN that the other end must start with
  std::uint8_t path_mtu = 3;            ///< code
  std::uint8_t retry_count = 7;
  std::uint8_t ack_timeout = 14;  ///< code
  std::uint8_t rnr_retry = kEndlessRnrRetry;
  std::uint8_t resources = 8;
  bool flow_control = false;
  Duration timeout = milliseconds(4300);
  unsigned tries = 15;
};

class CmAgent {
 public:
  enum class State : std::uint8_t { idle, req_sent, rep_sent, established, dreq_sent, closed, refused };

  CmAgent(const CmPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet)
      : plan_(plan), frame_(frame), outlet_(outlet) {}

  void connect(Time now);
  void disconnect(Time now);
  /// An RC packet came for the QP: the RTU was lost, but the connection stands (12.9.6).
  void traffic_came() {
    if (state_ == State::rep_sent) enter(State::established);
  }
  void receive(const wire::CmMessage& message, Time now);
  Time next_deadline() const { return timer_; }
  void poll(Time now);

  State state() const { return state_; }
  const CmPlan& plan() const { return plan_; }
  /// The other end's ID; 0 until it is known.
  std::uint32_t remote_id() const { return remote_id_; }

 private:
  void enter(State state);
  void send(wire::CmAttribute attribute);
  void send_and_wait(State state, wire::CmAttribute attribute, Time now);

  CmPlan plan_;
  wire::PacketBuilder frame_;
  Outlet& outlet_;
  State state_ = State::idle;
  std::uint32_t remote_id_ = 0;
  std::uint32_t remote_qpn_ = 0;  ///< from the peer's REQ or REP
  std::uint64_t transaction_ = 0;
  wire::CmAttribute waits_with_{};
  unsigned tries_ = 0;
  Time timer_ = kNever;
};

}  // namespace longhaul::sim
