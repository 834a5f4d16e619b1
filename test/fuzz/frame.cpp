// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a frame: wire::parse() and the reference agree, and everything that wire::parse() promises is there.
#include "wire/frame.hpp"

#include "expect.hpp"
#include "input.hpp"
#include "reference.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;

namespace {

void same_place(const wire::Frame& frame, const Roce& roce, std::size_t size) {
  const std::uint32_t vids =
      roce.tags == 0 ? 0 : (roce.vids[0] << 12 | roce.vids[1] | static_cast<std::uint32_t>(roce.tags) << 24);
  expect(frame.vlan.value == vids, "VLAN IDs");
  expect(frame.ipv6 == roce.ipv6 && frame.source.bytes == roce.source && frame.destination.bytes == roce.destination,
         "addresses");
  expect(frame.ip_offset == roce.ip && frame.udp_offset == roce.udp && frame.bth_offset == roce.bth, "header offsets");
  expect(frame.icrc_offset == roce.icrc && frame.roce_size() <= size, "place of the ICRC");
  expect(frame.bth().opcode == roce.opcode && frame.bth().p_key == roce.p_key, "opcode and P_Key");
  expect(frame.psn() == roce.psn && frame.destination_qpn() == roce.qpn && frame.ack_req() == roce.ack_req,
         "PSN, destination QPN, AckReq");
}

std::uint64_t every_extended_header(const wire::Frame& frame) {
  const wire::OpcodeInfo& opcode = *frame.opcode;
  std::uint64_t sum = 0;
  if (opcode.has(wire::kHasDeth)) sum += frame.deth().q_key + frame.deth().source_qpn;
  if (opcode.has(wire::kHasReth)) sum += frame.reth().virtual_address + frame.reth().r_key;
  if (opcode.has(wire::kHasAtomicEth)) sum += frame.atomic_eth().swap_or_add + frame.atomic_eth().compare;
  if (opcode.has(wire::kHasAtomicAckEth)) sum += frame.atomic_ack_eth().original;
  if (opcode.has(wire::kHasImmDt)) sum += frame.imm_dt().data;
  if (opcode.has(wire::kHasIeth)) sum += frame.ieth().r_key;
  for (const std::uint8_t byte : frame.payload()) sum += byte;
  return sum;
}

void known(const wire::Frame& frame, const Roce& roce) {
  expect(frame.opcode != nullptr && frame.opcode->code == roce.opcode, "row of the opcode table");
  expect(frame.payload_offset == roce.payload && frame.payload_size == roce.payload_size, "payload");
  expect(frame.opcode->extended_size == roce.extended, "size of the extended headers");
  if (roce.is_rc()) {
    expect(frame.opcode->is_response() == roce.is_answer(), "answers");
    expect(frame.opcode->ends_message() == roce.ends_message(), "ends of messages");
    expect(frame.opcode->wants_response() == (roce.is_read() || roce.is_atomic()), "READ and atomic requests");
  }
  if (frame.opcode->has(wire::kHasAeth))
    expect(frame.aeth().syndrome == roce.syndrome && frame.aeth().msn == roce.msn, "AETH");
  if (frame.opcode->has(wire::kHasReth)) expect(frame.reth().dma_length == roce.dma_length, "RETH");
  volatile std::uint64_t sink = every_extended_header(frame);
  (void)sink;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Exact copy({data, size});
  wire::Frame frame;
  const wire::ParseStatus status = wire::parse(copy.bytes(), frame);
  expect(static_cast<std::size_t>(status) < wire::kParseStatusCount && !wire::name_of(status).empty(), "status");
  const auto roce = read_roce(copy.bytes());
  const bool is_roce = status == wire::ParseStatus::roce;
  const bool is_unknown = status == wire::ParseStatus::unknown_opcode;
  expect(is_roce == (roce && roce->known_opcode), "a RoCE frame");
  expect(is_unknown == (roce && !roce->known_opcode), "a RoCE frame with an unknown opcode");
  if (!roce) {
    expect(!wire::refresh_icrc(copy.bytes()), "an ICRC in a frame that has none");
    expect(std::equal(data, data + size, copy.bytes().begin()), "a refused frame was altered");
    return 0;
  }
  same_place(frame, *roce, size);
  if (is_roce) known(frame, *roce);
  if (defect("read-beyond") && copy.bytes().data()[size] == 1) return 0;
  if (defect("overflow")) expect(static_cast<int>(roce->psn) + (2147483647 - 0xfffff) > 0, "sum");

  const std::uint32_t right = slow_icrc(copy.bytes(), *roce);
  const bool good = defect("icrc") ? !wire::verify_icrc(frame) : wire::verify_icrc(frame);
  expect(wire::compute_icrc(frame) == right && good == (right == carried_icrc(copy.bytes(), *roce)), "ICRC");
  if (!roce->ipv6 && number_at(copy.bytes(), roce->udp + 6, 2) == 0)
    expect(wire::verify_ipv4_checksum(frame) == checksums_good(copy.bytes(), *roce), "IPv4 header checksum");
  expect(wire::refresh_icrc(copy.bytes()) && wire::verify_icrc(frame), "a refreshed ICRC");
  for (std::size_t i = 0; i < size; ++i)
    expect(copy.bytes()[i] == data[i] || (i >= roce->icrc && i < roce->icrc + 4), "refresh_icrc() altered the frame");
  return 0;
}
