// SPDX-License-Identifier: BSD-3-Clause
// The configuration of `longhaul run`: a box.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "box/memory_plan.hpp"
#include "config/control_config.hpp"
#include "config/metrics_config.hpp"
#include "config/peers_config.hpp"
#include "config/process_config.hpp"
#include "engine/pools.hpp"
#include "engine/settings.hpp"

namespace longhaul::config {

// Limits of what a configuration may ask for.
inline constexpr std::uint64_t kLeastCustody = 64 << 10;       ///< bytes, for each worker
inline constexpr std::uint64_t kLeastInitialWindow = 4 << 10;  ///< bytes
inline constexpr std::uint32_t kMostConnections = 1 << 20;
inline constexpr std::uint64_t kMostBuffers = 1u << 24;
inline constexpr std::uint64_t kLeastLargeBuffers = 64;  ///< for each worker
inline constexpr std::uint64_t kLeastSmallBuffers = 1024;
inline constexpr double kLeastPairShare = 0.01;

/// What happens to the other port when one port loses its link.
enum class LinkLoss : std::uint8_t {
  ignore,   ///< nothing
  forward,  ///< its link goes down too, so that routers on both sides see it; both go down when the box stops
};

/// What happens when a worker stalls.
enum class OnStall : std::uint8_t {
  report,  ///< in the log and in the metrics
  exit,    ///< reported, and the process exits at once, so that a bypass in the NIC or in the optics takes over
};

// Names in the order of what they stand for.
inline constexpr std::string_view kLinkLossNames[] = {"ignore", "forward"};
inline constexpr std::string_view kOnStallNames[] = {"report", "exit"};
inline constexpr std::string_view kConfirmNames[] = {"answer", "cm"};
/// By custody::WanCnps.
inline constexpr std::string_view kWanCnpNames[] = {"pass", "absorb"};
inline constexpr std::string_view kSpreadNames[] = {"pairs", "connections"};
/// Of wan_overhead, in bytes: more than any encapsulation takes.
inline constexpr std::uint32_t kMostOverhead = 256;
/// Instead of a rate for wan_rate.
inline constexpr std::string_view kUnlimited = "unlimited";

struct BoxConfig {
  std::string name = "box";
  PortConfig host;
  PortConfig wan;
  ProcessConfig process;
  engine::Settings engine;
  bool spread_connections = true;  ///< over all workers; false: all connections between two hosts share one worker
  /// The part of custody and connections that one pair of hosts may have. Of custody, at least what is promised.
  double pair_share = 0.5;
  engine::PoolPlan pools;        ///< frame_bytes is set later, when the ports are known
  box::CustodyPromise promise;   ///< what the pools are sized for; already checked against them
  std::string promise_position;  ///< "FILE:LINE:COL: custody.least_frame", or the other key that makes the promise
  std::string restart_record;    ///< absolute path of the restart record; empty: no record
  std::string restart_record_position;  ///< "FILE:LINE:COL: restart_record", for messages about the file itself
  Duration drain = seconds(10);         ///< how long SIGTERM waits for custody to empty
  LinkLoss link_loss = LinkLoss::ignore;
  Duration stall = seconds(1);  ///< a worker whose loop takes longer than this for one turn has stalled
  OnStall on_stall = OnStall::report;
  MetricsConfig metrics;
  ControlConfig control;
  std::optional<PeersConfig> peers;  ///< none: the box works alone
};

/// Throws ConfigError when the promise is for frames that are too large for this MTU (bytes). read_box() checks the
/// configured `mtu`. Other MTUs are known only when the ports are.
void check_frames_arrive(const BoxConfig& config, std::uint32_t mtu);

/// Throws ConfigError.
BoxConfig read_box(const Value& top);
inline BoxConfig load_box(const std::string& path) { return read_box(Value::load(path)); }

}  // namespace longhaul::config
