// SPDX-License-Identifier: BSD-3-Clause
#include "wire/builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "wire/icrc.hpp"

namespace longhaul::wire {
namespace {

constexpr std::size_t kMaxIpv4Options = 40;

template <typename Header>
void append(std::vector<std::uint8_t>& frame, const Header& header) {
  static_assert(alignof(Header) == 1);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&header);
  frame.insert(frame.end(), bytes, bytes + sizeof(Header));
}

std::uint16_t length16(std::size_t length) {
  if (length > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("packet of " + std::to_string(length) + " bytes does not fit an IP length");
  return static_cast<std::uint16_t>(length);
}

std::uint32_t number24(std::uint32_t value, const char* what) {
  if (value > 0xffffff) throw std::invalid_argument(std::string(what) + " has more than 24 bits");
  return value;
}

std::array<std::uint8_t, 4> ipv4_octets(const IpAddress& address) {
  std::array<std::uint8_t, 4> octets{};
  std::copy(address.bytes.begin() + 12, address.bytes.end(), octets.begin());
  return octets;
}

}  // namespace

PacketBuilder::PacketBuilder() { ips("10.0.0.1", "10.0.0.2"); }

PacketBuilder& PacketBuilder::macs(const MacAddress& source, const MacAddress& destination) {
  source_mac_ = source;
  destination_mac_ = destination;
  return *this;
}

PacketBuilder& PacketBuilder::vlan(std::uint16_t tci, std::uint16_t ether_type) {
  tags_.push_back({ether_type, tci});
  return *this;
}

PacketBuilder& PacketBuilder::ips(const std::string& source, const std::string& destination) {
  return ips(IpAddress::parse(source), IpAddress::parse(destination));
}

PacketBuilder& PacketBuilder::ips(const IpAddress& source, const IpAddress& destination) {
  source_ = source;
  destination_ = destination;
  return *this;
}

PacketBuilder& PacketBuilder::tos(std::uint8_t tos) {
  tos_ = tos;
  return *this;
}

PacketBuilder& PacketBuilder::ttl(std::uint8_t ttl) {
  ttl_ = ttl;
  return *this;
}

PacketBuilder& PacketBuilder::ipv4_id(std::uint16_t identification) {
  identification_ = identification;
  return *this;
}

PacketBuilder& PacketBuilder::ipv4_options(std::vector<std::uint8_t> options) {
  options_ = std::move(options);
  return *this;
}

PacketBuilder& PacketBuilder::ipv6_flow_label(std::uint32_t flow_label) {
  flow_label_ = flow_label;
  return *this;
}

PacketBuilder& PacketBuilder::udp_source_port(std::uint16_t port) {
  udp_source_port_ = port;
  return *this;
}

PacketBuilder& PacketBuilder::udp_checksum(std::uint16_t checksum) {
  udp_checksum_ = checksum;
  return *this;
}

PacketBuilder& PacketBuilder::opcode(std::uint8_t opcode) {
  opcode_ = opcode;
  return *this;
}

PacketBuilder& PacketBuilder::p_key(std::uint16_t p_key) {
  p_key_ = p_key;
  return *this;
}

PacketBuilder& PacketBuilder::qpn(std::uint32_t destination_qpn) {
  qpn_ = number24(destination_qpn, "destination QPN");
  return *this;
}

PacketBuilder& PacketBuilder::psn(std::uint32_t psn) {
  psn_ = number24(psn, "PSN");
  return *this;
}

PacketBuilder& PacketBuilder::ack_req(bool on) {
  ack_req_ = on;
  return *this;
}

PacketBuilder& PacketBuilder::solicited(bool on) {
  flags_ = static_cast<std::uint8_t>(on ? flags_ | kBthSolicitedEvent : flags_ & ~kBthSolicitedEvent);
  return *this;
}

PacketBuilder& PacketBuilder::migreq(bool on) {
  flags_ = static_cast<std::uint8_t>(on ? flags_ | kBthMigReq : flags_ & ~kBthMigReq);
  return *this;
}
PacketBuilder& PacketBuilder::becn(bool on) {
  becn_ = on;
  return *this;
}

PacketBuilder& PacketBuilder::reth(std::uint64_t virtual_address, std::uint32_t r_key, std::uint32_t dma_length) {
  given_ |= kHasReth;
  reth_ = {.virtual_address = virtual_address, .r_key = r_key, .dma_length = dma_length};
  return *this;
}

PacketBuilder& PacketBuilder::aeth(std::uint8_t syndrome, std::uint32_t msn) {
  given_ |= kHasAeth;
  aeth_ = {.syndrome = syndrome, .msn = number24(msn, "MSN")};
  return *this;
}

PacketBuilder& PacketBuilder::atomic_eth(std::uint64_t virtual_address, std::uint32_t r_key, std::uint64_t swap_or_add,
                                         std::uint64_t compare) {
  given_ |= kHasAtomicEth;
  atomic_eth_ = {.virtual_address = virtual_address, .r_key = r_key, .swap_or_add = swap_or_add, .compare = compare};
  return *this;
}

PacketBuilder& PacketBuilder::atomic_ack_eth(std::uint64_t original) {
  given_ |= kHasAtomicAckEth;
  atomic_ack_eth_ = {.original = original};
  return *this;
}

PacketBuilder& PacketBuilder::imm_dt(std::uint32_t data) {
  given_ |= kHasImmDt;
  imm_dt_ = {.data = data};
  return *this;
}

PacketBuilder& PacketBuilder::ieth(std::uint32_t r_key) {
  given_ |= kHasIeth;
  ieth_ = {.r_key = r_key};
  return *this;
}

PacketBuilder& PacketBuilder::deth(std::uint32_t q_key, std::uint32_t source_qpn) {
  given_ |= kHasDeth;
  deth_ = {.q_key = q_key, .reserved = 0, .source_qpn = number24(source_qpn, "source QPN")};
  return *this;
}

PacketBuilder& PacketBuilder::payload(std::span<const std::uint8_t> bytes) {
  payload_.assign(bytes.begin(), bytes.end());
  return *this;
}

PacketBuilder& PacketBuilder::payload_size(std::size_t bytes, std::uint8_t first) {
  payload_.resize(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload_[i] = static_cast<std::uint8_t>(first + i);
  return *this;
}

void PacketBuilder::append_ethernet(std::vector<std::uint8_t>& frame) const {
  const auto inner = source_.is_ipv4() ? kEtherTypeIpv4 : kEtherTypeIpv6;
  append(frame, EthernetHeader{.destination = destination_mac_,
                               .source = source_mac_,
                               .ether_type = tags_.empty() ? inner : tags_.front().ether_type});
  for (std::size_t i = 0; i < tags_.size(); ++i)
    append(frame, VlanTag{.tci = tags_[i].tci, .ether_type = i + 1 < tags_.size() ? tags_[i + 1].ether_type : inner});
}

void PacketBuilder::append_ip(std::vector<std::uint8_t>& frame, std::size_t udp_length) const {
  if (!source_.is_ipv4()) {
    const std::uint32_t class_flow = 6U << 28 | static_cast<std::uint32_t>(tos_) << 20 | flow_label_;
    append(frame, Ipv6Header{.version_class_flow = class_flow,
                             .payload_length = length16(udp_length),
                             .next_header = kIpProtocolUdp,
                             .hop_limit = ttl_,
                             .source = source_.bytes,
                             .destination = destination_.bytes});
    return;
  }
  const std::size_t header_size = sizeof(Ipv4Header) + options_.size();
  const std::size_t start = frame.size();
  append(frame, Ipv4Header{.version_ihl = static_cast<std::uint8_t>(0x40 | header_size / 4),
                           .tos = tos_,
                           .total_length = length16(header_size + udp_length),
                           .identification = identification_,
                           .flags_fragment = 0x4000,  // do not fragment, A17.4.5.1
                           .ttl = ttl_,
                           .protocol = kIpProtocolUdp,
                           .checksum = 0,
                           .source = ipv4_octets(source_),
                           .destination = ipv4_octets(destination_)});
  frame.insert(frame.end(), options_.begin(), options_.end());
  const Be16 checksum = ipv4_checksum(std::span(frame).subspan(start));
  std::memcpy(frame.data() + start + offsetof(Ipv4Header, checksum), &checksum, sizeof(checksum));
}

void PacketBuilder::append_transport(std::vector<std::uint8_t>& frame, std::uint8_t extended, std::size_t pad) const {
  append(frame, Bth{.opcode = opcode_,
                    .flags = static_cast<std::uint8_t>(flags_ | pad << kBthPadShift),
                    .p_key = p_key_,
                    .reserved = becn_ ? kBthBecn : std::uint8_t{0},
                    .destination_qpn = qpn_,
                    .ack_req = ack_req_ ? kBthAckReq : std::uint8_t{0},
                    .psn = psn_});
  if ((extended & kHasDeth) != 0) append(frame, deth_);
  if ((extended & kHasReth) != 0) append(frame, reth_);
  if ((extended & kHasAtomicEth) != 0) append(frame, atomic_eth_);
  if ((extended & kHasAeth) != 0) append(frame, aeth_);
  if ((extended & kHasAtomicAckEth) != 0) append(frame, atomic_ack_eth_);
  if ((extended & kHasImmDt) != 0) append(frame, imm_dt_);
  if ((extended & kHasIeth) != 0) append(frame, ieth_);
}

void PacketBuilder::check(const OpcodeInfo* info) const {
  if (source_.is_ipv4() != destination_.is_ipv4())
    throw std::invalid_argument("addresses of two families: " + source_.to_string() + " and " +
                                destination_.to_string());
  if (options_.size() > kMaxIpv4Options || options_.size() % 4 != 0)
    throw std::invalid_argument("IPv4 options must be a multiple of 4 and at most 40 bytes");
  if (!options_.empty() && !source_.is_ipv4()) throw std::invalid_argument("IPv4 options on an IPv6 packet");
  if (flow_label_ > 0xfffff) throw std::invalid_argument("IPv6 flow label has more than 20 bits");
  if (info == nullptr) {
    if (given_ != 0) throw std::invalid_argument("extended headers on an opcode that is not in the table");
    return;
  }
  const std::string name(info->name);
  if ((given_ & ~info->extended) != 0) throw std::invalid_argument(name + " does not have the extended header given");
  if (!info->payload && !payload_.empty()) throw std::invalid_argument(name + " carries no payload");
}

std::vector<std::uint8_t> PacketBuilder::build() const {
  const OpcodeInfo* info = find_opcode(opcode_);
  check(info);
  const std::uint8_t extended = info != nullptr ? info->extended : std::uint8_t{0};
  const std::size_t pad = (4 - payload_.size() % 4) % 4;
  const std::size_t udp_length =
      sizeof(UdpHeader) + sizeof(Bth) + extended_size_of(extended) + payload_.size() + pad + kIcrcSize;

  std::vector<std::uint8_t> frame;
  frame.reserve(sizeof(EthernetHeader) + tags_.size() * sizeof(VlanTag) + sizeof(Ipv6Header) + kMaxIpv4Options +
                udp_length);
  append_ethernet(frame);
  append_ip(frame, udp_length);
  append(frame, UdpHeader{.source_port = udp_source_port_,
                          .destination_port = kRoceUdpPort,
                          .length = length16(udp_length),
                          .checksum = udp_checksum_});
  append_transport(frame, extended, pad);
  frame.insert(frame.end(), payload_.begin(), payload_.end());
  frame.resize(frame.size() + pad + kIcrcSize);
  refresh_icrc(frame);
  return frame;
}

}  // namespace longhaul::wire
