// SPDX-License-Identifier: BSD-3-Clause
// Design section 5, policy window: packets are acknowledged, messages are not.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

engine::Settings window_settings() {
  auto settings = small_settings();
  settings.policies.fallback = flow::Policy::window;
  return settings;
}

/// A WRITE of `packets` packets; only the last asks for an ACK.
std::vector<Bytes> long_write(const Pair& pair, std::uint32_t psn, unsigned packets) {
  std::vector<Bytes> frames{pair.request("write_first", psn, {false, 1024})};
  for (unsigned i = 1; i + 1 < packets; ++i) frames.push_back(pair.request("write_middle", psn + i, {false, 1024}));
  frames.push_back(pair.request("write_last", psn + packets - 1, {true, 8}));
  return frames;
}

}  // namespace

TEST_CASE("window: when a message's last packet comes, all before it is acknowledged, unasked", "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(long_write(pair, 101, 4));
  CHECK(rig.at_host() == Lines{"ack 103 msn 1"});
  rig.wan_sends(pair.ack(104, 2));
  CHECK(rig.at_host() == Lines{"ack 104 msn 2"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("window: messages of one packet are the responder's to complete", "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_host().empty());
  rig.wan_sends({pair.ack(101, 2), pair.ack(103, 4)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 103 msn 4"});
}

TEST_CASE("window: an ACK within a message would complete those before it, so it waits for their answers",
          "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(long_write(pair, 101, 3));
  rig.host_sends(long_write(pair, 104, 3));
  CHECK(rig.at_host() == Lines{"ack 102 msn 1"});
  rig.wan_sends(pair.ack(103, 2));
  CHECK(rig.at_host() == Lines{"ack 103 msn 2", "ack 105 msn 2"});
  rig.wan_sends(pair.ack(106, 3));
  CHECK(rig.at_host() == Lines{"ack 106 msn 3"});
}

TEST_CASE("window: every 64th packet of a long message, and packets that ask for it", "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  std::uint32_t psn = 101;
  rig.host_sends(pair.request("write_first", psn++, {false, 1024}));
  for (unsigned i = 0; i < 62; ++i) rig.host_sends(pair.request("write_middle", psn++, {false, 1024}));
  CHECK(rig.at_host().empty());
  rig.host_sends(pair.request("write_middle", psn++, {false, 1024}));
  CHECK(rig.at_host() == Lines{"ack 164 msn 1"});
  rig.host_sends(pair.request("write_middle", psn++, {true, 1024}));
  CHECK(rig.at_host() == Lines{"ack 165 msn 1"});
  rig.host_sends(pair.request("write_middle", psn++, {false, 1024}));
  CHECK(rig.at_host().empty());
}

TEST_CASE("window: no ACK overtakes a READ", "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.read(101));
  rig.host_sends(long_write(pair, 102, 3));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 103 msn 2"});
}

TEST_CASE("window: what was acknowledged and lost is sent again from custody", "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(long_write(pair, 101, 3));
  rig.at_host();
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"write_first 101", "write_middle 102", "write_last 103!"});
}

TEST_CASE("window: a gap is NAKed when that completes no message", "[engine][window]") {
  Rig rig(window_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  const auto frames = long_write(pair, 101, 4);
  rig.host_sends({frames[0], frames[3]});
  CHECK(rig.at_host() == Lines{"nak0 102 msn 1"});
  rig.host_sends({frames[1], frames[2], frames[3]});
  CHECK(rig.at_host() == Lines{"ack 103 msn 1"});
  rig.at_wan();
  // After a whole message, the NAK would acknowledge that message.
  rig.host_sends(pair.write(106));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(104, 2));
  CHECK(rig.at_host() == Lines{"ack 104 msn 2", "nak0 105 msn 2"});
}
