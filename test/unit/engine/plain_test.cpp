// SPDX-License-Identifier: BSD-3-Clause
// Design section 5: where custody stops (limits, drain, unknown opcodes) the packets do not stop, and how custody
// begins again.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// RC opcode 0x1f does not exist.
Bytes strange(const Pair& pair, std::uint32_t psn) {
  Bytes frame = pair.write(psn);
  Seen seen(frame);
  frame[seen.bth] = 0x1f;
  const std::uint32_t icrc = independent_icrc(frame, seen.ip);
  for (std::size_t i = 0; i < 4; ++i) frame[frame.size() - 4 + i] = static_cast<std::uint8_t>(icrc >> (8 * i));
  return frame;
}

/// Of the only connection.
std::uint32_t passed(const Rig& rig, PlainCause cause) {
  std::vector<engine::ConnectionState> all;
  rig.engine->describe(0, rig.engine->connection_slots(), rig.now, all);
  return all.at(0).plain[static_cast<std::size_t>(cause)];
}
std::uint32_t passed(const Rig& rig) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kPlainCauses; ++i) sum += passed(rig, static_cast<PlainCause>(i));
  return sum;
}

}  // namespace

TEST_CASE("an unknown opcode is forwarded; nothing from it on is acknowledged until the responder's ACK gives the MSN",
          "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), strange(pair, 102), pair.write(103)});
  CHECK(rig.at_wan() == Lines{"write_only 101!", "opcode31 102!", "write_only 103!"});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  // The responder may have counted the strange request as two messages.
  rig.wan_sends(pair.ack(103, 5));
  CHECK(rig.at_host() == Lines{"ack 103 msn 5"});
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(104, 6));
  CHECK(rig.at_host() == Lines{"ack 104 msn 6"});
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"ack 105 msn 7"});
  CHECK(rig.count(Counter::flows_rejoined) == 1);
}

TEST_CASE("MSN wraps from 0xffffff to 0", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(strange(pair, 101));
  rig.wan_sends(pair.ack(101, 0xfffffd));
  rig.host_sends(pair.write(102));
  rig.wan_sends(pair.ack(102, 0xfffffe));
  rig.at_host();
  rig.host_sends({pair.write(103), pair.write(104)});
  CHECK(rig.at_host() == Lines{"ack 103 msn 16777215", "ack 104 msn 0"});
  rig.wan_sends(pair.ack(104, 0));
  CHECK(rig.count(Counter::msn_disagreed) == 0);
}

TEST_CASE("an answer for what is before custody does not give rejoining its MSN", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({strange(pair, 101), strange(pair, 102), pair.write(103), pair.write(104)});
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  rig.wan_sends(pair.ack(102, 7));
  CHECK(rig.at_host() == Lines{"ack 102 msn 7", "ack 103 msn 8", "ack 104 msn 9"});
}

TEST_CASE("one ACK for what is before custody and some of custody gives rejoining its MSN", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({strange(pair, 101), pair.write(102), pair.write(103)});
  rig.wan_sends(pair.ack(103, 4));
  rig.host_sends(pair.write(104));
  rig.wan_sends(pair.ack(104, 5));
  rig.at_host();
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"ack 105 msn 6"});
}

TEST_CASE("an unknown opcode while rejoining and a full WAN port: custody's packets survive",
          "[engine][plain][ports]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(strange(pair, 101));
  rig.wan_sends(pair.ack(101, 2));
  rig.at_wan();
  rig.allow(Side::wan, 0);
  rig.host_sends({pair.write(102), pair.write(103), strange(pair, 104), pair.write(105)});
  rig.allow(Side::wan, Rig::kUnlimited);
  rig.wait(milliseconds(1));
  // No NAK may ask for them again while the MSN is unknown. So all of them pass once, and out of order, as plain RoCE
  // may be.
  Lines out = rig.at_wan();
  std::sort(out.begin(), out.end());
  CHECK(out == Lines{"opcode31 104!", "write_only 102!", "write_only 103!", "write_only 105!"});
}

TEST_CASE("custody limit of a flow in bytes: beyond it packets pass plain, in order, and custody begins again",
          "[engine][plain]") {
  auto settings = small_settings();
  settings.custody_flow_bytes = 3 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103), pair.write(104), pair.write(105)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "ack 103 msn 4"});
  CHECK(rig.wan_out.size() == 5);
  CHECK(rig.count(Counter::custody_refused_flow) == 1);
  CHECK(rig.engine->custody_packets() == 3);
  rig.wan_sends({pair.ack(103, 4), pair.ack(105, 6)});
  CHECK(rig.at_host() == Lines{"ack 105 msn 6"});
  rig.host_sends({pair.write(106), pair.write(107)});
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(106, 7));
  CHECK(rig.at_host() == Lines{"ack 106 msn 7", "ack 107 msn 8"});
}

TEST_CASE("where custody was let go, a request before all that was seen is no new one", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.writes(100, 3));
  rig.host_sends(pair.write(100));
  REQUIRE(rig.engine->custody_packets() == 0);
  const std::uint64_t requests = rig.count(Counter::requests);
  rig.host_sends(pair.write(99));
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::requests) == requests);
}

TEST_CASE("the response of a READ that passed plain releases the custody before it", "[engine][plain]") {
  auto settings = small_settings();
  settings.custody_flow_bytes = 2 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.silent_write(102), pair.read(103)});
  CHECK(rig.engine->custody_packets() == 2);
  rig.wan_sends(pair.answer("read_only", 103, 4));
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("custody limit of the box in bytes", "[engine][plain]") {
  auto settings = small_settings();
  settings.custody_box_bytes = Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  CHECK(rig.count(Counter::custody_refused_box) == 1);
}

TEST_CASE("custody limit in large mbufs; small frames do not count", "[engine][plain]") {
  auto settings = small_settings();
  settings.custody_mbufs = 1;
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102, {true, 4000}), pair.write(103, {true, 4000}), pair.write(104)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
  CHECK(rig.count(Counter::custody_refused_mbufs) == 1);
  CHECK(rig.wan_out.size() == 4);
}

TEST_CASE("NAK below h with plain packets under way: resend, and a NAK at h to the requester", "[engine][plain]") {
  auto settings = small_settings();
  settings.custody_flow_bytes = 2 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103), pair.write(104)});
  rig.at_host();
  rig.at_wan();
  rig.wan_sends(pair.nak(102, 2));
  CHECK(rig.at_wan() == Lines{"write_only 102!"});
  CHECK(rig.at_host() == Lines{"nak0 103 msn 3"});
  rig.host_sends({pair.write(103), pair.write(104)});
  CHECK(rig.at_wan() == Lines{"write_only 103!", "write_only 104!"});
  rig.wan_sends({pair.ack(102, 3), pair.ack(104, 5)});
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("drain: no new custody, no new pseudo-ACKs, what is held is still delivered", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.engine->set_draining(true);
  rig.at_host();
  rig.host_sends({pair.write(102), pair.write(103)});
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 1);
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  CHECK(rig.at_host() == Lines{"nak0 102 msn 2"});
  rig.host_sends({pair.write(102), pair.write(103)});
  rig.wan_sends({pair.ack(101, 2), pair.ack(103, 4)});
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
  CHECK(rig.engine->custody_packets() == 0);
  rig.engine->set_draining(false);
  rig.host_sends(pair.write(104));
  rig.wan_sends(pair.ack(104, 5));
  rig.at_host();
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"ack 105 msn 6"});
}

TEST_CASE("drain while requests wait to be acknowledged: their own answers reach the requester", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(102)});
  rig.engine->set_draining(true);
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101"});
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("limit on unanswered bytes: pseudo-ACKs wait and come when answers do", "[engine][plain]") {
  auto settings = small_settings();
  settings.initial_window_bytes = 2 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103), pair.write(104)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
  CHECK(rig.wan_out.size() == 4);
  CHECK(rig.count(Counter::pseudo_acks_withheld) == 1);
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
  rig.wan_sends(pair.ack(104, 5));
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
}

TEST_CASE("an MSN that disagrees later: no more acknowledging, custody is still delivered", "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.wan_sends(pair.ack(101, 3));  // one more than was counted
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 1);
  CHECK(rig.count(Counter::msn_disagreed) == 1);
  rig.at_wan();
  rig.host_sends(pair.write(103));
  CHECK(rig.at_wan() == Lines{"write_only 103!"});
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.nak(102, 3));
  CHECK(rig.at_wan() == Lines{"write_only 102!"});
}

TEST_CASE("an MSN that is off by more than one is another life's: the answer changes nothing and is forwarded",
          "[engine][plain]") {
  const std::uint32_t msn = GENERATE(0u, 4u, 9u, 0xffffffu);  // 2 were counted
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.at_wan();
  const std::string said = " 101 msn " + std::to_string(msn);
  rig.wan_sends({pair.ack(101, msn), pair.rnr(101, msn == 0 ? 9 : msn, 1), pair.nak(101, msn == 0 ? 9 : msn, 2)});
  CHECK(rig.host_out.size() == 3);
  CHECK(rig.at_host()[0] == "ack" + said);
  CHECK(rig.count(Counter::answers_disagreed) == 3);
  CHECK(rig.count(Counter::msn_disagreed) == 0);
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.engine->custody_packets() == 2);
  CHECK(rig.at_wan().empty());
  // The box still acknowledges and releases.
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
  rig.wan_sends(pair.ack(103, 4));
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("a PSN far from everything under way is another connection's: it passes, both ways", "[engine][plain]") {
  // A host that crashed sends no DREQ. Its QPN comes back in a connection that was set up over TCP.
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.at_host();
  rig.at_wan();
  for (const std::uint32_t psn : {101u + 70000u, 101u - 70000u}) {
    rig.host_sends(pair.write(psn & 0xffffff));
    CHECK(rig.at_wan().size() == 1);
    rig.wan_sends(pair.ack(psn & 0xffffff, 1));
    CHECK(rig.at_host().size() == 1);
  }
  CHECK(rig.count(Counter::requests_implausible) == 2);
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
}

TEST_CASE("requests whose answers take another path: custody is given back and the flow is plain for good",
          "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.write(101)});
  CHECK(rig.engine->custody_packets() == 2);
  rig.wait(seconds(61));
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::flows_unanswered) == 1);
  CHECK(rig.count(Counter::flows_failed) == 0);
  rig.at_wan();
  rig.host_sends(pair.write(102));
  CHECK(rig.at_wan() == Lines{"write_only 102!"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("requests that pass plain are counted by cause: the first one's, also for those behind it",
          "[engine][plain]") {
  auto settings = small_settings();
  settings.custody_flow_bytes = 3 * Pair{}.write(0).size();
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  CHECK(passed(rig) == 0);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103), pair.write(104), pair.write(105)});
  CHECK(passed(rig, PlainCause::custody_flow) == 2);
  rig.host_sends(pair.write(105));  // a repeat is not counted twice
  rig.wan_sends({pair.ack(103, 4), pair.ack(105, 6)});
  rig.host_sends(pair.write(106));
  rig.wan_sends(pair.ack(106, 7));
  CHECK(passed(rig) == 2);  // what custody takes is none of them

  rig.wait(seconds(1));  // a gap long after the last request may be another life's: it passes
  rig.host_sends(pair.write(108));
  CHECK(passed(rig, PlainCause::gap) + passed(rig, PlainCause::doubted) == 1);
  CHECK(passed(rig) == 3);
}

TEST_CASE("what passes while draining, with policy off, or before a real answer, has its own cause",
          "[engine][plain]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.engine->set_draining(true);
  rig.host_sends({pair.write(101), pair.write(102)});
  CHECK(passed(rig, PlainCause::draining) == 2);
  rig.engine->set_draining(false);
  rig.wan_sends(pair.ack(102, 3));

  auto settings = small_settings();
  settings.policies.fallback = flow::Policy::off;
  rig.engine->reconfigure(settings);
  CHECK(rig.engine->apply_policies(0, rig.engine->connection_slots()) == 1);
  rig.host_sends(pair.write(103));
  CHECK(passed(rig, PlainCause::policy) == 1);
  CHECK(passed(rig) == 3);
}
