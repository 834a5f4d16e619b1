// SPDX-License-Identifier: BSD-3-Clause
#include "sim/frames.hpp"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <cstring>
#include <stdexcept>

#include "wire/cm.hpp"
#include "wire/icrc.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325;
constexpr std::uint64_t kFnvPrime = 0x100000001b3;

std::uint64_t add(std::uint64_t hash, std::span<const std::uint8_t> bytes) {
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = (hash ^ word) * kFnvPrime;
    hash ^= hash >> 29;
  }
  for (; i < bytes.size(); ++i) hash = (hash ^ bytes[i]) * kFnvPrime;
  return hash;
}

std::string aeth_text(const wire::Aeth& aeth) {
  const unsigned value = wire::aeth_value(aeth.syndrome);
  const std::uint32_t msn = aeth.msn;
  switch (wire::aeth_kind(aeth.syndrome)) {
    case wire::AethKind::ack:
      return value == wire::kAckNoCredits ? fmt::format(" ack msn {}", msn)
                                          : fmt::format(" ack msn {} credits {}", msn, value);
    case wire::AethKind::rnr_nak:
      return fmt::format(" rnr-nak {} msn {}", value, msn);
    case wire::AethKind::nak:
      return fmt::format(" nak {} msn {}", value, msn);
    case wire::AethKind::reserved:
      break;
  }
  return " aeth?";
}

}  // namespace

View::View(const rte_mbuf* mbuf)
    : View(std::span(rte_pktmbuf_mtod(mbuf, const std::uint8_t*), rte_pktmbuf_data_len(mbuf))) {}

View::View(std::span<const std::uint8_t> given) : bytes(given), status(wire::parse(given, frame)) {
  roce = wire::is_roce(status);
  if (!roce) return;
  const auto& udp = *reinterpret_cast<const wire::UdpHeader*>(frame.data + frame.udp_offset);
  intact = udp.checksum == 0 && wire::verify_ipv4_checksum(frame) && wire::verify_icrc(frame);
}

bool View::reliable() const { return roce && frame.service() == wire::Service::rc; }

rte_mbuf* to_mbuf(rte_mempool* pool, std::span<const std::uint8_t> bytes) {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  if (mbuf == nullptr) throw std::runtime_error("the simulated world has run out of buffers");
  char* room = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size()));
  if (room == nullptr) {
    rte_pktmbuf_free(mbuf);
    throw std::runtime_error("a simulated frame does not fit a buffer");
  }
  std::memcpy(room, bytes.data(), bytes.size());
  return mbuf;
}

std::uint64_t fingerprint(std::span<const std::uint8_t> bytes) { return add(kFnvBasis, bytes); }

std::uint64_t fingerprint_without_ack_req(const View& view, std::size_t first) {
  const std::size_t ack_req = view.frame.bth_offset + offsetof(wire::Bth, ack_req);
  std::uint64_t hash = add(kFnvBasis ^ 1, view.bytes.subspan(first, ack_req - first));
  hash = (hash ^ (view.bytes[ack_req] & ~wire::kBthAckReq)) * kFnvPrime;
  hash = add(hash, view.bytes.subspan(ack_req + 1, view.frame.icrc_offset - ack_req - 1));
  return add(hash, view.bytes.subspan(view.frame.icrc_offset + wire::kIcrcSize));
}

std::string describe(const View& view) {
  if (!view.roce) return fmt::format("{} ({} bytes)", wire::name_of(view.status), view.bytes.size());
  std::string text = view.frame.opcode == nullptr ? fmt::format("opcode {:#x}", view.frame.bth().opcode)
                                                  : std::string(view.frame.opcode->name);
  if (const auto cm = wire::parse_cm(view.frame)) {
    static constexpr const char* kNames[] = {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP"};
    text = fmt::format("CM {} {:#x}>{:#x}", kNames[static_cast<unsigned>(cm->attribute) - 0x10], cm->local_comm_id,
                       cm->remote_comm_id);
  } else {
    text += fmt::format(" qpn {:#x} psn {}{}", view.qpn(), view.psn(), view.frame.ack_req() ? "!" : "");
    if (view.frame.opcode != nullptr && view.frame.opcode->has(wire::kHasAeth)) text += aeth_text(view.frame.aeth());
    if (view.frame.opcode != nullptr && view.frame.opcode->operation == wire::Operation::read_request)
      text += fmt::format(" bytes {}", static_cast<std::uint32_t>(view.frame.reth().dma_length));
  }
  return view.intact ? text : text + " DAMAGED";
}

}  // namespace longhaul::sim
