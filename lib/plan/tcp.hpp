// SPDX-License-Identifier: BSD-3-Clause
// TCP over the same link, to stand beside RDMA. Without loss: window / RTT. With loss: MSS / RTT x C / sqrt(p)
// (Mathis, Semke, Mahdavi, Ott: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, ACM CCR 27(3),
// 1997), where C = sqrt(3/2) when each segment is acknowledged. It holds for Reno; CUBIC and BBR get more.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/scenario.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

struct TcpHosts {
  /// Bytes of a connection's window: net.ipv4.tcp_rmem's largest in Linux that nobody has tuned.
  std::uint64_t window = 6ull << 20;
  double loss = 0;  ///< share of the segments that are lost
};

enum class TcpLimit : std::uint8_t { line, window, loss };
/// "window".
std::string_view key_of(TcpLimit limit);

struct TcpPrediction {
  double bits_per_second = 0;  ///< of payload, all connections
  double by_window = 0;        ///< bits per second
  double by_loss = 0;          ///< bits per second; infinite without loss
  TcpLimit limit = TcpLimit::line;
};

/// As many connections as the scenario has QPs, with segments as large as its path MTU.
TcpPrediction predict_tcp(const Scenario& scenario, const TcpHosts& tcp);

/// The table "tcp", a row for each round trip.
Table tcp_table(const Scenario& scenario, const std::vector<Duration>& round_trips, const TcpHosts& tcp);
/// What it is calculated by, a sentence.
std::string tcp_note(const TcpHosts& tcp);

}  // namespace longhaul::plan
