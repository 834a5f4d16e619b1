// SPDX-License-Identifier: BSD-3-Clause
#include "custody/ack_template.hpp"

#include <rte_ip.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "wire/icrc.hpp"

namespace longhaul::custody {

namespace {

template <typename Header>
Header& at(std::uint8_t* bytes, std::size_t offset) {
  static_assert(alignof(Header) == 1);
  return *reinterpret_cast<Header*>(bytes + offset);
}

/// What differs from ACK to ACK: the BTH's last word, which ends with the PSN, and the AETH.
struct PsnAndAeth {
  wire::Be32 psn;
  wire::Be32 syndrome_and_msn;
};
constexpr std::size_t kPsnInBth = offsetof(wire::Bth, ack_req);
static_assert(sizeof(PsnAndAeth) == sizeof(wire::Bth) - kPsnInBth + sizeof(wire::Aeth));
static_assert(offsetof(wire::Aeth, syndrome) == 0 && offsetof(wire::Aeth, msn) == 1);

// A congestion mark belonged to the packet that was learned from: back to ECT(0).
std::uint8_t without_congestion_mark(std::uint8_t traffic_class) {
  return (traffic_class & 0x3) == 0x3 ? static_cast<std::uint8_t>((traffic_class & ~0x3) | 0x2) : traffic_class;
}

}  // namespace

void AckTemplate::take_headers(const wire::Frame& frame) {
  // No offset is beyond kMaxBytes.
  ip_offset_ = static_cast<std::uint8_t>(frame.ip_offset);
  udp_offset_ = static_cast<std::uint8_t>(frame.udp_offset);
  bth_offset_ = static_cast<std::uint8_t>(frame.bth_offset);
  ipv6_ = frame.ipv6;
  std::memcpy(bytes_.data(), frame.data, bth_offset_ + sizeof(wire::Bth));
}

void AckTemplate::learn_from_answer(const wire::Frame& answer) {
  take_headers(answer);
  finish(source_of(answer));
}

void AckTemplate::learn_from_request(const wire::Frame& request, std::uint32_t requester_qpn) {
  take_headers(request);
  leave_out_priority_tags();
  auto& ethernet = at<wire::EthernetHeader>(bytes_.data(), 0);
  std::swap(ethernet.source, ethernet.destination);
  if (ipv6_) {
    auto& ip = at<wire::Ipv6Header>(bytes_.data(), ip_offset_);
    std::swap(ip.source, ip.destination);
  } else {
    auto& ip = at<wire::Ipv4Header>(bytes_.data(), ip_offset_);
    std::swap(ip.source, ip.destination);
  }
  at<wire::Bth>(bytes_.data(), bth_offset_).destination_qpn = requester_qpn;
  finish(Source::request);
}

// A tag with VID 0 in one direction says nothing about the other, and every station takes a frame without it.
void AckTemplate::leave_out_priority_tags() {
  for (std::size_t tag = sizeof(wire::EthernetHeader); tag < ip_offset_;) {
    if ((at<wire::VlanTag>(bytes_.data(), tag).tci & 0xfff) != 0) {
      tag += sizeof(wire::VlanTag);
      continue;
    }
    // The tag's own EtherType stands before it, and that of what follows at its end.
    const std::size_t end = bth_offset_ + sizeof(wire::Bth);
    constexpr std::size_t kEtherType = sizeof(wire::Be16);
    std::memmove(bytes_.data() + tag - kEtherType, bytes_.data() + tag + sizeof(wire::VlanTag) - kEtherType,
                 end - (tag + sizeof(wire::VlanTag) - kEtherType));
    for (std::uint8_t* offset : {&ip_offset_, &udp_offset_, &bth_offset_})
      *offset = static_cast<std::uint8_t>(*offset - sizeof(wire::VlanTag));
  }
}

// Turns the headers of another packet into those of an ACK.
void AckTemplate::finish(Source source) {
  source_ = source;
  auto& bth = at<wire::Bth>(bytes_.data(), bth_offset_);
  bth.opcode = wire::kRcAcknowledge;
  bth.flags = static_cast<std::uint8_t>(bth.flags & wire::kBthMigReq);
  // Some responders set reserved bits in each ACK. FECN and BECN are another packet's, and an ACK asks for none.
  const bool from_ack = source == Source::acknowledge;
  bth.reserved = from_ack ? static_cast<std::uint8_t>(bth.reserved & wire::kBthReservedMask) : 0;
  bth.ack_req = from_ack ? static_cast<std::uint8_t>(bth.ack_req & ~wire::kBthAckReq) : 0;
  before_psn_ = std::uint32_t{bth.ack_req} << 24;

  const std::size_t icrc_offset = bth_offset_ + sizeof(wire::Bth) + sizeof(wire::Aeth);
  size_ = static_cast<std::uint8_t>(icrc_offset + wire::kIcrcSize);
  wire::Frame frame;
  frame.data = bytes_.data();
  frame.ip_offset = ip_offset_;
  frame.ipv6 = ipv6_;
  set_ip_and_udp(bytes_.data(), size_, without_congestion_mark(frame.traffic_class()));
  frame.udp_offset = udp_offset_;
  frame.bth_offset = bth_offset_;
  icrc_before_psn_ = wire::icrc_before(frame, bth_offset_ + kPsnInBth);
}

/// In `bytes`, a frame of `size` bytes with the headers of this template.
void AckTemplate::set_ip_and_udp(std::uint8_t* bytes, std::size_t size, std::uint8_t traffic_class) const {
  auto& udp = at<wire::UdpHeader>(bytes, udp_offset_);
  udp.length = static_cast<std::uint16_t>(size - udp_offset_);
  udp.checksum = 0;  // IBTA Annex A17.3.1: zero; the ICRC protects the packet
  if (ipv6_) {
    auto& ip = at<wire::Ipv6Header>(bytes, ip_offset_);
    ip.version_class_flow = (ip.version_class_flow & 0xf00fffff) | (std::uint32_t{traffic_class} << 20);
    ip.payload_length = static_cast<std::uint16_t>(size - udp_offset_);
    return;
  }
  auto& ip = at<wire::Ipv4Header>(bytes, ip_offset_);
  ip.tos = traffic_class;
  ip.total_length = static_cast<std::uint16_t>(size - ip_offset_);
  ip.checksum = 0;
  // rte_raw_cksum() sums in memory order, so the result is stored as it is.
  const auto sum = static_cast<std::uint16_t>(~rte_raw_cksum(&ip, static_cast<std::size_t>(udp_offset_ - ip_offset_)));
  std::memcpy(bytes + ip_offset_ + offsetof(wire::Ipv4Header, checksum), &sum, sizeof(sum));
}

// IBTA Annex A17.9.3: BECN, PSN 0, and 16 reserved bytes. MigReq is clear, and the ECN bits are ECT(0), in what a
// ConnectX-4 Lx sends (captured: scapy's tests, roce.uts).
rte_mbuf* AckTemplate::make_cnp(BufferStash& buffers, std::uint8_t dscp) const {
  constexpr std::size_t kReserved = 16;
  constexpr std::uint8_t kEct0 = 0x02;
  static_assert(kMaxBytes - sizeof(wire::Aeth) + kReserved <= kRoom);
  const std::size_t icrc_offset = bth_offset_ + sizeof(wire::Bth) + kReserved;
  const std::size_t size = icrc_offset + wire::kIcrcSize;
  rte_mbuf* mbuf = buffers.frame(static_cast<std::uint16_t>(size));
  if (mbuf == nullptr) return nullptr;
  auto* bytes = rte_pktmbuf_mtod(mbuf, std::uint8_t*);
  std::memcpy(bytes, bytes_.data(), bth_offset_ + sizeof(wire::Bth));
  std::memset(bytes + bth_offset_ + sizeof(wire::Bth), 0, kReserved);
  auto& bth = at<wire::Bth>(bytes, bth_offset_);
  bth.opcode = wire::kCnp;
  bth.flags = 0;
  bth.reserved = wire::kBthBecn;
  bth.ack_req = 0;
  bth.psn = 0;
  set_ip_and_udp(bytes, size, static_cast<std::uint8_t>(dscp << 2 | kEct0));
  wire::Frame frame;
  wire::parse({bytes, size}, frame);
  wire::store_icrc(bytes + icrc_offset, wire::compute_icrc(frame));
  return mbuf;
}

rte_mbuf* AckTemplate::make(BufferStash& buffers, std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome) const {
  rte_mbuf* mbuf = buffers.frame(size_);
  if (mbuf == nullptr) return nullptr;
  auto* bytes = rte_pktmbuf_mtod(mbuf, std::uint8_t*);
  std::memcpy(bytes, bytes_.data(), kBlock);
  if (size_ > kBlock) std::memcpy(bytes + kBlock, bytes_.data() + kBlock, kBlock);
  const auto eight = std::bit_cast<std::uint64_t>(PsnAndAeth{before_psn_ | psn, std::uint32_t{syndrome} << 24 | msn});
  std::uint8_t* to = bytes + bth_offset_ + kPsnInBth;
  std::memcpy(to, &eight, sizeof(eight));
  wire::store_icrc(to + sizeof(eight), wire::continue_icrc(icrc_before_psn_, eight));
  return mbuf;
}

std::uint16_t AckTemplate::p_key() const {
  return reinterpret_cast<const wire::Bth*>(bytes_.data() + bth_offset_)->p_key;
}

std::uint32_t AckTemplate::destination_qpn() const {
  return reinterpret_cast<const wire::Bth*>(bytes_.data() + bth_offset_)->destination_qpn;
}

}  // namespace longhaul::custody
