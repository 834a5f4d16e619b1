// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_port.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <spdlog/spdlog.h>

#include "drivers/interface.hpp"
#include "drivers/receive_hash.hpp"
#include "steer/pair_hash.hpp"

namespace longhaul::drivers {

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
    // Checked before the driver is asked, which would answer "no such device" without a name.
    if (af_packet_) interface_mtu(af_packet_->interface);
    if (const int error = rte_eal_hotplug_add("vdev", name_.c_str(), arguments.c_str()); error != 0) {
      fail(fmt::format("cannot create the device \"{}\"", spec_.vdev), error);
    }
  } else {
    name_ = spec_.pci;
  }
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &port_) != 0) {
    throw std::runtime_error(fmt::format(
        "{} port: no DPDK port {}. Is the address right (lspci -D), and is the NIC bound to vfio-pci, or "
        "to its kernel driver if it is a bifurcated one such as mlx5?{}",
        spec_.label, name_,
        spec_.devargs.empty()
            ? ""
            : fmt::format(" Does its driver know the devargs \"{}\" (docs/operate/nics.md)?", spec_.devargs)));
  }
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(port_, &info); error != 0) fail("no device information", error);
  if (af_packet_) {
    const std::uint32_t slot = af_packet_->largest_received();
    const std::uint32_t ring = slot > kFrameOverhead ? slot - kFrameOverhead : 0;
    max_mtu_ = std::min(interface_mtu(af_packet_->interface), ring);
  } else {
    // max_mtu is 65535 with drivers that do not set it; max_rx_pktlen then tells more.
    const std::uint32_t by_length = info.max_rx_pktlen > kFrameOverhead ? info.max_rx_pktlen - kFrameOverhead : 0;
    max_mtu_ = info.max_mtu != UINT16_MAX ? info.max_mtu : std::min<std::uint32_t>(by_length, UINT16_MAX);
  }
  for (std::uint16_t i = 0; i < spec_.workers; ++i)
    queues_.push_back(std::make_unique<EthdevQueue>(port_, i, af_packet_ ? af_packet_->largest_sent() : 0, describe()));
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
    out.remedy = "use a NIC that supports it";
  }
  return out;
}

void EthdevPort::start(std::uint32_t mtu, std::span<rte_mempool* const> pools) {
  const std::uint32_t room =
      static_cast<std::uint32_t>(rte_pktmbuf_data_room_size(pools.front())) - RTE_PKTMBUF_HEADROOM;
  const std::uint32_t needed = mbuf_bytes_for(spec_, mtu);
  if (room < needed) {
    throw std::runtime_error(
        fmt::format("{} port {}: buffers of {} bytes are too small, {} are needed", spec_.label, name_, room, needed));
  }

  if (const int error = configure_and_start(mtu, pools); error != 0) fail("start", error);
  started_ = true;
  apply_flow_control();
  if (receive_queues_ > 1 && !af_packet_) fill_indirection();

  // A NIC that refuses would drop frames to other addresses: no bump in the wire. A vdev may not know promiscuous mode
  // and still take in everything.
  if (const int error = rte_eth_promiscuous_enable(port_); error == -ENOTSUP && !spec_.vdev.empty()) {
    spdlog::warn("{}: does not support promiscuous mode; frames to other addresses may be missing", describe());
  } else if (error != 0) {
    fail("cannot enable promiscuous mode, which a transparent box needs", error);
  }
  // Most drivers without it take in all multicast in promiscuous mode.
  if (const int error = rte_eth_allmulticast_enable(port_); error != 0 && error != -ENOTSUP)
    fail("cannot enable all-multicast mode", error);
}

// Some drivers check the hash's key and fields when they are configured, some only when they start. A driver that
// refuses is no reason not to start: workers spread what comes.
int EthdevPort::configure_and_start(std::uint32_t mtu, std::span<rte_mempool* const> pools) {
  configure_queues(mtu, pools);
  int error = rte_eth_dev_start(port_);
  if (error != 0 && may_hash_ && receive_queues_ > 1) {
    give_up_hashing(error);
    configure_queues(mtu, pools);
    error = rte_eth_dev_start(port_);
  }
  return error;
}

void EthdevPort::give_up_hashing(int error) {
  spdlog::warn(
      "{}: its driver refuses to spread frames by their addresses ({}): the first worker receives all frames and hands "
      "them to the others",
      describe(), rte_strerror(-error));
  may_hash_ = false;
}

// A pair of queues for each worker; fewer receive queues when the device cannot spread.
void EthdevPort::configure_queues(std::uint32_t mtu, std::span<rte_mempool* const> pools) {
  const auto workers = static_cast<std::uint16_t>(queues_.size());
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(port_, &info); error != 0) fail("no device information", error);
  if (info.max_tx_queues < workers)
    throw std::runtime_error(
        fmt::format("{} port {}: {} workers need a transmit queue each, but the port has {}; {}", spec_.label, name_,
                    workers, info.max_tx_queues,
                    af_packet_ ? fmt::format("add qpairs={} to its vdev string", workers) : "configure fewer `cores`"));

  rte_eth_conf conf{};
  // net_af_packet claims 1518 at most and would refuse the true MTU, although it carries what its ring holds.
  if (!af_packet_) conf.rxmode.mtu = mtu;
  std::vector<std::uint8_t> key(info.hash_key_size);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = steer::kRssKeyPattern[i % steer::kRssKeyPattern.size()];
  const ReceiveHash hash = receive_hash(info.flow_type_rss_offloads);
  receive_queues_ = 1;
  const bool hashes = workers > 1 && hash.fields != 0 && may_hash_;
  if (hashes) {
    receive_queues_ = std::min(workers, info.max_rx_queues);
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = hash.fields;
    conf.rx_adv_conf.rss_conf.rss_key = key.empty() ? nullptr : key.data();
    conf.rx_adv_conf.rss_conf.rss_key_len = static_cast<std::uint8_t>(key.size());
  } else if (workers > 1 && may_hash_ && !spec_.vdev.empty()) {
    receive_queues_ = std::min(workers, info.max_rx_queues);
  }
  int refused = rte_eth_dev_configure(port_, receive_queues_, workers, &conf);
  if (refused != 0 && hashes) {
    give_up_hashing(refused);
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
    conf.rx_adv_conf.rss_conf = {};
    receive_queues_ = 1;
    refused = rte_eth_dev_configure(port_, receive_queues_, workers, &conf);
  }
  if (refused != 0)
    fail(fmt::format("cannot configure MTU {}, {} receive and {} transmit queues", mtu, receive_queues_, workers),
         refused);
  if (hashes && may_hash_) tell_of_hash(hash);

  if (const int error = rte_eth_dev_info_get(port_, &info); error != 0) fail("no device information", error);
  const Descriptors descriptors = adjusted_descriptors();

  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(port_));
  rte_eth_rxconf rx = info.default_rxconf;
  rx.offloads = 0;
  rte_eth_txconf tx = info.default_txconf;
  tx.offloads = 0;
  for (std::uint16_t i = 0; i < workers; ++i) {
    const bool receives = i < receive_queues_;
    if (receives)
      if (const int error = rte_eth_rx_queue_setup(port_, i, descriptors.receive, socket, &rx, pools[i]); error != 0)
        fail(fmt::format("cannot set up receive queue {}", i), error);
    if (const int error = rte_eth_tx_queue_setup(port_, i, descriptors.transmit, socket, &tx); error != 0)
      fail(fmt::format("cannot set up transmit queue {}", i), error);
    queues_[i]->set_receives(receives);
  }
}

Descriptors EthdevPort::adjusted_descriptors() const {
  const Descriptors asked = spec_.descriptors.value_or(Descriptors{});
  Descriptors out = asked;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(port_, &out.receive, &out.transmit); error != 0)
    fail("cannot adjust the ring sizes", error);
  if (af_packet_ && spec_.descriptors)
    spdlog::warn("{}: `descriptors` does nothing for a kernel interface: framecnt= of its vdev string sizes its rings",
                 describe());
  if (out.receive != asked.receive || out.transmit != asked.transmit)
    spdlog::log(spec_.descriptors ? spdlog::level::warn : spdlog::level::info,
                "{}: has {} receive and {} transmit descriptors a queue, which its driver allows, not {} and {}",
                describe(), out.receive, out.transmit, asked.receive, asked.transmit);
  return out;
}

// What a NIC has from its firmware or its kernel driver differs; some obey pause frames, and one of those would hold
// back all connections.
void EthdevPort::apply_flow_control() const {
  const int error = set_flow_control(port_, spec_.flow_control.value_or(FlowControl::off));
  if (error == 0) return;
  if (spec_.flow_control)
    fail("cannot set `flow_control` as configured (leave the key out to take the port as it is)", error);
  rte_eth_dev_info info{};  // virtual devices have no pause frames
  if (rte_eth_dev_info_get(port_, &info) != 0 || std::string_view(rte_bus_name(rte_dev_bus(info.device))) != "pci")
    return;
  spdlog::warn(
      "{}: cannot switch flow control off ({}): whether it obeys pause frames is up to the NIC; see "
      "docs/operate/nics.md",
      describe(), rte_strerror(-error));
}

void EthdevPort::tell_of_hash(const ReceiveHash& hash) const {
  if (hash.with_ports)
    spdlog::warn("{}: also hashes UDP frames by their ports: more frames than needed are handed from worker to worker",
                 describe());
  if (hash.without_ipv4 || hash.without_ipv6)
    spdlog::warn("{}: does not spread {} frames: the first worker receives all of them and hands them to the others",
                 describe(), hash.without_ipv4 ? "IPv4" : "IPv6");
}

// What a NIC's table holds by default differs between drivers. A NIC whose table cannot be set spreads in its own way,
// and workers hand over what comes to the wrong one.
void EthdevPort::fill_indirection() const {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(port_, &info) != 0 || info.reta_size == 0) return;
  std::vector<rte_eth_rss_reta_entry64> table((info.reta_size + RTE_ETH_RETA_GROUP_SIZE - 1) / RTE_ETH_RETA_GROUP_SIZE);
  for (std::uint16_t i = 0; i < info.reta_size; ++i) {
    rte_eth_rss_reta_entry64& group = table[i / RTE_ETH_RETA_GROUP_SIZE];
    group.mask |= 1ull << i % RTE_ETH_RETA_GROUP_SIZE;
    group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = steer::worker_of_entry(i, receive_queues_);
  }
  if (const int error = rte_eth_dev_rss_reta_update(port_, table.data(), info.reta_size); error != 0)
    spdlog::warn("{}: its RSS table cannot be set ({}): more frames than needed are handed from worker to worker",
                 describe(), rte_strerror(-error));
}

wire::MacAddress EthdevPort::mac() const {
  rte_ether_addr its{};
  if (const int error = rte_eth_macaddr_get(port_, &its); error != 0) fail("cannot tell its MAC address", error);
  wire::MacAddress mac;
  std::ranges::copy(its.addr_bytes, mac.begin());
  return mac;
}

int EthdevPort::socket() const { return rte_eth_dev_socket_id(port_); }

std::uint16_t EthdevPort::receive(rte_mbuf** frames, std::uint16_t count) {
  return rte_eth_rx_burst(port_, 0, frames, count);
}

std::uint16_t EthdevPort::transmit(rte_mbuf** frames, std::uint16_t count) {
  return af_packet_ ? queues_.front()->transmit(frames, count) : rte_eth_tx_burst(port_, 0, frames, count);
}

std::string EthdevPort::device() const {
  return af_packet_ ? fmt::format("{}, iface {}", name_, af_packet_->interface) : name_;
}

std::string EthdevPort::describe() const { return fmt::format("{} ({})", spec_.label, device()); }

PortStats EthdevPort::stats() const {
  PortStats out;
  rte_eth_stats raw{};
  if (rte_eth_stats_get(port_, &raw) == 0) {
    out.ipackets = raw.ipackets;
    out.opackets = raw.opackets;
    out.ibytes = raw.ibytes;
    out.obytes = raw.obytes;
    out.imissed = raw.imissed;
    out.ierrors = raw.ierrors;
    out.oerrors = raw.oerrors;
    out.rx_nombuf = raw.rx_nombuf;
  }
  for (const auto& queue : queues_) out.oversize += queue->oversize();
  return out;
}

bool EthdevPort::link_up() const {
  // The driver always says up, whatever the state of the interface.
  if (af_packet_) return interface_running(af_packet_->interface);
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void EthdevPort::set_link(bool up) {
  if (af_packet_) {
    set_interface_up(af_packet_->interface, up);
    return;
  }
  const int error = up ? rte_eth_dev_set_link_up(port_) : rte_eth_dev_set_link_down(port_);
  if (error != 0) fail(up ? "cannot set the link up" : "cannot set the link down", error);
}

}  // namespace longhaul::drivers
