// SPDX-License-Identifier: BSD-3-Clause
// One port's way out: a burst being gathered, and the frames that the port refused and that nobody else can
// send again, in order, up to a limit.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "custody/near_flow.hpp"
#include "flow/side.hpp"

struct rte_mbuf;

namespace longhaul::engine {

class Sink;

/// What becomes of frames handed to an Egress.
class EgressEvents {
 public:
  virtual ~EgressEvents() = default;
  virtual void held_sent(custody::NearFlow& flow, rte_mbuf* held) = 0;
  virtual void held_refused(custody::NearFlow& flow, rte_mbuf* held) = 0;
  virtual void forwarded(Side out) = 0;           ///< a received frame went out
  virtual void made_sent(Time cause) = 0;         ///< a frame of the box's own went out
  virtual void dropped(Side out, bool made) = 0;  ///< the port refused for too long
};

class Egress {
 public:
  Egress(Side out, Sink& sink, EgressEvents& events) : out_(out), sink_(sink), events_(events) {}

  void forward(rte_mbuf* frame) { stage(frame, nullptr, nullptr, false, kNever); }
  /// `cause`: when the burst that caused it was received; kNever when it had been withheld.
  void send_made(custody::NearFlow& flow, rte_mbuf* frame, Time cause) { stage(frame, &flow, nullptr, true, cause); }
  void send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) { stage(frame, &flow, held, false, kNever); }

  /// Hands everything to the port.
  void flush();

  /// Made frames of `flow` that the port refused go no more: its QPN may have a new owner by then.
  void drop_made_for(const custody::NearFlow& flow);

  bool has_refused() const { return !refused_.empty(); }
  /// Frames received that still wait here.
  std::uint64_t waiting() const;
  void discard();

 private:
  struct Entry {
    rte_mbuf* frame;
    custody::NearFlow* flow;
    rte_mbuf* held;
    bool made;
    Time cause;
  };
  static constexpr std::size_t kBurst = 64;
  static constexpr std::size_t kMaxRefused = 1024;

  // Field by field: to build an Entry and copy it in wider pieces would wait for every store before it.
  void stage(rte_mbuf* frame, custody::NearFlow* flow, rte_mbuf* held, bool made, Time cause) {
    Entry& entry = burst_[count_++];
    entry.frame = frame;
    entry.flow = flow;
    entry.held = held;
    entry.made = made;
    entry.cause = cause;
    if (count_ == kBurst) flush();
  }
  void settle_sent(const Entry& entry);
  void retry_refused();

  Side out_;
  Sink& sink_;
  EgressEvents& events_;
  std::array<Entry, kBurst> burst_;
  std::size_t count_ = 0;
  std::deque<Entry> refused_;
};

}  // namespace longhaul::engine
