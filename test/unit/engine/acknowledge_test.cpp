// SPDX-License-Identifier: BSD-3-Clause
// Design section 5: which requests are acknowledged, when, and with which fields.
#include <catch2/catch.hpp>

#include "support/rig.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// A READ of `bytes` from PSN 101 on and a WRITE behind its responses have gone, and the first of these has come.
void read_has_begun(Rig& rig, const Pair& pair, std::uint32_t bytes) {
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101, bytes), pair.write(101 + (bytes + 1023) / 1024)});
  rig.wan_sends(pair.answer("read_first", 101, 2));
  rig.at_host();
}

}  // namespace

TEST_CASE("only packets with AckReq are acknowledged, and the ACK's MSN counts all messages", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.silent_write(102), pair.write(103)});
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
}

TEST_CASE("messages of several packets count once, when their last packet is there", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.request("write_first", 101, {true, 1024}), pair.request("write_middle", 102, {false, 1024}),
                  pair.request("write_last", 103, {true, 8})});
  CHECK(rig.at_host() == Lines{"ack 101 msn 1", "ack 103 msn 2"});
}

TEST_CASE("every kind of SEND and WRITE is acknowledged", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  std::uint32_t psn = 101;
  for (const char* name : {"send_only", "send_only_imm", "send_only_inv", "write_only", "write_only_imm"}) {
    rig.host_sends(pair.request(name, psn));
    CHECK(rig.at_host() == Lines{"ack " + std::to_string(psn) + " msn " + std::to_string(psn - 99)});
    ++psn;
  }
}

TEST_CASE("a pseudo-ACK equals the responder's own in every byte", "[engine][acknowledge]") {
  for (const auto vlan : {std::uint16_t{0}, std::uint16_t{7}})
    for (const bool v6 : {false, true}) {
      Rig rig;
      Pair pair;
      pair.vlan = vlan;
      if (v6) pair.a_ip = "fd00::1", pair.b_ip = "fd00::2";
      rig.connect_confirmed(pair);
      rig.host_sends(pair.write(101));
      REQUIRE(rig.host_out.size() == 1);
      Bytes own = pair.ack(101, 2);
      own.resize(std::max<std::size_t>(own.size(), 60));
      CHECK(rig.host_out[0].bytes == own);
    }
}

TEST_CASE("MSN and PSN wrap at 2^24", "[engine][acknowledge]") {
  auto settings = small_settings();
  Rig rig(settings);
  Pair pair;
  pair.a_psn = 0xfffffe;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(0xffffff), pair.write(0), pair.write(1)});
  CHECK(rig.at_host() == Lines{"ack 16777215 msn 2", "ack 0 msn 3", "ack 1 msn 4"});
  rig.wan_sends(pair.ack(1, 4));
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("a READ blocks everything behind it until its last response has passed in sequence",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.read(102, 3000), pair.write(105), pair.write(106)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  rig.wan_sends({pair.answer("read_first", 102, 3), pair.answer("read_middle", 103, 3)});
  CHECK(rig.at_host() == Lines{"read_first 102", "read_middle 103"});
  rig.wan_sends(pair.answer("read_last", 104, 3));
  CHECK(rig.at_host() == Lines{"read_last 104", "ack 105 msn 4", "ack 106 msn 5"});
}

TEST_CASE("an atomic blocks as a READ does", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.atomic(101), pair.write(102)});
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.answer("atomic_answer", 101, 2));
  CHECK(rig.at_host() == Lines{"atomic_answer 101", "ack 102 msn 3"});
}

TEST_CASE("two READs in a row: each holds back what is behind it", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101, 2000), pair.write(103), pair.read(104, 2000), pair.write(106)});
  rig.wan_sends({pair.answer("read_first", 101, 2), pair.answer("read_last", 102, 2)});
  CHECK(rig.at_host() == Lines{"read_first 101", "read_last 102", "ack 103 msn 3"});
  rig.wan_sends({pair.answer("read_first", 104, 4), pair.answer("read_last", 105, 4)});
  CHECK(rig.at_host() == Lines{"read_first 104", "read_last 105", "ack 106 msn 5"});
  CHECK(rig.engine->custody_packets() == 1);
}

TEST_CASE("READ responses out of sequence do not finish the READ", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101, 3000), pair.write(104)});
  rig.wan_sends({pair.answer("read_first", 101, 2), pair.answer("read_last", 103, 2)});
  CHECK(rig.at_host() == Lines{"read_first 101", "read_last 103"});
}

// As rxe does under NVMe over RDMA, where the WAN loses packets.
TEST_CASE("a READ is asked for again while its responses arrive: the last of them finishes it",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  read_has_begun(rig, pair, 3000);
  rig.wan_sends(pair.answer("read_middle", 102, 2));
  rig.at_host();
  rig.host_sends(pair.read(101, 3000));
  rig.wan_sends(pair.answer("read_last", 103, 2));
  CHECK(rig.at_host() == Lines{"read_last 103", "ack 104 msn 3"});
}

TEST_CASE("a READ is asked for again behind a response that was not seen: those under way finish it",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  read_has_begun(rig, pair, 4000);
  // 102 came to the requester another way.
  rig.host_sends(pair.read(103, 2000));
  rig.wan_sends({pair.answer("read_middle", 103, 2), pair.answer("read_last", 104, 2)});
  CHECK(rig.at_host() == Lines{"read_middle 103", "read_last 104", "ack 105 msn 3"});
}

TEST_CASE("a READ whose responses came out of order is finished when the requester does not ask again",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101, 3000), pair.write(104), pair.write(105)});
  rig.wan_sends({pair.answer("read_first", 101, 2), pair.answer("read_last", 103, 2),
                 pair.answer("read_middle", 102, 2), pair.ack(104, 3)});
  rig.at_host();
  CHECK(rig.engine->custody_packets() == 3);
  rig.wait(milliseconds(100));
  CHECK(rig.count(Counter::reads_passed) == 1);
  CHECK(rig.at_host() == Lines{"ack 105 msn 4"});
  CHECK(rig.engine->custody_packets() == 1);
}

TEST_CASE("two READs that an ACK has gone beyond are both finished when the requester does not ask again",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.read(102), pair.write(103), pair.read(104), pair.write(105)});
  rig.wan_sends(pair.ack(103, 4));
  rig.at_host();
  rig.wait(milliseconds(100));
  // The third READ still waits for its response.
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 2);
}

TEST_CASE("an ACK has gone beyond a READ and the requester asks again: the READ waits for its response",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(102), pair.write(103)});
  rig.wan_sends(pair.ack(102, 3));
  rig.wait(microseconds(100));
  rig.host_sends(pair.read(101));
  rig.at_host();
  rig.wait(milliseconds(100));
  CHECK(rig.at_host().empty());
  CHECK(rig.count(Counter::reads_passed) == 0);
  rig.wan_sends(pair.answer("read_only", 101, 3));
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 102 msn 3", "ack 103 msn 4"});
}

TEST_CASE("the requester asks for a READ's tail: it is forwarded, and its answer finishes the READ",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101, 3000), pair.write(104)});
  rig.at_wan();
  rig.wait(milliseconds(20));
  rig.wan_sends({pair.answer("read_first", 101, 2)});
  rig.host_sends(pair.read(102, 2000));
  CHECK(rig.at_wan() == Lines{"read 102!"});
  rig.at_host();
  rig.wan_sends({pair.answer("read_first", 102, 3), pair.answer("read_last", 103, 3)});
  CHECK(rig.at_host() == Lines{"read_first 102", "read_last 103", "ack 104 msn 3"});
}

TEST_CASE("the READ's tail replaces the custody copy: a resend asks for no more", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.read(102, 3000)});
  rig.host_sends(pair.read(103, 2000));
  // Enough frames for the NIC to be done with the READ's buffer.
  for (int i = 0; i < 120; ++i) rig.host_sends(Bytes(60, 0));
  rig.host_sends(pair.read(103, 2000));
  rig.at_wan();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "read 103!"});
}

TEST_CASE("an answer to a repeated READ carries the responder's MSN of now: acceleration goes on",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101, 64), pair.write(102), pair.write(103)});
  // The response was lost. The responder's ACK shows that it went on.
  rig.wan_sends(pair.ack(103, 4));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
  rig.host_sends(pair.read(101, 64));
  rig.wan_sends(pair.answer("read_only", 101, 4));
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 102 msn 3", "ack 103 msn 4"});
  CHECK(rig.count(Counter::msn_disagreed) == 0);
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
}

TEST_CASE("a repeat below h of what was sent lately is absorbed, and the responder's own answer reaches its requester",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  rig.at_host();
  rig.at_wan();
  // AckReq may differ: real stacks set it again.
  rig.host_sends({pair.silent_write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_host().empty());  // nothing is acknowledged again
  CHECK(rig.at_wan().empty());
  CHECK(rig.count(Counter::absorbed_duplicates) == 3);
  CHECK(rig.count(Counter::flows_doubted) == 0);
  rig.wan_sends({pair.ack(102, 3), pair.ack(103, 4)});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
  CHECK(rig.engine->custody_packets() == 0);
  // A new request shows that the requester is not behind any more.
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
  rig.wan_sends(pair.ack(104, 5));
  CHECK(rig.at_host().empty());
}

TEST_CASE("a repeat is the same whatever its network made of it: IPv4 identification, UDP port, ECN, FECN",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.at_wan();
  rig.host_sends({pair.write_again(101), pair.write_again(102)});
  CHECK(rig.at_wan().empty());
  CHECK(rig.count(Counter::absorbed_duplicates) == 2);
  CHECK(rig.count(Counter::flows_doubted) == 0);
}

TEST_CASE("a repeat below h of what was sent longer ago than an answer takes is forwarded", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  rig.wait(milliseconds(40));  // the round trip is 10 ms; the timer has sent only 101 again
  rig.at_host();
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 103!", "write_only 101!"});
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_wan() == Lines{"write_only 102!", "write_only 103!"});
  CHECK(rig.count(Counter::absorbed_duplicates) == 1);
  CHECK(rig.count(Counter::duplicates_forwarded) == 2);
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(103, 4));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
}

TEST_CASE("a repeat followed by a new request: it is acknowledged once the responder has gone on",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.at_host();
  // Another life may have lost all packets before 101.
  rig.host_sends({pair.write(101), pair.write(102)});
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 2);
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
}

TEST_CASE("repeats around an unfinished READ: what is below h is absorbed, the READ and what is behind it go again",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.read(102), pair.write(103)});
  rig.at_host();
  rig.at_wan();
  rig.host_sends({pair.write(101), pair.read(102), pair.write(103)});
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"read 102!", "write_only 103!"});
  CHECK(rig.count(Counter::absorbed_duplicates) == 1);
  rig.wan_sends({pair.ack(101, 2), pair.answer("read_only", 102, 3), pair.ack(103, 4)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "read_only 102", "ack 103 msn 4"});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("a repeated READ below h is forwarded", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.read(101));
  rig.wan_sends(pair.answer("read_only", 101, 2));
  rig.at_host();
  rig.at_wan();
  rig.host_sends(pair.read(101));
  CHECK(rig.at_wan() == Lines{"read 101!"});
  CHECK(rig.at_host().empty());
}

TEST_CASE("a READ asked for again is not overtaken until the responder's own ACK has passed", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(102)});
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 102 msn 3"});
  rig.wan_sends(pair.ack(102, 3));
  rig.at_wan();
  rig.at_host();
  // The response was lost between box and requester. An ACK now would say that the next response is lost too.
  rig.host_sends({pair.read(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"read 101!", "write_only 102!", "write_only 103!"});
  // The response alone does not end the wait: it may be the last of several, and the first may be lost.
  rig.wan_sends(pair.answer("read_only", 101, 4));
  CHECK(rig.at_host() == Lines{"read_only 101"});
  rig.wan_sends({pair.ack(102, 3), pair.ack(103, 4)});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
  CHECK(rig.engine->custody_packets() == 0);
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
}

TEST_CASE("two READs asked for again: an ACK between them does not end the wait", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(102), pair.read(103)});
  rig.wan_sends({pair.answer("read_only", 101, 2), pair.ack(102, 3), pair.answer("read_only", 103, 4)});
  rig.at_wan();
  rig.at_host();
  REQUIRE(rig.engine->custody_packets() == 0);
  rig.host_sends({pair.read(101), pair.write(102), pair.read(103), pair.write(104)});
  CHECK(rig.at_wan() == Lines{"read 101!", "write_only 102!", "read 103!", "write_only 104!"});
  rig.wan_sends({pair.answer("read_only", 101, 4), pair.ack(102, 4)});
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 102 msn 4"});
  rig.wan_sends({pair.answer("read_only", 103, 4), pair.ack(104, 5)});
  CHECK(rig.at_host() == Lines{"read_only 103", "ack 104 msn 5"});
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"ack 105 msn 6"});
}

TEST_CASE("beyond a gap requests are dropped and one NAK names the first missing PSN", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.write(103), pair.write(104)});
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"nak0 102 msn 2"});
  CHECK(rig.at_wan() == Lines{"write_only 101"});
  CHECK(rig.count(Counter::dropped_beyond_gap) == 3);
  rig.host_sends({pair.write(102), pair.write(103)});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"nak0 104 msn 4"});
}

TEST_CASE("a gap that the responder has answered is not asked for", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  // 101 passed unseen, on another path or before the box looked. The responder expects 102.
  rig.wan_sends(pair.ack(101, 2));
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  CHECK(rig.at_wan() == Lines{"write_only 102!"});
}

TEST_CASE("answers to unseen requests come in any order, and a NAK answers what is before it",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  SECTION("an older ACK comes last") {
    rig.wan_sends({pair.ack(104, 5), pair.ack(102, 3)});
    rig.host_sends({pair.write(101), pair.write(102), pair.write(104)});
    CHECK(rig.at_host() == Lines{"ack 104 msn 5", "ack 102 msn 3"});
    CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 102!", "write_only 104!"});
  }
  SECTION("a NAK") {
    rig.wan_sends(pair.nak(102, 2));
    rig.host_sends({pair.write(101), pair.write(103)});
    CHECK(rig.at_host() == Lines{"nak0 102 msn 2", "ack 101 msn 2", "nak0 102 msn 2"});
    CHECK(rig.at_wan() == Lines{"write_only 101!"});
  }
}

TEST_CASE("half the circle of PSNs after an answer to an unseen request gaps are asked for", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wan_sends(pair.ack(101, 2));
  std::uint32_t psn = 101;
  std::uint32_t msn = 1;
  // Long READs pass, and are answered.
  rig.engine->set_draining(true);
  for (; psn < (1U << 23) + (1U << 22); psn += (1U << 20) + 1) {
    rig.host_sends({pair.read(psn, 1U << 30), pair.write(psn + (1U << 20))});
    rig.wan_sends(pair.ack(psn + (1U << 20), msn += 2));
  }
  rig.engine->set_draining(false);
  rig.host_sends(pair.write(psn));
  rig.wan_sends(pair.ack(psn, ++msn));
  rig.at_host();
  rig.host_sends({pair.write(psn + 1), pair.write(psn + 3)});
  const Lines heard = rig.at_host();
  REQUIRE(heard.size() == 2);
  CHECK(heard[1] == "nak0 " + std::to_string(psn + 2) + " msn " + std::to_string(msn + 1));
}

TEST_CASE("a gap of which the responder has answered more than was seen is not asked for", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  SECTION("repeats of what it has answered leave one out") {
    rig.wan_sends(pair.ack(104, 5));
    rig.host_sends({pair.write(101), pair.write(103)});
    CHECK(rig.at_host() == Lines{"ack 104 msn 5"});
    CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 103!"});
  }
  SECTION("the NAK has waited for a READ") {
    rig.host_sends({pair.read(101), pair.write(103)});
    rig.wan_sends({pair.answer("read_only", 101, 2), pair.ack(104, 5)});
    CHECK(rig.at_host() == Lines{"read_only 101", "ack 104 msn 5"});
  }
}

TEST_CASE("requests that the responder has answered unseen are not asked for when custody goes again",
          "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  rig.at_host();
  rig.engine->set_draining(true);
  rig.host_sends(pair.write(103));
  rig.engine->set_draining(false);
  SECTION("it has not") {
    rig.wan_sends(pair.nak(102, 2));
    CHECK(rig.at_host() == Lines{"nak0 103 msn 3"});
  }
  SECTION("it has") {
    rig.wan_sends({pair.nak(102, 2), pair.ack(105, 6)});
    CHECK(rig.at_host() == Lines{"ack 105 msn 6"});
  }
}

TEST_CASE("the gap's NAK waits for unfinished READs", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(103)});
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101", "nak0 102 msn 2"});
}

TEST_CASE("the gap's NAK is not sent when the missing packet came meanwhile", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(103), pair.write(102), pair.write(103)});
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 102 msn 3", "ack 103 msn 4"});
}

TEST_CASE("a damaged request is forwarded without custody, and the next one is beyond a gap", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({damaged(pair.write(101)), pair.write(102)});
  CHECK(rig.at_wan() == Lines{"write_only 101! bad-icrc"});
  CHECK(rig.at_host() == Lines{"nak0 101 msn 1"});
  CHECK(rig.count(Counter::icrc_bad) == 1);
}

TEST_CASE("policy off learns and counts only", "[engine][acknowledge]") {
  auto settings = small_settings();
  settings.policies.rules.push_back({flow::Prefix::parse("10.0.0.0/24"), flow::Policy::off});
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(103), pair.write(101)});
  CHECK(rig.at_wan() == Lines{"write_only 101!", "write_only 103!", "write_only 101!"});
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.count(Counter::flows_learned) == 2);
}

TEST_CASE("a rule about vendor features leaves out those who agreed on some", "[engine][acknowledge]") {
  auto settings = small_settings();
  settings.policies.rules.push_back({flow::Prefix::parse("::/0"), flow::Policy::off, flow::EceMatch::parse("any")});
  Rig rig(settings);
  Pair pair;
  pair.offered = {0x15b3, 7};
  SECTION("accepted") {
    pair.accepted = {0x15b3, 3};
    rig.connect_confirmed(pair);
    rig.host_sends(pair.write(101));
    CHECK(rig.at_host().empty());
  }
  SECTION("refused") {
    rig.connect_confirmed(pair);
    rig.host_sends(pair.write(101));
    CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  }
  std::vector<engine::ConnectionState> all;
  rig.engine->describe(0, rig.engine->connection_slots(), rig.now, all);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].info.ece.has_value());
  CHECK(all[0].info.ece->offered == pair.offered);
  CHECK(all[0].info.ece->accepted == pair.accepted);
}

TEST_CASE("pseudo-ACKs have the reserved bits of the responder's own ACKs", "[engine][acknowledge]") {
  constexpr std::size_t kBth = 42;
  const auto with_bits = [](Bytes frame, unsigned by_fecn, unsigned by_ack_req) {
    frame[kBth + 4] = static_cast<std::uint8_t>(frame[kBth + 4] | by_fecn);
    frame[kBth + 8] = static_cast<std::uint8_t>(frame[kBth + 8] | by_ack_req);
    REQUIRE(wire::refresh_icrc(frame));
    return frame;
  };
  Rig rig;
  const Pair pair;
  rig.connect(pair);
  rig.host_sends({pair.write(100), pair.read(101)});
  // FECN and BECN are that packet's own, and so are the bits of a READ response.
  rig.wan_sends(with_bits(pair.answer("read_only", 101, 2), 0x3f, 0x7f));
  rig.host_out.clear();
  rig.host_sends(pair.write(102));
  REQUIRE(rig.host_out.size() == 1);
  CHECK(rig.host_out[0].bytes[kBth + 4] == 0);
  CHECK(rig.host_out[0].bytes[kBth + 8] == 0);
  rig.wan_sends(with_bits(pair.ack(102, 3), 0xd5, 0x41));
  rig.host_out.clear();
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
  rig.host_sends(pair.write(104));
  REQUIRE(rig.host_out.size() == 1);
  CHECK(rig.host_out[0].bytes[kBth + 4] == 0x15);
  CHECK(rig.host_out[0].bytes[kBth + 8] == 0x41);
}

// Switches add and remove tags with VID 0, in one direction only too.
TEST_CASE("priority tags in one direction: the connection is followed, and pseudo-ACKs are as its answers",
          "[engine][acknowledge]") {
  constexpr std::uint16_t kPriority = 0x6000;
  const auto tagged = [](Bytes frame) {
    const Bytes tag = {0x81, 0x00, kPriority >> 8, 0x00};
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    return frame;
  };
  const Pair pair;
  const auto is_tagged = [](const Seen& seen) { return seen.bytes[12] == 0x81 && seen.bytes[13] == 0x00; };
  SECTION("of the requests") {
    Rig rig;
    rig.host_sends(tagged(pair.req()));
    rig.wan_sends(pair.rep());
    rig.host_sends({tagged(pair.rtu()), tagged(pair.write(100))});
    rig.wan_sends(pair.ack(100, 1));
    rig.at_host();
    rig.wan_out.clear();
    rig.host_sends(tagged(pair.write(101)));
    REQUIRE(rig.wan_out.size() == 1);
    CHECK(rig.wan_out[0].bytes == tagged(pair.write(101)));
    REQUIRE(rig.host_out.size() == 1);
    CHECK_FALSE(is_tagged(rig.host_out[0]));
    CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  }
  SECTION("of the answers, from some time on") {
    Rig rig;
    rig.connect_confirmed(pair);
    rig.host_sends(pair.write(101));
    REQUIRE(rig.host_out.size() == 1);
    CHECK_FALSE(is_tagged(rig.host_out[0]));
    rig.wan_sends(tagged(pair.ack(101, 2)));
    rig.host_out.clear();
    rig.host_sends(pair.write(102));
    REQUIRE(rig.host_out.size() == 1);
    CHECK(is_tagged(rig.host_out[0]));
    CHECK(rig.host_out[0].bytes[14] == kPriority >> 8);
  }
  SECTION("before the first answer") {
    auto settings = small_settings();
    settings.confirm = engine::Confirm::cm;
    Rig rig(settings);
    rig.connect(pair);
    rig.host_sends(tagged(pair.write(100)));
    REQUIRE(rig.host_out.size() == 1);
    CHECK_FALSE(is_tagged(rig.host_out[0]));
    CHECK(rig.at_host() == Lines{"ack 100 msn 1"});
  }
}

TEST_CASE("frames are small and large: both are held and come out whole", "[engine][acknowledge]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  std::vector<Bytes> frames;
  for (std::uint32_t i = 0; i < 6; ++i)
    frames.push_back(pair.write(101 + i, {true, std::array{0U, 100U, 700U, 1100U, 2000U, 4096U}[i]}));
  rig.host_sends(frames);
  rig.wan_sends(pair.nak(101, 1));
  REQUIRE(rig.wan_out.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(rig.wan_out[i].bytes == frames[i % 6]);
}

TEST_CASE("pseudo-ACKs carry nothing of another packet's congestion mark", "[engine][acknowledge]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair pair;
  rig.connect(pair);
  Bytes marked = pair.write(100);
  marked[15] |= 3;
  for (const std::size_t at : {24U, 25U}) marked[at] = 0;
  unsigned sum = 0;
  for (std::size_t i = 14; i < 34; i += 2) sum += static_cast<unsigned>(marked[i] << 8 | marked[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  marked[24] = static_cast<std::uint8_t>(~sum >> 8);
  marked[25] = static_cast<std::uint8_t>(~sum);
  rig.host_sends(marked);
  REQUIRE(rig.host_out.size() == 1);
  CHECK((rig.host_out[0].bytes[15] & 3) == 2);
  CHECK(rig.at_host() == Lines{"ack 100 msn 1"});
}

namespace {

engine::Settings unasked_settings() {
  auto settings = small_settings();
  settings.ack_unasked = microseconds(100);
  settings.lane = GENERATE(true, false);
  return settings;
}

}  // namespace

TEST_CASE("a message is acknowledged unasked after a while, once", "[engine][acknowledge][unasked]") {
  Rig rig(unasked_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.silent_write(102)});
  CHECK(rig.at_host().empty());
  rig.wait(microseconds(99));
  CHECK(rig.at_host().empty());
  rig.wait(microseconds(2));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  rig.wait(milliseconds(5));
  CHECK(rig.at_host().empty());
  CHECK(rig.count(Counter::pseudo_acks_unasked) == 1);
  rig.wan_sends({pair.ack(102, 3)});
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("who asks in time is acknowledged at once, and not again", "[engine][acknowledge][unasked]") {
  Rig rig(unasked_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101)});
  rig.wait(microseconds(50));
  rig.host_sends({pair.write(102)});
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  rig.host_sends({pair.request("write_first", 103, {false, 1024})});  // completes nothing more
  rig.wait(milliseconds(5));
  CHECK(rig.at_host().empty());
}

TEST_CASE("the middle of a message is not acknowledged unasked", "[engine][acknowledge][unasked]") {
  Rig rig(unasked_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.request("write_first", 101, {false, 1024}), pair.request("write_middle", 102, {false, 1024})});
  rig.wait(milliseconds(5));
  CHECK(rig.at_host().empty());
}

TEST_CASE("behind a READ nothing is acknowledged unasked", "[engine][acknowledge][unasked]") {
  Rig rig(unasked_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.silent_write(101), pair.read(102), pair.silent_write(103)});
  rig.wait(milliseconds(5));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  rig.wan_sends({pair.answer("read_only", 102, 3)});
  rig.wait(milliseconds(5));
  CHECK(rig.at_host() == Lines{"read_only 102", "ack 103 msn 4"});
}

TEST_CASE("in a doubt nothing is acknowledged unasked", "[engine][acknowledge][unasked]") {
  Rig rig(unasked_settings());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.silent_write(102)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  rig.host_sends({pair.request("write_only", 102, {false, 80})});  // other bytes
  rig.wait(milliseconds(5));
  CHECK(rig.engine->custody_packets() == 2);
  CHECK(rig.at_host().empty());
}
