// SPDX-License-Identifier: BSD-3-Clause
// What an engine does with its estimate of the long link (custody/link_estimate.hpp): its pace if none is configured,
// how much it acknowledges at the start, and a new flow's first timeout.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

engine::Settings estimating() {
  auto settings = small_settings();
  settings.estimate_wan_rate = true;
  return settings;
}

}  // namespace

TEST_CASE("with no rate known custody leaves as fast as answers say that the link carries it", "[engine][link]") {
  constexpr std::uint64_t kRate = 20'000'000;
  constexpr Duration kRoundTrip = milliseconds(5);
  Rig rig(estimating());
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.at_wan();
  struct Answer {
    Time at;
    std::uint32_t psn;
  };
  std::deque<Answer> answers;
  Time free_at = 0;
  std::uint32_t next = 101;
  for (int ms = 0; ms < 200; ++ms) {
    if (rig.engine->custody_packets() < 60) {
      rig.host_sends(pair.writes(next, 5, {true, 1000}));
      next += 5;
    }
    for (const Seen& seen : rig.wan_out) {
      free_at = std::max(free_at, rig.now) + pair.write(0, {true, 1000}).size() * 8'000'000'000 / kRate;
      answers.push_back({free_at + kRoundTrip, seen.psn});
    }
    rig.wan_out.clear();
    rig.wait(milliseconds(1));
    for (; !answers.empty() && answers.front().at <= rig.now; answers.pop_front())
      rig.wan_sends(pair.ack(answers.front().psn, answers.front().psn - 99));
  }
  const engine::LinkState link = rig.engine->link_state();
  // Answers come in steps of a millisecond.
  CHECK(static_cast<double>(link.rate_bps) == Approx(kRate).epsilon(0.2));
  CHECK(link.pace_bps >= kRate * 7 / 10);
  CHECK(link.pace_bps <= kRate * 14 / 10);
  CHECK(link.round_trip >= kRoundTrip);
  CHECK(rig.engine->waiting_frames() > 0);
}

TEST_CASE("little is acknowledged early until a round trip has gone well", "[engine][link]") {
  auto settings = estimating();
  bool limited = true;
  SECTION("with no rate known") {}
  SECTION("with a rate") {
    settings.wan_rate_bps = 1'000'000'000'000;
    limited = false;
  }
  SECTION("where all leaves as fast as it comes") {
    settings.estimate_wan_rate = false;
    limited = false;
  }
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.at_host();
  rig.host_sends(pair.writes(101, 7, kLarge));  // 28 KB
  CHECK(rig.at_host().empty() == limited);
  for (std::uint32_t answered : {104U, 107U}) {
    rig.wait(milliseconds(2));
    rig.wan_sends(pair.ack(answered, answered - 99));
  }
  rig.at_host();
  rig.host_sends(pair.writes(108, 7, kLarge));
  CHECK(rig.at_host().size() == 7);
}

TEST_CASE("a flow whose round trip is not known takes its first timeout from that of others", "[engine][link]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair pair;
  Pair other = pair;
  other.a_qpn = 0x13;
  other.b_qpn = 0x24;
  other.a_comm = 0xa3;
  other.b_comm = 0xb3;
  other.transaction = 0x79;
  rig.connect(other);
  rig.at_wan();
  SECTION("there are none") {
    rig.host_sends(other.write(100));
    rig.at_wan();
    rig.wait(milliseconds(500));
    CHECK(rig.at_wan().empty());
  }
  SECTION("one was answered after 5 ms") {
    rig.connect(pair);
    rig.host_sends(pair.write(100));
    rig.wait(milliseconds(5));
    rig.wan_sends(pair.ack(100, 1));
    rig.host_sends(other.write(100));
    rig.at_wan();
    rig.wait(milliseconds(100));
    CHECK_FALSE(rig.at_wan().empty());
  }
}

TEST_CASE("what a requester is to send again is asked for when custody has sent what it has", "[engine][link]") {
  auto settings = small_settings();
  settings.wan_rate_bps = 1'000'000;
  settings.custody_flow_bytes = 4 * Pair{}.write(0, kLarge).size();
  settings.rto_min = seconds(10);
  Rig rig(settings);
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.wait(milliseconds(100));
  for (std::uint32_t psn = 101; psn < 105; ++psn) {
    rig.host_sends(pair.write(psn, kLarge));
    rig.wait(milliseconds(100));
  }
  rig.host_sends(pair.write(105));  // passes: custody is full
  rig.wait(milliseconds(100));
  rig.at_wan();
  rig.at_host();
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan() == Lines{"write_only 101!"});
  CHECK(rig.at_host().empty());
  rig.wait(milliseconds(200));
  CHECK(rig.at_wan() == Lines{"write_only 102!", "write_only 103!", "write_only 104!"});
  CHECK(rig.at_host() == Lines{"nak0 105 msn 5"});
}
