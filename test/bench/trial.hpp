// SPDX-License-Identifier: BSD-3-Clause
// Several devices in turn, A B C A B C ..., each with its own traffic, and the results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/clock.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"
#include "test/bench/device.hpp"
#include "test/bench/session.hpp"

namespace longhaul::bench {

struct TrialOptions {
  unsigned rounds = 5;
  std::uint64_t packets = 100'000;  ///< for each device in each round; at least two for each connection
  Chunks chunks;
};

/// What a device is made from.
struct Bench {
  const Point& point;
  const TrialOptions& options;
  RingPorts& ports;
  const engine::Settings& settings;
  const engine::Pools& pools;
  const drivers::Clock& clock;
  unsigned lcore;  ///< for a device in this process
};
using DeviceMaker = std::function<std::unique_ptr<Device>(const Bench&)>;

/// One of the devices that take turns.
struct Entrant {
  Point point;  ///< the traffic that goes through it
  DeviceMaker make;
  bool holds = true;          ///< it keeps what the point has in custody, so the pools need room for that
  std::uint32_t besides = 0;  ///< packets of other hosts that it may hold besides
};

struct DeviceResult {
  std::string name;
  std::vector<Round> rounds;
  std::vector<std::string> errors;
};

/// Pools with buffers for all devices, like those of a box with ports for path MTU 4096. They are the same for every
/// device.
engine::PoolPlan pools_for(std::span<const Entrant> entrants, const TrialOptions& options);
/// The most packets that a device may have in custody: the point's, and what is added for messages and chunks under
/// way.
std::uint32_t most_in_custody(const Point& point, const TrialOptions& options);
/// Settings of a box that holds what `point` asks for. No resend timer runs out while other devices have their turn.
engine::Settings settings_for(const Point& point, const engine::PoolPlan& plan, const TrialOptions& options);

/// The entrants with their pools, connections and custody. Entrant i is on worker lcore i + 1.
class Trial {
 public:
  /// Sets everything up. Throws std::runtime_error if that fails.
  Trial(std::span<const Entrant> entrants, const TrialOptions& options, RingPorts& ports, const drivers::Clock& clock);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  Device& device(std::size_t i) { return *devices_[i]; }
  Session& session(std::size_t i) { return *sessions_[i]; }
  /// Gives entrant i its turn: its device runs meanwhile.
  void turn(std::size_t i, const std::function<void(Session&)>& what);
  /// Lets everything be answered, and takes everything apart. Returns the errors of each entrant. Lost buffers are an
  /// error of the last one.
  std::vector<std::vector<std::string>> finish();

 private:
  void take_apart();

  engine::Pools pools_;
  const Payloads payloads_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

/// Measures. Returns a result for each entrant, in their order. Throws std::runtime_error if it cannot go on. Wrong
/// output is in the errors.
std::vector<DeviceResult> run_trial(std::span<const Entrant> entrants, const TrialOptions& options, RingPorts& ports,
                                    const drivers::Clock& clock);

/// Cycles per packet of one round: the median of its chunks. Chunks in which the kernel preempted the device are left
/// out, unless all are. (Nothing shows what a hypervisor takes; the median tolerates that in fewer than half of the
/// chunks.) `inside`: the device's own busy time, otherwise the time seen from outside.
double cycles_per_packet(const Round& round, bool inside);
/// The mean over the whole round, preemptions included.
double mean_cycles_per_packet(const Round& round, bool inside);
/// The mean without chunks in which the device lost its core, or of all chunks if it always did.
double undisturbed_mean_cycles_per_packet(const Round& round, bool inside);
/// Whether the device could tell its busy time.
bool has_busy(const DeviceResult& result);

double median(std::vector<double> values);

}  // namespace longhaul::bench
