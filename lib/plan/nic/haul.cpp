// SPDX-License-Identifier: BSD-3-Clause
#include "plan/nic/haul.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace longhaul::plan::nic {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::string plural(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

const char* name_of(Origin origin) {
  switch (origin) {
    case Origin::given:
      return "given";
    case Origin::assumed:
      return "assumed";
    case Origin::read:
      return "read";
    case Origin::calculated:
      return "calculated";
  }
  return "";
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::write:
      return "WRITE";
    case Operation::send:
      return "SEND";
    case Operation::read:
      return "READ";
  }
  return "";
}

std::uint64_t Haul::wire_bytes() const {
  const std::uint64_t packets = std::max<std::uint64_t>(1, message_bytes / path_mtu + (message_bytes % path_mtu != 0));
  return message_bytes + packets * kOverheadBytes;
}

std::uint64_t Haul::messages_needed() const {
  const Wide bits = static_cast<Wide>(rate_bps) * rtt_ns / 1'000'000'000;
  return static_cast<std::uint64_t>(bits / (static_cast<Wide>(wire_bytes()) * 8));
}

std::uint64_t Haul::depth_needed() const {
  const std::uint64_t all = messages_needed();
  return std::max<std::uint64_t>(1, all / qps + (all % qps != 0));
}

double Haul::payload_cap_bps() const {
  return static_cast<double>(rate_bps) * static_cast<double>(message_bytes) / static_cast<double>(wire_bytes());
}

double Haul::payload_bps(std::uint64_t depth) const {
  const double window = static_cast<double>(qps) * static_cast<double>(depth) * static_cast<double>(message_bytes) * 8 /
                        (static_cast<double>(rtt_ns) / 1e9);
  return std::min(window, payload_cap_bps());
}

double Haul::bytes_in_flight() const { return static_cast<double>(rate_bps) / 8 * static_cast<double>(rtt_ns) / 1e9; }

double Haul::packets_in_flight() const { return bytes_in_flight() / (path_mtu + kOverheadBytes); }

std::string show_rate(double bps) {
  const double gbps = bps / 1e9;
  return gbps >= 1 ? fmt::format("{:.2f} Gbit/s", gbps) : fmt::format("{:.3g} Gbit/s", gbps);
}

std::string show_time(std::uint64_t ns) {
  const auto time = static_cast<double>(ns);
  if (time >= 1e6) return fmt::format("{:.5g} ms", time / 1e6);
  if (time >= 1e3) return fmt::format("{:.5g} us", time / 1e3);
  return fmt::format("{} ns", ns);
}

std::string show_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string show_ceiling(const Haul& haul, std::uint64_t depth) {
  return fmt::format("{} x {} x {} / {} = {} (calculated)", plural(haul.qps, "QP"), depth,
                     size_text(haul.message_bytes), show_time(haul.rtt_ns), show_rate(haul.payload_bps(depth)));
}

std::string show_need(const Haul& haul) {
  return fmt::format("{} outstanding messages of {}{} (calculated)", haul.messages_needed(),
                     size_text(haul.message_bytes),
                     haul.qps > 1 ? fmt::format(", {} per QP", haul.depth_needed()) : "");
}

}  // namespace longhaul::plan::nic
