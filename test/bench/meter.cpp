// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/meter.hpp"

#include <rte_cycles.h>

#include <thread>

#include "test/bench/preemptions.hpp"

namespace longhaul::bench {

void Meter::pause() {
  paused_.store(true);
  // Two loops may share a processor. A loop that had looked already could still take the other loop's frames.
  while (!sleeps_.load()) std::this_thread::yield();
}

void Meter::resume() {
  paused_.store(false);
  paused_.notify_all();
  // Otherwise a pause() soon after could find the loop asleep although it never woke.
  while (sleeps_.load()) std::this_thread::yield();
}

void Meter::look_up() {
  expected_ = target_.load(std::memory_order_acquire);
  // Frames can come before offered() says how many.
  if (received_ != expected_) return;
  if (received_ != finished_) {
    reading_.busy = rte_rdtsc() - begin_;
    reading_.preempted = preemptions() != preemptions_;
    finished_ = received_;
    done_.store(received_, std::memory_order_release);
  }
  while (paused_.load(std::memory_order_acquire)) {
    sleeps_.store(true);
    paused_.wait(true);
    sleeps_.store(false);
  }
  if (yielding_) std::this_thread::yield();
  preemptions_ = preemptions();
  begin_ = rte_rdtsc();
}

}  // namespace longhaul::bench
