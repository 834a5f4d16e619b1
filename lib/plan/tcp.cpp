// SPDX-License-Identifier: BSD-3-Clause
#include "plan/tcp.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/framing.hpp"
#include "plan/text.hpp"

namespace longhaul::plan {
namespace {

constexpr std::string_view kTcpLimits[] = {"line", "window", "loss"};

// TCP's header with timestamps (RFC 9293, RFC 7323), IPv4's, and Ethernet's.
constexpr std::uint32_t kTcpHeader = 20 + 12;
constexpr std::uint32_t kIpv4Header = 20;
constexpr std::uint32_t kEthernetHeader = 14;

}  // namespace

std::string_view key_of(TcpLimit limit) { return kTcpLimits[static_cast<std::size_t>(limit)]; }

TcpPrediction predict_tcp(const Scenario& scenario, const TcpHosts& tcp) {
  const double connections = scenario.hosts.qps;
  const double round_trip = in_seconds(scenario.link.round_trip);
  const double segment = scenario.hosts.path_mtu;
  const double on_line = segment + kTcpHeader + kIpv4Header + kEthernetHeader + outside_frame();
  TcpPrediction out;
  out.by_window = connections * static_cast<double>(tcp.window) * 8 / round_trip;
  out.by_loss = tcp.loss > 0 ? connections * segment * 8 / round_trip * std::sqrt(1.5) / std::sqrt(tcp.loss) : HUGE_VAL;
  out.bits_per_second =
      static_cast<double>(std::min(scenario.link.rate_bps, scenario.hosts.rate_bps)) * segment / on_line;
  const auto bound = [&out](double bits_per_second, TcpLimit limit) {
    if (bits_per_second < out.bits_per_second) out.bits_per_second = bits_per_second, out.limit = limit;
  };
  bound(out.by_window, TcpLimit::window);
  bound(out.by_loss, TcpLimit::loss);
  return out;
}

Table tcp_table(const Scenario& scenario, const std::vector<Duration>& round_trips, const TcpHosts& tcp) {
  const bool several = round_trips.size() > 1;
  const std::uint32_t connections = scenario.hosts.qps;
  Table table("tcp", fmt::format("TCP, {} connection{}", connections, connections == 1 ? "" : "s"), Kind::calculated,
              {{"round_trip_seconds", several ? "RTT, ms" : "", Column::Align::right, {}},
               {"kilometres", several ? "km" : "", Column::Align::right, {}},
               {"connections", "", Column::Align::right, {}},
               {"window_bytes", "window", Column::Align::right, {}},
               {"loss", "loss", Column::Align::right, {}},
               {"bits_per_second", "Gbit/s", Column::Align::right, {}},
               {"limit", "limited by", Column::Align::left, {}}});
  for (const Duration round_trip : round_trips) {
    Scenario at = scenario;
    at.link.round_trip = round_trip;
    const TcpPrediction prediction = predict_tcp(at, tcp);
    table.add({round_trip_cell(round_trip), kilometres_cell(round_trip), count(connections), size_cell(tcp.window),
               number(tcp.loss), gigabits(prediction.bits_per_second), word(std::string(key_of(prediction.limit)))});
  }
  return table;
}

std::string tcp_note(const TcpHosts& tcp) {
  return tcp.loss > 0
             ? "TCP: at most MSS / RTT x sqrt(3/2) / sqrt(loss) (Mathis et al., ACM CCR 27(3), 1997: Reno, "
               "each segment acknowledged; CUBIC and BBR get more), and at most window / RTT. RDMA's figures "
               "are without loss."
             : "TCP: window / RTT, without loss and slow start (--tcp-window, --tcp-loss). The usual window is "
               "the largest of Linux without tuning (net.ipv4.tcp_rmem).";
}

}  // namespace longhaul::plan
