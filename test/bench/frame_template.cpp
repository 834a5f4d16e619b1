// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/frame_template.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "wire/icrc.hpp"

namespace longhaul::bench {

namespace {

constexpr std::size_t kPlaces = 1 << 20;

}  // namespace

FrameTemplate::FrameTemplate(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {
  if (wire::parse(bytes_, frame_) != wire::ParseStatus::roce) throw std::logic_error("a template must be RoCE");
}

void FrameTemplate::write(std::uint8_t* to, const Stamp& stamp) const {
  wire::Frame frame = frame_;
  frame.data = to;
  if (stamp.payload.empty()) {
    std::copy(bytes_.begin(), bytes_.end(), to);
  } else {
    std::uint8_t* payload = std::copy_n(bytes_.begin(), frame.payload_offset, to);
    std::copy_n(bytes_.begin() + frame.payload_offset + frame.payload_size,
                bytes_.size() - frame.payload_offset - frame.payload_size,
                std::copy_n(stamp.payload.begin(), frame.payload_size, payload));
  }
  reinterpret_cast<wire::UdpHeader*>(to + frame.udp_offset)->source_port = stamp.udp_source_port;
  auto* bth = reinterpret_cast<wire::Bth*>(to + frame.bth_offset);
  bth->destination_qpn = stamp.qpn;
  bth->psn = stamp.psn;
  if (frame.opcode->has(wire::kHasAeth))
    reinterpret_cast<wire::Aeth*>(to + frame.extended_offset(wire::kHasAeth))->msn = stamp.msn;
  wire::store_icrc(to + frame.icrc_offset, wire::compute_icrc(frame));
}

rte_mbuf* FrameTemplate::make(rte_mempool* pool, const Stamp& stamp) const {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  if (mbuf != nullptr) write(reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, size())), stamp);
  return mbuf;
}

Payloads::Payloads() : bytes_(kPlaces + kLargest) {
  std::mt19937_64 random(1);
  std::generate(bytes_.begin(), bytes_.end(), [&] { return static_cast<std::uint8_t>(random() >> 32); });
}

std::span<const std::uint8_t> Payloads::at(std::uint32_t flow, std::uint32_t psn, std::uint16_t size) const {
  // Fibonacci hashing: the places of neighbours are far apart.
  const std::uint64_t mixed = (std::uint64_t{flow} << 24 ^ psn) * 0x9e3779b97f4a7c15;
  return {bytes_.data() + (mixed >> 44) % kPlaces, size};
}

}  // namespace longhaul::bench
