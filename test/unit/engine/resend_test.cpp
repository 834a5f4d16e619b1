// SPDX-License-Identifier: BSD-3-Clause
// Design section 6: the timer, doubling, the probe, giving up, the WAN's pace.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

TEST_CASE("no answer: the oldest packet asks again, with AckReq, ever more slowly; its answer lets the rest follow",
          "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.write(102)});
  rig.at_wan();
  rig.wait(milliseconds(31));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  rig.wait(milliseconds(61));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  rig.wait(seconds(20));
  const std::size_t probes = rig.wan_out.size();
  CHECK(probes >= 8);
  CHECK(probes < 20);
  CHECK(rig.at_wan().back() == "write_only 101!");
  // The path works again.
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_wan() == Lines{"write_only 102!"});
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.engine->custody_packets() == 0);
  rig.wait(seconds(10));
  CHECK(rig.at_wan().empty());
  CHECK(rig.engine->next_deadline() == kNever);
  CHECK(rig.count(Counter::flows_failed) == 0);
}

TEST_CASE("requests that come while the probe is out wait, unacknowledged, and go when it is answered",
          "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wait(seconds(3));
  rig.at_wan();
  rig.at_host();
  rig.host_sends(pair.write(102));
  CHECK(rig.at_wan().empty());
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_wan() == Lines{"write_only 102!"});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
}

TEST_CASE("probes that are answered sooner than anything before: the second such answer is believed",
          "[engine][resend]") {
  Rig rig;
  const Pair pair;
  constexpr Duration kQueued = milliseconds(40), kPath = milliseconds(10);
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wait(kQueued);
  rig.wan_sends(pair.ack(100, 1));
  rig.host_sends(pair.writes(101, 4));  // all are lost
  rig.at_wan();
  const auto probed = [&](std::uint32_t psn) {
    for (int i = 0; rig.wan_out.empty() && i < 1000; ++i) rig.wait(milliseconds(1));
    CHECK(rig.at_wan() == Lines{"write_only " + std::to_string(psn) + "!"});
    rig.wait(kPath);
    rig.wan_sends(pair.ack(psn, psn - 99));
  };
  probed(101);
  CHECK(rig.at_wan().empty());  // the ACK may be a late answer to the first copy, and others would follow
  probed(102);
  CHECK(rig.at_wan() == Lines{"write_only 103!", "write_only 104!"});
}

TEST_CASE("nothing owed: the box resends nothing by timer", "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.at_wan();
  rig.wait(seconds(200));
  CHECK(rig.at_wan().empty());
  CHECK(rig.count(Counter::flows_failed) == 0);
}

TEST_CASE("given up by time: the next request is answered by the fatal NAK at h", "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.wait(seconds(58));
  CHECK(rig.count(Counter::flows_failed) == 0);
  rig.wait(seconds(5));
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.at_host().empty());
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host() == Lines{"nak3 103 msn 3"});
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host() == Lines{"nak3 103 msn 3"});
}

TEST_CASE("given up while requests wait unsent: every frame is accounted for", "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wait(seconds(3));
  rig.host_sends({pair.write(102), pair.write(103)});
  rig.at_host();
  rig.wait(seconds(70));
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.at_host().empty());  // nobody has answered for so long that the QPN may have another user
  // The requester still waits: it repeats its request and gets the NAK.
  rig.host_sends({pair.write(102), pair.write(103)});
  CHECK(rig.at_host() == Lines{"nak3 102 msn 2"});
  CHECK(rig.at_wan().back() == "write_only 101!");  // sent before that
}

TEST_CASE("give_up is at least retry count x ACK timeout of the connection", "[engine][resend]") {
  Rig rig;
  Pair pair;
  pair.ack_timeout = 22;  // 17 s, 7 times
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wait(seconds(115));
  CHECK(rig.count(Counter::flows_failed) == 0);
  rig.wait(seconds(10));
  CHECK(rig.count(Counter::flows_failed) == 1);
}

TEST_CASE("a receiver that stays busy lives: give_up counts from its last RNR NAK", "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.request("send_only", 101));
  for (int i = 0; i < 200; ++i) {
    rig.wan_sends(pair.rnr(101, 1, 0));
    rig.wait(milliseconds(700));
  }
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.engine->custody_packets() == 1);
  rig.wait(seconds(59));
  CHECK(rig.count(Counter::flows_failed) == 0);
  rig.wait(seconds(4));
  CHECK(rig.count(Counter::flows_failed) == 1);
}

TEST_CASE("a responder that answers lives though it does not go on: a PSN NAK, its last ACK again",
          "[engine][resend]") {
  Rig rig;
  const Pair pair;
  const bool nak = GENERATE(false, true);
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  for (int i = 0; i < 9; ++i) {
    rig.wait(seconds(30));
    rig.wan_sends(nak ? pair.nak(101, 1) : pair.ack(100, 1));
  }
  CHECK(rig.count(Counter::flows_failed) == 0);
  rig.wait(seconds(64));
  CHECK(rig.count(Counter::flows_failed) == 1);
}

TEST_CASE("a responder that says PSN NAK and nothing else for ever: the flow ends", "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  for (int i = 0; i < 130; ++i) {
    CHECK(rig.count(Counter::flows_failed) == (i < 124 ? 0 : 1));
    rig.wan_sends(pair.nak(101, 1));
    rig.wait(seconds(1));
  }
}

TEST_CASE("PSN NAKs before the last progress do not count", "[engine][resend]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  for (std::uint32_t psn = 101; psn < 121; ++psn) {
    rig.host_sends(pair.write(psn));
    for (int i = 0; i < 5; ++i) {
      rig.wan_sends(pair.nak(psn, psn - 100));
      rig.wait(seconds(1));
    }
    rig.wan_sends(pair.ack(psn, psn - 99));
  }
  rig.host_sends(pair.write(121));
  for (int i = 0; i < 9; ++i) {
    rig.wan_sends(pair.nak(121, 21));
    rig.wait(seconds(10));
  }
  CHECK(rig.count(Counter::flows_failed) == 0);
}

TEST_CASE("frames leave at the WAN's rate, in order, and none is taken as lost while it waits", "[engine][resend]") {
  auto settings = small_settings();
  settings.wan_rate_bps = 1'000'000;  // 4 KiB take 33 ms, ten times that is longer than the resend timer
  settings.rto_min = milliseconds(200);
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(100));
  rig.host_sends(pair.writes(101, 10, {true, 4000}));
  CHECK(rig.wan_out.size() == 1);
  for (std::uint32_t i = 0; i < 10; ++i) {
    rig.wait(milliseconds(33));
    rig.wan_sends(pair.ack(101 + i, 2 + i));
  }
  CHECK(rig.wan_out.size() == 10);
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::resends_timer) == 0);
}

TEST_CASE("a resend that waits for its turn is not taken as lost", "[engine][resend]") {
  auto settings = small_settings();
  settings.wan_rate_bps = 1'000'000;
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(100));
  rig.host_sends(pair.write(101));
  rig.wait(milliseconds(5));
  // Other frames fill the pipe for longer than the resend timer, then the NAK comes.
  for (int i = 0; i < 30; ++i) rig.host_sends(Bytes(4000, 0));
  rig.wan_sends(pair.nak(101, 1));
  rig.at_wan();
  rig.wait(milliseconds(90));
  CHECK(rig.at_wan().empty());
  CHECK(rig.count(Counter::resends_timer) == 0);
  rig.wait(milliseconds(20));
  CHECK(rig.wan_out.size() >= 1);
}

TEST_CASE("new requests do not overtake a resend that is paced", "[engine][resend]") {
  auto settings = small_settings();
  settings.wan_rate_bps = 10'000'000;
  settings.rto_min = seconds(2);
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  rig.wait(milliseconds(10));
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  rig.host_sends(pair.write(104));
  rig.wait(milliseconds(10));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!", "write_only 104!"});
}
