// SPDX-License-Identifier: BSD-3-Clause
// One port's way out: the burst being gathered, and the frames that the port refused and that nobody else can send
// again, in order, up to a limit.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "base/side.hpp"
#include "custody/near_flow.hpp"
#include "engine/engine.hpp"

namespace longhaul::engine {

/// `Events` is told what becomes of each frame handed to an Egress. It is a template parameter because there is an
/// event for every frame. The only instance is the engine's (egress.cpp).
///
///   void forwarded(Side out, std::uint64_t frames);                  received frames went out
///   void held_sent(custody::NearFlow& flow, rte_mbuf* held);
///   void held_refused(custody::NearFlow& flow, rte_mbuf* held);
///   void made_sent(Time cause);                                      a frame of the box's own went out
///   void dropped(Side out, bool made);                               the port refused for too long
template <typename Events>
class Egress {
 public:
  Egress(Side out, Sink& sink, Events& events) : out_(out), sink_(sink), events_(events) {}

  void forward(rte_mbuf* frame) { stage(frame, Kind::forwarded, nullptr, {}); }
  /// All of them, in order.
  void forward(std::span<rte_mbuf* const> frames) {
    while (!frames.empty()) {
      const std::size_t some = std::min(frames.size(), kBurst - count_);
      std::copy_n(frames.begin(), some, frames_.begin() + count_);
      std::fill_n(kinds_.begin() + count_, some, Kind::forwarded);
      frames = frames.subspan(some);
      if ((count_ += some) == kBurst) flush();
    }
  }
  /// `cause`: when the burst that caused the frame was received; kNever if the frame had been withheld.
  void send_made(custody::NearFlow& flow, rte_mbuf* frame, Time cause) {
    stage(frame, Kind::made, &flow, {.cause = cause});
  }
  /// A frame of no flow's.
  void send_own(rte_mbuf* frame) { stage(frame, Kind::made, nullptr, {.cause = kNever}); }
  void send_held(custody::NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) {
    stage(frame, Kind::held, &flow, {.held = held});
  }

  /// Hands everything to the port.
  void flush() {
    if (!refused_.empty()) retry_refused();
    if (count_ != 0) flush_burst();
  }

  /// Drops made frames of `flow` that the port refused: the flow's QPN may have a new owner before they could go.
  void drop_made_for(const custody::NearFlow& flow);

  /// Nothing waits here: flush() would do nothing.
  bool idle() const { return count_ == 0 && refused_.empty(); }
  bool has_refused() const { return !refused_.empty(); }
  /// Received frames that still wait here.
  std::uint64_t waiting() const;
  /// Gives back what still waits here. Nothing may follow.
  void discard();

 private:
  enum class Kind : std::uint8_t { forwarded, held, made };
  union About {
    rte_mbuf* held;  ///< of Kind::held
    Time cause;      ///< of Kind::made
  };
  struct Entry {
    rte_mbuf* frame;
    custody::NearFlow* flow;
    About about;
    Kind kind;
  };
  static constexpr std::size_t kBurst = 64;
  static constexpr std::size_t kMaxRefused = 1024;

  void stage(rte_mbuf* frame, Kind kind, custody::NearFlow* flow, About about) {
    frames_[count_] = frame;
    kinds_[count_] = kind;
    if (kind != Kind::forwarded) {
      flows_[count_] = flow;
      abouts_[count_] = about;
      all_forwarded_ = false;
    }
    if (++count_ == kBurst) flush();
  }
  Entry entry(std::size_t i) const { return {frames_[i], flows_[i], abouts_[i], kinds_[i]}; }
  void flush_burst();
  [[gnu::always_inline]] inline void settle_sent(Kind kind, custody::NearFlow* flow, About about);
  void settle_refused(std::size_t i);
  void retry_refused();

  Side out_;
  Sink& sink_;
  Events& events_;
  std::size_t count_ = 0;
  bool all_forwarded_ = true;
  // The burst, one array per field: the port takes the first alone, and frames that only pass need no more than two.
  std::array<rte_mbuf*, kBurst> frames_;
  std::array<Kind, kBurst> kinds_;
  std::array<custody::NearFlow*, kBurst> flows_{};
  std::array<About, kBurst> abouts_{};
  std::deque<Entry> refused_;
};

}  // namespace longhaul::engine
