// SPDX-License-Identifier: BSD-3-Clause
// parse() against what tshark prints for every frame of every capture, and each status by a frame made for it.
#include <catch2/catch.hpp>

#include "support/captures.hpp"
#include "support/status_of.hpp"
#include "wire/builder.hpp"
#include "wire/frame.hpp"

using namespace longhaul::wire;
using namespace longhaul::test;

namespace {

void check_against(const Row& row, const Frame& frame) {
  CHECK(frame.source.to_string() == row.text("source"));
  CHECK(frame.destination.to_string() == row.text("destination"));
  CHECK(frame.ipv6 == (row.text("source").find(':') != std::string::npos));
  CHECK(frame.opcode->code == row.number("opcode"));
  CHECK(frame.destination_qpn() == row.number("qpn"));
  CHECK(frame.psn() == row.number("psn"));
  CHECK(frame.ack_req() == (row.number("ack_req") != 0));
  CHECK(((frame.bth().flags & kBthSolicitedEvent) != 0) == (row.number("solicited") != 0));
  CHECK(((frame.bth().flags & kBthMigReq) != 0) == (row.number("migreq") != 0));
  CHECK((frame.bth().flags & kBthPadMask) >> kBthPadShift == static_cast<int>(row.number("pad")));
  CHECK(frame.bth().p_key == row.number("p_key"));
  CHECK(frame.payload_size == row.number("payload_size"));

  const OpcodeInfo& opcode = *frame.opcode;
  const bool atomic = row.has("swap_or_add");
  REQUIRE(opcode.has(kHasDeth) == row.has("q_key"));
  REQUIRE(opcode.has(kHasReth) == (row.has("va") && !atomic));
  REQUIRE(opcode.has(kHasAtomicEth) == atomic);
  REQUIRE(opcode.has(kHasAeth) == row.has("syndrome"));
  REQUIRE(opcode.has(kHasAtomicAckEth) == row.has("original"));
  REQUIRE(opcode.has(kHasImmDt) == row.has("imm"));
  REQUIRE(opcode.has(kHasIeth) == row.has("ieth"));
  if (opcode.has(kHasDeth)) {
    CHECK(frame.deth().q_key == row.number("q_key"));
    CHECK(frame.deth().source_qpn == row.number("source_qpn"));
  }
  if (opcode.has(kHasReth)) {
    CHECK(frame.reth().virtual_address == row.number("va"));
    CHECK(frame.reth().r_key == row.number("r_key"));
    CHECK(frame.reth().dma_length == row.number("dma_length"));
  }
  if (opcode.has(kHasAtomicEth)) {
    CHECK(frame.atomic_eth().virtual_address == row.number("va"));
    CHECK(frame.atomic_eth().r_key == row.number("r_key"));
    CHECK(frame.atomic_eth().swap_or_add == row.number("swap_or_add"));
    CHECK(frame.atomic_eth().compare == row.number("compare"));
  }
  if (opcode.has(kHasAeth)) {
    CHECK(frame.aeth().syndrome == row.number("syndrome"));
    CHECK(frame.aeth().msn == row.number("msn"));
  }
  if (opcode.has(kHasAtomicAckEth)) CHECK(frame.atomic_ack_eth().original == row.number("original"));
  if (opcode.has(kHasImmDt)) CHECK(frame.imm_dt().data == row.hex("imm"));
  if (opcode.has(kHasIeth)) CHECK(frame.ieth().r_key == row.hex("ieth"));
}

/// `bytes` with another value of the byte at `offset`.
Bytes with(Bytes bytes, std::size_t offset, int value) {
  bytes.at(offset) = static_cast<std::uint8_t>(value);
  return bytes;
}

/// Cuts or extends the frame by `by` bytes, and corrects IP and UDP lengths (IPv4 without options, no tags).
Bytes resized(Bytes bytes, int by) {
  bytes.resize(static_cast<std::size_t>(static_cast<int>(bytes.size()) + by));
  for (const std::size_t at : {std::size_t{16}, std::size_t{38}}) {
    const int length = (bytes[at] << 8 | bytes[at + 1]) + by;
    bytes[at] = static_cast<std::uint8_t>(length >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(length);
  }
  return bytes;
}

// Offsets in an IPv4 frame without tags and options.
constexpr std::size_t kVersion = 14, kTotalLength = 16, kFragment = 20, kProtocol = 23, kPort = 36, kUdpLength = 38,
                      kOpcode = 42, kFlags = 43;

}  // namespace

TEST_CASE("every captured frame reads as tshark reads it", "[wire][frame][captures]") {
  std::size_t roce = 0;
  std::size_t other = 0;
  for (const auto& [capture, rows] : read_table("frames.tsv")) {
    const auto frames = read_capture(capture);
    REQUIRE(frames.size() == rows.size());
    for (const Row& row : rows) {
      CAPTURE(capture, row.text("frame"), row.text("protocol"));
      Frame frame;
      const auto status = parse(frames.at(row.number("frame") - 1), frame);
      if (row.text("protocol") == "roce") {
        REQUIRE(status == ParseStatus::roce);
        check_against(row, frame);
        ++roce;
      } else {
        CHECK(status == (row.text("protocol") == "arp" ? ParseStatus::not_ip : ParseStatus::not_udp));
        ++other;
      }
    }
  }
  CHECK(roce > 3000);
  CHECK(other > 100);
}

TEST_CASE("each way of being wrong has its name", "[wire][frame]") {
  using enum ParseStatus;
  const Bytes write = PacketBuilder().opcode(kRcWriteOnly).payload_size(64).build();
  const Bytes ack = PacketBuilder().opcode(kRcAcknowledge).build();
  const Bytes write6 = PacketBuilder().ips("fd00::1", "fd00::2").opcode(kRcWriteOnly).payload_size(64).build();
  REQUIRE(status_of(write) == roce);
  REQUIRE(status_of(ack) == roce);
  REQUIRE(status_of(write6) == roce);

  CHECK(status_of({}) == too_short_ethernet);
  CHECK(status_of(Bytes(write.begin(), write.begin() + 13)) == too_short_ethernet);
  CHECK(status_of(Bytes(write.begin(), write.begin() + 33)) == too_short_ip);
  CHECK(status_of(Bytes(write.begin(), write.end() - 1)) == ip_length_beyond_frame);
  CHECK(status_of(with(with(write, 12, 0x08), 13, 0x06)) == not_ip);
  CHECK(status_of(with(with(write, 12, 0x88), 13, 0x09)) == not_ip);
  CHECK(status_of(with(write, kVersion, 0x65)) == bad_ip_header);
  CHECK(status_of(with(write, kVersion, 0x44)) == bad_ip_header);
  CHECK(status_of(with(with(write, kTotalLength, 0), kTotalLength + 1, 19)) == bad_ip_header);
  CHECK(status_of(with(write, kTotalLength, 0xff)) == ip_length_beyond_frame);
  CHECK(status_of(with(write, kFragment, 0x20)) == roce_in_fragments);  // the first of several
  CHECK(status_of(with(write, kFragment + 1, 0x01)) == ip_fragment);
  CHECK(status_of(with(write, kProtocol, 6)) == not_udp);
  CHECK(status_of(with(write, kUdpLength + 1, write[kUdpLength + 1] - 4)) == bad_udp_length);
  CHECK(status_of(with(write, kUdpLength + 1, write[kUdpLength + 1] + 4)) == bad_udp_length);
  CHECK(status_of(with(write, kPort, 0x13)) == not_roce_port);
  CHECK(status_of(with(write, kFlags, 0x41)) == bad_bth_version);
  CHECK(status_of(with(write, kOpcode, 0x15)) == unknown_opcode);
  CHECK(status_of(with(write, kOpcode, 0xff)) == unknown_opcode);
  CHECK(status_of(with(ack, kFlags, 0x50)) == bad_pad_count);
  CHECK(status_of(resized(ack, +4)) == unexpected_payload);
  CHECK(status_of(resized(ack, -4)) == too_short_extended);
  CHECK(status_of(resized(ack, -8)) == too_short_bth);
  CHECK(status_of(resized(write, -1)) == bad_payload_size);
  CHECK(status_of(resized(write, -80)) == too_short_extended);  // no RETH left
  CHECK(status_of(with(resized(write, -64), kFlags, 0x70)) == bad_pad_count);
  CHECK(status_of(resized(write, -64)) == roce);         // a WRITE of zero bytes is legal
  CHECK(status_of(resized(ack, -20)) == too_short_bth);  // nothing after the UDP header
  CHECK(status_of(with(ack, kTotalLength + 1, 27)) == too_short_udp);

  CHECK(status_of(Bytes(write6.begin(), write6.begin() + 53)) == too_short_ip);
  CHECK(status_of(with(write6, 14, 0x40)) == bad_ip_header);
  CHECK(status_of(with(write6, 20, 44)) == not_udp);  // fragment header
  CHECK(status_of(with(write6, 20, 0)) == not_udp);   // hop-by-hop options
  CHECK(status_of(Bytes(write6.begin(), write6.end() - 1)) == ip_length_beyond_frame);
  Bytes mapped = write6;
  const auto ipv4 = IpAddress::parse("10.0.0.1");
  std::copy(ipv4.bytes.begin(), ipv4.bytes.end(), mapped.begin() + 22);
  CHECK(status_of(mapped) == bad_ip_header);
}

TEST_CASE("an unknown opcode still has a BTH and a place for the ICRC", "[wire][frame]") {
  const Bytes bytes = PacketBuilder().opcode(0x1f).qpn(0x1234).psn(0xabcdef).payload_size(32).build();
  Frame frame;
  REQUIRE(parse(bytes, frame) == ParseStatus::unknown_opcode);
  CHECK(frame.opcode == nullptr);
  CHECK(frame.destination_qpn() == 0x1234);
  CHECK(frame.psn() == 0xabcdef);
  CHECK(frame.icrc_offset + 4U == bytes.size());
  CHECK(frame.payload().empty());
}

TEST_CASE("lengths come from IP: trailing Ethernet padding is left out", "[wire][frame]") {
  Bytes bytes = PacketBuilder().opcode(kRcSendOnly).build();
  const std::size_t size = bytes.size();
  bytes.resize(size + 7, 0xee);
  Frame frame;
  REQUIRE(parse(bytes, frame) == ParseStatus::roce);
  CHECK(frame.roce_size() == size);
  CHECK(frame.size == size + 7);
  CHECK(frame.payload_size == 0);
}

TEST_CASE("VLAN tags tell tenants apart", "[wire][frame]") {
  auto key = [](const Bytes& bytes) {
    Frame frame;
    REQUIRE(parse(bytes, frame) == ParseStatus::roce);
    return frame.vlan.value;
  };
  const auto none = key(PacketBuilder().build());
  const auto priority = key(PacketBuilder().vlan(0xe000).build());
  const auto one = key(PacketBuilder().vlan(0xe005).build());
  const auto outer = key(PacketBuilder().vlan(5, kEtherTypeQinQ).vlan(6).build());
  const auto swapped = key(PacketBuilder().vlan(6, kEtherTypeQinQ).vlan(5).build());
  CHECK(none == 0);
  CHECK(priority == 0);  // VID 0 is a priority and no VLAN
  CHECK(key(PacketBuilder().vlan(0, kEtherTypeQinQ).vlan(5).build()) == one);
  CHECK(key(PacketBuilder().vlan(5, kEtherTypeQinQ).vlan(0x6000).build()) == one);
  CHECK(key(PacketBuilder().vlan(0, kEtherTypeQinQ).vlan(0).build()) == 0);
  CHECK(one == 0x01005000);
  CHECK(outer == 0x02005006);
  CHECK(swapped == 0x02006005);
  CHECK(key(PacketBuilder().vlan(0x2005).build()) == one);  // the priority is not part of the key

  const Bytes tagged = PacketBuilder().vlan(1, kEtherTypeQinQ).vlan(2).build();
  CHECK(status_of(Bytes(tagged.begin(), tagged.begin() + 17)) == ParseStatus::too_short_ethernet);
  CHECK(status_of(PacketBuilder().vlan(1).vlan(2).vlan(3).build()) == ParseStatus::roce_in_tags);
  CHECK(status_of(PacketBuilder().vlan(0).vlan(2).vlan(3).build()) == ParseStatus::roce_in_tags);
}

TEST_CASE("IPv4 options move everything behind them", "[wire][frame]") {
  const Bytes bytes =
      PacketBuilder().ipv4_options({0x94, 0x04, 0x00, 0x00}).opcode(kRcAcknowledge).aeth(0x1f, 9).build();
  Frame frame;
  REQUIRE(parse(bytes, frame) == ParseStatus::roce);
  CHECK(frame.udp_offset == 14 + 24);
  CHECK(frame.aeth().msn == 9);
  CHECK(verify_ipv4_checksum(frame));
  CHECK(status_of(Bytes(bytes.begin(), bytes.begin() + 36)) == ParseStatus::too_short_ip);
}

TEST_CASE("the IPv4 checksum of captured frames is right, and one bit breaks it", "[wire][frame][captures]") {
  std::size_t checked = 0;
  for (Bytes& bytes : read_capture("rping_v4")) {
    Frame frame;
    if (parse(bytes, frame) != ParseStatus::roce) continue;
    CHECK(verify_ipv4_checksum(frame));
    bytes[22] ^= 1;  // TTL: not covered by the ICRC
    CHECK_FALSE(verify_ipv4_checksum(frame));
    ++checked;
  }
  CHECK(checked > 50);
}

TEST_CASE("a frame longer than 16-bit offsets reach is refused, not wrapped", "[wire][frame]") {
  Bytes bytes(70000, 0);
  const Bytes small = PacketBuilder().vlan(1).build();
  std::copy(small.begin(), small.end(), bytes.begin());
  bytes[20] = bytes[21] = 0xff;  // total length
  CHECK(status_of(bytes) == ParseStatus::bad_ip_header);
}

TEST_CASE("every status has a counter name of its own", "[wire][frame]") {
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < kParseStatusCount; ++i) ++names[name_of(static_cast<ParseStatus>(i))];
  CHECK(names.size() == kParseStatusCount);
  CHECK(name_of(ParseStatus::roce) == "parse_roce");
  CHECK(name_of(ParseStatus::ip_fragment) == "parse_ip_fragment");
  CHECK(name_of(ParseStatus::bad_pad_count) == "parse_bad_pad_count");
}

TEST_CASE("addresses", "[wire][address]") {
  CHECK(IpAddress::parse("10.9.0.1").is_ipv4());
  CHECK(IpAddress::parse("10.9.0.1").to_string() == "10.9.0.1");
  CHECK(IpAddress::parse("::ffff:10.9.0.1") == IpAddress::parse("10.9.0.1"));
  CHECK_FALSE(IpAddress::parse("fd00::1").is_ipv4());
  CHECK(IpAddress::parse("fd00:0::0:1").to_string() == "fd00::1");
  CHECK_FALSE(IpAddress::parse("::1").is_ipv4());
  CHECK_THROWS_WITH(IpAddress::parse("10.9.0"), Catch::Contains("10.9.0"));
  CHECK_THROWS_AS(IpAddress::parse(""), std::invalid_argument);
}
