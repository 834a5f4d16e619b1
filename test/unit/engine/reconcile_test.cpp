// SPDX-License-Identifier: BSD-3-Clause
// Design section 6: every answer of the responder, below and above h.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// The box acknowledges 101 and 102. 103 is a READ that holds back 104, so h is 103.
void two_below_h(Rig& rig, const Pair& pair) {
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.read(103), pair.write(104)});
  REQUIRE(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
  rig.at_wan();
  rig.wait(milliseconds(10));
}

}  // namespace

TEST_CASE("each ACK of the responder is told, with what was acknowledged before it came", "[engine][reconcile]") {
  struct Ack {
    custody::AckFields fields;
    bool confirmed;
    std::uint32_t frontier;
    bool operator==(const Ack&) const = default;
  };
  struct Told final : custody::Observer {
    void on_real_ack(const custody::FlowIdentity&, const custody::AckFields& fields, bool confirmed,
                     std::uint32_t frontier, Time) override {
      acks.push_back({fields, confirmed, frontier});
    }
    std::vector<Ack> acks;
  } told;
  Rig rig(small_settings(), &told);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.wan_sends({pair.ack(101, 2), pair.nak(102, 2), pair.ack(102, 3, 0x0a)});
  CHECK(told.acks == std::vector<Ack>{{{pair.a_qpn, 100, 1, 0x1f, 0xffff}, false, 100},
                                      {{pair.a_qpn, 101, 2, 0x1f, 0xffff}, true, 103},
                                      {{pair.a_qpn, 102, 3, 0x0a, 0xffff}, true, 103}});
}

TEST_CASE("ACK below h: releases and is absorbed", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 3);
  CHECK(rig.count(Counter::absorbed_acks) == 1);
}

TEST_CASE("one ACK for many requests releases them all", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  for (std::uint32_t psn = 101; psn < 111; ++psn) rig.host_sends(pair.write(psn));
  rig.at_host();
  rig.wan_sends(pair.ack(110, 11));
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("ACK at or above h: releases and is forwarded", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.silent_write(102), pair.silent_write(103)});
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  CHECK(rig.engine->custody_packets() == 1);
}

TEST_CASE("ACK beyond an unfinished READ: forwarded, nothing from the READ on is released", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.ack(104, 5));
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
  CHECK(rig.engine->custody_packets() == 2);
  CHECK(rig.count(Counter::responses_lost) == 1);
  // The requester asks again. The answer finishes the READ, and the request behind it is answered.
  rig.host_sends({pair.read(103), pair.write(104)});
  CHECK(rig.at_wan() == Lines{"read 103!", "write_only 104!"});
  rig.wan_sends({pair.answer("read_only", 103, 5), pair.ack(104, 5)});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("ACK beyond an unfinished READ moves h up to the READ", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.read(102), pair.write(103)});
  rig.wan_sends(pair.ack(103, 4));
  rig.at_host();
  rig.at_wan();
  // Nothing is owed, so the timer has nothing to resend.
  rig.wait(seconds(5));
  CHECK(rig.at_wan().empty());
}

TEST_CASE("an ACK of several requests measures the round trip of the last one only", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(1));
  const std::uint64_t samples = rig.engine->wan_rtt().count();
  rig.host_sends({pair.silent_write(101), pair.write(102), pair.write(103)});
  rig.wait(milliseconds(1));
  rig.wan_sends(pair.ack(103, 4));
  CHECK(rig.engine->wan_rtt().count() == samples + 1);
}

TEST_CASE("stale ACK: forwarded, nothing changes", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends({pair.ack(102, 3), pair.ack(101, 2), pair.ack(50, 1)});
  // 101 and 50 may answer a repeat, so the requester gets them.
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 50 msn 1"});
  CHECK(rig.count(Counter::absorbed_acks) == 1);
  CHECK(rig.count(Counter::answers_stale) == 2);
  CHECK(rig.engine->custody_packets() == 2);
  rig.wan_sends({pair.nak(101, 1), pair.rnr(102, 2, 1), pair.nak(101, 1, 2)});
  CHECK(rig.at_host() == Lines{"nak0 101 msn 1", "rnr1 102 msn 2", "nak2 101 msn 1"});
  CHECK(rig.count(Counter::answers_stale) == 5);
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.engine->custody_packets() == 2);
  CHECK(rig.at_wan().empty());
}

TEST_CASE("answers for PSNs never sent change nothing and are forwarded", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(
      {pair.ack(105, 9), pair.nak(200, 9), pair.rnr(300, 9, 1), pair.nak(400, 9, 2), pair.answer("read_only", 500, 9)});
  CHECK(rig.wan_out.empty());
  CHECK(rig.at_host() == Lines{"ack 105 msn 9", "nak0 200 msn 9", "rnr1 300 msn 9", "nak2 400 msn 9", "read_only 500"});
  CHECK(rig.engine->custody_packets() == 4);
}

TEST_CASE("an answer for a PSN never sent does not change what pseudo-ACKs look like", "[engine][reconcile]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair pair;
  rig.connect(pair);
  Bytes forged = pair.ack(900, 9);
  forged[5] ^= 0x55;  // another MAC; the ICRC does not cover it
  rig.wan_sends(forged);
  rig.at_host();
  rig.host_sends(pair.write(100));
  REQUIRE(rig.host_out.size() == 1);
  CHECK(rig.host_out[0].bytes[5] == pair.ack(100, 1)[5]);
}

TEST_CASE("PSN NAK below h: releases what precedes, resends the rest in order, is absorbed", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.nak(102, 2));
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"write_only 102!", "read 103!", "write_only 104!"});
  CHECK(rig.count(Counter::absorbed_psn_naks) == 1);
}

TEST_CASE("the last packet of a resend carries AckReq with a good ICRC, the held copy stays as it was",
          "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.silent_write(102), pair.request("write_only", 103, {false, 2000})});
  rig.at_host();
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102", "write_only 103!"});
  rig.host_sends(pair.write(104));
  rig.at_wan();
  rig.wait(milliseconds(50));
  rig.at_wan();
  rig.wan_sends(pair.nak(102, 2));
  CHECK(rig.at_wan() == Lines{"write_only 102", "write_only 103", "write_only 104!"});
}

TEST_CASE("PSN NAK at or above h: forwarded; the requester's resend passes and stays in custody",
          "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.nak(103, 3));
  CHECK(rig.at_host() == Lines{"nak0 103 msn 3"});
  CHECK(rig.at_wan().empty());
  CHECK(rig.engine->custody_packets() == 2);
  rig.host_sends({pair.read(103), pair.write(104)});
  CHECK(rig.at_wan() == Lines{"read 103!", "write_only 104!"});
  rig.wan_sends({pair.answer("read_only", 103, 4), pair.ack(104, 5)});
  CHECK(rig.at_host() == Lines{"read_only 103", "ack 104 msn 5"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("a repeated PSN NAK while the resend is under way is ignored", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.wait(milliseconds(10));
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan().size() == 2);
  rig.wait(milliseconds(1));
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan().empty());
  CHECK(rig.count(Counter::answers_ignored) == 1);
  // A round trip later, the NAK is about the resend.
  rig.wait(milliseconds(10));
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!"});
}

TEST_CASE("a second loss within the resend: the next NAK resends from there", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  rig.at_host();
  rig.wan_sends(pair.nak(101, 1));
  rig.at_wan();
  rig.wan_sends(pair.nak(103, 3));
  CHECK(rig.at_wan() == Lines{"write_only 103!"});
}

TEST_CASE("RNR NAK below h: absorbed, and the resend waits the time in the table", "[engine][reconcile]") {
  // IBTA vol. 1, table 45.
  const auto [timer, wait] = GENERATE(table<int, Duration>({{1, microseconds(10)},
                                                            {14, microseconds(1280)},
                                                            {20, microseconds(10240)},
                                                            {31, microseconds(491520)},
                                                            {0, microseconds(655360)}}));
  auto settings = small_settings();
  settings.rto_min = seconds(2);
  Rig rig(settings);
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.rnr(102, 2, static_cast<std::uint8_t>(timer)));
  rig.wait(wait - 1);
  CHECK(rig.at_wan().empty());
  rig.wait(2);
  CHECK(rig.at_wan() == Lines{"write_only 102!", "read 103!", "write_only 104!"});
  // The requester waits for the READ, and its own timer runs out after 67 ms.
  const bool told = wait > milliseconds(67);
  CHECK(rig.at_host() == (told ? Lines{"rnr" + std::to_string(timer) + " 103 msn 3"} : Lines{}));
}

TEST_CASE("READs repeated within a round trip: the first repeat goes, in case the request was lost",
          "[engine][repeats]") {
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wait(milliseconds(30));
  rig.wan_sends(pair.ack(100, 1));
  rig.host_sends(pair.read(101));
  rig.at_wan();
  rig.wait(milliseconds(4));
  rig.host_sends(pair.read(101));
  CHECK(rig.at_wan().size() == 1);
  rig.wait(milliseconds(4));
  rig.host_sends(pair.read(101));
  rig.wait(milliseconds(25));
  rig.host_sends(pair.read(101));
  CHECK(rig.at_wan().empty());
  CHECK(rig.count(Counter::absorbed_unanswerable) == 2);
  rig.wait(milliseconds(2));
  rig.host_sends(pair.read(101));
  CHECK(rig.at_wan().size() == 1);
}

TEST_CASE("RNR NAK followed by a PSN NAK for the same PSN: the wait goes on", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends({pair.rnr(102, 2, 14), pair.nak(102, 2)});
  CHECK(rig.at_wan().empty());
  CHECK(rig.at_host().empty());
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan().empty());
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan().size() == 3);
  CHECK(rig.count(Counter::answers_ignored) == 1);
}

TEST_CASE("new requests queue behind an RNR wait", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_wan();
  rig.at_host();
  rig.wan_sends(pair.rnr(101, 1, 14));
  rig.host_sends(pair.write(103));
  CHECK(rig.at_wan().empty());
  CHECK(rig.at_host().empty());
  rig.wait(milliseconds(2));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!"});
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
}

TEST_CASE("a loss, or an RNR NAK: no more under way than three times what came through", "[engine][reconcile]") {
  const bool not_ready = GENERATE(true, false);
  constexpr std::uint32_t kFirst = 101, kCount = 150;
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  for (std::uint32_t i = 0; i < kCount; ++i) rig.host_sends(pair.write(kFirst + i));
  CHECK(rig.at_wan().size() == kCount);
  CHECK(rig.at_host().size() == kCount);
  rig.wan_sends(not_ready ? pair.rnr(kFirst, 1, 1) : pair.nak(kFirst, 1));
  rig.wait(milliseconds(1));
  CHECK(rig.at_wan().size() == 64);  // one early loss says little
  rig.wan_sends(pair.ack(kFirst + 39, 41));
  CHECK(rig.at_wan().size() == kCount - 64);  // 3 x 40 would be more than there are
}

TEST_CASE("a packet that comes late is asked for, and what overtook it: that is one loss, not two",
          "[engine][reconcile]") {
  constexpr std::uint32_t kFirst = 101, kCameThrough = 100, kCount = 300;
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  for (std::uint32_t i = 0; i < kCount; ++i) rig.host_sends(pair.write(kFirst + i));
  rig.wait(milliseconds(10));
  const std::uint32_t missing = kFirst + kCameThrough;
  rig.wan_sends(pair.ack(missing - 1, kCameThrough + 1));
  rig.at_host();
  rig.at_wan();
  rig.wan_sends(pair.nak(missing, kCameThrough + 1));
  CHECK(rig.at_wan().size() == kCount - kCameThrough);
  rig.wait(milliseconds(1));
  rig.wan_sends(pair.nak(missing + 1, kCameThrough + 2));
  CHECK(rig.at_wan().size() == kCount - kCameThrough - 1);  // of 3 x 100 at most; two losses would leave 3 x 50
  // The resend has its round trip; then it is another loss.
  rig.wait(milliseconds(10));
  rig.at_wan();
  rig.wan_sends(pair.nak(missing + 2, kCameThrough + 3));
  CHECK(rig.at_wan().size() == 3 * (kCameThrough + 2) / 2);
}

TEST_CASE("RNR NAK at or above h: forwarded, the requester waits and resends", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.request("send_only", 102)});
  rig.at_wan();
  rig.wan_sends(pair.answer("read_only", 101, 2));
  rig.at_host();
  Rig unconfirmed;
  unconfirmed.connect(pair);
  unconfirmed.host_sends(pair.request("send_only", 100));
  unconfirmed.wan_sends(pair.rnr(100, 0, 14));
  CHECK(unconfirmed.at_host() == Lines{"rnr14 100 msn 0"});
  unconfirmed.at_wan();
  unconfirmed.wait(milliseconds(2));
  unconfirmed.host_sends(pair.request("send_only", 100));
  CHECK(unconfirmed.at_wan() == Lines{"send_only 100!"});
}

TEST_CASE("fatal NAK below h: the flow fails, the requester hears of it at h with the box's MSN",
          "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1, 2));
  CHECK(rig.at_host().empty());  // an idle requester would ignore a NAK
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.count(Counter::failed_bytes) == 2 * pair.write(101).size());
  rig.host_sends({pair.write(103), pair.write(104)});
  CHECK(rig.at_host() == Lines{"nak2 103 msn 3"});
  CHECK(rig.at_wan().empty());
}

TEST_CASE("fatal NAK below h with requests under way: the requester hears at once", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.nak(101, 1, 1));
  CHECK(rig.at_host() == Lines{"nak1 103 msn 3"});
}

TEST_CASE(
    "failed while a pseudo-ACK was lost: once the responder shows that it misses what came before, the fatal NAK "
    "names the requester's own oldest PSN",
    "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  rig.wait(small_settings().give_up + seconds(3));
  REQUIRE(rig.count(Counter::flows_failed) == 1);
  rig.at_host();
  rig.at_wan();
  // These requests may come from the next user of the QPN.
  rig.host_sends({pair.write(102), pair.write(103)});
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"write_only 102!", "write_only 103!"});
  // They do not. A NAK at 104 would complete the two requests that the requester asks about.
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_host() == Lines{"nak0 101 msn 1", "nak3 102 msn 4"});
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host() == Lines{"nak3 104 msn 4"});
}

TEST_CASE("fatal NAK at or above h: forwarded", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.nak(103, 3, 2));
  CHECK(rig.at_host() == Lines{"nak2 103 msn 3"});
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::flows_failed) == 0);
}

TEST_CASE("a READ response answers what was before the READ", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends(pair.answer("read_only", 103, 4));
  CHECK(rig.at_host() == Lines{"read_only 103", "ack 104 msn 5"});
  CHECK(rig.engine->custody_packets() == 1);
}

TEST_CASE("a response that cannot answer the request of its PSN ends nothing", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.atomic(101), pair.read(102), pair.write(103)});
  rig.wan_sends({pair.answer("read_only", 101, 2), pair.answer("read_middle", 101, 2)});
  CHECK(rig.at_host() == Lines{"read_only 101", "read_middle 101"});
  rig.wan_sends(pair.answer("atomic_answer", 101, 2));
  CHECK(rig.at_host() == Lines{"atomic_answer 101"});
  rig.wan_sends({pair.answer("read_first", 102, 3), pair.answer("atomic_answer", 102, 3)});
  CHECK(rig.at_host() == Lines{"read_first 102", "atomic_answer 102"});
  CHECK(rig.count(Counter::responses_unfit) == 4);
  CHECK(rig.engine->custody_packets() == 2);
  rig.wan_sends(pair.answer("read_only", 102, 3));
  CHECK(rig.at_host() == Lines{"read_only 102", "ack 103 msn 4"});
}

TEST_CASE("a lost READ request is the requester's to repeat; what is behind it stays", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(102)});
  rig.at_wan();
  rig.wait(seconds(3));
  CHECK(rig.at_wan().empty());
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_host() == Lines{"nak0 101 msn 1"});
  rig.host_sends({pair.read(101), pair.write(102)});
  CHECK(rig.at_wan() == Lines{"read 101!", "write_only 102!"});
}

TEST_CASE("after an RNR wait that is longer than the timeout everything goes again, and only once",
          "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 3));
  rig.wan_sends(pair.rnr(101, 1, 0));  // 655 ms
  rig.at_wan();
  rig.wait(milliseconds(650));
  CHECK(rig.at_wan().empty());
  rig.wait(milliseconds(7));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!"});
}

TEST_CASE("CNP is passed on and halves what may be unanswered", "[engine][reconcile]") {
  Rig rig(four_unanswered());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wan_sends(pair.cnp());
  CHECK(rig.at_host() == Lines{"cnp 0"});
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
}

TEST_CASE("frames that a switch has marked are counted", "[engine][reconcile]") {
  Pair pair;
  SECTION("IPv4") {}
  SECTION("IPv6") {
    pair.a_ip = "2001:db8::1";
    pair.b_ip = "2001:db8::2";
  }
  Rig rig;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  CHECK(rig.count(Counter::ecn_marked) == 0);
  rig.host_sends(pair.write_again(102));
  CHECK(rig.count(Counter::ecn_marked) == 1);
}

TEST_CASE("withheld only because of a CNP: the ACK comes when its round trip is over", "[engine][reconcile]") {
  Rig rig(four_unanswered());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wan_sends({pair.cnp(), pair.ack(101, 2)});
  rig.at_host();
  rig.host_sends({pair.write(102), pair.write(103), pair.write(104)});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
  rig.wait(milliseconds(50));
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
}

TEST_CASE("withheld because of a CNP that comes amid custody: the ACK comes one round trip after the CNP",
          "[engine][reconcile]") {
  Rig rig(four_unanswered());
  const Pair pair;
  rig.connect_confirmed(pair);  // the round trip is 10 ms
  rig.host_sends(pair.write(101));
  rig.wan_sends(pair.cnp());
  rig.at_host();
  rig.host_sends({pair.write(102), pair.write(103)});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  rig.wait(milliseconds(9));
  CHECK(rig.at_host().empty());
  rig.wait(milliseconds(2));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
}

TEST_CASE("a CNP whose ICRC is wrong is passed on and changes nothing", "[engine][reconcile]") {
  Rig rig(four_unanswered());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wan_sends(damaged(pair.cnp()));
  CHECK(rig.at_host().size() == 1);
  CHECK(rig.count(Counter::icrc_bad) == 1);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "ack 103 msn 4"});
}

TEST_CASE("the other direction passes: B's requests, A's answers", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wan_sends(pair.b_write(500));
  CHECK(rig.at_host() == Lines{"write_only 500!"});
  rig.host_sends(pair.a_ack(500, 1));
  CHECK(rig.at_wan() == Lines{"ack 500 msn 1"});
}

TEST_CASE("an AETH with a reserved syndrome is forwarded and changes nothing", "[engine][reconcile]") {
  Rig rig;
  const Pair pair;
  two_below_h(rig, pair);
  rig.wan_sends({pair.ack(101, 2, 0x5f), pair.ack(102, 3, 0x9f)});
  CHECK(rig.host_out.size() == 2);
  CHECK(rig.engine->custody_packets() == 4);
}
