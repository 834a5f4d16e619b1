// SPDX-License-Identifier: BSD-3-Clause
// Firmware settings other than the queue depth, from mlxconfig and the ROCE_ACCL register. If no source explains a
// setting, the report says so.
#include <algorithm>

#include <fmt/format.h>

#include "plan/nic/rule.hpp"

namespace longhaul::plan::nic {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

/// The known reports of harm by timers and restarts begin at RTTs of some milliseconds.
bool is_long(const Case& what) { return has_number(what) && what.haul.rtt_ns >= kMillisecond; }
bool is_on(const Case& what) { return number_or(what.value, 0) != 0; }
bool is_off(const Case& what) { return !is_on(what); }

std::string one_loss(const Haul& haul) {
  return fmt::format("{:.0f} packets, {}", haul.packets_in_flight(), bytes_text(haul.bytes_in_flight()));
}

// LINK_TYPE: 1 InfiniBand, 2 Ethernet, 3 VPI

bool type_good(const Case& what) { return number_or(what.value, 2) != 1; }
std::string type_wanted(const Case& what) { return "ETH(2)"; }
std::string type_fine(const Case& what) { return "the port speaks Ethernet, as RoCE needs"; }
std::string type_message(const Case& what) {
  return "the port speaks InfiniBand: it sends no RoCEv2, and its traffic cannot cross an Ethernet long haul.";
}
std::string type_remedy(const Case& what) { return set_firmware(what, what.fact.name, "2"); }

// ROCE_CONTROL: 0 the device's default, 1 off, 2 on

bool roce_good(const Case& what) { return number_or(what.value, 2) != 1; }
std::string roce_wanted(const Case& what) { return "ROCE_ENABLE(2)"; }
std::string roce_fine(const Case& what) { return "RoCE is on"; }
std::string roce_message(const Case& what) { return "RoCE is switched off: the device offers no RDMA over Ethernet."; }
std::string roce_remedy(const Case& what) { return set_firmware(what, what.fact.name, "2"); }

// RDMA_SELECTIVE_REPEAT_EN, or ROCE_ACCL's selective_repeat_forced_en

bool repeat_forced(const Dumps& dumps) {
  const auto forced = dumps.all(Kind::roce_accl, "selective_repeat_forced_en");
  return std::any_of(forced.begin(), forced.end(), [](const Fact* fact) { return number_or(fact->value, 0) != 0; });
}

bool repeat_on(const Dumps& dumps) {
  const auto set = dumps.all(Kind::mlxconfig, "RDMA_SELECTIVE_REPEAT_EN");
  return repeat_forced(dumps) ||
         std::any_of(set.begin(), set.end(), [](const Fact* fact) { return number_or(fact->value, 0) != 0; });
}

bool repeat_good(const Case& what) { return is_on(what) || repeat_forced(what.dumps); }
std::string repeat_wanted(const Case& what) { return "True(1)"; }
std::string repeat_fine(const Case& what) { return "after a loss only the missing packets are sent again"; }
std::string repeat_message(const Case& what) {
  return fmt::format(
      "go-back-N: after one lost packet everything behind it is sent again, here up to {} per loss and direction "
      "(calculated). A loss rate of 1e-6 means one about every {} (calculated).",
      one_loss(what.haul),
      show_time(static_cast<std::uint64_t>(1e6 * (what.haul.path_mtu + kOverheadBytes) * 8.0 /
                                           static_cast<double>(what.haul.rate_bps) * 1e9)));
}
std::string repeat_remedy(const Case& what) {
  return set_firmware(what, what.fact.name, "1") +
         " on both hosts. Measure before and after: according to a public report it works for WRITE and READ only, not "
         "for SEND; and "
         "LOG_TX_PSN_WINDOW then limits the packets in flight. Or let a pair of longhaul boxes repair losses";
}

// LOG_TX_PSN_WINDOW, which matters when a transmit window is kept

bool window_kept(const Dumps& dumps) {
  const auto window = dumps.all(Kind::roce_accl, "roce_tx_window_en");
  return repeat_on(dumps) ||
         std::any_of(window.begin(), window.end(), [](const Fact* fact) { return number_or(fact->value, 0) != 0; });
}

bool window_counts(const Case& what) { return has_number(what) && window_kept(what.dumps); }

double window_bps(const Case& what) {
  const double packets = static_cast<double>(1ull << std::min<std::uint64_t>(number_or(what.value, 0), 40));
  return packets * what.haul.qps * what.haul.path_mtu * 8 / (static_cast<double>(what.haul.rtt_ns) / 1e9);
}

std::uint64_t window_needed(const Haul& haul) {
  std::uint64_t log = 0;
  while (log < 40 && static_cast<double>(1ull << log) * haul.qps < haul.packets_in_flight() - 1) ++log;
  return log;
}

bool window_good(const Case& what) { return number_or(what.value, 0) >= window_needed(what.haul); }
std::string window_wanted(const Case& what) {
  return fmt::format("{} or more, if the firmware accepts it (calculated)", window_needed(what.haul));
}
std::string window_figure(const Case& what) {
  return fmt::format("{} x 2^{} packets x {} / {} = {} (calculated)",
                     what.haul.qps == 1 ? "1 QP" : fmt::format("{} QPs", what.haul.qps), number_or(what.value, 0),
                     size_text(what.haul.path_mtu), show_time(what.haul.rtt_ns), show_rate(window_bps(what)));
}
std::string window_fine(const Case& what) { return window_figure(what); }
std::string window_message(const Case& what) {
  return fmt::format(
      "selective repeat or roce_tx_window_en is on. Public measurements suggest that this setting is then the window "
      "of packets that a QP has in flight; no known document of the vendor confirms it. If they are right: {}.",
      window_figure(what));
}
std::string window_remedy(const Case& what) {
  const std::string larger = std::to_string(window_needed(what.haul));
  return fmt::format("measure with one QP and large messages, with and without the window; {}",
                     set_firmware(what, what.fact.name, larger));
}

// ROCE_CC_PRIO_MASK

std::string mask_wanted(const Case& what) { return "255, or the bit of the RoCE priority"; }
std::string mask_fine(const Case& what) { return "congestion control reacts to marks of switches"; }
std::string mask_message(const Case& what) {
  return fmt::format(
      "congestion control is off on all priorities: marks of switches slow no sender, and a full queue causes losses. "
      "In any case the first sign of a full queue arrives one RTT late, after {} more (calculated).",
      bytes_text(what.haul.bytes_in_flight()));
}
std::string mask_remedy(const Case& what) {
  return set_firmware(what, what.fact.name, "255") + "; leave it off only if nothing else shares the path";
}

// ROCE_ACCL

std::string off_wanted(const Case& what) { return "0"; }
std::string off_fine(const Case& what) { return "off"; }

std::string adaptive_message(const Case& what) {
  return fmt::format(
      "adaptive retransmission uses its own resend timers, whatever ACK timeout the connection asked for; this RTT is "
      "{} ({}). In a published trial over 380 km (RTT 3.81 ms) captures showed go-back-N, and turning this off helped; "
      "the cause is unresolved. Public reports show resends after 2, 4, 8 and 16 ms on a path of 40 ms, and about "
      "every 10 ms at an "
      "RTT of "
      "30 ms.",
      show_time(what.haul.rtt_ns), name_of(what.haul.rtt_origin));
}
std::string adaptive_remedy(const Case& what) {
  return set_register(what, "roce_adp_retrans_en", 0) +
         " on both hosts; compare roce_adp_retrans and packet_seq_err of rdma statistic before and after";
}

std::string restart_message(const Case& what) {
  return fmt::format(
      "a QP restarts at a low rate after {}, and each step up waits for an answer that takes {} ({}). No figures over "
      "a distance are published.",
      what.fact.name == "roce_slow_restart_idle_en" ? "it was idle" : "a loss", show_time(what.haul.rtt_ns),
      name_of(what.haul.rtt_origin));
}
std::string restart_remedy(const Case& what) {
  return set_register(what, what.fact.name, 0) + "; compare the average rate and roce_slow_restart before and after";
}

/// LOG_TX_PSN_WINDOW's rule reports it if the setting is known.
bool window_unknown(const Case& what) {
  return is_long(what) && what.dumps.all(Kind::mlxconfig, "LOG_TX_PSN_WINDOW").empty();
}
std::string tx_window_message(const Case& what) {
  return fmt::format(
      "a QP keeps a window of packets in flight; {:.0f} packets fill the rate here (calculated), but these dumps do "
      "not show how large the window is.",
      what.haul.packets_in_flight() / what.haul.qps);
}
std::string tx_window_remedy(const Case& what) {
  return fmt::format("mlxconfig -d {} -e query LOG_TX_PSN_WINDOW shows it; {}", device_of(what, "DEVICE"),
                     set_register(what, what.fact.name, 0));
}

constexpr Rule kFirmwareRules[] = {
    {"link-type", Kind::mlxconfig, "LINK_TYPE_P1", Severity::fault, has_number, type_good, type_wanted, type_fine,
     type_message, type_remedy},
    {"link-type-port-2", Kind::mlxconfig, "LINK_TYPE_P2", Severity::advice, has_number, type_good, type_wanted,
     type_fine, type_message, type_remedy},
    {"roce-disabled", Kind::mlxconfig, "ROCE_CONTROL", Severity::fault, has_number, roce_good, roce_wanted, roce_fine,
     roce_message, roce_remedy},
    {"selective-repeat", Kind::mlxconfig, "RDMA_SELECTIVE_REPEAT_EN", Severity::advice, has_number, repeat_good,
     repeat_wanted, repeat_fine, repeat_message, repeat_remedy},
    {"psn-window", Kind::mlxconfig, "LOG_TX_PSN_WINDOW", Severity::advice, window_counts, window_good, window_wanted,
     window_fine, window_message, window_remedy},
    {"congestion-control", Kind::mlxconfig, "ROCE_CC_PRIO_MASK_P1", Severity::advice, has_number, is_on, mask_wanted,
     mask_fine, mask_message, mask_remedy},
    {"adaptive-retransmission", Kind::roce_accl, "roce_adp_retrans_en", Severity::advice, is_long, is_off, off_wanted,
     off_fine, adaptive_message, adaptive_remedy},
    {"slow-restart", Kind::roce_accl, "roce_slow_restart_en", Severity::advice, is_long, is_off, off_wanted, off_fine,
     restart_message, restart_remedy},
    {"slow-restart-idle", Kind::roce_accl, "roce_slow_restart_idle_en", Severity::advice, is_long, is_off, off_wanted,
     off_fine, restart_message, restart_remedy},
    {"tx-window", Kind::roce_accl, "roce_tx_window_en", Severity::advice, window_unknown, is_off, off_wanted, off_fine,
     tx_window_message, tx_window_remedy},
};

}  // namespace

std::span<const Rule> firmware_rules() { return kFirmwareRules; }

}  // namespace longhaul::plan::nic
