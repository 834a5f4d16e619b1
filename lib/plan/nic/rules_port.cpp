// SPDX-License-Identifier: BSD-3-Clause
// Rules for ibv_devinfo's values of a port, and lspci's of its slot.
#include <algorithm>

#include <fmt/format.h>

#include "plan/nic/rule.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

constexpr std::uint64_t kFullPathMtu = 4096;

bool is_active(std::string_view state) { return state.find("ACTIVE") != std::string_view::npos; }

bool any_active(const Dumps& dumps) {
  const auto states = dumps.all(Kind::devinfo, "state");
  return std::any_of(states.begin(), states.end(), [](const Fact* fact) { return is_active(fact->value); });
}

/// A port that is down beside an active one is unused.
bool state_counts(const Case& what) { return is_active(what.fact.value) || !any_active(what.dumps); }

/// The other values mean something only if the port is up.
bool is_up(const Case& what) {
  const Fact* state = what.dumps.of(Kind::devinfo, what.fact.subject, "state");
  return state == nullptr || is_active(state->value);
}

std::string show_efficiency(std::uint64_t mtu) {
  return show_percent(static_cast<double>(mtu) / static_cast<double>(mtu + kOverheadBytes));
}

// state

bool state_good(const Case& what) { return is_active(what.value); }
std::string state_wanted(const Case& what) { return "PORT_ACTIVE (4)"; }
std::string state_fine(const Case& what) { return "the port is up"; }
std::string state_message(const Case& what) { return "no port in these dumps is up: nothing is sent at any distance."; }
std::string state_remedy(const Case& what) {
  return "check optics, cable and the other end: rdma link, ip link set dev INTERFACE up, ethtool -m INTERFACE, "
         "mlxlink -d DEVICE";
}

// transport, link layer

bool transport_good(const Case& what) { return what.value.starts_with("InfiniBand"); }
std::string transport_wanted(const Case& what) { return "InfiniBand (0)"; }
std::string transport_fine(const Case& what) { return "the RC transport that RoCEv2 carries"; }
std::string transport_message(const Case& what) {
  return "not the InfiniBand transport: this is not RoCE, and a pair of longhaul boxes passes its frames through "
         "unchanged.";
}
std::string transport_remedy(const Case& what) {
  return "use a device with RoCEv2, or switch this one to it (Intel E810: options irdma roce_ena=1)";
}

bool layer_good(const Case& what) { return what.value == "Ethernet"; }
std::string layer_wanted(const Case& what) { return "Ethernet"; }
std::string layer_fine(const Case& what) { return "RoCE"; }
std::string layer_message(const Case& what) {
  return fmt::format("the link layer {} cannot cross an Ethernet long haul, which carries RoCEv2.", what.value);
}
std::string layer_remedy(const Case& what) {
  return "mlxconfig -d DEVICE set LINK_TYPE_P1=2 (ETH), then mlxfwreset -d DEVICE -y reset, or reboot the host";
}

// path MTU

bool has_mtu(const Case& what) { return is_up(what) && has_number(what); }
bool mtu_good(const Case& what) { return number_or(what.value, 0) >= kFullPathMtu; }
std::string mtu_wanted(const Case& what) { return "4096"; }
std::string mtu_fine(const Case& what) {
  return fmt::format("{} of the line is payload (calculated)", show_efficiency(number_or(what.value, kFullPathMtu)));
}
std::string mtu_message(const Case& what) {
  const std::uint64_t mtu = std::max<std::uint64_t>(1, number_or(what.value, 1));
  Haul full = what.haul;
  full.path_mtu = kFullPathMtu;
  Haul small = what.haul;
  small.path_mtu = static_cast<std::uint32_t>(std::min<std::uint64_t>(mtu, kFullPathMtu));
  return fmt::format(
      "path MTU {} instead of 4096: {} of the line is payload instead of {}, and {:.0f} packets are under way instead "
      "of {:.0f}, which all must be numbered, acknowledged and, after a loss, sent again (calculated).",
      mtu, show_efficiency(mtu), show_efficiency(kFullPathMtu), small.packets_in_flight(), full.packets_in_flight());
}
std::string mtu_remedy(const Case& what) {
  const Fact* most = what.dumps.of(Kind::devinfo, what.fact.subject, "max_mtu");
  if (most != nullptr && number_or(most->value, kFullPathMtu) < kFullPathMtu)
    return fmt::format("none on this device: its max_mtu is {}", most->value);
  return "ip link set dev INTERFACE mtu 4200 on both hosts, and at least that on every switch and line system between "
         "them";
}

// active_width x active_speed

std::uint64_t link_bps(const Case& what) {
  const Fact* width = what.dumps.of(Kind::devinfo, what.fact.subject, "active_width");
  const auto speed = leading_number(what.value);
  const auto lanes = width == nullptr ? std::nullopt : leading_number(width->value);
  if (!speed || !lanes || *speed > 1e4 || *lanes > 64) return 0;
  return static_cast<std::uint64_t>(*speed * *lanes * 1e9 + 0.5);
}
/// rxe has no link of its own and always reports 1X of 2.5 Gbit/s; RXE_VENDOR_ID in
/// drivers/infiniband/sw/rxe/rxe_param.h.
bool is_software(const Case& what) {
  const std::string_view port = what.fact.subject;
  const Fact* vendor = what.dumps.of(Kind::devinfo, port.substr(0, port.find('/')), "vendor_id");
  return vendor != nullptr && vendor->value == "0xffffff";
}
bool link_known(const Case& what) { return is_up(what) && link_bps(what) > 0 && !is_software(what); }
bool link_good(const Case& what) { return link_bps(what) >= what.haul.rate_bps; }
std::string link_wanted(const Case& what) {
  return fmt::format("{} ({})", show_rate(static_cast<double>(what.haul.rate_bps)), name_of(what.haul.rate_origin));
}
std::string link_fine(const Case& what) {
  const Fact* width = what.dumps.of(Kind::devinfo, what.fact.subject, "active_width");
  return fmt::format("{} x {} = {} (calculated)", width == nullptr ? "" : width->value, what.value,
                     show_rate(static_cast<double>(link_bps(what))));
}
std::string link_message(const Case& what) {
  return fmt::format("the port runs at {}, below the {} of the long haul: the port is the limit, not the distance.",
                     link_fine(what), link_wanted(what));
}
std::string link_remedy(const Case& what) {
  return "check ethtool INTERFACE and mlxlink -d DEVICE (negotiated speed, FEC, lanes); use optics and cable for the "
         "full rate";
}

// PCI Express

struct Slot {
  double gigatransfers = 0;
  double lanes = 0;
  bool downgraded = false;
  double bps() const {
    const double coded = gigatransfers > 5.1 ? 128.0 / 130 : 8.0 / 10;
    return gigatransfers * lanes * coded * 1e9;
  }
};

Slot slot_of(std::string_view value) {
  Slot out;
  const auto after = [&](std::string_view word) {
    const std::size_t at = value.find(word);
    return at == std::string_view::npos ? 0 : leading_number(value.substr(at + word.size())).value_or(0);
  };
  out.gigatransfers = after("Speed ");
  out.lanes = after("Width x");
  out.downgraded = value.find("downgraded") != std::string_view::npos;
  return out;
}

bool slot_known(const Case& what) { return slot_of(what.value).bps() > 0; }
bool slot_good(const Case& what) { return slot_of(what.value).bps() >= static_cast<double>(what.haul.rate_bps); }
std::string slot_fine(const Case& what) {
  return fmt::format("{} before PCIe headers (calculated)", show_rate(slot_of(what.value).bps()));
}
std::string slot_message(const Case& what) {
  const Slot slot = slot_of(what.value);
  return fmt::format("the slot carries {}: less than the {} of the long haul.{}", slot_fine(what), link_wanted(what),
                     slot.downgraded ? " It is capable of more: the link has been negotiated down." : "");
}
std::string slot_remedy(const Case& what) {
  return fmt::format(
      "compare LnkCap and LnkSta of lspci -s {} -vv: use a slot with all lanes of the card's generation, check the "
      "slot speed in the firmware, reseat the card",
      device_of(what, "ADDRESS"));
}

constexpr Rule kPortRules[] = {
    {"port-state", Kind::devinfo, "state", Severity::fault, state_counts, state_good, state_wanted, state_fine,
     state_message, state_remedy},
    {"transport", Kind::devinfo, "transport", Severity::fault, always, transport_good, transport_wanted, transport_fine,
     transport_message, transport_remedy},
    {"link-layer", Kind::devinfo, "link_layer", Severity::fault, is_up, layer_good, layer_wanted, layer_fine,
     layer_message, layer_remedy},
    {"path-mtu", Kind::devinfo, "active_mtu", Severity::fault, has_mtu, mtu_good, mtu_wanted, mtu_fine, mtu_message,
     mtu_remedy},
    {"link-rate", Kind::devinfo, "active_speed", Severity::fault, link_known, link_good, link_wanted, link_fine,
     link_message, link_remedy},
    {"pcie", Kind::pcie, "LnkSta", Severity::fault, slot_known, slot_good, link_wanted, slot_fine, slot_message,
     slot_remedy},
};

}  // namespace

std::span<const Rule> port_rules() { return kPortRules; }

}  // namespace longhaul::plan::nic
