// SPDX-License-Identifier: BSD-3-Clause
// Measures how long a poll-mode loop works on the frames that it was given, without a change to the loop: it sees when
// the loop asks for frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "drivers/port.hpp"

namespace longhaul::bench {

/// Work comes in chunks. A chunk's busy time begins when the loop asks for frames and gets the chunk's first one. It
/// ends when the loop asks again after it has got the last one. So it contains reception, all work on the frames, and
/// transmission, but no empty polls. One thread runs the loop, another hands out chunks.
class Meter {
 public:
  // ---- for the thread that hands out chunks

  /// `frames` more are in the loop's ports. The chunk before must be done.
  void offered(std::uint64_t frames) {
    target_.store(target_.load(std::memory_order_relaxed) + frames, std::memory_order_release);
  }
  struct Reading {
    std::uint64_t busy;  ///< TSC cycles
    bool preempted;      ///< the kernel gave the processor to another thread meanwhile, so the cycles are too many
  };
  /// The last chunk's reading, or nothing while the loop still works on it.
  std::optional<Reading> reading() const {
    if (done_.load(std::memory_order_acquire) != target_.load(std::memory_order_relaxed)) return std::nullopt;
    return reading_;
  }
  /// While paused, the loop sleeps inside a receive(). Returns when it does. From then on it takes nothing more.
  void pause();
  void resume();
  /// Both threads share a processor, so a thread that waits must yield.
  void set_yielding(bool yielding) { yielding_ = yielding; }

  // ---- for the loop's thread, around each receive of a burst

  void before_receive() {
    if (received_ >= expected_) [[unlikely]]
      look_up();
  }
  void after_receive(std::uint16_t frames) { received_ += frames; }

 private:
  void look_up();

  static constexpr std::size_t kCacheLine = 64;

  alignas(kCacheLine) std::atomic<std::uint64_t> target_{0};  ///< all frames put in so far
  std::atomic<bool> paused_{true};
  bool yielding_ = false;

  alignas(kCacheLine) std::atomic<std::uint64_t> done_{0};  ///< frames received by the end of the last chunk
  Reading reading_{};
  std::atomic<bool> sleeps_{false};

  alignas(kCacheLine) std::uint64_t received_ = 0;
  std::uint64_t expected_ = 0;  ///< target_ when last seen
  std::uint64_t finished_ = 0;  ///< the loop's copy of done_
  std::uint64_t begin_ = 0;     ///< TSC when the loop last asked and no frame was known to be there
  long preemptions_ = 0;        ///< of this thread in total, shortly before that
};

/// A port whose reception is metered.
class MeteredPort final : public drivers::Port {
 public:
  MeteredPort(drivers::Port& port, Meter& meter) : port_(port), meter_(meter) {}
  std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override {
    meter_.before_receive();
    const std::uint16_t received = port_.receive(frames, count);
    meter_.after_receive(received);
    return received;
  }
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override { return port_.transmit(frames, count); }
  std::string describe() const override { return port_.describe(); }

 private:
  drivers::Port& port_;
  Meter& meter_;
};

}  // namespace longhaul::bench
