// SPDX-License-Identifier: BSD-3-Clause
// Design section 5.6: requests beyond a gap wait for what is missing, which may just be late.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr Duration kWait = microseconds(100);

engine::Settings waiting_settings() {
  engine::Settings settings = small_settings();
  settings.reorder_wait = kWait;
  return settings;
}

/// A confirmed connection whose PSN 101 is next, with MSN 2. Nothing of it is in custody.
struct Confirmed {
  explicit Confirmed(const engine::Settings& settings = waiting_settings()) : rig(settings) {
    rig.connect_confirmed(pair);
  }
  void sends(const Bytes& frame) { rig.host_sends(frame); }
  Rig rig;
  const Pair pair;
};

Lines written(std::uint32_t first, std::uint32_t count) {
  Lines lines;
  for (std::uint32_t psn = first; psn < first + count; ++psn)
    lines.push_back("write_only " + std::to_string(psn) + "!");
  return lines;
}

}  // namespace

TEST_CASE("what is missing comes late: everything goes on in order, and nothing was said before", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(103));
  c.sends(c.pair.write(102));
  c.rig.wait(kWait / 2);
  CHECK(c.rig.at_host().empty());
  CHECK(c.rig.at_wan().empty());
  CHECK(c.rig.engine->custody_packets() == 2);
  c.sends(c.pair.write(101));
  CHECK(c.rig.at_wan() == written(101, 3));
  CHECK(c.rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "ack 103 msn 4"});
  c.rig.wait(milliseconds(1));
  CHECK(c.rig.at_host().empty());
  CHECK(c.rig.count(Counter::pseudo_naks) == 0);
  CHECK(c.rig.count(Counter::dropped_beyond_gap) == 0);
}

TEST_CASE("in one burst, too", "[engine][reorder]") {
  Confirmed c;
  c.rig.host_sends({c.pair.write(102), c.pair.write(101), c.pair.write(103)});
  CHECK(c.rig.at_wan() == written(101, 3));
  CHECK(c.rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "ack 103 msn 4"});
}

TEST_CASE("what is missing does not come: one NAK asks for it in time, and what waited is dropped",
          "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(102));
  c.rig.wait(kWait - microseconds(20));
  c.sends(c.pair.write(103));  // the first that waited counts, not the last
  CHECK(c.rig.at_host().empty());
  c.rig.wait(microseconds(20));
  CHECK(c.rig.at_host() == Lines{"nak0 101 msn 1"});
  CHECK(c.rig.count(Counter::dropped_beyond_gap) == 2);
  CHECK(c.rig.engine->custody_packets() == 0);
  c.sends(c.pair.write(104));  // sent before the requester heard the NAK
  c.rig.wait(2 * kWait);
  CHECK(c.rig.at_host().empty());
  CHECK(c.rig.at_wan().empty());
  c.rig.host_sends(c.pair.writes(101, 4));
  CHECK(c.rig.at_wan() == written(101, 4));
  CHECK(c.rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3", "ack 103 msn 4", "ack 104 msn 5"});
}

TEST_CASE("what the requester sends again may come out of order as well", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(102));
  c.rig.wait(kWait);
  CHECK(c.rig.at_host() == Lines{"nak0 101 msn 1"});
  c.sends(c.pair.write(102));
  c.sends(c.pair.write(101));
  CHECK(c.rig.at_wan() == written(101, 2));
  CHECK(c.rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
  CHECK(c.rig.count(Counter::flows_doubted) == 0);
}

TEST_CASE("a requester that repeats only what is beyond the gap is in doubt, a little later", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(102));
  c.rig.wait(kWait);
  CHECK(c.rig.at_host() == Lines{"nak0 101 msn 1"});
  c.sends(c.pair.write(102));
  CHECK(c.rig.count(Counter::flows_doubted) == 0);
  c.rig.wait(kWait);
  CHECK(c.rig.count(Counter::flows_doubted) == 1);
  CHECK(c.rig.at_wan() == written(102, 1));
}

TEST_CASE("each gap has its own time", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(102));
  c.rig.wait(kWait / 2);
  c.sends(c.pair.write(104));
  c.sends(c.pair.write(101));
  CHECK(c.rig.at_wan() == written(101, 2));
  c.rig.at_host();
  c.rig.wait(kWait - microseconds(1));
  CHECK(c.rig.at_host().empty());
  c.rig.wait(microseconds(1));
  CHECK(c.rig.at_host() == Lines{"nak0 103 msn 3"});
}

TEST_CASE("what comes late after all fills the gap, and the rest is asked for", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.read(101));
  c.rig.at_wan();
  c.sends(c.pair.write(103));
  c.sends(c.pair.write(104));
  c.rig.wait(2 * kWait);
  CHECK(c.rig.at_host().empty());  // a NAK would say that the READ's response is lost
  CHECK(c.rig.count(Counter::dropped_beyond_gap) == 2);
  c.sends(c.pair.write(102));
  CHECK(c.rig.at_wan() == written(102, 1));
  c.rig.wan_sends(c.pair.answer("read_only", 101, 2));
  CHECK(c.rig.at_host() == Lines{"read_only 101", "ack 102 msn 3", "nak0 103 msn 3"});
}

TEST_CASE("without a time to wait a gap is asked for at once", "[engine][reorder]") {
  engine::Settings settings = waiting_settings();
  settings.reorder_wait = 0;
  Confirmed c(settings);
  c.sends(c.pair.write(102));
  CHECK(c.rig.at_host() == Lines{"nak0 101 msn 1"});
}

TEST_CASE("nothing waits for longer than a round trip, after which the responder would have asked",
          "[engine][reorder]") {
  constexpr Duration kRoundTrip = microseconds(30);
  Confirmed c;
  c.sends(c.pair.write(101));
  c.rig.wait(kRoundTrip);
  c.rig.wan_sends(c.pair.ack(101, 2));
  c.rig.at_host();
  c.sends(c.pair.write(103));
  c.rig.wait(kRoundTrip);
  CHECK(c.rig.at_host() == Lines{"nak0 102 msn 2"});
}

TEST_CASE("a copy of what waits is absorbed; other bytes at its PSN begin a doubt, and everything passes",
          "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(102));
  c.sends(c.pair.write_again(102));
  CHECK(c.rig.count(Counter::absorbed_queued_duplicates) == 1);
  CHECK(c.rig.at_wan().empty());
  c.sends(c.pair.write(102, {true, 32}));
  CHECK(c.rig.count(Counter::flows_doubted) == 1);
  c.rig.wait(kWait);
  CHECK(c.rig.at_wan() == Lines{"write_only 102!", "write_only 102!"});
  CHECK(c.rig.engine->custody_packets() == 0);
}

TEST_CASE("a flow that nothing has confirmed waits, and then passes what waited as it came", "[engine][reorder]") {
  Rig rig(waiting_settings());
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.at_wan();
  SECTION("what is missing comes") {
    rig.host_sends(pair.write(102));
    CHECK(rig.at_wan().empty());
    rig.host_sends(pair.write(101));
    CHECK(rig.at_wan() == written(101, 2));
    CHECK(rig.at_host().empty());
    rig.wan_sends(pair.ack(100, 1));
    CHECK(rig.at_host() == Lines{"ack 100 msn 1", "ack 101 msn 2", "ack 102 msn 3"});
  }
  SECTION("it does not come") {
    rig.host_sends({pair.write(103), pair.write(102)});
    rig.wait(kWait);
    CHECK(rig.at_wan() == Lines{"write_only 103!", "write_only 102!"});
    CHECK(rig.at_host().empty());
    CHECK(rig.count(Counter::plain_requests) == 2);
  }
}

TEST_CASE("a gap after more than a moment of silence does not wait: another life may have begun", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(101));
  c.rig.at_host();
  c.rig.at_wan();
  c.rig.wait(milliseconds(6));
  c.sends(c.pair.write(103));
  CHECK(c.rig.at_wan() == written(103, 1));
  CHECK(c.rig.count(Counter::flows_doubted) == 1);
}

TEST_CASE("READs wait, and one that has the PSNs of what waits behind it does no harm", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.read(102, 2048));
  c.sends(c.pair.write(104));
  c.sends(c.pair.write(101));
  CHECK(c.rig.at_wan() == Lines{"write_only 101!", "read 102!", "write_only 104!"});
  c.rig.at_host();
  c.sends(c.pair.write(107));
  c.sends(c.pair.read(106, 4096));  // to 109
  c.sends(c.pair.write(105));
  CHECK(c.rig.at_wan() == Lines{"write_only 105!", "read 106!"});
  c.rig.wait(kWait);
  CHECK(c.rig.count(Counter::dropped_beyond_gap) == 1);
  c.rig.wait(kWait);
  CHECK(c.rig.count(Counter::pseudo_naks) == 0);
}

TEST_CASE("a drain, the end of the connection and the end of the box let go of what waits", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(103));
  c.sends(c.pair.write(102));
  SECTION("a drain passes it") {
    c.rig.engine->set_draining(true);
    c.rig.wait(kWait);
    CHECK(c.rig.at_wan() == Lines{"write_only 103!", "write_only 102!"});
  }
  SECTION("what is missing comes during a drain") {
    c.rig.engine->set_draining(true);
    c.sends(c.pair.write(101));
    CHECK(c.rig.at_wan() == written(101, 3));
    CHECK(c.rig.at_host().empty());
  }
  SECTION("the far end closes") {
    c.rig.wan_sends(c.pair.dreq(Side::wan));
    CHECK(c.rig.engine->custody_packets() == 0);
    CHECK(c.rig.count(Counter::dropped_beyond_gap) == 2);
  }
  SECTION("the box ends") {}
}

TEST_CASE("what came before a pause of the box does not wait for what comes after it", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(102));
  c.rig.engine->paused(seconds(60), c.rig.now);
  c.sends(c.pair.write(101));
  CHECK(c.rig.at_wan() == written(101, 1));
  CHECK(c.rig.at_host() == Lines{"ack 101 msn 2", "nak0 102 msn 2"});
}

TEST_CASE("only so many wait: then the gap counts as a loss", "[engine][reorder]") {
  engine::Settings settings = waiting_settings();
  SECTION("of all flows") {
    settings.custody_mbufs = 64;  // 16 may wait, and of one pair of hosts not all
    Confirmed c(settings);
    for (std::uint32_t psn = 102; psn < 102 + 16; ++psn) c.sends(c.pair.write(psn));
    CHECK(c.rig.at_host() == Lines{"nak0 101 msn 1"});
    CHECK(c.rig.engine->custody_packets() == 0);
  }
  SECTION("of one flow, in bytes") {
    settings.custody_flow_bytes = 1000;
    settings.initial_window_bytes = 1000;
    Confirmed c(settings);
    for (std::uint32_t psn = 102; psn < 102 + 9; ++psn) c.sends(c.pair.write(psn));
    CHECK(c.rig.at_host() == Lines{"nak0 101 msn 1"});
  }
}

// ---- answers ----------------------------------------------------------------------------------

namespace {

/// A READ of three responses, PSNs 101 to 103, and a WRITE behind it have gone.
struct Reading : Confirmed {
  explicit Reading(const engine::Settings& settings = waiting_settings()) : Confirmed(settings) {
    rig.host_sends({pair.read(101, 3 * 1024), pair.write(104)});
    rig.at_wan();
    rig.at_host();
  }
  void answers(const Bytes& frame) { rig.wan_sends(frame); }
  Bytes first() const { return pair.answer("read_first", 101, 2, 1024); }
  Bytes middle() const { return pair.answer("read_middle", 102, 0, 1024); }
  Bytes last() const { return pair.answer("read_last", 103, 2, 1024); }
};

}  // namespace

TEST_CASE("READ responses out of order reach the requester in order, and only then the WRITE is acknowledged",
          "[engine][reorder]") {
  Reading c;
  c.answers(c.last());
  c.answers(c.first());
  CHECK(c.rig.at_host() == Lines{"read_first 101"});
  c.rig.wait(kWait / 2);
  CHECK(c.rig.at_host().empty());
  c.answers(c.middle());
  CHECK(c.rig.at_host() == Lines{"read_middle 102", "read_last 103", "ack 104 msn 3"});
  CHECK(c.rig.count(Counter::reads_passed) == 0);
}

TEST_CASE("what waited for a response goes on as fast as the port takes it, and in order", "[engine][reorder]") {
  Confirmed c(waiting_settings());
  constexpr std::uint32_t kMany = 1000;
  c.rig.host_sends(c.pair.read(101, kMany * 1024));
  c.rig.at_wan();
  const auto response = [&](std::uint32_t n) {
    if (n == 0) return c.pair.answer("read_first", 101, 2, 1024);
    return n == kMany - 1 ? c.pair.answer("read_last", 101 + n, 2, 1024)
                          : c.pair.answer("read_middle", 101 + n, 0, 1024);
  };
  for (std::uint32_t n = 1; n < kMany; ++n) c.rig.wan_sends(response(n));
  CHECK(c.rig.at_host().empty());
  c.rig.wan_sends(response(0));
  Lines came = c.rig.at_host();
  CHECK(came.size() > 100);
  CHECK(came.size() < 500);
  c.rig.allow(Side::host, 10);
  c.rig.wait(microseconds(100));
  // The port refuses a burst at most; it waits for the port, and the others in their list.
  CHECK(c.rig.engine->waiting_frames() == kMany - came.size() - 10);
  c.rig.allow(Side::host, 10 * kMany);
  c.rig.wan_sends(c.pair.answer("read_middle", 150, 0, 1024));  // one more copy of what has gone
  c.rig.wait(milliseconds(1));
  for (const auto& line : c.rig.at_host()) came.push_back(line);
  std::erase(came, "read_middle 150");
  came.insert(came.begin() + 49, "read_middle 150");
  REQUIRE(came.size() == kMany);
  for (std::uint32_t n = 1; n + 1 < kMany; ++n) CHECK(came[n] == "read_middle " + std::to_string(101 + n));
  CHECK(came.back() == "read_last " + std::to_string(100 + kMany));
  CHECK(c.rig.count(Counter::dropped_port_full) == 0);
  CHECK(c.rig.count(Counter::answers_waited_in_vain) == 0);
}

TEST_CASE("an ACK that has overtaken READ responses goes behind them", "[engine][reorder]") {
  Reading c;
  c.answers(c.first());
  c.rig.at_host();
  c.rig.wan_sends({c.pair.ack(104, 3), c.last(), c.middle()});
  // The real ACK is at or above h, so it is forwarded.
  CHECK(c.rig.at_host() == Lines{"read_middle 102", "read_last 103", "ack 104 msn 3"});
  CHECK(c.rig.count(Counter::responses_lost) == 0);
  CHECK(c.rig.engine->custody_packets() == 0);
}

TEST_CASE("a response that does not come: the others go as they came, in time", "[engine][reorder]") {
  Reading c;
  c.answers(c.last());
  c.answers(c.middle());
  CHECK(c.rig.at_host().empty());
  c.rig.wait(kWait);
  CHECK(c.rig.at_host() == Lines{"read_last 103", "read_middle 102"});
  c.rig.wait(seconds(2));
  CHECK(c.rig.at_host().empty());  // one is missing: nothing behind the READ is acknowledged
}

TEST_CASE("a response comes too late, and the requester does not ask again: the READ is finished",
          "[engine][reorder]") {
  Reading c;
  c.answers(c.middle());
  c.answers(c.last());
  c.rig.wait(kWait);
  CHECK(c.rig.at_host() == Lines{"read_middle 102", "read_last 103"});
  c.answers(c.first());
  CHECK(c.rig.at_host() == Lines{"read_first 101"});
  SECTION("the requester does not ask") {
    // It may have dropped what came early, and notice only when its own timer ends.
    c.rig.wait(seconds(5));
    CHECK(c.rig.at_host().empty());
    c.rig.wait(small_settings().rto_initial * 2);
    CHECK(c.rig.at_host() == Lines{"ack 104 msn 3"});
    CHECK(c.rig.count(Counter::reads_passed) == 1);
  }
  SECTION("it asks for the rest, and goes on with these responses") {
    c.sends(c.pair.read(102, 2 * 1024));
    c.rig.wait(small_settings().rto_initial * 2);
    CHECK(c.rig.at_host().empty());
    c.rig.wan_sends({c.pair.answer("read_first", 102, 2, 1024), c.last()});
    CHECK(c.rig.at_host() == Lines{"read_first 102", "read_last 103", "ack 104 msn 3"});
  }
}

TEST_CASE("a response to a later READ shows that the READ before it has ended, unless the requester asks again",
          "[engine][reorder]") {
  engine::Settings settings = waiting_settings();
  settings.reorder_wait = 0;
  Reading c(settings);
  c.sends(c.pair.read(105));
  c.rig.wan_sends({c.first(), c.last(), c.pair.answer("read_only", 105, 4)});
  c.rig.at_host();
  c.rig.wait(small_settings().rto_initial * 3);
  CHECK(c.rig.count(Counter::reads_passed) == 1);
  c.rig.wait(seconds(5));
  CHECK(c.rig.count(Counter::reads_passed) == 2);  // the later one, too: its response has passed
}

TEST_CASE("in a doubt answers do not wait", "[engine][reorder]") {
  Reading c;
  c.sends(c.pair.write(100));
  REQUIRE(c.rig.count(Counter::flows_doubted) == 1);
  c.answers(c.last());
  CHECK(c.rig.at_host() == Lines{"read_last 103"});
}

TEST_CASE("answers that wait when custody ends go on, or end with the box", "[engine][reorder]") {
  Reading c;
  c.answers(c.last());
  c.answers(c.pair.ack(104, 3));
  SECTION("the far end closes") {
    c.rig.wan_sends(c.pair.dreq(Side::wan));
    CHECK(c.rig.at_host() == Lines{"read_last 103", "ack 104 msn 3", "dreq"});
  }
  SECTION("the box ends") {}
  CHECK(true);
}

// ---- trust ------------------------------------------------------------------------------------

TEST_CASE("after an MSN that disagreed, two answers that agree bring acknowledging back", "[engine][reorder]") {
  Confirmed c;
  c.sends(c.pair.write(101));
  c.rig.at_host();
  c.rig.wan_sends(c.pair.ack(101, 3));  // one more than was counted
  REQUIRE(c.rig.count(Counter::msn_disagreed) == 1);
  c.sends(c.pair.write(102));
  c.rig.wan_sends(c.pair.ack(102, 4));  // answers do come
  c.sends(c.pair.write(103));
  CHECK(c.rig.at_host() == Lines{"ack 102 msn 4"});
  c.rig.wan_sends(c.pair.ack(103, 5));  // teaches the MSN
  c.sends(c.pair.write(104));
  CHECK(c.rig.at_host() == Lines{"ack 103 msn 5"});
  SECTION("the second agrees") {
    c.rig.wan_sends(c.pair.ack(104, 6));
    c.sends(c.pair.write(105));
    CHECK(c.rig.at_host() == Lines{"ack 104 msn 6", "ack 105 msn 7"});
  }
  SECTION("the second does not agree: the next two count") {
    c.rig.wan_sends(c.pair.ack(104, 7));
    c.sends(c.pair.write(105));
    CHECK(c.rig.at_host() == Lines{"ack 104 msn 7"});
    c.rig.wan_sends(c.pair.ack(105, 8));
    c.sends(c.pair.write(106));
    CHECK(c.rig.at_host() == Lines{"ack 105 msn 8", "ack 106 msn 9"});
  }
}

TEST_CASE("a responder that counts the message under way is trusted", "[engine][reorder]") {
  Confirmed c;
  c.rig.host_sends({c.pair.request("write_first", 101, {true, 1024}), c.pair.request("write_last", 102, {true, 8})});
  c.rig.at_host();
  c.rig.wan_sends(c.pair.ack(101, 2));
  c.rig.wan_sends(c.pair.ack(102, 2));
  c.sends(c.pair.write(103));
  CHECK(c.rig.at_host() == Lines{"ack 103 msn 3"});
  CHECK(c.rig.count(Counter::msn_disagreed) == 0);
}

TEST_CASE("a flow that nobody answered for give_up is learned again once answers come", "[engine][reorder]") {
  Rig rig(waiting_settings());
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wait(small_settings().give_up * 2);
  REQUIRE(rig.count(Counter::flows_unanswered) == 1);
  rig.wan_sends(pair.ack(100, 1));
  for (std::uint32_t psn = 101; psn < 105; ++psn) {
    rig.host_sends(pair.write(psn));
    rig.wan_sends(pair.ack(psn, psn - 99));
  }
  rig.at_host();
  rig.host_sends(pair.write(105));
  CHECK(rig.at_host() == Lines{"ack 105 msn 6"});
}
