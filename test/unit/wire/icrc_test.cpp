// SPDX-License-Identifier: BSD-3-Clause
// ICRC against published frames, against the captures, and against a CRC computed bit by bit here.
#include <catch2/catch.hpp>

#include "support/captures.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"
#include "wire/icrc_routine.hpp"

using namespace longhaul::wire;
using namespace longhaul::test;

namespace {

/// A frame that someone else published, with its ICRC as the four bytes on the wire.
struct Published {
  const char* source;
  const char* frame;
};

const Published kPublished[] = {
    {"scapy, test/contrib/roce.uts, 'RoCE CNP captured on ConnectX-4 Lx' (ICRC 82fd002a)",
     "e41d2dab2bc2 7cfe90643b32 0800 45c2003c718c400040119161 0a001101 0a001201 000012b700280000"
     "8100ffff40000118 00000000 00000000000000000000000000000000 82fd002a"},
    {"scapy, test/contrib/roce.uts, 'RoCE layer', an example UC packet (ICRC 78f353f3)",
     "248a07a8fa22 248a07a8fa22 0800 450100400478 4000 4011b4d5 c0a80007 c0a80007 c00012b7002caca2"
     "2460ffff 000000d3 00cf1710 4630818be28935d90e9a95505401be885e500000 78f353f3"},
};

/// CRC-32 of IEEE 802.3, one bit at a time, over what IBTA A17.3.2 lists, from raw bytes without the library.
std::uint32_t bitwise_icrc(const Bytes& frame) {
  std::size_t ip = 12;
  while ((frame[ip] == 0x81 && frame[ip + 1] == 0x00) || (frame[ip] == 0x88 && frame[ip + 1] == 0xa8)) ip += 4;
  ip += 2;
  const bool v6 = frame[ip] >> 4 == 6;
  const std::size_t header = v6 ? 40 : (frame[ip] & 0xfU) * 4U;
  const std::size_t length_at = ip + (v6 ? 4 : 2);
  const std::size_t length = (v6 ? 40U : 0U) + (static_cast<std::size_t>(frame[length_at]) << 8 | frame[length_at + 1]);
  Bytes covered(8 + length - 4, 0xff);
  for (std::size_t i = 0; i < length - 4; ++i) covered[8 + i] = frame[ip + i];
  auto ones = [&](std::size_t at, int bits = 0xff) {
    covered[8 + at] = static_cast<std::uint8_t>(covered[8 + at] | bits);
  };
  if (v6) {
    ones(0, 0x0f);
    for (const std::size_t at : {1U, 2U, 3U, 7U}) ones(at);
  } else {
    for (const std::size_t at : {1U, 8U, 10U, 11U}) ones(at);
  }
  ones(header + 6);
  ones(header + 7);
  ones(header + 8 + 4);

  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : covered) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
  }
  return ~crc;
}

std::uint32_t little_endian_at_end(const Bytes& frame) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | frame[frame.size() - 1 - i];
  return value;
}

bool is_roce_with_good_icrc(const Bytes& bytes) {
  Frame frame;
  return is_roce(parse(bytes, frame)) && verify_icrc(frame);
}

/// Whether a router or switch may change bit `bit` (0 is the most significant) of byte `at`, IP header at 0.
bool may_change(bool v6, std::size_t header, std::size_t at, int bit) {
  if (at == header + 6 || at == header + 7 || at == header + 12) return true;  // UDP checksum, BTH reserved
  if (!v6) return at == 1 || at == 8 || at == 10 || at == 11;
  return (at == 0 && bit >= 4) || (at >= 1 && at <= 3) || at == 7;
}

/// Each routine of the processor in turn; what was in use before is in use again at the end.
class EachRoutine {
 public:
  EachRoutine() {
    std::vector<const IcrcRoutine*> supported;
    for (const IcrcRoutine& routine : icrc_routines())
      if (routine.supported()) supported.push_back(&routine);
    use_icrc_routine(*GENERATE_COPY(from_range(supported)));
    UNSCOPED_INFO("by " << icrc_routine().name);
  }
  ~EachRoutine() { use_icrc_routine(before_); }
  EachRoutine(const EachRoutine&) = delete;
  EachRoutine& operator=(const EachRoutine&) = delete;

 private:
  const IcrcRoutine& before_ = icrc_routine();
};

}  // namespace

TEST_CASE("ICRC of published frames", "[wire][icrc]") {
  const EachRoutine routine;
  for (const Published& published : kPublished) {
    CAPTURE(published.source);
    const Bytes bytes = from_hex(published.frame);
    Frame frame;
    REQUIRE(parse(bytes, frame) == ParseStatus::roce);
    REQUIRE(frame.roce_size() == bytes.size());
    CHECK(compute_icrc(frame) == little_endian_at_end(bytes));
    CHECK(stored_icrc(frame) == little_endian_at_end(bytes));
    CHECK(verify_icrc(frame));
  }
}

TEST_CASE("ICRC of every captured frame", "[wire][icrc][captures]") {
  const EachRoutine routine;
  std::size_t ipv4 = 0;
  std::size_t ipv6 = 0;
  for (const auto& capture : capture_names()) {
    std::size_t number = 0;
    for (Bytes& bytes : read_capture(capture)) {
      ++number;
      Frame frame;
      if (parse(bytes, frame) != ParseStatus::roce) continue;
      CAPTURE(capture, number);
      ++(frame.ipv6 ? ipv6 : ipv4);
      const std::uint32_t carried = stored_icrc(frame);
      REQUIRE(verify_icrc(frame));
      REQUIRE(bitwise_icrc(bytes) == carried);
      const Bytes before = bytes;
      store_icrc(bytes.data() + frame.icrc_offset, ~carried);
      REQUIRE_FALSE(verify_icrc(frame));
      REQUIRE(refresh_icrc(bytes));
      REQUIRE(bytes == before);
    }
  }
  CHECK(ipv4 > 3000);
  CHECK(ipv6 > 50);
}

TEST_CASE("ICRC of every size, family, tag and option agrees with the bit-by-bit CRC", "[wire][icrc]") {
  const EachRoutine routine;
  for (const bool v6 : {false, true})
    for (const int tags : {0, 1, 2})
      for (const std::size_t options : {0U, 4U, 40U})
        for (std::size_t size : {0U,   1U,   2U,   3U,   4U,   63U,  64U,   255U,  256U,  300U, 301U,
                                 320U, 324U, 328U, 332U, 336U, 340U, 1000U, 1024U, 4096U, 9000U}) {
          if (v6 && options != 0) continue;
          PacketBuilder builder;
          if (v6) builder.ips("fd00::1", "2001:db8::2").ipv6_flow_label(0xabcde);
          for (int i = 0; i < tags; ++i) builder.vlan(static_cast<std::uint16_t>(100 + i));
          builder.ipv4_options(std::vector<std::uint8_t>(options, 1)).opcode(kRcWriteOnly).payload_size(size, 17);
          const Bytes bytes = builder.build();
          CAPTURE(v6, tags, options, size);
          Frame frame;
          REQUIRE(parse(bytes, frame) == ParseStatus::roce);
          REQUIRE(frame.payload_size == size);
          REQUIRE(compute_icrc(frame) == bitwise_icrc(bytes));
          REQUIRE(little_endian_at_end(bytes) == bitwise_icrc(bytes));
        }
}

TEST_CASE("one flipped bit is found, except where routers may write", "[wire][icrc]") {
  const EachRoutine routine;
  const bool v6 = GENERATE(false, true);
  const std::size_t options = GENERATE(0U, 8U);
  const std::size_t size = GENERATE(0U, 61U, 1024U);
  PacketBuilder builder;
  if (v6) builder.ips("fd00::1", "fd00::2");
  if (!v6) builder.ipv4_options(std::vector<std::uint8_t>(options, 1));
  const Bytes good = builder.vlan(7).opcode(kRcWriteOnly).qpn(17).psn(99).ack_req().payload_size(size).build();
  const std::size_t ip = 18;
  const std::size_t header = v6 ? 40 : 20 + options;
  std::size_t mutable_bits = 0;
  for (std::size_t at = ip; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ 0x80 >> bit);
      const bool expected = may_change(v6, header, at - ip, bit);
      mutable_bits += expected ? 1 : 0;
      CAPTURE(at, bit, v6, size);
      REQUIRE(is_roce_with_good_icrc(bytes) == expected);
    }
  CHECK(mutable_bits == (v6 ? 28 + 8 + 24 : 32 + 24));
}

TEST_CASE("an ICRC in two parts is the same", "[wire][icrc]") {
  const EachRoutine routine;
  for (const bool v6 : {false, true}) {
    PacketBuilder builder;
    if (v6) builder.ips("fd00::1", "fd00::2");
    const Bytes bytes = builder.opcode(kRcAcknowledge).psn(0x123456).build();
    Frame frame;
    REQUIRE(parse(bytes, frame) == ParseStatus::roce);
    const std::size_t psn = frame.bth_offset + 8U;
    REQUIRE(frame.icrc_offset == psn + 8);
    std::uint64_t rest = 0;
    std::memcpy(&rest, bytes.data() + psn, sizeof(rest));
    CHECK(continue_icrc(icrc_before(frame, psn), rest) == bitwise_icrc(bytes));
  }
}

TEST_CASE("ICRC of any number of bytes behind an unknown opcode", "[wire][icrc]") {
  const EachRoutine routine;
  for (std::size_t size = 0; size < 70; ++size) {
    const Bytes bytes = PacketBuilder().opcode(0x15).payload_size(size).build();
    Frame frame;
    REQUIRE(parse(bytes, frame) == ParseStatus::unknown_opcode);
    CAPTURE(size);
    CHECK(compute_icrc(frame) == bitwise_icrc(bytes));
  }
}

TEST_CASE("an unknown opcode has an ICRC; what is not RoCE is left alone", "[wire][icrc]") {
  const EachRoutine routine;
  Bytes unknown = PacketBuilder().opcode(0x15).payload_size(40).build();
  CHECK(little_endian_at_end(unknown) == bitwise_icrc(unknown));
  unknown.back() ^= 1;
  CHECK_FALSE(is_roce_with_good_icrc(unknown));
  REQUIRE(refresh_icrc(unknown));
  CHECK(is_roce_with_good_icrc(unknown));

  Bytes other_port = PacketBuilder().build();
  other_port[37] ^= 1;
  const Bytes before = other_port;
  CHECK_FALSE(refresh_icrc(other_port));
  CHECK(other_port == before);
}
