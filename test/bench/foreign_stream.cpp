// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/foreign_stream.hpp"

#include <fmt/format.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace longhaul::bench {

namespace {

constexpr std::uint16_t kFirstPort = 20000;
constexpr std::uint16_t kPorts = 16384;
constexpr std::uint32_t kSpread = 2654435761;  // Knuth's multiplicative hash: consecutive frames, unrelated connections

}  // namespace

ForeignStream::ForeignStream(const Point& point, rte_mempool* pool, const Treatment& treatment,
                             const Payloads& payloads, Errors& errors)
    : point_(point),
      pool_(pool),
      treatment_(treatment),
      payloads_(payloads),
      errors_(errors),
      scratch_(*std::max_element(point.workload->foreign_sizes.begin(), point.workload->foreign_sizes.end())) {}

std::uint16_t ForeignStream::size_of(std::uint32_t number) const {
  const auto& sizes = point_.workload->foreign_sizes;
  return sizes[number % sizes.size()];
}

void ForeignStream::write(Side from, std::uint32_t number, std::uint8_t* to) const {
  const std::uint16_t size = size_of(number);
  const std::uint32_t flow = (number * kSpread >> 8) % point_.flows;
  const bool tcp = flow % 2 == 0;
  const auto here = static_cast<std::uint8_t>(from == Side::host ? 1 : 2);
  const auto there = static_cast<std::uint8_t>(3 - here);
  const auto host = static_cast<std::uint8_t>(flow % 200 + 1);
  const std::size_t headers =
      sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr) + (tcp ? sizeof(rte_tcp_hdr) : sizeof(rte_udp_hdr));
  std::memset(to, 0, headers);

  auto* ethernet = reinterpret_cast<rte_ether_hdr*>(to);
  ethernet->src_addr = {{0x02, 0, 0, 1, here, host}};
  ethernet->dst_addr = {{0x02, 0, 0, 1, there, host}};
  ethernet->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
  auto* ip = reinterpret_cast<rte_ipv4_hdr*>(ethernet + 1);
  ip->version_ihl = RTE_IPV4_VHL_DEF;
  ip->total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(size - sizeof(rte_ether_hdr)));
  ip->packet_id = rte_cpu_to_be_16(static_cast<std::uint16_t>(number));
  ip->time_to_live = 64;
  ip->next_proto_id = tcp ? IPPROTO_TCP : IPPROTO_UDP;
  ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 10 + here, 0, host));
  ip->dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, 10 + there, 0, host));
  ip->hdr_checksum = rte_ipv4_cksum(ip);

  const auto port = rte_cpu_to_be_16(static_cast<std::uint16_t>(kFirstPort + flow % kPorts));
  const auto payload =
      payloads_.at(static_cast<std::uint32_t>(here), number, static_cast<std::uint16_t>(size - headers));
  std::copy(payload.begin(), payload.end(), to + headers);
  if (tcp) {
    auto* segment = reinterpret_cast<rte_tcp_hdr*>(ip + 1);
    segment->src_port = segment->dst_port = port;
    segment->sent_seq = rte_cpu_to_be_32(number);
    segment->data_off = sizeof(rte_tcp_hdr) / 4 << 4;
    segment->tcp_flags = RTE_TCP_ACK_FLAG;
    segment->rx_win = 0xffff;
    segment->cksum = rte_ipv4_udptcp_cksum(ip, segment);
  } else {
    auto* datagram = reinterpret_cast<rte_udp_hdr*>(ip + 1);
    datagram->src_port = datagram->dst_port = port;
    datagram->dgram_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(size - headers + sizeof(rte_udp_hdr)));
    datagram->dgram_cksum = rte_ipv4_udptcp_cksum(ip, datagram);
  }
}

void ForeignStream::offer(Part, std::size_t budget, Offer& offer) {
  for (std::size_t i = 0; i < budget; ++i)
    for (const Side from : {Side::host, Side::wan}) {
      rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
      if (mbuf == nullptr) throw std::runtime_error("linerate: no mbuf for traffic");
      const std::uint32_t number = sent_[from]++;
      const std::uint16_t size = size_of(number);
      write(from, number, reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, size)));
      offer.frames[from].push_back(mbuf);
      ++offer.packets;
      offer.bytes += size;
    }
}

// A frame that no other stream claims is compared with the next frame that should come.
bool ForeignStream::take(Side out, wire::ParseStatus, const wire::Frame&, const rte_mbuf* mbuf) {
  const Side from = other(out);
  const std::uint32_t number = arrived_[from]++;
  write(from, number, scratch_.data());
  treatment_.rewrite(out, scratch_.data());
  if (mbuf->pkt_len != size_of(number) || mbuf->nb_segs != 1 ||
      std::memcmp(rte_pktmbuf_mtod(mbuf, const std::uint8_t*), scratch_.data(), mbuf->pkt_len) != 0)
    errors_.add(fmt::format("frame {} from the {} side came out altered or out of order", number, name_of(from)));
  return true;
}

void ForeignStream::after_chunk() {
  for (const Side from : {Side::host, Side::wan}) {
    if (arrived_[from] == sent_[from]) continue;
    errors_.add(fmt::format("{} of {} frames from the {} side came out", arrived_[from], sent_[from], name_of(from)));
    arrived_[from] = sent_[from];
  }
}

}  // namespace longhaul::bench
