// SPDX-License-Identifier: BSD-3-Clause
// Which candidates an ACK may be meant for, when there are many.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "flow/traffic_learner.hpp"
#include "support/rig.hpp"
#include "wire/psn.hpp"

using namespace longhaul;
using namespace longhaul::test;
using flow::TrafficEvent;
using wire::psn_add;
using wire::psn_diff;

namespace {

wire::Frame parsed(const Bytes& bytes) {
  wire::Frame frame;
  REQUIRE(wire::parse(bytes, frame) == wire::ParseStatus::roce);
  return frame;
}

/// Connections between two hosts, told apart by the responder's QPN.
struct Learner {
  explicit Learner(std::uint32_t capacity) : learner(capacity) {
    learner.began(now);
    now += flow::TrafficLearner::kBlind;
  }

  static Pair pair(std::uint32_t number) {
    Pair pair;
    pair.a_qpn = 0x1000 + number;
    pair.b_qpn = 0x2000 + number;
    return pair;
  }
  void send(std::uint32_t number, std::uint32_t psn, bool ack_req = false) {
    const Bytes bytes = pair(number).write(psn, {ack_req, 0});
    REQUIRE(learner.request(parsed(bytes), now));
  }
  void read(std::uint32_t number, std::uint32_t psn) {
    const Bytes bytes = pair(number).read(psn, 4096);
    REQUIRE(learner.request(parsed(bytes), now));
  }
  TrafficEvent ack(std::uint32_t number, std::uint32_t psn, std::uint32_t msn = 0) {
    const Bytes bytes = pair(number).ack(psn, msn);
    const flow::TrafficOutcome outcome = learner.answer(parsed(bytes), now);
    if (outcome.event == TrafficEvent::learned) learner.forget(outcome.info);
    return outcome.event;
  }
  /// Sends two writes and their ACKs. The second ACK teaches the connection.
  TrafficEvent learns(std::uint32_t number, std::uint32_t psn) {
    send(number, psn, true);
    const TrafficEvent first = ack(number, psn, 1);
    if (first != TrafficEvent::none) return first;
    send(number, psn + 1, true);
    return ack(number, psn + 1, 2);
  }

  const Rig eal;
  Time now = seconds(10);
  flow::TrafficLearner learner;
};

/// The rule of docs/design.md, by a look at all candidates. It leaves out the blindness after a far jump.
struct Model {
  struct Candidate {
    bool known = false;
    bool counting = false;
    std::uint32_t next = 0;
    std::uint32_t top = 0;  ///< earlier requests may still mean PSNs a little below this
    Time last = 0;

    /// A request of `count` PSNs; 0: of unknown length.
    void go(std::uint32_t psn, std::uint32_t count, Time now) {
      const std::int32_t left = psn_diff(top, psn);
      if (!known || left <= 0 || left > 65536) top = psn;
      known = true;
      counting = count != 0;
      next = psn_add(psn, count);
      if (psn_diff(top, next) < 0) top = next;
      last = now;
    }
  };

  bool ambiguous(std::uint32_t psn, Time now) const {
    return std::ranges::count_if(candidates, [&](const Candidate& candidate) {
             if (!candidate.known || now - candidate.last > flow::TrafficLearner::kCandidateLife) return false;
             const std::int32_t behind = psn_diff(candidate.counting ? candidate.top : candidate.next, psn);
             return behind > (candidate.counting ? 0 : -65536) && behind <= 131072;
           }) > 1;
  }
  std::vector<Candidate> candidates;
};

}  // namespace

TEST_CASE("an ACK is ambiguous when it may mean two candidates, wherever on the circle of PSNs they are",
          "[flow][traffic]") {
  constexpr std::uint32_t kCandidates = 8;
  std::mt19937 random(7);
  const auto draw = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  Learner rig(kCandidates);
  Model model;
  model.candidates.resize(kCandidates);
  unsigned ambiguous = 0;
  unsigned alone = 0;
  for (int step = 0; step < 40000; ++step) {
    const std::uint32_t number = draw(kCandidates);
    Model::Candidate& candidate = model.candidates[number];
    // Rarely so long that a candidate is forgotten.
    rig.now += draw(1000) == 0 ? seconds(50) : milliseconds(draw(10));
    switch (draw(10)) {
      case 0: {  // anywhere
        const std::uint32_t psn = draw(1 << 24);
        // A request a little behind is a repeat and moves nothing.
        if (candidate.counting && psn_diff(psn, candidate.next) < 0 && psn_diff(psn, candidate.next) >= -65536) break;
        rig.send(number, psn);
        candidate.go(psn, 1, rig.now);
        rig.now += flow::TrafficLearner::kBlind;  // the candidate may have gone far
        break;
      }
      case 1: {  // near another
        const std::uint32_t psn = psn_add(model.candidates[draw(kCandidates)].next, draw(1 << 19) - (1 << 18));
        rig.read(number, psn);  // of unknown length
        candidate.go(psn, 0, rig.now);
        rig.now += flow::TrafficLearner::kBlind;  // the candidate may have gone far
        break;
      }
      case 2:
      case 3:
      case 4:  // go on
        rig.send(number, candidate.next);
        candidate.go(candidate.next, 1, rig.now);
        break;
      default: {
        const std::int64_t off = draw(4) == 0 ? -1 : static_cast<std::int64_t>(draw(1 << 19)) - (1 << 18);
        const std::uint32_t psn = psn_add(candidate.next, off);
        const bool expected = model.ambiguous(psn, rig.now);
        CAPTURE(step, psn);
        REQUIRE((rig.ack(number, psn) == TrafficEvent::ambiguous) == expected);
        ++(expected ? ambiguous : alone);
      }
    }
  }
  CHECK(ambiguous > 1000);
  CHECK(alone > 1000);
}

TEST_CASE("among a thousand candidates with the same PSNs none is learned; one that is far from them is",
          "[flow][traffic]") {
  Learner rig(1025);
  for (std::uint32_t i = 0; i < 1024; ++i) rig.send(i, 100, true);
  CHECK(rig.ack(5, 100, 1) == TrafficEvent::ambiguous);
  CHECK(rig.ack(5, 70000, 1) == TrafficEvent::ambiguous);  // too many to look whether each of them is meant
  CHECK(rig.learns(2000, 8000000) == TrafficEvent::learned);
}

TEST_CASE("a forged request sends a candidate elsewhere: the answers to it are not taken for its neighbour's",
          "[flow][traffic]") {
  Learner rig(8);
  for (const std::uint32_t psn : {100U, 101U})
    for (const std::uint32_t number : {1U, 2U}) rig.send(number, psn, true);
  rig.send(1, 5000000);
  CHECK(rig.ack(1, 100, 1) == TrafficEvent::ambiguous);
  CHECK(rig.ack(1, 101, 2) == TrafficEvent::ambiguous);
  rig.now += flow::TrafficLearner::kBlind;
  CHECK(rig.learns(2, 102) == TrafficEvent::learned);
}

TEST_CASE("who sends again what was answered may live another life: its answers may go to any QPN", "[flow][traffic]") {
  Learner rig(8);
  for (const std::uint32_t psn : {100U, 101U}) rig.send(1, psn, true);
  CHECK(rig.ack(1, 100, 1) == TrafficEvent::none);  // reveals the requester
  Pair other = Learner::pair(2);
  other.b_qpn = 0x3000;
  CHECK_FALSE(rig.learner.may_be_meant(info_of(other), 101, rig.now));
  rig.send(1, 101, true);  // not answered yet
  CHECK_FALSE(rig.learner.may_be_meant(info_of(other), 101, rig.now));
  rig.send(1, 100, true);
  CHECK(rig.learner.may_be_meant(info_of(other), 101, rig.now));
}

TEST_CASE("forged READs lead a candidate back: the answers to it are not taken for its neighbour's",
          "[flow][traffic]") {
  Learner rig(8);
  for (std::uint32_t psn = 100; psn < 104; ++psn) rig.send(1, psn, true);
  rig.read(1, 99);  // of unknown length
  rig.send(1, 72);
  rig.send(2, 102, true);
  CHECK(rig.ack(1, 102, 3) == TrafficEvent::ambiguous);
}

TEST_CASE("with many requests under way, an ACK for every second one still counts", "[flow][traffic]") {
  for (std::uint32_t ahead = 0; ahead < 64; ahead += 2) {
    Learner rig(2);
    for (std::uint32_t psn = 100; psn < 165; ++psn) rig.send(1, psn, true);
    CHECK(rig.ack(1, 100 + ahead, 1 + ahead) == TrafficEvent::none);  // reveals the requester
    for (std::uint32_t psn = 165; psn < 170; ++psn) rig.send(1, psn, true);
    CHECK(rig.ack(1, 166, 67) == TrafficEvent::learned);
  }
}

TEST_CASE("a crowd that has fallen silent for a minute is out of the way, though not at the first ACK",
          "[flow][traffic]") {
  Learner rig(101);
  for (std::uint32_t i = 0; i < 100; ++i) rig.send(i, 100, true);
  rig.now += flow::TrafficLearner::kCandidateLife + 1;
  rig.send(100, 150, true);  // the hundred stay in the table, since nobody needs their places
  unsigned acks = 0;
  TrafficEvent event = TrafficEvent::ambiguous;
  for (; event == TrafficEvent::ambiguous && acks < 100; ++acks) event = rig.ack(100, 150, 1);
  CHECK(acks == 15);  // each ACK looks at eight: seven silent ones and the one that sends
  rig.send(100, 151, true);
  CHECK(rig.ack(100, 151, 2) == TrafficEvent::learned);
  // One of the hundred sends again, and is found again.
  rig.send(7, 101, true);
  CHECK(rig.ack(7, 101, 2) == TrafficEvent::none);
  rig.send(7, 102, true);
  CHECK(rig.ack(7, 102, 3) == TrafficEvent::learned);
}

TEST_CASE("a connection that was learned and not taken stays a candidate", "[flow][traffic]") {
  Learner rig(4);
  rig.send(1, 100, true);
  rig.send(1, 101, true);
  rig.send(1, 102, true);
  CHECK(rig.ack(1, 100, 1) == TrafficEvent::none);
  const Bytes bytes = Learner::pair(1).ack(101, 2);
  const flow::TrafficOutcome outcome = rig.learner.answer(parsed(bytes), rig.now);
  REQUIRE(outcome.event == TrafficEvent::learned);
  rig.send(2, 102, true);
  CHECK(rig.ack(2, 102, 1) == TrafficEvent::ambiguous);  // the ACK may be meant for the first
  rig.learner.forget(outcome.info);
  CHECK(rig.ack(2, 102, 1) == TrafficEvent::none);
  rig.send(2, 103, true);
  CHECK(rig.ack(2, 103, 2) == TrafficEvent::learned);
}

TEST_CASE("the QPN that an ACK revealed is free again when its candidate began anew or went", "[flow][traffic]") {
  Learner rig(4);
  rig.send(1, 100, true);
  CHECK(rig.ack(1, 100, 1) == TrafficEvent::none);  // reveals the requester
  SECTION("began anew") {
    rig.send(1, 900000, true);
    rig.now += flow::TrafficLearner::kBlind;
  }
  SECTION("silent for a minute") { rig.now += flow::TrafficLearner::kCandidateLife + 1; }
  SECTION("made room for another") {
    rig.now += seconds(2);
    for (std::uint32_t i = 10; i < 14; ++i) rig.send(i, 2000000 + i * 500000);
    rig.now += seconds(2);
  }
  // The same requester's QP with another responder.
  Pair other = Learner::pair(1);
  other.b_qpn = 0x3000;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Bytes write = other.write(5000000 + i);
    const Bytes ack = other.ack(5000000 + i, 7 + i);
    REQUIRE(rig.learner.request(parsed(write), rig.now));
    CHECK(rig.learner.answer(parsed(ack), rig.now).event == (i == 0 ? TrafficEvent::none : TrafficEvent::learned));
  }
}

// ---- UDP source ports -------------------------------------------------------------------------

namespace {

/// `count` connections between two hosts, all at PSN 0 and in step, as NCCL makes them; the requesters' QPs follow each
/// other, and so do the responders', by one more.
std::vector<Pair> in_step(unsigned count, Pair (*ports)(Pair)) {
  std::vector<Pair> pairs;
  for (std::uint32_t i = 0; i < count; ++i) {
    Pair pair;
    pair.a_qpn = 0x11c0 + i;
    pair.b_qpn = 0x11c0 + (i + 1) % count;
    pairs.push_back(ports(pair));
  }
  return pairs;
}

/// As Soft-RoCE before Linux 5.17: from the sender's own QPN. Ports of both directions agree, but of other connections.
Pair from_own_qpn(Pair pair) {
  const auto port = [](std::uint32_t qpn) { return static_cast<std::uint16_t>(0xc000 | (qpn * 0x61c88647U) >> 18); };
  pair.a_port = port(pair.a_qpn);
  pair.b_port = port(pair.b_qpn);
  return pair;
}

Pair one_for_all(Pair pair) { return pair; }

/// As RDMA-CM and some applications choose it: any, but the same at both ends.
Pair from_label(Pair pair) {
  pair.a_port = pair.b_port = static_cast<std::uint16_t>(0xc000 | (pair.a_qpn * 0x9e37U & 0x3fff));
  return pair;
}

struct Ports : Learner {
  using Learner::Learner;
  void write(const Pair& pair, std::uint32_t psn) {
    const Bytes bytes = pair.write(psn);
    learner.request(parsed(bytes), now);
  }
  flow::TrafficOutcome acked(const Pair& pair, std::uint32_t psn, std::uint32_t msn) {
    const Bytes bytes = pair.ack(psn, msn);
    const flow::TrafficOutcome outcome = learner.answer(parsed(bytes), now);
    if (outcome.event == TrafficEvent::learned) {
      CHECK(outcome.info.end(Side::host).qpn == pair.a_qpn);
      CHECK(outcome.info.end(Side::wan).qpn == pair.b_qpn);
      learner.forget(outcome.info);
      ++learned;
    }
    return outcome;
  }
  /// Each sends two writes, and then all ACKs come.
  void round(const std::vector<Pair>& pairs, std::uint32_t psn) {
    for (std::uint32_t i = 0; i < 2; ++i)
      for (const Pair& pair : pairs) write(pair, psn + i);
    for (std::uint32_t i = 0; i < 2; ++i)
      for (const Pair& pair : pairs) acked(pair, psn + i, psn + i + 1);
  }
  unsigned learned = 0;
};

}  // namespace

TEST_CASE("QPs in step are told apart by the UDP source port that Linux derives from both QPNs", "[flow][traffic]") {
  const unsigned count = GENERATE(4U, 16U, 512U);
  Ports rig(1024);
  const auto pairs = in_step(count, with_derived_ports);
  std::vector<std::uint16_t> ports;
  for (const Pair& pair : pairs) ports.push_back(pair.a_port);
  const auto unique = std::ranges::count_if(ports, [&](auto port) { return std::ranges::count(ports, port) == 1; });
  rig.round(pairs, 0);
  CHECK(rig.learned == unique);
  CHECK(unique * 10 > count * 9);
}

TEST_CASE("ports that are not derived from both QPNs teach nothing", "[flow][traffic]") {
  Ports rig(64);
  std::vector<Pair> pairs;
  SECTION("each from the sender's own QPN") { pairs = in_step(16, from_own_qpn); }
  SECTION("all the same") { pairs = in_step(16, one_for_all); }
  SECTION("an equal one for both directions, by a flow label") { pairs = in_step(16, from_label); }
  for (std::uint32_t psn = 0; psn < 40; psn += 2) rig.round(pairs, psn);
  CHECK(rig.learned == 0);
}

TEST_CASE("an ACK from a port that no candidate has: ports count for nothing for a second", "[flow][traffic]") {
  Ports rig(64);
  const auto pairs = in_step(4, with_derived_ports);
  for (const Pair& pair : pairs) rig.write(pair, 0);
  Pair other = pairs[0];
  other.b_port = 0xc001;
  CHECK(rig.acked(other, 0, 1).event == TrafficEvent::ambiguous);
  rig.round(pairs, 1);
  CHECK(rig.learned == 0);
  rig.now += flow::TrafficLearner::kBlind;
  rig.round(pairs, 3);
  CHECK(rig.learned == 4);
}

TEST_CASE("one port of two candidates or a port that varies tells nothing", "[flow][traffic]") {
  Ports rig(64);
  auto pairs = in_step(4, with_derived_ports);
  SECTION("one port") { pairs[1].a_port = pairs[0].a_port; }
  SECTION("it varies") {
    pairs[0].a_port = 0xc001;
    rig.write(pairs[0], 0);
    pairs = in_step(4, with_derived_ports);
    rig.now += 1;
    rig.write(pairs[0], 1);
  }
  rig.write(pairs[0], 2);
  rig.write(pairs[1], 2);
  CHECK(rig.acked(pairs[0], 2, 1).event == TrafficEvent::ambiguous);
}

TEST_CASE("an ACK that a port names, and that its PSN or MSN contradicts, teaches nothing", "[flow][traffic]") {
  Ports rig(64);
  const auto pairs = in_step(4, with_derived_ports);
  for (std::uint32_t psn = 0; psn < 3; ++psn)
    for (const Pair& pair : pairs) rig.write(pair, psn);
  CHECK(rig.acked(pairs[0], 7, 8).event == TrafficEvent::none);  // never sent
  CHECK(rig.acked(pairs[0], 0, 1).event == TrafficEvent::none);
  CHECK(rig.acked(pairs[0], 1, 5).event == TrafficEvent::contradicted);
  CHECK(rig.learned == 0);
}

TEST_CASE("whether another candidate has the derived port of a connection, and may be meant", "[flow][traffic]") {
  Ports rig(64);
  const Pair known = with_derived_ports(Pair{});
  const flow::ConnectionInfo info = info_of(known);
  auto pairs = in_step(3, with_derived_ports);
  for (const Pair& pair : pairs) rig.write(pair, 100);
  CHECK_FALSE(rig.learner.shares_port(info, 100, rig.now));
  CHECK(rig.learner.may_be_meant(info, 100, rig.now));  // by PSN alone it may
  // Another responder of the same requester, by chance with the same port.
  Pair twin = known;
  for (twin.b_qpn = known.b_qpn + 1; with_derived_ports(twin).a_port != known.a_port;) ++twin.b_qpn;
  twin = with_derived_ports(twin);
  rig.write(twin, 100);
  CHECK(rig.learner.shares_port(info, 100, rig.now));
  CHECK_FALSE(rig.learner.shares_port(info, 900000, rig.now));
  CHECK_FALSE(rig.learner.shares_port(info, 100, rig.now, rig.now));
  CHECK(rig.learner.shares_port(info, 100, rig.now, rig.now - 1));
  CHECK_FALSE(rig.learner.shares_port(info_of(twin), 100, rig.now));  // it is the candidate itself
}
