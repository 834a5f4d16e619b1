// SPDX-License-Identifier: BSD-3-Clause
// What one engine says to its peers about flows that are bound, go back, and end (docs/peer-protocol.md, section 9.2):
// how often, to whom, and how long requests wait for an answer.
#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "engine/peer_link.hpp"
#include "relay/messages.hpp"
#include "support/hosts.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// Hears what the engine says, and answers.
class Peers final : public engine::PeerLink {
 public:
  explicit Peers(Rig& rig) : rig_(rig) { rig.engine->join(*this); }
  void send(Speaker to, relay::Type type, relay::Bytes body) override {
    if (type == relay::Type::bind) ++binds, last = relay::entries_in<relay::BindEntry>(body)[0];
    if (type == relay::Type::unbind) ++unbinds;
    said.push_back({type, to, body.size()});
  }
  void up(PeerNumber peer, Duration round_trip, unsigned workers = 1) {
    rig_.engine->peer_up(peer, round_trip, workers);
  }
  /// A worker of the peer says this of the newest binding.
  void says(PeerNumber peer, std::uint8_t flags, unsigned worker = 0) {
    relay::Body body;
    body.add(relay::StateHead{});
    relay::StateEntry entry{};
    entry.name = last.name;
    entry.flags = flags;
    entry.psn = last.psn;
    body.add(entry);
    rig_.engine->peer_said(speaker_of(peer, worker), relay::To::one, relay::Type::state, body.bytes(), rig_.now);
  }

  unsigned binds = 0;
  unsigned unbinds = 0;
  relay::BindEntry last{};
  struct Said {
    relay::Type type;
    Speaker to;
    std::size_t bytes;
  };
  std::vector<Said> said;

 private:
  Rig& rig_;
};

}  // namespace

TEST_CASE("a far host that asks at the rate of its line makes the box say little to its peers", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  for (const PeerNumber peer : {1, 2, 3}) peers.up(peer, milliseconds(100));
  rig.connect_confirmed(pair);
  for (unsigned i = 0; i < 40; ++i) {
    rig.host_sends(pair.writes(101 + 8 * i, 8));
    rig.wait(microseconds(100));
  }
  peers.says(1, relay::kBound);
  const unsigned before = peers.binds;
  const auto nak = [&](unsigned i) {
    rig.wan_sends(i % 2 == 0 ? pair.rnr(101 + i / 400, 1 + i / 400, 1) : pair.nak(101 + i / 400, 1 + i / 400));
    rig.host_out.clear();
    rig.wan_out.clear();
    rig.now += 100;
  };
  for (unsigned i = 0; i < 100'000; ++i) nak(i);
  // One on its way is enough, each to three peers.
  CHECK(peers.binds - before == 3);
  CHECK(rig.count(Counter::resends_rnr_nak) > 0);
}

TEST_CASE("a BIND that was not answered when its peer went does not keep its flow alone", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  peers.up(1, milliseconds(10));
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 2));
  rig.wait(milliseconds(1));
  CHECK(peers.binds == 1);
  rig.engine->peer_gone(1, rig.now);
  SECTION("it is bound when the peer is back") {
    rig.wait(milliseconds(100));
    rig.wan_sends(pair.ack(102, 3));
    peers.up(1, milliseconds(10));
    rig.host_sends(pair.write(103));
    rig.wait(milliseconds(1));
    CHECK(peers.binds == 2);
  }
  SECTION("a sign of another life makes nothing wait for a peer that is not there") {
    rig.wan_out.clear();
    rig.host_sends(pair.write(50));
    CHECK(rig.wan_out.size() == 1);
  }
}

TEST_CASE("one flow that nobody binds does not delay the BIND of another", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  peers.up(1, milliseconds(1));
  const Pair one = pair_number(1);
  const Pair two = pair_number(2);
  rig.connect_confirmed(one);
  rig.connect_confirmed(two);
  rig.host_sends(one.writes(one.a_psn + 1, 2));
  rig.wait(milliseconds(2600));  // asked for each second by now
  const unsigned before = peers.binds;
  while (peers.binds == before) rig.wait(milliseconds(1));
  rig.host_sends(two.writes(two.a_psn + 1, 2));
  rig.wait(milliseconds(12));
  CHECK(peers.binds == before + 3);
}

TEST_CASE("a BIND that is repeated while a probe is out begins where sending stood", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  peers.up(1, milliseconds(10));
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 20));
  rig.wait(milliseconds(600));
  CHECK(rig.count(Counter::resends_timer) > 0);
  CHECK(peers.binds > 2);
  CHECK(std::uint32_t{peers.last.psn} == 121);
}

TEST_CASE("where several peers may hold requests of a former life, none of them ends the wait", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  const bool several = GENERATE(false, true);
  peers.up(1, milliseconds(100));
  if (several) peers.up(2, milliseconds(10));
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 3));
  rig.wait(milliseconds(1));
  peers.says(1, relay::kBound);
  if (several) peers.says(2, relay::kBound);
  rig.wait(milliseconds(10));
  rig.wan_out.clear();
  rig.host_sends(pair.write(50));
  CHECK(rig.wan_out.empty());
  const unsigned before = peers.unbinds;
  peers.says(several ? 2 : 1, relay::kNotBound);
  CHECK(rig.wan_out.size() == (several ? 0 : 1));
  rig.wait(milliseconds(200));
  if (several) {
    CHECK(peers.unbinds >= before + 4);  // either may have lost the first
    rig.wait(milliseconds(100));
    CHECK(rig.wan_out.size() == 1);
  }
}

// ---- several workers ----------------------------------------------------------------------------

TEST_CASE("what is for a flow goes to the worker that has it, and the rest to all of them", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  const unsigned workers = GENERATE(1u, 4u);
  const Speaker all = speaker_of(1, workers == 1 ? 0 : kAllWorkers);
  peers.up(1, milliseconds(10), workers);
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 3));
  rig.wait(milliseconds(1));
  peers.says(1, relay::kBound, workers - 1);
  rig.host_sends(pair.writes(104, 3));
  rig.wait(milliseconds(5));
  unsigned named = 0;
  for (const Peers::Said& said : peers.said) {
    if (said.to == all) continue;
    CHECK(said.type == relay::Type::clock);
    CHECK(said.to == speaker_of(1, 3));
    CHECK(said.bytes == sizeof(relay::ClockHead) + sizeof(relay::ClockEntry));
    ++named;
  }
  CHECK(named == (workers == 1 ? 0 : 2));
}

TEST_CASE("a binding has ended when all workers of the far box have said so", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  const unsigned workers = GENERATE(3u, 64u);
  peers.up(1, milliseconds(100), workers);
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 3));
  rig.wait(milliseconds(1));
  peers.says(1, relay::kBound, 1);
  rig.wan_out.clear();
  rig.host_sends(pair.write(50));  // another life
  for (unsigned worker = 1; worker < workers; ++worker) {
    peers.says(1, relay::kNotBound, worker);
    peers.says(1, relay::kNotBound, worker);  // again: it stands for nobody else
  }
  peers.says(1, relay::kNotBound, workers);  // there is no such worker
  CHECK(rig.wan_out.empty());
  SECTION("then the next life's requests go on") {
    peers.says(1, relay::kNotBound, 0);
    CHECK(rig.wan_out.size() == 1);
  }
  SECTION("or when no box holds anything of it any more") {
    rig.wait(milliseconds(220));
    CHECK(rig.wan_out.size() == 1);
  }
}

TEST_CASE("boxes of several workers tell the time as often as one of one worker", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  peers.up(1, milliseconds(1), 8);
  for (unsigned worker = 0; worker < 8; ++worker) {
    const auto clock_at = [&](Time at) {
      relay::Body body;
      body.add(relay::ClockHead{at});
      rig.engine->peer_said(speaker_of(1, worker), relay::To::all, relay::Type::clock, body.bytes(), rig.now);
    };
    for (unsigned i = 0; i < 1000; ++i) clock_at(rig.now += microseconds(100));
  }
  // 8 workers of the peer, each for 100 ms: a report that says nothing in a millisecond.
  const auto states = std::ranges::count(peers.said, relay::Type::state, &Peers::Said::type);
  CHECK(states >= 8 * 90);
  CHECK(states <= 8 * 101);
}

TEST_CASE("a worker says nothing of a name that another may have", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const relay::To to = GENERATE(relay::To::one, relay::To::all);
  peers.up(1, milliseconds(10), 4);
  relay::Body body;
  body.add(relay::ClockHead{rig.now});
  body.add(relay::ClockEntry{{7, 1}, 100, 110, 110});
  rig.engine->peer_said(speaker_of(1, 2), to, relay::Type::clock, body.bytes(), rig.now);
  REQUIRE(peers.said.size() == 1);
  CHECK(peers.said[0].type == relay::Type::state);
  CHECK(peers.said[0].to == speaker_of(1, 2));
  const std::size_t entries = to == relay::To::one ? sizeof(relay::StateEntry) : 0;
  CHECK(peers.said[0].bytes == sizeof(relay::StateHead) + entries);
}

// ---- what a far box does not have ---------------------------------------------------------------

TEST_CASE("the loss of a newer BIND does not end a binding", "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  peers.up(1, milliseconds(10));
  rig.connect_confirmed(pair);
  rig.host_sends(pair.writes(101, 6));
  rig.wait(milliseconds(1));
  peers.says(1, relay::kBound);
  const unsigned before = peers.binds;
  rig.wan_sends(pair.nak(102, 2));  // custody goes back, and the flow is bound anew
  rig.wait(milliseconds(1));
  REQUIRE(peers.binds == before + 1);
  rig.wait(milliseconds(10));
  peers.says(1, relay::kNotBound);
  rig.wait(milliseconds(1));
  CHECK(peers.binds == before + 2);
  rig.wan_out.clear();
  rig.host_sends(pair.write(50));  // another life: what is held of the former must not follow it
  CHECK(rig.wan_out.empty());
  CHECK(peers.unbinds >= 1);
}

namespace {

/// A far part, and what it says of names.
class FarBox {
 public:
  explicit FarBox(Rig& rig) : peers_(rig), rig_(rig) { peers_.up(1, milliseconds(10)); }
  void bind(std::uint32_t handle, std::uint32_t binding) {
    flow::KeyIndex::Key key;
    key.first = wire::IpAddress::parse("10.0.0.1");
    key.second = wire::IpAddress::parse("10.0.0.2");
    key.qpn = 0x100 + handle;
    relay::Body body;
    body.add(relay::BindEntry::of({handle, binding}, key, 0x200 + handle, 100, 1024));
    say(relay::Type::bind, body);
  }
  /// Bytes of the entries of the report that a CLOCK with this name gets.
  std::size_t clock(std::uint32_t handle, std::uint32_t binding) {
    relay::Body body;
    body.add(relay::ClockHead{rig_.now});
    body.add(relay::ClockEntry{{handle, binding}, 100, 100, 100});
    peers_.said.clear();
    say(relay::Type::clock, body);
    REQUIRE(peers_.said.size() == 1);
    return peers_.said[0].bytes - sizeof(relay::StateHead);
  }

 private:
  void say(relay::Type type, const relay::Body& body) {
    rig_.engine->peer_said(speaker_of(1, 0), relay::To::one, type, body.bytes(), rig_.now);
  }

  Peers peers_;
  Rig& rig_;
};

}  // namespace

TEST_CASE("a far box says of a binding that it has ended only when nothing of its flow is left", "[engine][peering]") {
  Rig rig;
  FarBox far(rig);
  far.bind(7, 3);
  for (unsigned i = 0; i < 3; ++i) CHECK(far.clock(7, 3) == sizeof(relay::StateEntry));  // it is bound
  CHECK(far.clock(7, 3) == 0);
  CHECK(far.clock(7, 4) == 0);  // the BIND was lost, or is late
  far.bind(7, 4);
  CHECK(far.clock(7, 4) == sizeof(relay::StateEntry));
}

TEST_CASE("a far box that has said that it does not have a binding does not take it", "[engine][peering]") {
  Rig rig;
  FarBox far(rig);
  CHECK(far.clock(7, 4) == sizeof(relay::StateEntry));
  far.bind(7, 4);
  for (unsigned i = 0; i < 4; ++i) CHECK(far.clock(7, 4) == sizeof(relay::StateEntry));  // bound is said three times
  far.bind(7, 5);
  for (unsigned i = 0; i < 3; ++i) CHECK(far.clock(7, 5) == sizeof(relay::StateEntry));
  CHECK(far.clock(7, 5) == 0);
}

// ---- answers --------------------------------------------------------------------------------------

TEST_CASE("copies of answers wait no longer than their requester may be gone, first answers as ever",
          "[engine][peering]") {
  Rig rig;
  Peers peers(rig);
  const Pair pair;
  const auto say_clock = [&] {
    relay::Body body;
    body.add(relay::ClockHead{rig.now});
    rig.engine->peer_said(speaker_of(1, 0), relay::To::one, relay::Type::answer_clock, body.bytes(), rig.now);
  };
  const auto middle = [&](std::uint32_t psn) { return pair.answer("read_middle", psn, 0, 1024); };
  peers.up(1, milliseconds(10));  // what waits does so for 30 ms
  rig.connect_confirmed(pair);
  rig.host_sends(pair.read(101, 20 * 1024));  // and nothing more is heard of the requester
  rig.wait(milliseconds(1));
  peers.says(1, relay::kBound);
  rig.wait(milliseconds(24));
  rig.wan_sends(pair.answer("read_first", 101, 2, 1024));
  rig.wan_sends(middle(103));
  rig.wan_sends(middle(105));
  say_clock();  // 102 and 104 are asked for
  rig.wait(milliseconds(15));
  CHECK(rig.at_host() == Lines{"read_first 101"});
  SECTION("a copy") {
    rig.wan_sends(middle(104));
    rig.wait(milliseconds(1));
    CHECK(rig.at_host() == Lines{"read_middle 103", "read_middle 105", "read_middle 104"});
  }
  SECTION("a first answer") {
    rig.wan_sends(middle(106));
    rig.wait(milliseconds(10));
    CHECK(rig.at_host().empty());
    rig.wan_sends(middle(102));
    CHECK(rig.at_host() == Lines{"read_middle 102", "read_middle 103"});
    rig.wait(milliseconds(40));
    CHECK(rig.at_host() == Lines{"read_middle 105", "read_middle 106"});
  }
}
