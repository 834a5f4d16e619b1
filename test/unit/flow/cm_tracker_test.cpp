// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "flow/cm_tracker.hpp"
#include "support/hosts.hpp"

using namespace longhaul;
using namespace longhaul::test;
using flow::CmEvent;

namespace {

flow::CmOutcome feed(flow::CmTracker& tracker, const Bytes& bytes, Side from, Time now = 0) {
  wire::Frame frame;
  REQUIRE(wire::parse(bytes, frame) == wire::ParseStatus::roce);
  const auto message = wire::parse_cm(frame);
  REQUIRE(message);
  return tracker.handle(frame, *message, from, now);
}

}  // namespace

TEST_CASE("REQ and REP give both ends, each with the PSN that the other one named", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  CHECK(feed(tracker, pair.req(), Side::host).event == CmEvent::none);
  const auto outcome = feed(tracker, pair.rep(), Side::wan);
  REQUIRE(outcome.event == CmEvent::replied);
  CHECK(outcome.info.end(Side::host).qpn == pair.a_qpn);
  CHECK(outcome.info.end(Side::host).starting_psn == pair.a_psn);
  CHECK(outcome.info.end(Side::wan).qpn == pair.b_qpn);
  CHECK(outcome.info.end(Side::wan).starting_psn == pair.b_psn);
  CHECK(outcome.info.path_mtu == 1024);
  CHECK(outcome.info.retry_count == 7);
  CHECK(outcome.info.ack_timeout == 4096ULL << 14);
}

TEST_CASE("exchanges are told apart by transaction ID", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  Pair first;
  Pair second;
  second.transaction = 0x78;
  second.a_qpn = 0x99;
  feed(tracker, first.req(), Side::host);
  feed(tracker, second.req(), Side::host);
  CHECK(feed(tracker, first.rep(), Side::wan).info.end(Side::host).qpn == first.a_qpn);
  CHECK(feed(tracker, second.rep(), Side::wan).info.end(Side::host).qpn == second.a_qpn);
}

TEST_CASE("DREQ and DREP belong to a connection from its binding to its end", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  CHECK(feed(tracker, pair.dreq(Side::host), Side::host).event == CmEvent::unmatched);
  feed(tracker, pair.req(), Side::host);
  feed(tracker, pair.rep(), Side::wan);
  tracker.bind(5);
  CHECK(feed(tracker, pair.dreq(Side::host), Side::host).connection == 5);
  CHECK(feed(tracker, pair.dreq(Side::wan), Side::wan).event == CmEvent::disconnect_requested);
  CHECK(feed(tracker, pair.drep(Side::wan), Side::wan).event == CmEvent::disconnected);
  tracker.forget(5);
  CHECK(feed(tracker, pair.drep(Side::wan), Side::wan).event == CmEvent::unmatched);
}

TEST_CASE("a REQ nobody answers is forgotten", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  feed(tracker, pair.req(), Side::host, 0);
  Pair later = pair;
  later.transaction = 0x78;
  feed(tracker, later.req(), Side::host, flow::CmTracker::kPendingLife + 1);
  CHECK(feed(tracker, pair.rep(), Side::wan, flow::CmTracker::kPendingLife + 1).event == CmEvent::unmatched);
}

TEST_CASE("a REJ ends the connection of its own exchange only", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  feed(tracker, pair.req(), Side::host);
  feed(tracker, pair.rep(), Side::wan);
  tracker.bind(5);
  // Someone has used the communication ID again, and that connection got no place (its QPN is held).
  Pair forged = pair;
  forged.transaction = 0x78;
  forged.b_comm = 0xb2;
  feed(tracker, forged.req(), Side::host);
  CHECK(feed(tracker, forged.rep(), Side::wan).event == CmEvent::replied);
  CHECK_FALSE(feed(tracker, forged.rej(Side::host), Side::host).connection);
  CHECK(feed(tracker, pair.dreq(Side::host), Side::host).connection == 5);
  const auto own = feed(tracker, pair.rej(Side::host), Side::host);
  CHECK(own.event == CmEvent::rejected);
  CHECK(own.connection == 5);
}

TEST_CASE("a connection that was postponed waits for its active end's word", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  Pair pair;
  pair.active = GENERATE(Side::host, Side::wan);
  const Side active = pair.active;
  const Side passive = other(active);
  CHECK(feed(tracker, pair.req(), active).event == CmEvent::none);
  CHECK(feed(tracker, pair.rep(), passive).active_side == active);
  tracker.postpone(17, 5);
  CHECK(feed(tracker, pair.rep(), passive).event == CmEvent::none);  // a repeat
  Pair stranger = pair;
  (active == Side::host ? stranger.b_comm : stranger.a_comm) = 0xdead;
  CHECK(feed(tracker, stranger.rtu(), active).event == CmEvent::none);
  CHECK(feed(tracker, pair.rtu(), passive).event == CmEvent::none);
  CHECK(feed(tracker, pair.drep(active), active).event == CmEvent::unmatched);
  CHECK(feed(tracker, pair.dreq(passive), passive).event == CmEvent::unmatched);
  const unsigned which = GENERATE(0u, 1u, 2u);
  const Bytes word = which == 0 ? pair.rtu() : which == 1 ? pair.mra(active) : pair.dreq(active);
  const auto outcome = feed(tracker, word, active);
  CHECK(outcome.event == CmEvent::established);
  CHECK(outcome.active_side == active);
  CHECK(outcome.mark == 17);
  CHECK(outcome.connection == 5);
  CHECK(outcome.info.end(Side::host).qpn == pair.a_qpn);
  CHECK(outcome.info.end(Side::host).starting_psn == pair.a_psn);
  CHECK(outcome.info.end(Side::wan).qpn == pair.b_qpn);
  tracker.bind(5);
  CHECK(feed(tracker, pair.rtu(), active).event == CmEvent::none);
  CHECK(feed(tracker, pair.dreq(active), active).event == CmEvent::disconnect_requested);
}

TEST_CASE("of a connection that got no place, a repeat of the REP brings back the mark", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  feed(tracker, pair.req(), Side::host);
  CHECK(feed(tracker, pair.rep(), Side::wan).event == CmEvent::replied);
  tracker.leave(17);
  const auto outcome = feed(tracker, pair.rep(), Side::wan);
  CHECK(outcome.event == CmEvent::none);
  CHECK(outcome.mark == 17);
  CHECK_FALSE(outcome.connection);
}

TEST_CASE("while it waits, the exchange of an old connection with the same active end's ID is its own", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair old;
  feed(tracker, old.req(), Side::host);
  feed(tracker, old.rep(), Side::wan);
  tracker.bind(5);
  Pair pair = old;
  pair.transaction = 0x78;
  pair.b_comm = 0xb2;
  feed(tracker, pair.req(), Side::host);
  feed(tracker, pair.rep(), Side::wan);
  const bool waits = GENERATE(true, false);
  if (waits)
    tracker.postpone(0, 6);
  else
    tracker.bind(6);
  CHECK(feed(tracker, old.dreq(Side::wan), Side::wan).connection == 5);
  CHECK(tracker.exchange_of(5)->passive_comm_id == old.b_comm);
  tracker.forget(5);
  CHECK(feed(tracker, old.dreq(Side::wan), Side::wan).event == CmEvent::unmatched);
  if (waits) CHECK(feed(tracker, pair.rtu(), Side::host).connection == 6);
}

TEST_CASE("an exchange is repeated as long as its connection stands, and new when it has ended", "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  for (unsigned life = 0; life < 3; ++life) {
    CHECK(feed(tracker, pair.req(), Side::host).event == CmEvent::none);
    CHECK(feed(tracker, pair.rep(), Side::wan).event == CmEvent::replied);
    tracker.bind(5);
    for (const auto& again : {feed(tracker, pair.req(), Side::host), feed(tracker, pair.rep(), Side::wan)}) {
      CHECK(again.event == CmEvent::repeated);
      CHECK(again.connection == 5);
    }
    tracker.forget(5);
    CHECK(feed(tracker, pair.rep(), Side::wan).event == CmEvent::unmatched);
  }
}

TEST_CASE("a REP that differs from the first is of another connection, a REQ that differs of another exchange",
          "[flow][cm]") {
  flow::CmTracker tracker(8, 8);
  const Pair pair;
  feed(tracker, pair.req(), Side::host);
  feed(tracker, pair.rep(), Side::wan);
  tracker.bind(5);
  Pair other = pair;
  const unsigned what = GENERATE(0u, 1u, 2u, 3u);
  if (what == 0) other.b_qpn = 0x99;
  if (what == 1) other.a_psn = 9000;
  if (what == 2) other.b_comm = 0xb2;
  if (what == 3) other.a_qpn = 0x99;
  feed(tracker, other.req(), Side::host);
  const auto outcome = feed(tracker, other.rep(), Side::wan);
  REQUIRE(outcome.event == CmEvent::replied);
  CHECK(outcome.info.end(Side::host).qpn == other.a_qpn);
  CHECK(outcome.info.end(Side::wan).qpn == other.b_qpn);
  CHECK(outcome.info.end(Side::host).starting_psn == other.a_psn);
  CHECK(feed(tracker, pair.dreq(Side::host), Side::host).connection == 5);
}

TEST_CASE("a flood of REQs between two hosts pushes out its own, not those of others", "[flow][cm]") {
  flow::CmTracker tracker(64, 64);
  Pair victim;
  victim.a_ip = "10.9.0.1";
  feed(tracker, victim.req(), Side::host);
  Pair flood;
  unsigned pushed_out = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    ++flood.transaction;
    ++flood.a_comm;
    if (feed(tracker, flood.req(), Side::host).event == CmEvent::table_full) ++pushed_out;
  }
  CHECK(pushed_out == 1000 - 63);
  CHECK(feed(tracker, victim.rep(), Side::wan).event == CmEvent::replied);
  // And a newcomer finds room.
  victim.a_ip = "10.9.0.2";
  feed(tracker, victim.req(), Side::host);
  CHECK(feed(tracker, victim.rep(), Side::wan).event == CmEvent::replied);
  CHECK(feed(tracker, flood.rep(), Side::wan).event == CmEvent::replied);
}

TEST_CASE("what waits is bounded as REQs are, and goes with its REQ or its REJ", "[flow][cm]") {
  flow::CmTracker tracker(4, 4);
  const Pair first;
  feed(tracker, first.req(), Side::host);
  feed(tracker, first.rep(), Side::wan);
  tracker.postpone(0, 5);
  SECTION("other REQs need the place") {
    for (unsigned i = 1; i <= 4; ++i) {
      Pair pair;
      pair.transaction += i;
      pair.a_comm += i;
      feed(tracker, pair.req(), Side::host);
    }
  }
  SECTION("its active end rejects the REP") { CHECK(feed(tracker, first.rej(Side::host), Side::host).connection == 5); }
  SECTION("it was given up") { tracker.forget(5); }
  CHECK(feed(tracker, first.rtu(), Side::host).event == CmEvent::none);
  tracker.forget(5);
}
