// SPDX-License-Identifier: BSD-3-Clause
// What a box shows of itself at one moment: plain values, gathered by a thread that can ask the workers. All views are
// made of it: metrics (families.hpp), the status for `ctl` and for the status page (status.hpp), and the statistics of
// a run (statistics.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/port_stats.hpp"
#include "base/side.hpp"
#include "base/time.hpp"
#include "expose/survey.hpp"
#include "expose/worker_report.hpp"

namespace longhaul::expose {

struct PortState {
  std::string device;  ///< what it is: a PCI address, or "net_af_packet0, iface veth0"
  bool link_up = false;
  PortStats stats;
};

struct WorkerState {
  bool alive = true;    ///< its loop goes round
  WorkerReport report;  ///< its last one
};

/// What does not change while the process lives, but for a new configuration.
struct Identity {
  std::string name;     ///< of the box
  std::string version;  ///< of longhaul
  std::string dpdk;     ///< its version
  std::string icrc;     ///< the CRC-32 routine in use
  double started = 0;   ///< seconds since 1970
  /// Labels of the configuration's metric: keys of the configuration with few possible values.
  std::vector<std::pair<std::string, std::string>> configuration;
  std::uint64_t custody_limit_bytes = 0;
  std::uint64_t custody_flow_limit_bytes = 0;
  std::uint64_t wan_rate_bps = 0;  ///< bits per second; 0: none is configured
  std::uint64_t connection_slots = 0;
};

/// What a box does with new requests.
enum class State : std::uint8_t {
  running,   ///< acknowledges by policy
  draining,  ///< takes nothing new into custody; what is there goes on
  bypass,    ///< forwards everything untouched
  stopping,  ///< drains because it was told to stop
  silent,    ///< a worker stands still
};
constexpr std::string_view name_of(State state) {
  constexpr std::string_view kNames[] = {"running", "draining", "bypass", "stopping", "silent"};
  return kNames[static_cast<std::size_t>(state)];
}

struct Snapshot {
  Identity identity;
  double time = 0;      ///< when it was taken, seconds since 1970
  Duration uptime = 0;  ///< of the process
  /// Time since the oldest values came from their worker: nearly 0 unless a worker is silent, whose last values are
  /// shown.
  Duration age = 0;
  bool stopping = false;  ///< the process has been told to stop

  WorkerReport total;  ///< of all workers
  std::vector<WorkerState> workers;
  BySide<PortState> ports;
  SurveyResult survey;
  Duration survey_age = 0;  ///< since the survey was made; meaningless before the first one

  State state() const;
};

}  // namespace longhaul::expose
