// SPDX-License-Identifier: BSD-3-Clause
// Ports that refuse frames, and frames that are not for the engine.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

TEST_CASE("a full WAN port: no pseudo-ACK until it accepts, nothing lost, nothing doubled, in order",
          "[engine][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.allow(Side::wan, 1);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host().empty());
  rig.allow(Side::wan, 2);
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan() == Lines{"write_only 102!", "write_only 103!"});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan() == Lines{"write_only 104!"});
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
  CHECK(rig.count(Counter::resends) == 0);
}

TEST_CASE("a full WAN port and pass-through frames: they wait in order", "[engine][ports]") {
  Rig rig;
  rig.allow(Side::wan, 1);
  std::vector<Bytes> frames;
  for (std::uint8_t i = 0; i < 5; ++i) frames.emplace_back(60, i);
  rig.host_sends(frames);
  CHECK(rig.engine->waiting_frames() == 4);
  rig.allow(Side::wan, 2);
  rig.host_sends(Bytes(60, 5));
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  REQUIRE(rig.wan_out.size() == 6);
  for (std::uint8_t i = 0; i < 6; ++i) CHECK(rig.wan_out[i].bytes == Bytes(60, i));
}

TEST_CASE("a port that stays full: bounded, then dropped by name", "[engine][ports]") {
  Rig rig;
  rig.allow(Side::host, 0);
  for (int i = 0; i < 3000; ++i) rig.wan_sends({Bytes(60, 0), Bytes(60, 1)});
  CHECK(rig.count(Counter::dropped_port_full) == 6000 - 1024);
  rig.wait(milliseconds(100));
}

TEST_CASE("a full host port: pseudo-ACKs and answers wait, in order", "[engine][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.allow(Side::host, 0);
  rig.host_sends({pair.write(101), pair.write(102), pair.read(103)});
  rig.wan_sends(pair.answer("read_only", 103, 4));
  CHECK(rig.at_host().empty());
  rig.allow(Side::host, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "read_only 103"});
}

TEST_CASE("a resend into a full port keeps its order and its last AckReq", "[engine][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.silent_write(103)});
  rig.at_wan();
  rig.allow(Side::wan, 1);
  rig.wan_sends(pair.nak(101, 1));
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!"});
}

TEST_CASE("an answer while its requests are refused by the port", "[engine][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_wan();
  rig.allow(Side::wan, 0);
  rig.wan_sends(pair.nak(101, 1));
  rig.wan_sends(pair.ack(102, 3));
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(5));
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.at_wan().empty());
}

TEST_CASE("the connection ends while its packets are refused by the port: dropped by name", "[engine][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.at_wan();
  rig.allow(Side::wan, 0);
  rig.host_sends({pair.write(101), pair.write(102), pair.dreq(Side::host)});
  rig.wan_sends(pair.drep(Side::wan));
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(5));
  CHECK(rig.at_wan() == Lines{"dreq"});
  CHECK(rig.count(Counter::dropped_unsent) == 2);
}

TEST_CASE("requests over the custody limit do not overtake those that the port refused: asked for again",
          "[engine][ports]") {
  auto settings = small_settings();
  settings.custody_flow_bytes = 2 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.allow(Side::wan, 0);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!"});
  CHECK(rig.count(Counter::dropped_behind_backlog) == 1);
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "nak0 103 msn 3"});
  rig.host_sends({pair.write(103)});
  CHECK(rig.at_wan() == Lines{"write_only 103!"});
}

TEST_CASE("what is not learned RC comes out byte for byte and in order", "[engine][ports]") {
  Rig rig;
  const Pair pair;
  std::vector<Bytes> frames = {Bytes(14, 0xff), Bytes(3, 1), pair.write(1), damaged(pair.write(2)),
                               pair.ack(3, 4),  pair.cnp(),  pair.read(9)};
  for (const Side side : {Side::host, Side::wan}) {
    side == Side::host ? rig.host_sends(frames) : rig.wan_sends(frames);
    const auto& out = side == Side::host ? rig.wan_out : rig.host_out;
    REQUIRE(out.size() == frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) CHECK(out[i].bytes == frames[i]);
  }
}

TEST_CASE("a burst longer than the box's own is one burst all the same", "[engine][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 300));
  CHECK(rig.wan_out.size() == 300);
  CHECK(rig.host_out.size() == 300);
  CHECK(rig.at_host().back() == "ack 400 msn 301");
}

TEST_CASE("a pseudo-ACK that its port refused goes no more when its connection has ended", "[engine][ports]") {
  Rig rig;
  const Pair old;
  rig.connect_confirmed(old);
  rig.at_host();
  rig.allow(Side::host, 0);
  rig.host_sends(old.write(101));
  Pair again = old;  // the same QPNs and PSNs
  again.transaction = 0x78;
  again.a_comm = 0xa2;
  again.b_comm = 0xb2;
  rig.wan_sends(old.ack(101, 2));
  rig.connect(again);
  rig.allow(Side::host, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  CHECK(rig.at_host() == Lines{"rep"});
  CHECK(rig.count(Counter::made_frames_lost) == 1);
}
