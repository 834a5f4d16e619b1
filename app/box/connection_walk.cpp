// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/connection_walk.hpp"

#include <algorithm>
#include <memory>

namespace longhaul::app {
namespace {

using Clock = std::chrono::steady_clock;

/// The connections that a worker was asked for. They belong to the order, since the worker may be late.
struct Portion {
  std::vector<engine::ConnectionState> connections;
  std::uint32_t slots = 0;  ///< how many there are in all
  Duration took = 0;
};

}  // namespace

Duration ConnectionWalk::run(const Visit& visit, std::chrono::milliseconds patience) {
  Duration most = 0;
  for (unsigned worker = 0; worker < workers_.count(); ++worker) most = std::max(most, walk(worker, visit, patience));
  return most;
}

Duration ConnectionWalk::walk(unsigned worker, const Visit& visit, std::chrono::milliseconds patience) {
  constexpr std::uint32_t kLeast = 16;
  constexpr std::uint32_t kMost = 1024;
  Duration sum = 0;
  std::uint32_t slots = 1;
  for (std::uint32_t first = 0; first < slots;) {
    const auto portion = std::make_shared<Portion>();
    const std::uint32_t count = portion_slots_;
    portion->connections.reserve(count);
    workers_.order(
        worker,
        [portion, first, count](WorkerAccess& access) {
          const Clock::time_point began = Clock::now();
          portion->slots = access.engine.connection_slots();
          access.engine.describe(first, count, access.now, portion->connections);
          portion->took = nanoseconds(Clock::now() - began);
          return true;
        },
        patience);
    visit(worker, portion->connections);
    slots = portion->slots;
    first += count;
    sum += portion->took;
    if (portion->took > 2 * nanoseconds(kPortion))
      portion_slots_ = std::max(kLeast, count / 2);
    else if (2 * portion->took < nanoseconds(kPortion))
      portion_slots_ = std::min(kMost, count * 2);
  }
  return sum;
}

}  // namespace longhaul::app
