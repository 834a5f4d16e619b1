// SPDX-License-Identifier: BSD-3-Clause
// The Ethernet side: rings, which are often mistaken for RDMA depth; MTU; pause frames; rate.
#include <algorithm>

#include <fmt/format.h>

#include "plan/nic/rule.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

// Rings. A large ring at its maximum beside a small RDMA depth means that someone has raised the wrong setting.

constexpr std::uint64_t kLargeRing = 2048;

bool ring_good(const Case& what) {
  const Fact* most = what.dumps.of(Kind::rings, what.fact.subject, what.fact.name + " maximum");
  const std::uint64_t set = number_or(what.value, 0);
  const bool raised = set >= kLargeRing && most != nullptr && number_or(most->value, 0) == set;
  return !raised || !depth_is_short(what.dumps, what.haul);
}
std::string ring_wanted(const Case& what) { return "any value: it does not matter to RDMA"; }
std::string ring_fine(const Case& what) { return "a ring of the kernel; it has nothing to do with RDMA's queue depth"; }
std::string ring_message(const Case& what) {
  return fmt::format(
      "rings of {} frames are those of the kernel's Ethernet interface. RDMA does not use them: a QP's depth is what "
      "its application asks for, up to 2^LOG_MAX_OUTSTANDING_WQE, and that is too small here. A published 380 km trial "
      "mistook 8192, set with ethtool -G, for its queue depth and ran with 128.",
      what.value);
}
std::string ring_remedy(const Case& what) {
  return "set LOG_MAX_OUTSTANDING_WQE with mlxconfig, not rings with ethtool -G; the rings may stay as they are";
}

// MTU. Linux gives RoCE a path MTU of 4096 if the interface MTU is at least 4192: 4096 and 96 bytes of headers
// (include/rdma/ib_addr.h, iboe_get_mtu).

constexpr std::uint64_t kMtuForFullPath = 4096 + 96;

/// The interfaces that carry RDMA: those in rdma link, else those in the other dumps, else the only one.
bool carries_rdma(const Case& what) {
  if (!has_number(what) || what.fact.subject == "lo") return false;
  const Dumps& dumps = what.dumps;
  const std::vector<const Fact*> links = dumps.all(Kind::rdma_link, "netdev");
  if (!links.empty())
    return std::any_of(links.begin(), links.end(), [&](const Fact* link) { return link->value == what.fact.subject; });
  bool named = false;
  bool any_named = false;
  for (const Fact& fact : dumps.facts()) {
    if (fact.kind != Kind::rings && fact.kind != Kind::pause && fact.kind != Kind::speed && fact.kind != Kind::pfc)
      continue;
    any_named = any_named || !fact.subject.empty();
    named = named || fact.subject == what.fact.subject;
  }
  if (any_named) return named;
  const auto interfaces = dumps.all(Kind::interface, "mtu");
  return std::all_of(interfaces.begin(), interfaces.end(),
                     [&](const Fact* fact) { return fact->subject == "lo" || fact->subject == what.fact.subject; });
}

bool interface_mtu_good(const Case& what) { return number_or(what.value, 0) >= kMtuForFullPath; }
std::string interface_mtu_wanted(const Case& what) {
  return fmt::format("{} or more (calculated: 4096 and 96 of headers); 4200 is usual", kMtuForFullPath);
}
std::string interface_mtu_fine(const Case& what) { return "room for packets with a path MTU of 4096"; }
std::string interface_mtu_message(const Case& what) {
  std::uint32_t path = 256;
  while (path < 4096 && path * 2ull + 96 <= number_or(what.value, 0)) path *= 2;
  const auto share = [](std::uint32_t mtu) { return show_percent(static_cast<double>(mtu) / (mtu + kOverheadBytes)); };
  return fmt::format(
      "too small for a path MTU of 4096: RoCE gets {} at most, and {} of the line is payload instead of {} "
      "(calculated).",
      path, share(path), share(4096));
}
std::string interface_mtu_remedy(const Case& what) {
  return fmt::format(
      "ip link set dev {} mtu 4200 on both hosts, and at least that on every switch and line system between them",
      device_of(what, "INTERFACE"));
}

// Pause. It is not needed if PFC is on.

bool pfc_on(const Dumps& dumps) {
  const auto enabled = dumps.all(Kind::pfc, "enabled");
  return std::any_of(enabled.begin(), enabled.end(),
                     [](const Fact* fact) { return fact->value.find('1') != std::string::npos; });
}
bool pause_good(const Case& what) { return what.value != "off" || pfc_on(what.dumps); }
/// When both directions are off, that is one finding.
bool pause_tx_alone(const Case& what) {
  const Fact* rx = what.dumps.of(Kind::pause, what.fact.subject, "RX");
  return rx == nullptr || rx->value != "off";
}
std::string pause_wanted(const Case& what) { return "on, or PFC on the RoCE priority"; }
std::string pause_fine(const Case& what) { return what.value == "off" ? "PFC is on instead" : "on"; }
std::string pause_message(const Case& what) {
  return fmt::format(
      "{}: a full queue drops frames. Over this haul one dropped packet costs an RTT and, with go-back-N, up to {} "
      "sent "
      "again "
      "(calculated). Pause works on the hop to the switch or box next to the host; over the haul itself it would need "
      "{} of buffer per direction and RTT (calculated).",
      what.fact.name == "RX" ? "this port does not stop for pause frames"
                             : "this port sends no pause frames when its buffers fill",
      bytes_text(what.haul.bytes_in_flight()), bytes_text(what.haul.bytes_in_flight()));
}
std::string pause_remedy(const Case& what) {
  const std::string interface = device_of(what, "INTERFACE");
  return fmt::format(
      "ethtool -A {0} rx on tx on, and the same at the switch port; or mlnx_qos -i {0} --pfc 0,0,0,1,0,0,0,0 for "
      "priority 3",
      interface);
}

// PFC: only shown

std::string pfc_fine(const Case& what) { return "PFC of priorities 0 to 7"; }
bool pfc_some(const Case& what) { return what.value.find('1') != std::string_view::npos; }
std::string nothing(const Case& what) { return {}; }

// Speed

std::uint64_t speed_bps(const Case& what) {
  std::string_view unit;
  const auto speed = leading_number(what.value, &unit);
  if (!speed || *speed > 1e8 || unit != "Mb/s") return 0;
  return static_cast<std::uint64_t>(*speed * 1e6);
}
bool speed_known(const Case& what) { return speed_bps(what) > 0; }
bool speed_good(const Case& what) { return speed_bps(what) >= what.haul.rate_bps; }
std::string speed_wanted(const Case& what) {
  return fmt::format("{} ({})", show_rate(static_cast<double>(what.haul.rate_bps)), name_of(what.haul.rate_origin));
}
std::string speed_fine(const Case& what) { return "the rate of the haul or more"; }
std::string speed_message(const Case& what) {
  return fmt::format("the link runs at {}, below the {} of the long haul: the link is the limit, not the distance.",
                     what.value, speed_wanted(what));
}
std::string speed_remedy(const Case& what) {
  return fmt::format("ethtool -s {0} autoneg on, optics and cable for the full rate, ethtool -m {0}",
                     device_of(what, "INTERFACE"));
}

// Link state

bool linked(const Case& what) { return what.value != "no"; }
std::string linked_wanted(const Case& what) { return "yes"; }
std::string linked_fine(const Case& what) { return "the link is up"; }
std::string linked_message(const Case& what) { return "the interface has no link: nothing is sent at any distance."; }
std::string linked_remedy(const Case& what) {
  return fmt::format("check optics, cable and the other end: ip link set dev {0} up, ethtool -m {0}",
                     device_of(what, "INTERFACE"));
}

bool some_link_active(const Case& what) {
  const auto states = what.dumps.all(Kind::rdma_link, "state");
  return std::any_of(states.begin(), states.end(), [](const Fact* state) { return state->value == "ACTIVE"; });
}
std::string active_wanted(const Case& what) { return "ACTIVE"; }
std::string active_fine(const Case& what) {
  return what.value == "ACTIVE" ? "the port is up" : "down while another port is up: assumed to be unused";
}

constexpr Rule kEthernetRules[] = {
    {"ethernet-rings", Kind::rings, "RX", Severity::advice, has_number, ring_good, ring_wanted, ring_fine, ring_message,
     ring_remedy},
    {"ethernet-mtu", Kind::interface, "mtu", Severity::fault, carries_rdma, interface_mtu_good, interface_mtu_wanted,
     interface_mtu_fine, interface_mtu_message, interface_mtu_remedy},
    {"pause-off", Kind::pause, "RX", Severity::advice, always, pause_good, pause_wanted, pause_fine, pause_message,
     pause_remedy},
    {"pause-off", Kind::pause, "TX", Severity::advice, pause_tx_alone, pause_good, pause_wanted, pause_fine,
     pause_message, pause_remedy},
    {"pfc", Kind::pfc, "enabled", Severity::fine, pfc_some, pfc_some, nothing, pfc_fine, nothing, nothing},
    {"port-state", Kind::speed, "Link detected", Severity::fault, always, linked, linked_wanted, linked_fine,
     linked_message, linked_remedy},
    {"port-state", Kind::rdma_link, "state", Severity::fault, always, some_link_active, active_wanted, active_fine,
     linked_message, linked_remedy},
    {"link-rate", Kind::speed, "Speed", Severity::fault, speed_known, speed_good, speed_wanted, speed_fine,
     speed_message, speed_remedy},
};

}  // namespace

std::span<const Rule> ethernet_rules() { return kEthernetRules; }

}  // namespace longhaul::plan::nic
