// SPDX-License-Identifier: BSD-3-Clause
// Two boxes find each other, and stay together as far as the link and their keys allow.
#include <catch2/catch.hpp>

#include "support/two_boxes.hpp"

using namespace longhaul;
using namespace longhaul::test;
using peer::Drop;
using peer::State;

namespace {

/// 0: not a datagram between boxes.
std::uint8_t type_of(const Frame& frame) {
  return frame.size() > kHeaders + 1 && is_datagram(frame) ? frame[kHeaders + 1] : 0;
}
bool is(const Frame& frame, peer::Type type) { return type_of(frame) == static_cast<std::uint8_t>(type); }

}  // namespace

TEST_CASE("two boxes with one key find each other and measure the round trip", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  CHECK(boxes.run(seconds(2), [&] { return boxes.both_up(); }));
  boxes.run(seconds(3));
  REQUIRE(boxes.both_up());
  for (const End* end : {&boxes.a, &boxes.b}) {
    const peer::PeerReport report = end->report();
    CHECK(report.round_trip == 2 * boxes.delay);
    CHECK(report.least_round_trip == 2 * boxes.delay);
    CHECK(report.version == peer::kHighestVersion);
    CHECK(report.key_id == key_number(1).id());
    CHECK(report.resolved);
    CHECK(report.went_down == 0);
  }
  CHECK(boxes.a.report().epoch == boxes.b.peers->report(boxes.now).epoch);
}

TEST_CASE("a quiet pair sends at most 10 kbit/s each way", "[peer]") {
  const bool ipv6 = GENERATE(false, true);
  TwoBoxes boxes(ipv6 ? "2001:db8::1" : "192.0.2.1", ipv6 ? "2001:db8::2" : "192.0.2.2");
  for (End* end : {&boxes.a, &boxes.b}) end->settings.station.vlan = 100;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.log.clear();
  boxes.run(seconds(60));
  std::array<std::uint64_t, 2> bits{};
  for (const auto& [from, frame] : boxes.log) bits[from] += 8 * frame.size();
  CHECK(bits[0] / 60 < 10'000);
  CHECK(bits[1] / 60 < 10'000);
  CHECK(bits[0] > 0);
}

TEST_CASE("silence, and the link's return", "[peer]") {
  TwoBoxes boxes;
  bool cut = false;
  boxes.link = [&](unsigned, const Frame&) {
    return cut ? std::vector<Duration>{} : std::vector<Duration>{boxes.delay};
  };
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.run(seconds(1));
  cut = true;
  const Time since = boxes.now;
  REQUIRE(boxes.run(seconds(5), [&] { return !boxes.a.up() && !boxes.b.up(); }));
  // After the last that came.
  CHECK(boxes.now - since <= peer::Peer::kGone + boxes.delay);
  CHECK(boxes.now - since >= peer::Peer::kGone - peer::Peer::kKeepalive);
  CHECK(boxes.a.report().down_cause == peer::DownCause::silent);
  boxes.run(seconds(20));
  cut = false;
  REQUIRE(boxes.run(seconds(2), [&] { return boxes.both_up(); }));
  CHECK(boxes.a.report().restarts == 0);
  CHECK(boxes.a.report().went_down == 1);
}

TEST_CASE("a link that is cut one way is down for both", "[peer]") {
  const unsigned deaf = GENERATE(0u, 1u);
  TwoBoxes boxes;
  bool cut = false;
  boxes.link = [&](unsigned from, const Frame&) {
    return cut && from != deaf ? std::vector<Duration>{} : std::vector<Duration>{boxes.delay};
  };
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.run(seconds(1));
  cut = true;
  REQUIRE(boxes.run(seconds(2), [&] { return !boxes.a.up() && !boxes.b.up(); }));
  CHECK((deaf == 0 ? boxes.a : boxes.b).report().hears_us);
  CHECK_FALSE((deaf == 0 ? boxes.b : boxes.a).report().hears_us);
  CHECK_FALSE(boxes.run(seconds(20), [&] { return boxes.a.up() || boxes.b.up(); }));
  cut = false;
  REQUIRE(boxes.run(milliseconds(500), [&] { return boxes.both_up(); }));
  CHECK_FALSE(boxes.run(seconds(5), [&] { return !boxes.both_up(); }));
}

TEST_CASE("who keeps datagrams back longer and longer does not hide that a peer is dead", "[peer]") {
  TwoBoxes boxes;
  Duration more = 0;
  boxes.link = [&](unsigned, const Frame&) { return std::vector<Duration>{boxes.delay + more}; };
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  for (int i = 0; i < 60; ++i) {
    more += milliseconds(500);
    boxes.run(seconds(1));
  }
  boxes.b.peers.reset();
  CHECK(boxes.run(peer::Peer::kGoneAtMost + milliseconds(1), [&] { return !boxes.a.up(); }));
}

TEST_CASE("a CONFIRM that was kept back is worth nothing after another session", "[peer]") {
  TwoBoxes boxes;
  std::vector<Frame> kept;
  boxes.link = [&](unsigned from, const Frame& frame) {
    if (from == 0 && is(frame, peer::Type::confirm)) {
      kept.push_back(frame);
      return std::vector<Duration>{};
    }
    if (from == 1 && is(frame, peer::Type::init) && kept.empty()) return std::vector<Duration>{};
    return std::vector<Duration>{boxes.delay};
  };
  boxes.begin();
  REQUIRE(boxes.run(seconds(10), [&] { return boxes.both_up(); }));
  REQUIRE_FALSE(kept.empty());
  boxes.a.peers.reset();
  boxes.a.begin(boxes.now);
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up() && boxes.b.report().restarts == 1; }));
  for (const Frame& frame : kept) boxes.deliver(1, frame);
  CHECK(boxes.b.report().restarts == 1);
  CHECK(boxes.both_up());
}

TEST_CASE("a long way is not silence", "[peer]") {
  TwoBoxes boxes;
  boxes.delay = milliseconds(400);
  boxes.begin();
  REQUIRE(boxes.run(seconds(10), [&] { return boxes.both_up(); }));
  boxes.run(seconds(5));
  const std::uint64_t downs = boxes.a.report().went_down;
  boxes.run(seconds(60));
  CHECK(boxes.both_up());
  CHECK(boxes.a.report().went_down == downs);
}

TEST_CASE("a box that began anew is another epoch", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  const std::uint64_t epoch = boxes.a.report().epoch;
  boxes.b.peers.reset();  // killed: no farewell
  boxes.b.begin(boxes.now);
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.a.report().epoch != epoch && boxes.both_up(); }));
  CHECK(boxes.a.report().restarts == 1);
  CHECK(boxes.b.report().restarts == 0);
  // Nothing of the former life's sessions is received on.
  CHECK(boxes.a.report().sessions == 1);
}

TEST_CASE("a box says that it ends", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.b.peers->stop(boxes.now);
  boxes.b.peers.reset();
  boxes.run(boxes.delay + 1);
  CHECK_FALSE(boxes.a.up());
  CHECK(boxes.a.report().down_cause == peer::DownCause::stopped);
}

TEST_CASE("boxes with different keys never meet", "[peer]") {
  TwoBoxes boxes;
  boxes.b.settings.peers.front().keys = {key_number(2)};
  boxes.begin();
  CHECK_FALSE(boxes.run(seconds(30), [&] { return boxes.a.up() || boxes.b.up(); }));
  CHECK(boxes.a.dropped(Drop::unknown_key) > 0);
  CHECK(boxes.b.dropped(Drop::unknown_key) > 0);
}

TEST_CASE("keys are changed without a moment of silence", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  const auto stays_up = [&](Duration time) { CHECK_FALSE(boxes.run(time, [&] { return !boxes.both_up(); })); };
  const auto old_key = key_number(1);
  const auto new_key = key_number(2);
  using Keys = std::vector<peer::PreSharedKey>;
  for (const Keys& keys : {Keys{old_key, new_key}, Keys{new_key, old_key}, Keys{new_key}})
    for (End* end : {&boxes.a, &boxes.b}) {
      end->set_keys(keys);
      stays_up(seconds(10));
    }
  CHECK(boxes.a.report().key_id == new_key.id());
  CHECK(boxes.b.report().key_id == new_key.id());
  CHECK(boxes.a.report().went_down == 0);
  // And not again and again while the two files differ.
  CHECK(boxes.a.report().handshakes <= 4);
}

TEST_CASE("a key that was taken out is not trusted any more", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.a.set_keys({key_number(3)});
  CHECK_FALSE(boxes.a.up());
  boxes.run(boxes.delay + 1);
  CHECK(boxes.b.report().down_cause == peer::DownCause::key_removed);
  CHECK_FALSE(boxes.run(seconds(10), [&] { return boxes.a.up() || boxes.b.up(); }));
}

TEST_CASE("a session is renewed within two hours", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  CHECK_FALSE(boxes.run(seconds(3 * 3600), [&] { return !boxes.both_up(); }));
  for (const End* end : {&boxes.a, &boxes.b}) {
    CHECK(end->report().handshakes >= 3);
    CHECK(end->report().session_age < seconds(3600) * 11 / 10 + seconds(1));
  }
}

TEST_CASE("whatever was sent once is worth nothing a second time", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.run(seconds(1));
  const auto recorded = boxes.log;
  boxes.run(boxes.delay + 1);  // what was under way has come
  const auto before_a = boxes.a.report();
  const auto before_b = boxes.b.report();
  for (const auto& [from, frame] : recorded) {
    boxes.deliver(1 - from, frame);
    boxes.deliver(from, frame);  // and reflected
  }
  CHECK(boxes.a.report().received == before_a.received);
  CHECK(boxes.b.report().received == before_b.received);
  CHECK(boxes.a.report().handshakes == before_a.handshakes);
  CHECK(boxes.a.dropped(Drop::replayed) > 0);
  CHECK_FALSE(boxes.run(seconds(2), [&] { return !boxes.both_up(); }));
  // Nor after a new life of one of them.
  boxes.b.peers.reset();
  boxes.b.begin(boxes.now);
  for (const auto& [from, frame] : recorded) boxes.deliver(1 - from, frame);
  CHECK_FALSE(boxes.b.up());
  CHECK(boxes.b.report().handshakes == 0);
  CHECK(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
}

TEST_CASE("recorded INITs do not disturb a handshake", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  std::vector<TwoBoxes::Sent> inits;
  for (const auto& sent : boxes.log)
    if (is(sent.frame, peer::Type::init)) inits.push_back(sent);
  REQUIRE_FALSE(inits.empty());
  // An attacker at the link puts them before each frame but the answers to them.
  bool attacks = false;
  boxes.link = [&](unsigned from, const Frame&) {
    if (attacks) return std::vector<Duration>{};
    attacks = true;
    for (const auto& init : inits)
      if (init.from == from) boxes.deliver(1 - from, init.frame);
    attacks = false;
    return std::vector<Duration>{boxes.delay};
  };
  boxes.a.peers.reset();
  boxes.a.begin(boxes.now);
  CHECK(boxes.run(seconds(3), [&] { return boxes.both_up(); }));
}

TEST_CASE("a forged datagram changes nothing", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.run(seconds(1));
  auto recorded = boxes.log;
  const std::uint64_t received = boxes.b.report().received;
  // Each bit of each datagram behind the UDP header in turn, with a sequence number that is new.
  boxes.log.clear();
  boxes.run(milliseconds(150));
  REQUIRE_FALSE(boxes.log.empty());
  recorded.insert(recorded.end(), boxes.log.begin(), boxes.log.end());
  std::uint64_t tried = 0;
  for (const auto& [from, frame] : recorded) {
    if (from != 0 || type_of(frame) == 0) continue;
    for (std::size_t bit = 0; bit < 8 * (frame.size() - kHeaders); ++bit) {
      Frame forged = frame;
      forged[kHeaders + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      forged[40] = forged[41] = 0;  // no UDP checksum
      const std::uint64_t before = boxes.b.report().received;
      boxes.deliver(1, forged);
      REQUIRE(boxes.b.report().received == before);
      ++tried;
    }
  }
  CHECK(tried > 1000);
  CHECK(boxes.b.report().received <= received + 4);
  CHECK(boxes.b.dropped(Drop::forged) > 0);
  CHECK(boxes.run(seconds(1), [&] { return boxes.both_up(); }));
}

TEST_CASE("a flood of INITs is answered to a limit, and sessions go on", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  Frame init;
  for (const auto& sent : boxes.log)
    if (sent.from == 0 && is(sent.frame, peer::Type::init)) init = sent.frame;
  REQUIRE_FALSE(init.empty());
  boxes.log.clear();
  for (int i = 0; i < 100'000; ++i) boxes.deliver(1, init);
  CHECK(boxes.log.size() <= 1001);
  CHECK(boxes.b.dropped(Drop::too_many) > 90'000);
  CHECK_FALSE(boxes.run(seconds(5), [&] { return !boxes.both_up(); }));
}

TEST_CASE("a peer whose address is not configured gets no answer", "[peer]") {
  TwoBoxes boxes;
  boxes.b.settings.peers.front().address = wire::IpAddress::parse("192.0.2.77");
  boxes.begin();
  CHECK_FALSE(boxes.run(seconds(5), [&] { return boxes.a.up(); }));
  CHECK(boxes.b.peers->report(boxes.now).from_unknown_sources > 0);
}

TEST_CASE("a peer that is taken out hears of it", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.b.peers->set_peers({}, boxes.now);
  boxes.run(boxes.delay + 1);
  CHECK(boxes.a.report().down_cause == peer::DownCause::removed_us);
}

// With luck of all kinds: the boxes are up in the end, each hears the other, and neither is busy with handshakes.
TEST_CASE("over a bad link boxes meet again and again", "[peer]") {
  const auto seed = GENERATE(range(1, 41));
  CAPTURE(seed);
  std::mt19937_64 luck(static_cast<std::uint64_t>(seed));
  const auto chance = [&](unsigned percent) { return luck() % 100 < percent; };
  TwoBoxes boxes;
  boxes.delay = microseconds(luck() % 300'000);
  const auto loss = static_cast<unsigned>(luck() % 60);
  bool bad = true;
  boxes.link = [&](unsigned, const Frame&) {
    if (!bad) return std::vector<Duration>{boxes.delay};
    std::vector<Duration> copies;
    if (!chance(loss)) copies.push_back(boxes.delay + (chance(30) ? milliseconds(luck() % 500) : 0));
    while (chance(20)) copies.push_back(boxes.delay + milliseconds(luck() % 2000));
    return copies;
  };
  boxes.begin();
  for (int i = 0; i < 8; ++i) {
    boxes.run(milliseconds(luck() % 8000));
    End& end = chance(50) ? boxes.a : boxes.b;
    if (chance(40)) {
      end.peers.reset();
      end.begin(boxes.now);
    } else if (chance(30)) {
      end.set_keys({key_number(1), key_number(2)});
    }
  }
  bad = false;
  boxes.run(seconds(15));
  CHECK(boxes.both_up());
  CHECK(boxes.a.report().epoch == boxes.b.peers->report(boxes.now).epoch);
  CHECK(boxes.b.report().epoch == boxes.a.peers->report(boxes.now).epoch);
  const std::uint64_t events = boxes.events;
  const auto before = boxes.a.report();
  CHECK_FALSE(boxes.run(seconds(60), [&] { return !boxes.both_up(); }));
  CHECK(boxes.a.report().handshakes == before.handshakes);
  CHECK(boxes.a.report().round_trip >= 2 * boxes.delay);
  // KEEPALIVEs, and what the station does for them.
  CHECK(boxes.events - events < 60 * 42);
}

TEST_CASE("CONFIRMs that were kept back are no sign of life", "[peer]") {
  TwoBoxes boxes;
  std::vector<Frame> kept;
  boxes.link = [&](unsigned from, const Frame& frame) {
    // Of the first box's; the second's answers are lost until there are some.
    if (from == 0 && is(frame, peer::Type::confirm)) {
      kept.push_back(frame);
      return kept.size() > 1 ? std::vector<Duration>{} : std::vector<Duration>{boxes.delay};
    }
    const bool lost =
        from == 1 && (is(frame, peer::Type::init) || (kept.size() < 6 && is(frame, peer::Type::keepalive)));
    return lost ? std::vector<Duration>{} : std::vector<Duration>{boxes.delay};
  };
  boxes.begin();
  REQUIRE(boxes.run(seconds(10), [&] { return boxes.both_up(); }));
  REQUIRE(kept.size() >= 5);
  boxes.run(seconds(1));
  boxes.a.peers.reset();
  for (std::size_t i = 1; i < kept.size(); ++i) {
    boxes.run(milliseconds(100));
    boxes.deliver(1, kept[i]);
  }
  CHECK_FALSE(boxes.b.up());
}

TEST_CASE("clocks of different rates do not hide a short way", "[peer]") {
  // DPDK's clocks may be off by some thousandths: what one box has held a KEEPALIVE for, the other measures as less.
  TwoBoxes boxes;
  boxes.delay = microseconds(2);
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  const auto session_keeps = boxes.a.report().handshakes;
  // The second box's clock runs faster by 2 in 1,000.
  boxes.skew_of_b = 2000;
  CHECK_FALSE(boxes.run(seconds(10), [&] { return !boxes.both_up(); }));
  CHECK(boxes.a.report().handshakes == session_keeps);
  CHECK(boxes.a.dropped(Drop::late) == 0);
}

TEST_CASE("a reload in the middle of a handshake leads to the new key", "[peer]") {
  for (const Duration after : {milliseconds(1), milliseconds(6), milliseconds(12), milliseconds(18)}) {
    CAPTURE(after);
    TwoBoxes boxes;
    boxes.b.settings.peers.front().keys = {key_number(1), key_number(2)};
    bool passes = false;  // what confirms a session
    boxes.link = [&](unsigned from, const Frame& frame) {
      if (from == 1 && (is(frame, peer::Type::init) || (!passes && is(frame, peer::Type::keepalive))))
        return std::vector<Duration>{};
      return std::vector<Duration>{boxes.delay};
    };
    boxes.begin();
    boxes.run(after);
    boxes.a.set_keys({key_number(2), key_number(1)});
    passes = true;
    boxes.run(seconds(10));
    REQUIRE(boxes.both_up());
    CHECK(boxes.a.report().key_id == key_number(2).id());
  }
}

TEST_CASE("what happened before a peer went down is not held against it", "[peer]") {
  TwoBoxes boxes;
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.b.peers.reset();
  boxes.b.begin(boxes.now);
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.b.peers.reset();
  boxes.run(seconds(5));
  REQUIRE_FALSE(boxes.a.up());
  for (const std::uint64_t dropped : boxes.a.report().dropped_lately) CHECK(dropped == 0);
}

TEST_CASE("handshakes that cross lead to no later silence", "[peer]") {
  std::uint64_t crossed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    TwoBoxes boxes;
    boxes.delay = milliseconds(15) + microseconds(seed * 7);
    bool cut = false;
    boxes.link = [&](unsigned, const Frame&) {
      return cut ? std::vector<Duration>{} : std::vector<Duration>{boxes.delay};
    };
    boxes.begin();
    REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
    boxes.run(seconds(1) + milliseconds(seed));
    cut = true;
    boxes.run(milliseconds(500));
    cut = false;
    REQUIRE(boxes.run(seconds(3), [&] { return boxes.both_up(); }));
    boxes.run(milliseconds(200));
    if (boxes.a.report().sessions > 2) ++crossed;
    CHECK_FALSE(boxes.run(seconds(10), [&] { return !boxes.both_up(); }));
  }
  CHECK(crossed > 0);
}

TEST_CASE("a former life that is confirmed late does not come back", "[peer]") {
  // The first box has never had a session. Its CONFIRM to the second's first life is answered, and the answer kept
  // back.
  TwoBoxes boxes;
  std::vector<Frame> kept;
  bool second_life = false;
  boxes.link = [&](unsigned from, const Frame& frame) {
    if (from == 1 && !second_life && (is(frame, peer::Type::keepalive) || is(frame, peer::Type::init))) {
      if (is(frame, peer::Type::keepalive)) kept.push_back(frame);
      return std::vector<Duration>{};
    }
    // The second life begins the handshake, while the first box still waits.
    if (from == 0 && second_life && is(frame, peer::Type::init)) return std::vector<Duration>{};
    return std::vector<Duration>{boxes.delay};
  };
  boxes.begin();
  REQUIRE(boxes.run(seconds(3), [&] { return !kept.empty(); }));
  second_life = true;
  boxes.b.peers.reset();
  boxes.b.begin(boxes.now);
  REQUIRE(boxes.run(milliseconds(900), [&] { return boxes.a.up(); }));
  const std::uint64_t epoch = boxes.b.peers->report(boxes.now).epoch;
  REQUIRE(boxes.a.report().epoch == epoch);
  for (const Frame& frame : kept) boxes.deliver(0, frame);
  CHECK(boxes.a.report().epoch == epoch);
  CHECK(boxes.a.report().restarts == 0);
}
