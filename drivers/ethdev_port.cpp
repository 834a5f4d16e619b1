// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_port.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <spdlog/spdlog.h>

namespace longhaul::drivers {
namespace {

constexpr std::uint16_t kRingSize = 1024;  ///< descriptors per queue, where the NIC allows

}  // namespace

std::uint32_t mbuf_bytes_for(const EthdevSpec& spec, std::uint32_t mtu) {
  const std::uint32_t bytes = mtu + kFrameOverhead;
  const auto af_packet = parse_af_packet(spec.vdev);
  return af_packet ? std::max(bytes, af_packet->mbuf_bytes()) : bytes;
}

EthdevPort::EthdevPort(EthdevSpec spec) : spec_(std::move(spec)), af_packet_(parse_af_packet(spec_.vdev)) {
  if (!spec_.vdev.empty()) {
    const std::size_t comma = spec_.vdev.find(',');
    name_ = spec_.vdev.substr(0, comma);
    const std::string arguments = comma == std::string::npos ? "" : spec_.vdev.substr(comma + 1);
    // Asked before the driver is, whose own answer would be "no such device" without a name.
    if (af_packet_) interface_mtu(af_packet_->interface);
    if (const int error = rte_eal_hotplug_add("vdev", name_.c_str(), arguments.c_str()); error != 0) {
      fail(fmt::format("the device \"{}\" could not be made", spec_.vdev), error);
    }
  } else {
    name_ = spec_.pci;
  }
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &port_) != 0) {
    throw std::runtime_error(
        fmt::format("{} port: no DPDK port {}. Is the address right (lspci -D), and is the NIC bound to vfio-pci, or "
                    "to its kernel driver "
                    "for bifurcated ones such as mlx5?",
                    spec_.label, name_));
  }
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(port_, &info); error != 0) fail("no device information", error);
  if (af_packet_) {
    const std::uint32_t slot = af_packet_->largest_received();
    const std::uint32_t ring = slot > kFrameOverhead ? slot - kFrameOverhead : 0;
    max_mtu_ = std::min(interface_mtu(af_packet_->interface), ring);
  } else {
    // max_mtu is 65535 with drivers that leave it alone; max_rx_pktlen then tells more.
    const std::uint32_t by_length = info.max_rx_pktlen > kFrameOverhead ? info.max_rx_pktlen - kFrameOverhead : 0;
    max_mtu_ = info.max_mtu != UINT16_MAX ? info.max_mtu : std::min<std::uint32_t>(by_length, UINT16_MAX);
  }
}

EthdevPort::~EthdevPort() {
  if (started_) rte_eth_dev_stop(port_);
  if (spec_.vdev.empty()) {
    rte_eth_dev_close(port_);
  } else {
    rte_eal_hotplug_remove("vdev", name_.c_str());  // closes the port
  }
}

void EthdevPort::fail(const std::string& what, int error) const {
  throw std::runtime_error(fmt::format("{} port {}: {}: {}", spec_.label, name_, what, rte_strerror(-error)));
}

MtuCapacity EthdevPort::mtu_capacity() const {
  MtuCapacity out;
  out.port = describe();
  out.mtu = max_mtu_;
  out.fixed = af_packet_.has_value();
  if (af_packet_) {
    const bool ring_binds = max_mtu_ < interface_mtu(af_packet_->interface);
    out.remedy = ring_binds ? "a larger framesz= in its vdev string"
                            : fmt::format("ip link set dev {} mtu N", af_packet_->interface);
  } else {
    out.remedy = "use a NIC that can";
  }
  return out;
}

void EthdevPort::start(std::uint32_t mtu, rte_mempool* pool) {
  const std::uint32_t room = static_cast<std::uint32_t>(rte_pktmbuf_data_room_size(pool)) - RTE_PKTMBUF_HEADROOM;
  const std::uint32_t needed = mbuf_bytes_for(spec_, mtu);
  if (room < needed) {
    throw std::runtime_error(
        fmt::format("{} port {}: buffers of {} bytes are too small, {} are needed", spec_.label, name_, room, needed));
  }

  rte_eth_conf conf{};
  // net_af_packet claims 1518 at most and would refuse a true figure, though it carries what its ring holds.
  if (!af_packet_) conf.rxmode.mtu = mtu;
  if (const int error = rte_eth_dev_configure(port_, 1, 1, &conf); error != 0)
    fail(fmt::format("configure, MTU {}", mtu), error);

  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(port_, &info); error != 0) fail("no device information", error);
  std::uint16_t rx_size = kRingSize;
  std::uint16_t tx_size = kRingSize;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(port_, &rx_size, &tx_size); error != 0)
    fail("ring sizes", error);

  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(port_));
  rte_eth_rxconf rx = info.default_rxconf;
  rx.offloads = 0;
  if (const int error = rte_eth_rx_queue_setup(port_, 0, rx_size, socket, &rx, pool); error != 0)
    fail("receive queue", error);
  rte_eth_txconf tx = info.default_txconf;
  tx.offloads = 0;
  if (const int error = rte_eth_tx_queue_setup(port_, 0, tx_size, socket, &tx); error != 0)
    fail("transmit queue", error);
  if (const int error = rte_eth_dev_start(port_); error != 0) fail("start", error);
  started_ = true;

  // A NIC that refuses would drop its neighbours' frames: no bump in the wire. A vdev may not know the
  // notion and take everything in anyway.
  if (const int error = rte_eth_promiscuous_enable(port_); error == -ENOTSUP && !spec_.vdev.empty()) {
    spdlog::warn("{}: does not know promiscuous mode; frames to other addresses may be missing", describe());
  } else if (error != 0) {
    fail("promiscuous mode, which a transparent box needs", error);
  }
  // Most drivers that lack it get all multicast with promiscuous mode.
  if (const int error = rte_eth_allmulticast_enable(port_); error != 0 && error != -ENOTSUP)
    fail("all-multicast mode", error);
}

std::uint16_t EthdevPort::receive(rte_mbuf** frames, std::uint16_t count) {
  return rte_eth_rx_burst(port_, 0, frames, count);
}

std::uint16_t EthdevPort::transmit(rte_mbuf** frames, std::uint16_t count) {
  return af_packet_ ? transmit_af_packet(frames, count) : rte_eth_tx_burst(port_, 0, frames, count);
}

// net_af_packet copies and frees each frame at once, but when the kernel then refuses to send (an interface
// that is down) it returns 0, as if the frames were still the caller's; and it frees an oversized frame without
// counting it. Either would have the caller use freed mbufs. So: drop the oversized before, hold an own reference
// meanwhile, and believe the reference counts. A frame the driver let go of lies in the ring and goes out when the
// interface is up again.
std::uint16_t EthdevPort::transmit_af_packet(rte_mbuf** frames, std::uint16_t count) {
  constexpr std::uint16_t kBurst = 64;
  const std::uint32_t limit = af_packet_->largest_sent();
  std::array<std::uint16_t, kBurst> references{};
  std::uint16_t done = 0;
  while (done < count) {
    if (rte_pktmbuf_pkt_len(frames[done]) > limit) {
      rte_pktmbuf_free(frames[done++]);
      ++oversize_;
      continue;
    }
    rte_mbuf** burst = frames + done;
    std::uint16_t run = 1;
    // A frame that is there twice (resent twice at once) ends the run: its count would not say which of the two was
    // taken.
    while (run < kBurst && done + run < count && rte_pktmbuf_pkt_len(burst[run]) <= limit &&
           std::find(burst, burst + run, burst[run]) == burst + run)
      ++run;
    for (std::uint16_t i = 0; i < run; ++i) {
      references[i] = rte_mbuf_refcnt_read(burst[i]);
      rte_mbuf_refcnt_update(burst[i], 1);
    }
    const std::uint16_t said = rte_eth_tx_burst(port_, 0, burst, run);
    std::uint16_t taken = said;
    while (taken < run && rte_mbuf_refcnt_read(burst[taken]) == references[taken]) ++taken;
    for (std::uint16_t i = 0; i < taken; ++i) rte_pktmbuf_free(burst[i]);
    for (std::uint16_t i = taken; i < run; ++i) rte_mbuf_refcnt_update(burst[i], -1);
    done = static_cast<std::uint16_t>(done + taken);
    if (taken < run) break;
  }
  return done;
}

std::string EthdevPort::describe() const {
  return af_packet_ ? fmt::format("{} ({}, iface {})", spec_.label, name_, af_packet_->interface)
                    : fmt::format("{} ({})", spec_.label, name_);
}

PortStats EthdevPort::stats() const {
  PortStats out;
  rte_eth_stats raw{};
  if (rte_eth_stats_get(port_, &raw) == 0) {
    out.ipackets = raw.ipackets;
    out.opackets = raw.opackets;
    out.imissed = raw.imissed;
    out.ierrors = raw.ierrors;
    out.oerrors = raw.oerrors;
    out.rx_nombuf = raw.rx_nombuf;
  }
  out.oversize = oversize_;
  return out;
}

bool EthdevPort::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace longhaul::drivers
