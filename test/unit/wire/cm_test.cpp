// SPDX-License-Identifier: BSD-3-Clause
// CM messages against what tshark prints for each one in the captures, and written ones against captured bytes.
#include <catch2/catch.hpp>

#include "support/captures.hpp"
#include "wire/builder.hpp"
#include "wire/cm.hpp"

using namespace longhaul::wire;
using namespace longhaul::test;

namespace {

Bytes frame_with(const CmMessage& message) {
  Bytes mad(kMadSize);
  write_cm(message, std::span<std::uint8_t, kMadSize>(mad));
  return PacketBuilder().opcode(kUdSendOnly).qpn(kGsiQpn).deth(0x80010000, kGsiQpn).payload(mad).build();
}

std::optional<CmMessage> parsed(const Bytes& bytes) {
  Frame frame;
  REQUIRE(parse(bytes, frame) == ParseStatus::roce);
  return parse_cm(frame);
}

void check_equal(const CmMessage& a, const CmMessage& b) {
  CHECK(a.attribute == b.attribute);
  CHECK(a.transaction_id == b.transaction_id);
  CHECK(a.local_comm_id == b.local_comm_id);
  CHECK(a.remote_comm_id == b.remote_comm_id);
  CHECK(a.local_qpn == b.local_qpn);
  CHECK(a.starting_psn == b.starting_psn);
  CHECK(a.responder_resources == b.responder_resources);
  CHECK(a.initiator_depth == b.initiator_depth);
  CHECK(a.rnr_retry_count == b.rnr_retry_count);
  CHECK(a.end_to_end_flow_control == b.end_to_end_flow_control);
  CHECK(a.ece == b.ece);
  CHECK(a.reliable_connected == b.reliable_connected);
  CHECK(a.path_mtu == b.path_mtu);
  CHECK(a.retry_count == b.retry_count);
  CHECK(a.local_ack_timeout == b.local_ack_timeout);
  CHECK(a.max_cm_retries == b.max_cm_retries);
  CHECK(a.p_key == b.p_key);
  CHECK(a.service_id == b.service_id);
  CHECK(a.reject_reason == b.reject_reason);
  CHECK(a.remote_qpn == b.remote_qpn);
}

/// All fields of a message of this kind, each with another value, every bit field with an odd one.
CmMessage full(CmAttribute attribute) {
  CmMessage m;
  m.attribute = attribute;
  m.transaction_id = 0x0123456789abcdef;
  m.local_comm_id = 0xa1b2c3d4;
  if (attribute != CmAttribute::req) m.remote_comm_id = 0x51627384;
  if (attribute == CmAttribute::req || attribute == CmAttribute::rep) {
    m.local_qpn = 0xabcdef;
    m.starting_psn = 0x123456;
    m.responder_resources = 0x11;
    m.initiator_depth = 0x22;
    m.rnr_retry_count = 5;
    m.end_to_end_flow_control = true;
    m.ece = {0xa5c3e7, 0x89abcdef};
  }
  if (attribute == CmAttribute::req) {
    m.reliable_connected = true;
    m.path_mtu = 5;
    m.retry_count = 3;
    m.local_ack_timeout = 21;
    m.max_cm_retries = 9;
    m.p_key = 0x8001;
    m.service_id = 0x1064853;
  }
  if (attribute == CmAttribute::rej) m.reject_reason = 28;
  if (attribute == CmAttribute::dreq) m.remote_qpn = 0xfedcba;
  return m;
}

}  // namespace

TEST_CASE("every captured CM message reads as tshark reads it", "[wire][cm][captures]") {
  std::map<CmAttribute, int> kinds;
  for (const auto& [capture, rows] : read_table("cm.tsv")) {
    const auto frames = read_capture(capture);
    std::size_t found = 0;
    for (const Bytes& bytes : frames) {
      Frame frame;
      found += parse(bytes, frame) == ParseStatus::roce && parse_cm(frame) ? 1 : 0;
    }
    CHECK(found == rows.size());
    for (const Row& row : rows) {
      CAPTURE(capture, row.text("frame"));
      Frame frame;
      REQUIRE(parse(frames.at(row.number("frame") - 1), frame) == ParseStatus::roce);
      const auto m = parse_cm(frame);
      REQUIRE(m.has_value());
      ++kinds[m->attribute];
      CHECK(static_cast<std::uint16_t>(m->attribute) == row.number("attribute"));
      CHECK(m->transaction_id == row.number("transaction_id"));
      CHECK(m->local_comm_id == row.number("local_comm_id"));
      CHECK(m->remote_comm_id == row.number("remote_comm_id"));
      CHECK(m->local_qpn == row.number("local_qpn"));
      CHECK(m->starting_psn == row.number("starting_psn"));
      CHECK(m->responder_resources == row.number("responder_resources"));
      CHECK(m->initiator_depth == row.number("initiator_depth"));
      CHECK(m->rnr_retry_count == row.number("rnr_retry_count"));
      CHECK(m->end_to_end_flow_control == (row.number("flow_control") != 0));
      CHECK(m->reliable_connected == (row.has("transport_service") && row.number("transport_service") == 0));
      CHECK(m->path_mtu == row.number("path_mtu"));
      CHECK(m->retry_count == row.number("retry_count"));
      CHECK(m->local_ack_timeout == row.number("local_ack_timeout"));
      CHECK(m->max_cm_retries == row.number("max_cm_retries"));
      CHECK(m->p_key == row.number("p_key"));
      CHECK(m->service_id == row.number("service_id"));
      CHECK(m->reject_reason == row.number("reject_reason"));
      CHECK(m->remote_qpn == row.number("remote_qpn"));
    }
  }
  for (const auto kind : {CmAttribute::req, CmAttribute::rep, CmAttribute::rtu, CmAttribute::dreq, CmAttribute::drep})
    CHECK(kinds[kind] >= 20);
  CHECK(kinds[CmAttribute::rej] == 1);
}

TEST_CASE("a written MAD is the captured one, byte for byte, where it has no other fields", "[wire][cm][captures]") {
  // RTU, DREQ and DREP hold only fields of CmMessage; the private data of these is zero.
  for (const auto& [capture, rows] : read_table("cm.tsv")) {
    const auto frames = read_capture(capture);
    for (const Row& row : rows) {
      Frame frame;
      REQUIRE(parse(frames.at(row.number("frame") - 1), frame) == ParseStatus::roce);
      const auto message = parse_cm(frame);
      REQUIRE(message.has_value());
      Bytes mad(kMadSize);
      write_cm(*message, std::span<std::uint8_t, kMadSize>(mad));
      const auto original = frame.payload();
      CAPTURE(capture, row.text("frame"));
      // The MAD header, and what follows up to the first field that CmMessage does not have.
      std::size_t same = 24 + 8;
      if (message->attribute == CmAttribute::rtu || message->attribute == CmAttribute::dreq ||
          message->attribute == CmAttribute::drep)
        same = 36;
      if (message->attribute == CmAttribute::req) same = 24 + 16;  // up to the CA GUID
      CHECK(std::equal(mad.begin(), mad.begin() + static_cast<std::ptrdiff_t>(same), original.begin()));
    }
  }
}

TEST_CASE("what is written is read back, every kind", "[wire][cm]") {
  const auto kind = GENERATE(CmAttribute::req, CmAttribute::mra, CmAttribute::rej, CmAttribute::rep, CmAttribute::rtu,
                             CmAttribute::dreq, CmAttribute::drep);
  const CmMessage message = full(kind);
  const auto back = parsed(frame_with(message));
  REQUIRE(back.has_value());
  check_equal(*back, message);
}

// What Linux writes (drivers/infiniband/core/cm.c): the options are the MAD's attribute modifier. A REQ has the vendor
// ID in one place, a REP byte by byte in three.
TEST_CASE("ECE stands where Linux puts it", "[wire][cm]") {
  constexpr std::size_t kMad = 42 + 12 + 8;
  constexpr std::size_t kModifier = kMad + 20;
  constexpr std::size_t kBody = kMad + 24;
  const auto byte_at = [](const Bytes& bytes, std::size_t at) { return unsigned{bytes.at(at)}; };
  for (const CmAttribute kind : {CmAttribute::req, CmAttribute::rep}) {
    const Bytes bytes = frame_with(full(kind));
    CHECK(byte_at(bytes, kModifier) == 0x89);
    CHECK(byte_at(bytes, kModifier + 3) == 0xef);
    const auto places =
        kind == CmAttribute::req ? std::array<std::size_t, 3>{5, 6, 7} : std::array<std::size_t, 3>{15, 19, 23};
    CHECK(byte_at(bytes, kBody + places[0]) == 0xa5);
    CHECK(byte_at(bytes, kBody + places[1]) == 0xc3);
    CHECK(byte_at(bytes, kBody + places[2]) == 0xe7);
  }
  // An RTU and the others have none: their modifier is no offer.
  Bytes rtu = frame_with(full(CmAttribute::rtu));
  rtu.at(kModifier) = 1;
  CHECK(parsed(rtu)->ece == Ece{});
}

TEST_CASE("a REQ for UC is not reliably connected", "[wire][cm]") {
  CmMessage message = full(CmAttribute::req);
  message.reliable_connected = false;
  const Bytes bytes = frame_with(message);
  CHECK(((bytes.at(42 + 12 + 8 + 24 + 43) >> 1) & 3) == 1);  // transport service type, 12.6.5: 1 is UC
  CHECK_FALSE(parsed(bytes)->reliable_connected);
}

TEST_CASE("what is not a CM message is none", "[wire][cm]") {
  const Bytes good = frame_with(full(CmAttribute::rtu));
  REQUIRE(parsed(good).has_value());
  constexpr std::size_t kBth = 42, kMad = kBth + 12 + 8;
  for (const auto& [what, at, value] :
       {std::tuple{"base version", kMad, 2}, std::tuple{"class", kMad + 1, 3}, std::tuple{"class version", kMad + 2, 1},
        std::tuple{"LAP", kMad + 17, 0x19}, std::tuple{"SIDR_REQ", kMad + 17, 0x17},
        std::tuple{"attribute", kMad + 16, 0x80}, std::tuple{"QPN", kBth + 7, 0x12},
        std::tuple{"QPN, high", kBth + 5, 0x12}}) {
    CAPTURE(what);
    Bytes bytes = good;
    bytes[at] = static_cast<std::uint8_t>(value);
    CHECK_FALSE(parsed(bytes).has_value());
  }
  const Bytes mad(good.begin() + kMad, good.end() - 4);
  const Bytes cut(mad.begin(), mad.end() - 4);
  CHECK_FALSE(parsed(PacketBuilder().opcode(kUdSendOnly).qpn(1).payload(cut).build()).has_value());
  CHECK_FALSE(parsed(PacketBuilder().opcode(kRcSendOnly).qpn(1).payload(mad).build()).has_value());
  CHECK_FALSE(parsed(PacketBuilder().opcode(0x65).qpn(1).payload(mad).build()).has_value());
}

TEST_CASE("path MTU codes", "[wire][cm]") {
  CHECK(path_mtu_bytes(0) == 0);
  CHECK(path_mtu_bytes(1) == 256);
  CHECK(path_mtu_bytes(3) == 1024);
  CHECK(path_mtu_bytes(5) == 4096);
  CHECK(path_mtu_bytes(6) == 0);
  CHECK(path_mtu_bytes(255) == 0);
}
