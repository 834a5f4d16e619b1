// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/core_distance.hpp"

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_pause.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "test/bench/looks_per_yield.hpp"
#include "test/bench/trial.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint64_t kThrows = 4000;

struct alignas(64) Ball {
  std::atomic<std::uint64_t> number{0};  ///< odd on the way there, even on the way back
};

void wait_for(const Ball& ball, std::uint64_t number) {
  for (unsigned looks = 1; ball.number.load(std::memory_order_acquire) != number; ++looks) {
    rte_pause();
    if (looks % kLooksPerYield == 0) std::this_thread::yield();
  }
}

int throw_back(void* given) {
  auto& ball = *static_cast<Ball*>(given);
  for (std::uint64_t i = 0; i < kThrows; ++i) {
    wait_for(ball, 2 * i + 1);
    ball.number.store(2 * i + 2, std::memory_order_release);
  }
  return 0;
}

}  // namespace

double line_transfer_cycles(unsigned lcore) {
  Ball ball;
  if (rte_eal_remote_launch(&throw_back, &ball, lcore) != 0)
    throw std::runtime_error("lcore " + std::to_string(lcore) + " is not there or busy");
  std::vector<double> cycles;
  for (std::uint64_t i = 0; i < kThrows; ++i) {
    const std::uint64_t begin = rte_rdtsc();
    ball.number.store(2 * i + 1, std::memory_order_release);
    wait_for(ball, 2 * i + 2);
    cycles.push_back(static_cast<double>(rte_rdtsc() - begin) / 2);
  }
  rte_eal_wait_lcore(lcore);
  return median(std::move(cycles));
}

}  // namespace longhaul::bench
