// SPDX-License-Identifier: BSD-3-Clause
// Cut and mangled frames: each has a status, and no byte beyond its end is read. Each attempt lies in a heap block of
// exactly its size, so that the address sanitizer sees the first byte too far (meson setup build-asan
// -Db_sanitize=address,undefined).
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <set>

#include "support/captures.hpp"
#include "wire/builder.hpp"
#include "wire/cm.hpp"
#include "wire/icrc.hpp"
#include "wire/usual_frame.hpp"

using namespace longhaul::wire;
using namespace longhaul::test;

namespace {

/// Uses everything that a parsed frame promises.
std::uint64_t touch(const Frame& frame) {
  const OpcodeInfo& opcode = *frame.opcode;
  std::uint64_t sum =
      frame.psn() + frame.destination_qpn() + (frame.ack_req() ? 1 : 0) + compute_icrc(frame) + stored_icrc(frame);
  if (opcode.has(kHasDeth)) sum += frame.deth().q_key + frame.deth().source_qpn;
  if (opcode.has(kHasReth)) sum += frame.reth().virtual_address + frame.reth().r_key + frame.reth().dma_length;
  if (opcode.has(kHasAtomicEth)) sum += frame.atomic_eth().swap_or_add + frame.atomic_eth().compare;
  if (opcode.has(kHasAeth)) sum += frame.aeth().syndrome + frame.aeth().msn;
  if (opcode.has(kHasAtomicAckEth)) sum += frame.atomic_ack_eth().original;
  if (opcode.has(kHasImmDt)) sum += frame.imm_dt().data;
  if (opcode.has(kHasIeth)) sum += frame.ieth().r_key;
  for (const std::uint8_t byte : frame.payload()) sum += byte;
  if (const auto message = parse_cm(frame)) sum += message->local_comm_id;
  return sum + (verify_ipv4_checksum(frame) ? 1 : 0);
}

/// A frame of the usual shape is one that parses, and both readings agree. Returns whether it has that shape.
bool agrees_as_usual(const std::uint8_t* bytes, std::size_t size, ParseStatus status, const Frame& frame) {
  UsualFrame usual;
  if (!usual.take(bytes, size)) return false;
  REQUIRE(status == ParseStatus::roce);
  const OpcodeInfo& opcode = *frame.opcode;
  REQUIRE(opcode.service == Service::rc);
  REQUIRE_FALSE(opcode.wants_response());
  REQUIRE(usual.is_request() == opcode.is_request());
  REQUIRE(usual.ends_message() == opcode.ends_message());
  REQUIRE(usual.takes_receive() == opcode.takes_receive());
  REQUIRE(usual.psn() == frame.psn());
  REQUIRE(usual.ack_req() == frame.ack_req());
  REQUIRE(usual.destination_qpn() == frame.destination_qpn());
  REQUIRE(usual.p_key() == frame.bth().p_key);
  REQUIRE(frame.vlan.value == 0);
  REQUIRE((frame.source.is_ipv4() && frame.destination.is_ipv4()));
  REQUIRE(std::memcmp(&frame.source.bytes[12], bytes + UsualFrame::kIp + 12, 4) == 0);
  REQUIRE(usual.verify_icrc() == verify_icrc(frame));
  REQUIRE(usual.verify_ipv4_checksum() == verify_ipv4_checksum(frame));
  if (!usual.is_request()) {
    REQUIRE(opcode.operation == Operation::acknowledge);
    REQUIRE(usual.syndrome() == frame.aeth().syndrome);
    REQUIRE(usual.msn() == frame.aeth().msn);
  }
  return true;
}

/// Parses a heap copy of exactly `size` bytes, and uses everything that it may use.
ParseStatus attempt(const std::uint8_t* bytes, std::size_t size) {
  const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[size]);
  std::copy(bytes, bytes + size, copy.get());
  Frame frame;
  const auto status = parse({copy.get(), size}, frame);
  if (status == ParseStatus::roce) {
    REQUIRE(frame.roce_size() <= size);
    REQUIRE(frame.payload_offset + frame.payload_size <= frame.icrc_offset);
    volatile std::uint64_t sink = touch(frame);
    (void)sink;
  }
  agrees_as_usual(copy.get(), size, status, frame);
  if (status == ParseStatus::unknown_opcode) {
    volatile std::uint32_t sink = compute_icrc(frame) + frame.psn();
    (void)sink;
  }
  refresh_icrc({copy.get(), size});
  return status;
}

/// One frame of every opcode and of an unknown one, in every kind of encapsulation.
std::vector<Bytes> frames_of_every_kind() {
  std::vector<Bytes> frames;
  for (int wrapping = 0; wrapping < 5; ++wrapping)
    for (int code = 0; code < 256; ++code) {
      const auto* info = find_opcode(static_cast<std::uint8_t>(code));
      if (info == nullptr && code != 0x15) continue;
      PacketBuilder builder;
      if (wrapping == 1) builder.vlan(5);
      if (wrapping == 2) builder.vlan(5, kEtherTypeQinQ).vlan(6);
      if (wrapping == 3) builder.ipv4_options(std::vector<std::uint8_t>(40, 1));
      if (wrapping == 4) builder.ips("fd00::1", "fd00::2");
      builder.opcode(static_cast<std::uint8_t>(code)).psn(7);
      if (info == nullptr || info->payload) builder.payload_size(13);
      frames.push_back(builder.build());
    }
  Bytes mad(kMadSize);
  write_cm({.attribute = CmAttribute::req}, std::span<std::uint8_t, kMadSize>(mad));
  frames.push_back(PacketBuilder().opcode(kUdSendOnly).qpn(kGsiQpn).payload(mad).build());
  return frames;
}

void put16(Bytes& bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<std::uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(value);
}

}  // namespace

TEST_CASE("every prefix of every kind of frame has a status other than roce", "[wire][hostile]") {
  for (const Bytes& frame : frames_of_every_kind()) {
    REQUIRE((attempt(frame.data(), frame.size()) == ParseStatus::roce ||
             attempt(frame.data(), frame.size()) == ParseStatus::unknown_opcode));
    for (std::size_t size = 0; size < frame.size(); ++size) {
      const auto status = attempt(frame.data(), size);
      REQUIRE((status == ParseStatus::too_short_ethernet || status == ParseStatus::too_short_ip ||
               status == ParseStatus::ip_length_beyond_frame));
    }
  }
}

TEST_CASE("every prefix whose lengths agree with the cut", "[wire][hostile]") {
  std::set<ParseStatus> seen;
  for (const Bytes& whole : frames_of_every_kind()) {
    Frame frame;
    parse(whole, frame);
    for (std::size_t size = frame.udp_offset; size < whole.size(); ++size) {
      Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const std::size_t ip = frame.ip_offset;
      if (frame.ipv6)
        put16(bytes, ip + 4, size - ip - 40);
      else
        put16(bytes, ip + 2, size - ip);
      if (size >= frame.udp_offset + 8U) put16(bytes, frame.udp_offset + 4U, size - frame.udp_offset);
      seen.insert(attempt(bytes.data(), bytes.size()));
    }
  }
  for (const auto status : {ParseStatus::too_short_udp, ParseStatus::too_short_bth, ParseStatus::too_short_extended,
                            ParseStatus::bad_pad_count, ParseStatus::bad_payload_size, ParseStatus::unknown_opcode})
    CHECK(seen.contains(status));
  CHECK_FALSE(seen.contains(ParseStatus::ip_length_beyond_frame));
}

TEST_CASE("every prefix of one captured frame of every opcode", "[wire][hostile][captures]") {
  std::set<std::pair<bool, int>> done;
  for (const auto& capture : capture_names())
    for (const Bytes& bytes : read_capture(capture)) {
      Frame frame;
      if (parse(bytes, frame) != ParseStatus::roce || !done.insert({frame.ipv6, frame.opcode->code}).second) continue;
      for (std::size_t size = 0; size < bytes.size(); ++size) REQUIRE(attempt(bytes.data(), size) != ParseStatus::roce);
    }
  CHECK(done.size() > 15);
}

TEST_CASE("random damage never reads beyond the frame", "[wire][hostile]") {
  const auto frames = frames_of_every_kind();
  std::mt19937 random(20240601);
  std::map<ParseStatus, int> seen;
  for (int i = 0; i < 200000; ++i) {
    Bytes bytes = frames[random() % frames.size()];
    const auto header = std::min<std::size_t>(bytes.size(), 110);
    for (auto changes = random() % 4; changes-- > 0;)
      bytes[12 + random() % (header - 12)] = static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 8));
    ++seen[attempt(bytes.data(), bytes.size())];
  }
  CHECK(seen.size() >= 14);
  CHECK(seen[ParseStatus::roce] > 1000);
}

TEST_CASE("nearly all SENDs, WRITEs and ACKs that real stacks sent have the usual shape", "[wire][hostile]") {
  std::size_t usual = 0;
  std::size_t others = 0;
  for (const std::string& name : capture_names())
    for (const Bytes& bytes : read_capture(name)) {
      Frame frame;
      const ParseStatus status = parse(bytes, frame);
      const bool has_shape = agrees_as_usual(bytes.data(), bytes.size(), status, frame);
      if (has_shape) ++usual;
      if (status != ParseStatus::roce || frame.vlan.value != 0 || frame.ipv6) continue;
      const Operation operation = frame.opcode->operation;
      const bool sought =
          operation == Operation::send || operation == Operation::write || operation == Operation::acknowledge;
      if (frame.opcode->service == Service::rc && sought && !has_shape) ++others;
    }
  CHECK(usual > 1000);
  CHECK(others * 20 < usual);  // those marked by a switch, and frames of less than 62 bytes
}
