// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "flow/cm_tracker.hpp"
#include "hosts.hpp"

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
  flow::CmTracker tracker(8);
  const Pair pair;
  CHECK(feed(tracker, pair.req(), Side::host).event == CmEvent::none);
  const auto outcome = feed(tracker, pair.rep(), Side::wan);
  REQUIRE(outcome.event == CmEvent::learned);
  CHECK(outcome.info.end(Side::host).qpn == pair.a_qpn);
  CHECK(outcome.info.end(Side::host).starting_psn == pair.a_psn);
  CHECK(outcome.info.end(Side::wan).qpn == pair.b_qpn);
  CHECK(outcome.info.end(Side::wan).starting_psn == pair.b_psn);
  CHECK(outcome.info.path_mtu == 1024);
  CHECK(outcome.info.retry_count == 7);
  CHECK(outcome.info.ack_timeout == 4096ULL << 14);
}

TEST_CASE("exchanges are told apart by transaction ID", "[flow][cm]") {
  flow::CmTracker tracker(8);
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
  flow::CmTracker tracker(8);
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
  flow::CmTracker tracker(8);
  const Pair pair;
  feed(tracker, pair.req(), Side::host, 0);
  Pair later = pair;
  later.transaction = 0x78;
  feed(tracker, later.req(), Side::host, flow::CmTracker::kPendingLife + 1);
  CHECK(feed(tracker, pair.rep(), Side::wan, flow::CmTracker::kPendingLife + 1).event == CmEvent::unmatched);
}

TEST_CASE("a REJ ends the connection of its own exchange only", "[flow][cm]") {
  flow::CmTracker tracker(8);
  const Pair pair;
  feed(tracker, pair.req(), Side::host);
  feed(tracker, pair.rep(), Side::wan);
  tracker.bind(5);
  // Somebody has used the communication ID once more, and the connection got no place (its QPN is held).
  Pair forged = pair;
  forged.transaction = 0x78;
  forged.b_comm = 0xb2;
  feed(tracker, forged.req(), Side::host);
  CHECK(feed(tracker, forged.rep(), Side::wan).event == CmEvent::learned);
  CHECK_FALSE(feed(tracker, forged.rej(Side::host), Side::host).connection);
  CHECK(feed(tracker, pair.dreq(Side::host), Side::host).connection == 5);
  const auto own = feed(tracker, pair.rej(Side::host), Side::host);
  CHECK(own.event == CmEvent::rejected);
  CHECK(own.connection == 5);
}
