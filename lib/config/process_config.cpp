// SPDX-License-Identifier: BSD-3-Clause
#include "config/process_config.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace longhaul::config {
namespace {

/// The form that `lspci -D` prints: "0000:01:00.0".
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  return text.size() == kForm.size() && std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
           return form == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == form;
         });
}

/// A form such as "a=1,b=[0,2],c": names, each perhaps with a value, between commas that no bracket encloses. Which
/// there are only the NIC's driver knows.
bool is_devargs(std::string_view text) {
  int depth = 0;
  bool begins = true;  // an argument, which begins with its name
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isgraph(byte) == 0 || (begins && std::isalpha(byte) == 0)) return false;
    if (c == '[' || c == '(') ++depth;
    if ((c == ']' || c == ')') && --depth < 0) return false;
    begins = c == ',' && depth == 0;
  }
  return !begins && depth == 0;
}

/// The name before the first comma, by which DPDK knows the device.
std::string_view device_name(const PortConfig& port) {
  const std::string_view device = port.device();
  return device.substr(0, device.find(','));
}

}  // namespace

PortConfig read_port(const Value& value) {
  const Map map = value.map({"pci", "vdev", "devargs"});
  const auto pci = map.find("pci");
  const auto vdev = map.find("vdev");
  if (pci.has_value() == vdev.has_value()) value.fail("expected either pci or vdev");
  PortConfig out;
  out.position = (pci ? pci : vdev)->position();
  if (pci) {
    out.pci = pci->text();
    if (!is_pci_address(out.pci)) pci->fail_expected("a PCI address such as \"0000:01:00.0\" (lspci -D prints them)");
  } else {
    out.vdev = vdev->text();
    const bool printable =
        std::none_of(out.vdev.begin(), out.vdev.end(), [](unsigned char c) { return std::isgraph(c) == 0; });
    if (!printable || std::isalpha(static_cast<unsigned char>(out.vdev[0])) == 0) {
      vdev->fail_expected("a DPDK device without spaces such as \"net_af_packet0,iface=veth0\"");
    }
  }
  if (const auto devargs = map.find("devargs")) {
    if (!pci) devargs->fail("only a NIC (pci) has devargs: a vdev's arguments follow its name, after a comma");
    out.devargs = devargs->text();
    if (!is_devargs(out.devargs))
      devargs->fail_expected(
          "arguments of the NIC's driver, without spaces and without the address, such as \"rx_low_latency=1\"");
  }
  return out;
}

std::pair<PortConfig, PortConfig> read_ports(const Value& value, std::string_view first, std::string_view second) {
  const Map map = value.map({first, second});
  std::pair<PortConfig, PortConfig> out{read_port(map.at(first)), read_port(map.at(second))};
  if (device_name(out.first) == device_name(out.second)) {
    map.at(second).fail(fmt::format("the device {} is already the {} port", device_name(out.second), first));
  }
  return out;
}

namespace {

void read_cores(const Value& value, ProcessConfig& out) {
  for (const Value& item : value.list()) {
    const auto core = static_cast<unsigned>(item.integer(0, kLastCore));
    const bool again =
        out.core == core || std::find(out.more_cores.begin(), out.more_cores.end(), core) != out.more_cores.end();
    if (again) item.fail(fmt::format("processor {} already belongs to another worker", core));
    if (!out.core)
      out.core = core;
    else
      out.more_cores.push_back(core);
    if (out.workers() > kMostCores) item.fail(fmt::format("more than {} workers are not supported", kMostCores));
  }
  if (!out.core) value.fail("the list is empty: expected one processor for each worker, such as [2, 4]");
}

DescriptorConfig read_descriptors(const Value& value) {
  const Map map = value.map({"receive", "transmit"});
  DescriptorConfig out;
  const auto read = [&map](std::string_view key, std::uint16_t& to) {
    if (const auto v = map.find(key)) to = static_cast<std::uint16_t>(v->integer(kLeastDescriptors, kMostDescriptors));
  };
  read("receive", out.receive);
  read("transmit", out.transmit);
  out.given = true;
  return out;
}

}  // namespace

ProcessConfig read_process(const Map& top) {
  ProcessConfig out;
  if (const auto v = top.find("hugepages")) out.hugepages = v->boolean();
  if (const auto v = top.find("memory")) out.memory_bytes = v->size(64ull << 20, 1ull << 40);
  const auto core = top.find("core");
  if (core) out.core = static_cast<unsigned>(core->integer(0, kLastCore));
  if (const auto v = top.find("cores")) {
    if (core) v->fail("give either core or cores, not both");
    read_cores(*v, out);
  }
  if (const auto v = top.find("idle")) out.sleep_when_idle = v->choice<bool>(kIdleNames);
  if (const auto v = top.find("mtu")) out.mtu = static_cast<std::uint32_t>(v->integer(kLeastMtu, kMostMtu));
  if (const auto v = top.find("descriptors")) out.descriptors = read_descriptors(*v);
  if (const auto v = top.find("flow_control")) out.flow_control = v->choice<std::size_t>(kFlowControlNames);
  if (const auto v = top.find("log"))
    out.log_format = v->map({"format"}).at("format").choice<LogFormat>(kLogFormatNames);
  return out;
}

}  // namespace longhaul::config
