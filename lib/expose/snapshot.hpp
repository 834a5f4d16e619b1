// SPDX-License-Identifier: BSD-3-Clause
// What a box shows of itself at one moment: plain values, gathered by a thread that can ask the workers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/side.hpp"
#include "base/time.hpp"
#include "engine/link_state.hpp"
#include "expose/survey.hpp"
#include "metrics/counter_set.hpp"
#include "metrics/histogram.hpp"

namespace longhaul::expose {

/// As metrics and JSON show times.
inline double in_seconds(Duration duration) { return static_cast<double>(duration) / 1e9; }

/// A port's own counts; bytes are frame bytes as the NIC's driver counts them.
struct PortState {
  std::string device;
  bool link_up = false;
  std::uint64_t received_frames = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_frames = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t missed = 0;          ///< frames the NIC dropped: the worker did not fetch them in time
  std::uint64_t receive_errors = 0;  ///< frames received with an error
  std::uint64_t send_errors = 0;     ///< frames that could not be sent
  std::uint64_t no_buffer = 0;       ///< receive attempts without a free buffer
  std::uint64_t oversize = 0;        ///< frames too large for the port
};

/// One worker's own counts.
struct WorkerState {
  bool alive = true;  ///< its loop goes round
  std::uint64_t rounds = 0;
  Duration ran = 0;
  Duration busy = 0;  ///< part of `ran`, in rounds with frames
  std::uint64_t received_frames = 0;
  std::uint64_t custody_bytes = 0;
};

/// What does not change while the process lives.
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

struct Snapshot {
  Identity identity;
  double time = 0;  ///< when it was taken, seconds since 1970
  /// Time since the oldest values came from their worker: nearly 0 unless a worker is silent, whose last values are
  /// shown.
  Duration age = 0;

  Counters counters;  ///< of all workers
  metrics::Histogram pseudo_ack_delay;
  metrics::Histogram wan_rtt;
  std::uint64_t custody_packets = 0;
  std::uint64_t custody_bytes = 0;
  std::uint64_t waiting_frames = 0;
  engine::LinkState link;
  bool bypass = false;
  bool draining = false;

  std::array<PortState, 2> ports;  ///< by Side
  std::vector<WorkerState> workers;
  SurveyResult survey;
  Duration survey_age = 0;  ///< since the survey was made; meaningless before the first one
};

}  // namespace longhaul::expose
