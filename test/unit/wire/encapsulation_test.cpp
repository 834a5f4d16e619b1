// SPDX-License-Identifier: BSD-3-Clause
// RoCEv2 inside what the box does not take apart: it has a name, and whatever looks like it and is not has none. The
// frames here are written by hand; test/replay/vendors.py has tshark's word on the same ones.
#include <catch2/catch.hpp>

#include "support/captures.hpp"
#include "support/status_of.hpp"
#include "wire/builder.hpp"
#include "wire/encapsulation.hpp"
#include "wire/frame.hpp"

using namespace longhaul::wire;
using namespace longhaul::test;

namespace {

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes ethernet(std::uint16_t type) {
  return {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type)};
}

Bytes ipv4(std::uint8_t protocol, std::size_t payload, std::uint16_t flags = 0) {
  const std::size_t total = 20 + payload;
  return {0x45,
          0,
          static_cast<std::uint8_t>(total >> 8),
          static_cast<std::uint8_t>(total),
          0,
          1,
          static_cast<std::uint8_t>(flags >> 8),
          static_cast<std::uint8_t>(flags),
          64,
          protocol,
          0,
          0,
          192,
          0,
          2,
          1,
          192,
          0,
          2,
          2};
}

Bytes ipv6(std::uint8_t next, std::size_t payload) {
  Bytes out = {0x60, 0, 0, 0, static_cast<std::uint8_t>(payload >> 8), static_cast<std::uint8_t>(payload), next, 64};
  out.resize(40, 0xfd);
  return out;
}

Bytes udp(std::uint16_t port, std::size_t payload) {
  const std::size_t length = 8 + payload;
  return {0xc0,
          0,
          static_cast<std::uint8_t>(port >> 8),
          static_cast<std::uint8_t>(port),
          static_cast<std::uint8_t>(length >> 8),
          static_cast<std::uint8_t>(length),
          0,
          0};
}

const Bytes kInner = PacketBuilder().opcode(kRcSendOnly).payload_size(64).build();
const Bytes kInnerIp(kInner.begin() + 14, kInner.end());
const Bytes kInnerTagged = PacketBuilder().vlan(7).opcode(kRcSendOnly).payload_size(64).build();
const Bytes kOther = ethernet(0x0800) + ipv4(17, 72) + udp(53, 64) + Bytes(64, 0);
const Bytes kVxlan = {0x08, 0, 0, 0, 0, 0, 9, 0};

Bytes in_vxlan(const Bytes& inner, std::uint16_t port = kVxlanUdpPort) {
  const Bytes payload = kVxlan + inner;
  return ethernet(0x0800) + ipv4(17, 8 + payload.size()) + udp(port, payload.size()) + payload;
}

Bytes in_gre(const Bytes& header, const Bytes& inner) {
  const Bytes payload = header + inner;
  return ethernet(0x0800) + ipv4(47, payload.size()) + payload;
}

Bytes in_mpls(const Bytes& labels, const Bytes& inner) { return ethernet(0x8847) + labels + inner; }

const Bytes kTop = {0, 1, 0x10, 64};  // not the bottom of the stack
const Bytes kBottom = {0, 2, 0x11, 64};

struct Sample {
  const char* what;
  Bytes frame;
  ParseStatus status;
};

std::vector<Sample> rows() {
  using enum ParseStatus;
  const Bytes first(kInnerIp.begin(), kInnerIp.end() - 40);
  Bytes fragment = ethernet(0x0800) + first;
  fragment[16] = 0;
  fragment[17] = static_cast<std::uint8_t>(first.size());
  fragment[20] = 0x20;  // more fragments
  Bytes later = fragment;
  later[21] = 4;  // and not the first
  Bytes tagged = in_vxlan(kInner);
  const Bytes tag = {0x81, 0, 0, 5};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  const Bytes udp_part(kInnerIp.begin() + 20, kInnerIp.end());
  const Bytes fragment_header = {17, 0, 0, 1, 0, 0, 0, 9};
  return {
      {"VXLAN", in_vxlan(kInner), roce_in_vxlan},
      {"VXLAN, inner tag", in_vxlan(kInnerTagged), roce_in_vxlan},
      {"VXLAN in a VLAN", tagged, roce_in_vxlan},
      {"VXLAN over IPv6",
       ethernet(0x86dd) + ipv6(17, 16 + kInner.size()) + udp(kVxlanUdpPort, 8 + kInner.size()) + kVxlan + kInner,
       roce_in_vxlan},
      {"VXLAN without an ID",
       ethernet(0x0800) + ipv4(17, 16 + kInner.size()) + udp(kVxlanUdpPort, 8 + kInner.size()) + Bytes(8, 0) + kInner,
       not_roce_port},
      {"VXLAN with something else", in_vxlan(kOther), not_roce_port},
      {"VXLAN in VXLAN: one level is looked at", in_vxlan(in_vxlan(kInner)), not_roce_port},
      {"the next port", in_vxlan(kInner, kVxlanUdpPort + 1), not_roce_port},
      {"MPLS", in_mpls(kBottom, kInnerIp), roce_in_mpls},
      {"MPLS, two labels", in_mpls(kTop + kBottom, kInnerIp), roce_in_mpls},
      {"MPLS, Ethernet behind a control word", in_mpls(kBottom + Bytes(4, 0), kInner), roce_in_mpls},
      {"MPLS, Ethernet", in_mpls(kBottom, kInner), roce_in_mpls},
      {"MPLS, no bottom", in_mpls(kTop + kTop + kTop + kTop + kTop + kTop + kTop + kTop + kBottom, kInnerIp), not_ip},
      {"MPLS, something else", in_mpls(kBottom, kOther), not_ip},
      {"GRE, IPv4", in_gre({0, 0, 0x08, 0}, kInnerIp), roce_in_gre},
      {"GRE, Ethernet", in_gre({0, 0, 0x65, 0x58}, kInner), roce_in_gre},
      {"GRE with checksum, key and sequence", in_gre({0xb0, 0, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2}, kInnerIp),
       roce_in_gre},
      {"GRE with MPLS", in_gre(Bytes{0, 0, 0x88, 0x47} + kBottom, kInnerIp), roce_in_gre},
      {"GRE over IPv6", ethernet(0x86dd) + ipv6(47, 4 + kInnerIp.size()) + Bytes{0, 0, 0x08, 0} + kInnerIp,
       roce_in_gre},
      {"PPTP is GRE version 1", in_gre({0, 1, 0x08, 0}, kInnerIp), not_udp},
      {"GRE with something else", in_gre({0, 0, 0x65, 0x58}, kOther), not_udp},
      {"three tags", PacketBuilder().vlan(1).vlan(2).vlan(3).opcode(kRcSendOnly).build(), roce_in_tags},
      {"the first fragment", fragment, roce_in_fragments},
      {"a later fragment", later, ip_fragment},
      {"IPv6, the first fragment", ethernet(0x86dd) + ipv6(44, 8 + udp_part.size()) + fragment_header + udp_part,
       roce_in_fragments},
      {"TCP", ethernet(0x0800) + ipv4(6, 40) + Bytes(40, 0), not_udp},
      {"ICMP", ethernet(0x0800) + ipv4(1, 40) + Bytes(40, 0), not_udp},
      {"ARP", ethernet(0x0806) + Bytes(46, 0), not_ip},
      {"DNS", kOther, not_roce_port},
  };
}

}  // namespace

TEST_CASE("RoCE in what is not taken apart has the name of what it is in", "[wire][encapsulation]") {
  for (const Sample& row : rows()) {
    INFO(row.what);
    CHECK(name_of(status_of(row.frame)) == name_of(row.status));
  }
}

TEST_CASE("frames that are cut anywhere, or differ in a byte, are never read beyond", "[wire][encapsulation]") {
  for (const Sample& row : rows()) {
    INFO(row.what);
    for (std::size_t size = 0; size < row.frame.size(); ++size) {
      const Bytes cut(row.frame.begin(), row.frame.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(static_cast<std::size_t>(status_of(cut)) < kParseStatusCount);
      CHECK(!is_roce(look_inside(cut, ParseStatus::not_udp)));
    }
    for (std::size_t at = 12; at < std::min<std::size_t>(row.frame.size(), 80); ++at)
      for (const unsigned value : {0x00U, 0x0fU, 0x44U, 0x66U, 0x81U, 0xffU}) {
        Bytes changed = row.frame;
        changed[at] = static_cast<std::uint8_t>(value);
        CHECK(static_cast<std::size_t>(status_of(changed)) < kParseStatusCount);
      }
  }
}
