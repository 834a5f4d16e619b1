// SPDX-License-Identifier: BSD-3-Clause
// One RC queue pair: requester, responder, and the CM agent that set it up (or none).
#pragma once

#include <memory>
#include <optional>

#include "sim/cm_agent.hpp"
#include "sim/notification_point.hpp"
#include "sim/requester.hpp"
#include "sim/responder.hpp"

namespace longhaul::sim {

struct QueuePairPlan {
  std::uint32_t qpn = 0;
  std::uint32_t remote_qpn = 0;
  std::uint16_t p_key = 0xffff;
  std::uint16_t udp_port = 0xc000;  ///< source port
  Duration cnp_interval = 0;        ///< NotificationPoint
  RequesterPlan requester;
  ResponderPlan responder;
  std::optional<CmPlan> cm;  ///< none: the QP is ready from the start
  bool active = false;       ///< sends the REQ
  bool kill_when_failed = true;
  Time starts_at = 0;  ///< when the REQ or the first request is sent
};

class QueuePair {
 public:
  /// `frame` has the addresses from here to the other host; `work` is what its requester posts.
  QueuePair(const QueuePairPlan& plan, const Work& work, const wire::PacketBuilder& frame, Outlet& outlet,
            ResponderWatch& watch, Requester::Complain complain);

  void receive(const View& view, Time now);
  void receive(const wire::CmMessage& message, Time now);
  void receive_cnp(Time now);
  Time next_deadline() const;
  void poll(Time now);

  /// The application closes: the QP goes into error, then the DREQ.
  void close(Time now);
  /// Its host discards it without telling anyone.
  void vanish();
  bool in_error() const { return in_error_; }
  /// Nothing more happens by itself: refused, closed, or in error without CM.
  bool over() const;
  bool open() const { return open_; }

  const QueuePairPlan& plan() const { return plan_; }
  const Requester& requester() const { return requester_; }
  void lose_patience() { requester_.lose_patience(); }
  const Responder& responder() const { return responder_; }
  const CmAgent* cm() const { return cm_ ? &*cm_ : nullptr; }

 private:
  void follow_cm(Time now);
  void follow_errors();
  void enter_error();

  QueuePairPlan plan_;
  Requester requester_;
  Responder responder_;
  NotificationPoint notification_;
  std::optional<CmAgent> cm_;
  bool asked_ = false;
  bool open_ = false;  ///< requests may be sent
  bool in_error_ = false;
};

}  // namespace longhaul::sim
