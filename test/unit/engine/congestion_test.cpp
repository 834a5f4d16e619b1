// SPDX-License-Identifier: BSD-3-Clause
// CNPs: those that the box makes for requesters of its side, and those that come from the WAN.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "custody/ack_template.hpp"
#include "support/mbufs.hpp"
#include "support/rig.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr Pair::Extra kWhole{true, 1024};

/// A slow WAN, at which more than a few frames of a flow are a backlog.
engine::Settings slow() {
  engine::Settings settings = small_settings();
  settings.wan_rate_bps = 10'000'000;
  settings.confirm = engine::Confirm::cm;
  settings.cnp.send = true;
  settings.cnp.least_backlog = 3000;
  return settings;
}

std::vector<Bytes> cnps_of(const std::vector<Seen>& out) {
  std::vector<Bytes> cnps;
  for (const Seen& seen : out)
    if (seen.opcode == wire::kCnp) cnps.push_back(seen.bytes);
  return cnps;
}

/// Twelve large requests at once, of which the pace holds nearly all. A moment before, one for which there is no
/// backlog.
void overload(Rig& rig, const Pair& pair, std::uint32_t first) { rig.host_sends(pair.writes(first, 12, kWhole)); }

/// Between the two QPs of the frame below.
wire::PacketBuilder from_responder() {
  return wire::PacketBuilder()
      .macs({0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32}, {0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2})
      .ips("10.0.17.1", "10.0.18.1")
      .ttl(64)
      .ipv4_id(0x718c)
      .udp_source_port(0)
      .qpn(0x118);
}

/// The frame that was captured from a ConnectX-4 Lx, by its fields (scapy's tests, test/contrib/roce.uts: "RoCE CNP
/// captured on ConnectX-4 Lx"): DSCP 48 and ECT(0), UDP source port 0, BECN, MigReq clear, PSN 0, 16 reserved bytes.
/// Its ICRC is in kCapturedIcrc.
wire::PacketBuilder captured() {
  constexpr std::uint8_t kReserved[16] = {};
  return from_responder().tos(0xc2).opcode(wire::kCnp).migreq(false).becn().psn(0).payload(kReserved);
}
constexpr std::uint8_t kCapturedIcrc[4] = {0x82, 0xfd, 0x00, 0x2a};

/// An ACK of the same responder.
wire::PacketBuilder its_ack() { return from_responder().opcode(wire::kRcAcknowledge).psn(77).aeth(0x1f, 5); }

Bytes made_from(const Bytes& ack, std::uint8_t dscp) {
  const MbufPool pool(64);
  Bytes made;
  {
    custody::BufferStash stash(pool.get(), custody::AckTemplate::kRoom);
    wire::Frame frame;
    REQUIRE(wire::parse(ack, frame) == wire::ParseStatus::roce);
    custody::AckTemplate from;
    from.learn_from_answer(frame);
    rte_mbuf* mbuf = from.make_cnp(stash, dscp);
    REQUIRE(mbuf != nullptr);
    const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
    made.assign(bytes, bytes + mbuf->pkt_len);
    rte_pktmbuf_free(mbuf);
  }
  return made;
}

std::string tshark_says(const Bytes& bytes) {
  const std::string path = "/tmp/longhaul_cnp_" + std::to_string(getpid()) + ".hex";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fprintf(file, "0000");
  for (const std::uint8_t byte : bytes) std::fprintf(file, " %02x", byte);
  std::fprintf(file, "\n");
  std::fclose(file);
  const std::string command =
      "text2pcap -q " + path + " " + path + ".pcap >/dev/null 2>&1 && tshark -n -o ip.check_checksum:TRUE -r " + path +
      ".pcap -T fields -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn -e infiniband.bth.m -e "
      "ip.dsfield.dscp -e ip.dsfield.ecn -e ip.checksum.status -e _ws.malformed 2>/dev/null";
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  std::remove(path.c_str());
  std::remove((path + ".pcap").c_str());
  return text;
}

}  // namespace

TEST_CASE("a made CNP is byte for byte what a ConnectX-4 Lx sends", "[engine][congestion]") {
  const Rig eal;
  const Bytes real = captured().build();
  // The builder's ICRC is the captured one: the fields above are those of the capture.
  CHECK(std::equal(std::begin(kCapturedIcrc), std::end(kCapturedIcrc), real.end() - 4));
  CHECK(made_from(its_ack().build(), 48) == real);
  // A congestion mark, an ECN codepoint or a DSCP of the ACK are not those of the CNP.
  CHECK(made_from(its_ack().tos(0x6b).build(), 48) == real);
}

TEST_CASE("a made CNP over IPv6, with VLAN tags and another P_Key", "[engine][congestion]") {
  const Rig eal;
  const auto towards = [](wire::PacketBuilder builder) {
    return builder.ips("fd00::2", "fd00::1").vlan(300, wire::kEtherTypeQinQ).vlan(100).p_key(0x8001);
  };
  CHECK(made_from(towards(its_ack().ipv6_flow_label(0x12345)).build(), 46) ==
        towards(captured().ipv6_flow_label(0x12345).tos(46 << 2 | 2)).build());
}

TEST_CASE("tshark takes a made CNP for one", "[engine][congestion][tshark]") {
  if (std::system("command -v tshark >/dev/null 2>&1 && command -v text2pcap >/dev/null 2>&1") != 0) {
    WARN("skipped: tshark is not installed");
    return;
  }
  const Rig eal;
  CHECK(tshark_says(made_from(its_ack().build(), 48)) == "129\t0x000118\t0\t0\t48\t2\t1\t\n");
}

TEST_CASE("a backlog at the WAN's pace: CNPs for its requester, one in 50 us at most", "[engine][congestion]") {
  engine::Settings settings = slow();
  settings.wan_rate_bps = 100'000'000;  // slower, and a fifth of the rate would be the limit
  Rig rig(settings);
  const Pair pair;
  rig.connect(pair);
  overload(rig, pair, 100);
  std::vector<Bytes> cnps = cnps_of(rig.host_out);
  REQUIRE(cnps.size() == 1);
  const Seen cnp(cnps[0]);
  CHECK(cnp.qpn == pair.a_qpn);
  CHECK(cnp.good_icrc);
  CHECK(cnp.good_ip_checksum);
  for (std::uint32_t i = 0; i < 100; ++i) {
    rig.wait(microseconds(10));
    rig.host_sends(pair.write(112 + i, kWhole));
  }
  cnps = cnps_of(rig.host_out);
  CHECK(cnps.size() > 10);
  CHECK(cnps.size() <= 1 + 1000 / 50);
  CHECK(rig.count(Counter::cnps_made) == cnps.size());
}

TEST_CASE("no backlog, no CNP; nor with cnp.send: false", "[engine][congestion]") {
  engine::Settings settings = slow();
  SECTION("no backlog") {
    Rig rig(settings);
    const Pair pair;
    rig.connect(pair);
    for (std::uint32_t i = 0; i < 20; ++i) {
      rig.host_sends(pair.write(100 + i, kWhole));
      rig.wait(milliseconds(2));
    }
    CHECK(rig.count(Counter::cnps_made) == 0);
  }
  SECTION("switched off") {
    settings.cnp.send = false;
    Rig rig(settings);
    const Pair pair;
    rig.connect(pair);
    overload(rig, pair, 100);
    rig.wait(milliseconds(5));
    CHECK(rig.count(Counter::cnps_made) == 0);
  }
}

TEST_CASE("in a doubt the box makes no CNP", "[engine][congestion]") {
  Rig rig(slow());
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wan_sends(pair.ack(100, 1));
  rig.wait(milliseconds(100));
  rig.host_sends({pair.write(101)});
  // Below una: another life may have begun.
  rig.host_sends(pair.write(99));
  CHECK(rig.count(Counter::flows_doubted) == 1);
  rig.host_out.clear();
  overload(rig, pair, 102);
  rig.wait(milliseconds(4));
  overload(rig, pair, 114);
  CHECK(rig.count(Counter::cnps_made) == 0);
}

TEST_CASE("a requester that RDMA-CM has announced is told in the first round trip", "[engine][congestion]") {
  engine::Settings settings = slow();
  settings.confirm = engine::Confirm::answer;
  Rig rig(settings);
  const Pair pair;
  SECTION("its REQ is proven by the RTU") {
    rig.connect(pair);
    // Unconfirmed packets pass the pace: what has left ahead of it is the congestion.
    overload(rig, pair, 100);
    rig.wait(microseconds(60));
    rig.host_sends(pair.write(112, kWhole));
    CHECK(rig.count(Counter::cnps_made) > 0);
  }
}

TEST_CASE("a CNP from the WAN for acknowledged data is passed on, or absorbed", "[engine][congestion]") {
  engine::Settings settings = small_settings();
  const Pair pair;
  SECTION("passed on") {
    Rig rig(settings);
    rig.connect_confirmed(pair);
    rig.host_sends(pair.write(101));
    rig.at_host();
    rig.wan_sends(pair.cnp());
    CHECK(rig.at_host() == Lines{"cnp 0"});
    CHECK(rig.count(Counter::absorbed_cnps) == 0);
  }
  SECTION("absorbed") {
    settings.cnp.from_wan = custody::WanCnps::absorb;
    Rig rig(settings);
    rig.connect_confirmed(pair);
    rig.host_sends(pair.write(101));
    rig.at_host();
    rig.wan_sends(pair.cnp());
    CHECK(rig.at_host().empty());
    CHECK(rig.count(Counter::absorbed_cnps) == 1);
    // Nothing is in custody: the CNP is about something else.
    rig.wan_sends(pair.ack(101, 2));
    rig.wan_sends(pair.cnp());
    CHECK(rig.at_host() == Lines{"cnp 0"});
  }
}
