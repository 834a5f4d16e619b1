// SPDX-License-Identifier: BSD-3-Clause
// Design section 4: connections without RDMA-CM at this box, learned from their traffic.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// A box that has watched for long enough.
struct Looking : Rig {
  explicit Looking(const engine::Settings& settings = small_settings()) : Rig(settings) {
    engine->poll(now);  // the engine has begun, though no frame came yet
    wait(seconds(1));
  }
  void send(const Pair& pair, std::uint32_t psn, unsigned count) {
    for (unsigned i = 0; i < count; ++i) host_sends(pair.write(psn + i));
  }
};

/// One write goes out, and its ACK comes back.
void answered_write(Rig& rig, const Pair& pair, std::uint32_t psn, std::uint32_t msn) {
  rig.host_sends(pair.write(psn));
  rig.wan_sends(pair.ack(psn, msn));
}

/// Learns the connection, begins custody and confirms it. PSNs 100 to 102 are used up, the MSN is 43.
void learn(Rig& rig, const Pair& pair) {
  answered_write(rig, pair, 100, 41);
  answered_write(rig, pair, 101, 42);
  answered_write(rig, pair, 102, 43);
  REQUIRE(rig.count(Counter::connections_from_traffic) == 1);
  rig.at_host();
  rig.at_wan();
}

/// Another connection between the same hosts, at the same PSNs.
Pair neighbour_of(Pair pair) {
  pair.a_qpn += 2;
  pair.b_qpn += 2;
  return pair;
}

/// The same requester with another responder.
Pair elsewhere(Pair pair) {
  pair.b_qpn = 0x99;
  return pair;
}

}  // namespace

// Nobody is left to repeat anything. A far host that died looks the same, so it counts as failed all the same.
TEST_CASE("a job without RDMA-CM ends and its last ACK is lost: it fails with a cause of its own",
          "[engine][traffic]") {
  const Pair pair;
  Looking rig;
  learn(rig, pair);
  std::uint64_t silent = 0;
  SECTION("its last message was whole") {
    rig.host_sends(pair.write(103));
    CHECK(rig.at_host() == Lines{"ack 103 msn 44"});
    silent = 1;
  }
  SECTION("it stopped within a message") { rig.host_sends(pair.request("write_first", 103, {true, 1024})); }
  SECTION("it went on sending") {
    rig.host_sends(pair.write(103));
    rig.wait(small_settings().give_up / 2);
    rig.host_sends(pair.write(104));
  }
  SECTION("it was not told all") { rig.host_sends({pair.write(103), pair.read(104)}); }
  rig.wait(small_settings().give_up + seconds(3));
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.count(Counter::flows_failed_silent) == silent);
  CHECK(rig.count(Counter::failed_silent_bytes) == silent * rig.count(Counter::failed_bytes));
}

TEST_CASE("with RDMA-CM a connection that falls silent has failed: a DREQ would tell its end", "[engine][traffic]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.wait(small_settings().give_up + seconds(3));
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.count(Counter::flows_failed_silent) == 0);
}

TEST_CASE("two ACKs that agree reveal a connection; one more takes it into custody", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  answered_write(rig, pair, 100, 41);
  CHECK(rig.count(Counter::connections_learned) == 0);
  answered_write(rig, pair, 101, 42);
  CHECK(rig.count(Counter::connections_learned) == 1);
  CHECK(rig.at_wan() == Lines{"write_only 100!", "write_only 101!"});
  CHECK(rig.at_host() == Lines{"ack 100 msn 41", "ack 101 msn 42"});
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(102, 43));
  CHECK(rig.at_host() == Lines{"ack 102 msn 43"});
  rig.host_sends({pair.write(103), pair.write(104)});
  CHECK(rig.at_host() == Lines{"ack 103 msn 44", "ack 104 msn 45"});
}

TEST_CASE("requests that were under way when a connection was learned are answered before any pseudo-ACK",
          "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  rig.host_sends({pair.write(100), pair.write(101), pair.write(102), pair.write(103)});
  rig.wan_sends({pair.ack(100, 1), pair.ack(101, 2)});
  CHECK(rig.count(Counter::connections_learned) == 1);
  rig.host_sends(pair.write(104));
  rig.at_host();
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
  rig.wan_sends(pair.ack(103, 4));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4", "ack 104 msn 5"});
}

TEST_CASE("messages are counted, not packets: an MSN that does not fit begins anew", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  rig.host_sends({pair.request("write_first", 100, {true, 1024}), pair.request("write_last", 101)});
  rig.wan_sends(pair.ack(100, 7));
  rig.wan_sends(pair.ack(101, 7));  // within a message an MSN proves nothing, and this message has ended
  CHECK(rig.count(Counter::connections_learned) == 0);
  CHECK(rig.count(Counter::traffic_contradicted) == 1);
  answered_write(rig, pair, 102, 9);
  answered_write(rig, pair, 103, 10);
  CHECK(rig.count(Counter::connections_learned) == 1);
}

TEST_CASE("two candidates with the same PSN outstanding: neither is learned", "[engine][traffic]") {
  Looking rig;
  const Pair one;
  Pair two = neighbour_of(one);
  rig.host_sends({one.write(100), two.write(100), one.write(101), two.write(101)});
  rig.wan_sends({one.ack(100, 1), two.ack(100, 1), one.ack(101, 2), two.ack(101, 2)});
  CHECK(rig.count(Counter::traffic_ambiguous) == 4);
  CHECK(rig.count(Counter::connections_learned) == 0);
  CHECK(rig.at_host().size() == 4);
}

TEST_CASE("a second candidate nearby could be meant, though nothing of it is outstanding: neither is learned",
          "[engine][traffic]") {
  Looking rig;
  const Pair one;
  const Pair two = neighbour_of(one);  // its stack begins all QPs with one PSN
  rig.host_sends(two.write(102));
  rig.host_sends({one.write(100), one.write(101)});
  rig.wan_sends({two.ack(100, 1), two.ack(101, 2)});
  CHECK(rig.count(Counter::traffic_ambiguous) == 2);
  CHECK(rig.count(Counter::connections_learned) == 0);
}

TEST_CASE("a box that has just begun learns nothing: ACKs may answer what did not pass here", "[engine][traffic]") {
  Rig rig;
  const Pair pair;
  for (std::uint32_t i = 0; i < 5; ++i) answered_write(rig, pair, 100 + i, 1 + i);
  CHECK(rig.count(Counter::connections_learned) == 0);
  rig.wait(seconds(1));
  for (std::uint32_t i = 5; i < 7; ++i) answered_write(rig, pair, 100 + i, 1 + i);
  CHECK(rig.count(Counter::connections_learned) == 1);
}

TEST_CASE("two connections between two hosts, PSNs far apart: both are learned", "[engine][traffic]") {
  Looking rig;
  const Pair one;
  Pair two = neighbour_of(one);
  rig.host_sends({one.write(100), two.write(500000), one.write(101), two.write(500001)});
  rig.wan_sends({one.ack(100, 1), two.ack(500000, 1), one.ack(101, 2), two.ack(500001, 2)});
  CHECK(rig.count(Counter::connections_from_traffic) == 2);
}

TEST_CASE("an ACK to a second QPN contradicts what the first had revealed", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  Pair other_requester = pair;  // its requests take another path
  other_requester.a_qpn = 0x99;
  rig.host_sends({pair.write(100), pair.write(101), pair.write(102)});
  rig.wan_sends({pair.ack(100, 1), other_requester.ack(101, 2), pair.ack(102, 3)});
  CHECK(rig.count(Counter::traffic_contradicted) == 1);
  CHECK(rig.count(Counter::connections_learned) == 0);
}

TEST_CASE("a gap before the box, a repeat, a bad ICRC: counting stays right or begins anew", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  rig.host_sends({pair.write(100), damaged(pair.write(101)), pair.write(101), pair.write(100)});
  rig.wan_sends({pair.ack(100, 1), damaged(pair.ack(101, 9))});
  rig.host_sends(pair.write(103));  // 102 took another path
  rig.wan_sends(pair.ack(103, 4));
  CHECK(rig.count(Counter::connections_learned) == 0);
  answered_write(rig, pair, 104, 5);
  CHECK(rig.count(Counter::connections_learned) == 1);
}

TEST_CASE("nothing is counted beyond a READ until a packet has shown the path MTU", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  rig.host_sends({pair.write(100), pair.read(101, 4096), pair.write(105)});
  rig.wan_sends({pair.ack(100, 1), pair.ack(105, 3)});
  CHECK(rig.count(Counter::connections_learned) == 0);
  rig.host_sends({pair.request("write_first", 106, {false, 1024}), pair.request("write_last", 107)});
  rig.wan_sends(pair.ack(107, 4));
  rig.host_sends({pair.read(108, 4096), pair.write(112)});
  rig.wan_sends(pair.ack(112, 6));
  CHECK(rig.count(Counter::connections_learned) == 1);
}

TEST_CASE("another connection of an idle one's requester begins at lower PSNs: it is learned", "[engine][traffic]") {
  Looking rig;
  const Pair old;
  rig.connect_confirmed(old);
  rig.wait(seconds(2));
  const Pair newcomer = elsewhere(old);
  for (std::uint32_t i = 0; i < 3; ++i) answered_write(rig, newcomer, 50 + i, 1 + i);
  CHECK(rig.count(Counter::connections_from_traffic) == 1);
  rig.at_host();
  rig.host_sends(newcomer.write(53));
  CHECK(rig.at_host() == Lines{"ack 53 msn 4"});
}

TEST_CASE("learned without a path MTU: a long READ passes plain, a short one does not matter", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  learn(rig, pair);
  rig.host_sends({pair.read(103, 256), pair.write(104)});
  CHECK(rig.engine->custody_packets() == 2);
  rig.wan_sends({pair.answer("read_only", 103, 44), pair.ack(104, 45)});
  CHECK(rig.engine->custody_packets() == 0);
  rig.at_host();
  rig.host_sends({pair.read(105, 4096), pair.write(109)});
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(rig.at_host().empty());
  // The responses show the path MTU.
  rig.wan_sends({pair.answer("read_first", 105, 46, 1024), pair.answer("read_middle", 106, 46, 1024),
                 pair.answer("read_middle", 107, 46, 1024), pair.answer("read_last", 108, 46, 1024),
                 pair.ack(109, 47)});
  rig.host_sends({pair.read(110, 4096), pair.write(114)});
  CHECK(rig.engine->custody_packets() == 2);
}

TEST_CASE("learned without a path MTU: a WRITE of several packets shows it, too", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  learn(rig, pair);
  const std::size_t path_mtu = GENERATE(256, 1024, 4096);
  rig.host_sends({pair.request("write_first", 103, {true, path_mtu}), pair.request("write_last", 104)});
  rig.host_sends({pair.read(105, static_cast<std::uint32_t>(2 * path_mtu)), pair.write(107)});
  CHECK(rig.engine->custody_packets() == 4);
}

TEST_CASE("a host that closes a connection learned from traffic waits for custody as any other", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  learn(rig, pair);
  rig.host_sends({pair.write(103), pair.dreq(Side::host)});
  CHECK(rig.at_wan() == Lines{"write_only 103!"});
  CHECK(rig.count(Counter::dreqs_held) == 1);
  rig.wan_sends(pair.ack(103, 44));
  CHECK(rig.at_wan() == Lines{"dreq"});
}

TEST_CASE("a DREQ from the WAN ends no connection learned from traffic: anybody could have sent it",
          "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  learn(rig, pair);
  rig.host_sends(pair.write(103));
  rig.wan_sends(pair.dreq(Side::wan));
  CHECK(rig.at_host() == Lines{"ack 103 msn 44", "dreq"});
  CHECK(rig.engine->custody_packets() == 1);
  rig.wan_sends(pair.ack(103, 44));
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host() == Lines{"ack 104 msn 45"});
  for (std::uint32_t i = 0; i < 4; ++i) {
    rig.wait(seconds(30));
    answered_write(rig, pair, 104 + i, 45 + i);
  }
  rig.at_host();
  rig.host_sends(pair.write(108));
  CHECK(rig.at_host() == Lines{"ack 108 msn 49"});
  CHECK(rig.count(Counter::connections_closed) == 0);
}

TEST_CASE("another user of a responder's QPN: its answers are not taken for a neighbour's in step",
          "[engine][traffic][identity]") {
  Looking rig;
  engine::Shared shared;
  const Pair old;
  Pair newcomer = old;
  newcomer.a_qpn = 0x77;
  const Pair neighbour = neighbour_of(old);
  SECTION("while custody of the last one waits") {
    rig.connect_confirmed(old);
    rig.host_sends({old.write(101), old.write(102)});
  }
  SECTION("where another worker knows the last one") {
    rig.engine->share(shared);
    shared.contested_requests.emplace_back().note(
        {wire::IpAddress::parse(old.a_ip), wire::IpAddress::parse(old.b_ip), {}}, 90, rig.now);
    newcomer.b_qpn = neighbour.b_qpn;  // none of its frames pass here
  }
  for (std::uint32_t psn = 90; psn < 94; ++psn) {
    rig.host_sends({newcomer.write(psn), neighbour.write(psn)});
    rig.wait(milliseconds(1));
  }
  for (std::uint32_t psn = 90; psn < 94; ++psn) rig.wan_sends(newcomer.ack(psn, psn - 89));
  CHECK(rig.count(Counter::connections_from_traffic) == 0);
  CHECK(rig.count(Counter::traffic_ambiguous) == 4);
}

TEST_CASE("of new lives in step of two idle connections neither takes the other's answers",
          "[engine][traffic][identity]") {
  Looking rig;
  Pair doubted;
  Pair presumed = neighbour_of(doubted);
  engine::Shared shared;
  rig.connect_confirmed(doubted);
  std::uint32_t first = 101;
  bool elsewhere = false;
  std::function<void()> at_last = [] {};
  SECTION("it rejoins") { rig.connect_confirmed(presumed); }
  SECTION("it was never answered") {
    rig.connect(presumed);
    first = 100;
  }
  SECTION("custody refuses its second packet") {
    rig.connect_confirmed(presumed);
    at_last = [&] {
      rig.host_sends(presumed.write(101));
      rig.engine->set_draining(true);
      first = 102;
    };
  }
  SECTION("its requests reach another worker") {
    rig.engine->share(shared);
    elsewhere = true;
    at_last = [&] {
      shared.presumed_requests.note({wire::IpAddress::parse(presumed.a_ip), wire::IpAddress::parse(presumed.b_ip), {}},
                                    101, rig.now);
    };
  }
  rig.wait(small_settings().confirm_again + seconds(1));
  // Both requesters have new QPNs now.
  doubted.a_qpn = 0x77;
  presumed.a_qpn = 0x78;
  at_last();
  for (std::uint32_t psn = 100; psn < 110; ++psn) {
    rig.host_sends(doubted.write(psn));
    if (!elsewhere && psn >= first) rig.host_sends(presumed.write(psn));
  }
  for (std::uint32_t psn = first; psn < 110; ++psn) rig.wan_sends(presumed.ack(psn, psn - first + 1));
  CHECK(rig.count(Counter::connections_from_traffic) == 0);
  CHECK(rig.count(Counter::traffic_ambiguous) == 110 - first);
}

namespace {

/// Two connections between the same hosts. Their responders' QPs come back with each other's QPNs.
struct Crosswise : Looking {
  /// Both connections have delivered all up to PSN 120.
  explicit Crosswise(const engine::Settings& settings = small_settings()) : Looking(settings) {
    for (const Pair& pair : {one, two}) {
      connect_confirmed(pair);
      send(pair, 101, 20);
      wan_sends(pair.ack(120, 21));
    }
  }
  /// `one` has lost `lost` packets when both live again. Then `two` sends to the QP that custody is for, and `one` to
  /// the other.
  void live_again_over_custody(unsigned lost, unsigned from_two, unsigned from_one) {
    send(one, 121, lost);
    swap(seconds(2));
    send(two, 100, from_two);
    send(one, 100, from_one);
  }
  void swap(Duration later) {
    wait(later);
    std::swap(one.b_qpn, two.b_qpn);
    acknowledged = count(Counter::pseudo_acks);
  }
  /// Both began at `first` and are answered up to `psn`. Now each sends a request and gets its answer.
  void step(std::uint32_t first, std::uint32_t psn) {
    for (const Pair& pair : {one, two}) host_sends(pair.write(psn));
    wait(milliseconds(10));
    for (const Pair& pair : {one, two}) wan_sends(pair.ack(psn, psn - first + 1));
  }
  bool says_nothing() const { return count(Counter::pseudo_acks) == acknowledged && count(Counter::pseudo_naks) == 0; }

  Pair one;
  Pair two = neighbour_of(one);
  std::uint64_t acknowledged = 0;
};

}  // namespace

TEST_CASE("two connections come back crosswise in step: neither is acknowledged for", "[engine][traffic][identity]") {
  Crosswise rig;
  std::uint32_t first = 100;
  SECTION("they begin where they did before") {}
  SECTION("they begin beyond") { first = 30100; }
  SECTION("they begin beyond where one has failed") {
    first = 30100;
    rig.host_sends(rig.one.write(121));
    rig.wan_sends(rig.one.nak(121, 21, 2));
    REQUIRE(rig.count(Counter::flows_failed) == 1);
  }
  rig.swap(seconds(2));
  for (const Pair& pair : {rig.one, rig.two}) rig.send(pair, first, 3);
  rig.wait(milliseconds(10));
  for (const Pair& pair : {rig.one, rig.two}) rig.wan_sends(pair.ack(first + 2, 3));
  CHECK(rig.count(Counter::flows_began_again) == (first == 100 ? 2 : 0));
  for (std::uint32_t psn = first + 3; psn < first + 10; ++psn) rig.step(first, psn);
  CHECK(rig.says_nothing());
}

TEST_CASE("crosswise, and traffic teaches nothing: neither is acknowledged for", "[engine][traffic][identity]") {
  engine::Settings settings = small_settings();
  settings.learn_from_traffic = false;
  Crosswise rig(settings);
  rig.swap(seconds(2));
  const std::uint32_t first = GENERATE(100U, 30100U);
  for (std::uint32_t psn = first; psn < first + 10; ++psn) rig.step(first, psn);
  CHECK(rig.says_nothing());
}

TEST_CASE("crosswise, and one of them begins with a single request beyond", "[engine][traffic][identity]") {
  Crosswise rig;
  rig.swap(seconds(2));
  rig.send(rig.one, 30100, 8);
  rig.host_sends(rig.two.write(30105));
  rig.wait(milliseconds(10));
  for (const std::uint32_t psn : {30100U, 30103U, 30107U}) rig.wan_sends(rig.one.ack(psn, psn - 30099));
  rig.wan_sends(rig.two.ack(30105, 1));
  rig.host_sends({rig.one.write(30108), rig.two.write(30106), rig.two.write(30107)});
  CHECK(rig.says_nothing());
}

TEST_CASE("crosswise in no time: no NAK asks the old requester for a gap", "[engine][traffic][identity]") {
  Crosswise rig;
  rig.swap(milliseconds(6));
  rig.host_sends(rig.two.write(140));
  CHECK(rig.at_wan().back() == "write_only 140!");
  CHECK(rig.says_nothing());
}

TEST_CASE("an answer that continues custody's life may be from the responder of another connection that came back",
          "[engine][traffic][identity]") {
  Crosswise rig;
  rig.live_again_over_custody(2, 5, 23);
  REQUIRE(rig.count(Counter::flows_doubted) == 2);
  rig.wan_sends(rig.one.ack(120, 21));  // the old life's PSN and MSN
  CHECK(rig.count(Counter::flows_resumed) == 0);
}

TEST_CASE("answers to a requester that may be with another responder make the box say nothing to it",
          "[engine][traffic][identity]") {
  engine::Settings settings = small_settings();
  enum class Requester { here, moved, moved_far, moved_and_other_asks };
  const auto requester =
      GENERATE(Requester::here, Requester::moved, Requester::moved_far, Requester::moved_and_other_asks);
  const bool moved = requester != Requester::here;
  const Pair pair;
  std::vector<Bytes> asked;
  std::vector<Bytes> answers;
  std::string itself;  // the answer as the requester would see it
  Lines says;
  bool drained = false;
  SECTION("more credits") {
    asked = {pair.request("send_only", 102), pair.request("send_only", 103)};
    answers = {pair.ack(102, 3, 5)};
    itself = "ack-credits5 102 msn 3";
    says = {"ack-credits4 103 msn 4"};
  }
  SECTION("credits for what was withheld") {
    for (std::uint32_t psn = 102; psn < 106; ++psn) asked.push_back(pair.request("send_only", psn));
    answers = {pair.ack(102, 3, 5)};
    itself = "ack-credits5 102 msn 3";
    says = {"ack-credits4 104 msn 5", "ack-credits3 105 msn 6"};
  }
  SECTION("policy window: the next message comes to its turn") {
    settings.policies.fallback = flow::Policy::window;
    for (const char* opcode : {"write_first", "write_last", "write_first", "write_last"})
      asked.push_back(pair.request(opcode, 102 + static_cast<std::uint32_t>(asked.size())));
    answers = {pair.ack(103, 3)};
    itself = "ack 103 msn 3";
    says = {"ack 103 msn 3", "ack 104 msn 3"};
  }
  SECTION("a NAK, and there are requests that custody does not have") {
    asked = {pair.write(102), pair.write(103)};
    answers = {pair.nak(103, 3)};
    itself = "nak0 103 msn 3";
    says = {"nak0 104 msn 4"};
    drained = true;
  }
  SECTION("the NAK of a gap has waited for a READ") {
    asked = {pair.read(102), pair.write(104)};
    answers = {pair.answer("read_only", 102, 3)};
    itself = "read_only 102";
    says = {"read_only 102", "nak0 103 msn 3"};
  }
  REQUIRE(!asked.empty());
  Looking rig(settings);
  rig.connect_confirmed(pair);
  rig.host_sends(pair.request("send_only", 101));
  rig.wan_sends(pair.ack(101, 2, 3));
  rig.host_sends(asked);
  if (drained) {
    rig.engine->set_draining(true);
    rig.host_sends(pair.write(104));
  }
  rig.wait(milliseconds(10));
  const Pair newcomer = elsewhere(pair);
  if (moved) rig.send(newcomer, 101, 5);
  if (requester == Requester::moved_far) rig.host_sends(newcomer.write(500000));
  if (requester == Requester::moved_and_other_asks) rig.host_sends(asked.front());
  rig.at_host();
  rig.wan_sends(answers);
  const Lines heard = rig.at_host();
  if (moved)
    CHECK(std::all_of(heard.begin(), heard.end(), [&](const std::string& line) { return line == itself; }));
  else
    CHECK(heard == says);
}

TEST_CASE("a requester that may be with another responder is asked for no gap", "[engine][traffic][identity]") {
  Looking rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.send(pair, 101, 5);
  rig.wait(milliseconds(10));
  const Pair newcomer = elsewhere(pair);
  rig.send(newcomer, 101, 8);
  rig.at_host();
  rig.wan_sends(newcomer.ack(102, 3));
  rig.at_wan();
  rig.host_sends(pair.write(108));
  CHECK(rig.at_host().empty());
  CHECK(rig.at_wan() == Lines{"write_only 108!"});
}

TEST_CASE("the NAK of a gap that has waited for a READ is no matter of connections that began before",
          "[engine][traffic][identity]") {
  Looking rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.send(elsewhere(pair), 99, 3);
  rig.wait(milliseconds(10));
  rig.host_sends(pair.read(101));
  rig.wait(milliseconds(1));
  rig.host_sends(pair.write(103));
  rig.at_host();
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101", "nak0 102 msn 2"});
}

TEST_CASE("an unknown QP that begins again where it was is a newcomer", "[engine][traffic][identity]") {
  Looking rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  const Pair other = elsewhere(pair);
  rig.send(other, 101, 5);
  rig.wan_sends(pair.ack(100, 1, 2));
  rig.host_sends({pair.request("send_only", 101), pair.request("send_only", 102)});
  rig.wait(milliseconds(10));
  rig.send(other, 101, 5);
  rig.at_host();
  rig.wan_sends(other.ack(101, 2, 5));
  CHECK(rig.at_host().empty());
}

TEST_CASE("a connection that lost its trust comes back crosswise: its neighbour in step is not acknowledged for",
          "[engine][traffic][identity]") {
  Crosswise rig;
  rig.send(rig.two, 121, 1);
  rig.wan_sends(rig.two.ack(121, 23));  // one more than was counted
  REQUIRE(rig.count(Counter::msn_disagreed) == 1);
  rig.swap(seconds(2));
  const std::uint32_t first = 30100;
  for (const Pair& pair : {rig.one, rig.two}) rig.send(pair, first, 8);
  rig.wait(milliseconds(10));
  // From the QP whose requests are never acknowledged again.
  for (std::uint32_t psn = first; psn < first + 8; ++psn) rig.wan_sends(rig.one.ack(psn, psn - first + 1));
  rig.send(rig.two, first + 8, 2);
  CHECK(rig.says_nothing());
}

TEST_CASE("a connection that lost its trust is no neighbour in step any more once it is answered alone",
          "[engine][traffic][identity]") {
  Crosswise rig;
  rig.send(rig.two, 121, 1);
  rig.wan_sends(rig.two.ack(121, 23));
  rig.wait(seconds(1));
  rig.host_sends(rig.two.write(130));
  rig.wan_sends(rig.two.ack(130, 24));
  rig.wait(seconds(601));
  rig.host_sends({rig.two.write(131), rig.one.write(121)});
  rig.wan_sends(rig.one.ack(121, 22));
  CHECK(rig.count(Counter::flows_rejoined) == 1);
}

TEST_CASE("an answer that fits both lives moves custody: a neighbour that began before it may still be meant",
          "[engine][traffic][identity]") {
  Crosswise rig;
  rig.live_again_over_custody(20, 26, 34);
  rig.wan_sends(rig.one.ack(125, 26));
  REQUIRE(rig.count(Counter::unconfirmed_in_doubt_packets) == 5);
  rig.wan_sends(rig.one.ack(130, 31));  // beyond what was sent to custody's QP
  CHECK(rig.count(Counter::flows_resumed) == 0);
}

TEST_CASE("a neighbour that was there before custody last moved is no reason to doubt on",
          "[engine][traffic][identity]") {
  Crosswise rig;
  Pair neighbour = neighbour_of(rig.two);
  rig.send(neighbour, 130, 5);  // unknown to the box, at PSNs nearby
  rig.send(rig.one, 121, 2);
  rig.wait(milliseconds(10));
  rig.wan_sends(rig.one.ack(121, 22));
  rig.send(rig.one, 123, 5);
  rig.at_wan();
  rig.host_sends(rig.one.write(120));  // the network delivers it late
  REQUIRE(rig.count(Counter::flows_doubted) == 1);
  rig.at_wan();
  rig.wan_sends(rig.one.nak(122, 22));  // the first packet in custody was lost
  REQUIRE(rig.count(Counter::flows_resumed) == 1);
  CHECK(rig.at_wan().front() == "write_only 122!");
}

TEST_CASE("one idle for long wakes beside a newcomer in step: the newcomer's answer does not confirm it",
          "[engine][traffic][identity]") {
  Crosswise rig;
  rig.wait(seconds(601));
  const Pair newcomer = elsewhere(rig.one);
  rig.host_sends({rig.one.write(121), newcomer.write(121)});
  rig.wan_sends(newcomer.ack(121, 22));
  rig.acknowledged = rig.count(Counter::pseudo_acks);
  rig.host_sends(rig.one.write(122));
  CHECK(rig.says_nothing());
}

TEST_CASE("connections in step that wake together rejoin at their first answers", "[engine][traffic][identity]") {
  engine::Settings settings = small_settings();
  settings.max_connections = 64;
  Looking rig(settings);
  engine::Shared shared;
  rig.engine->share(shared);
  constexpr std::uint32_t kCount = 40;
  std::vector<Pair> pairs(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    pairs[i].a_qpn = 0x100 + i;
    pairs[i].b_qpn = 0x200 + i;
    rig.connect_confirmed(pairs[i]);
  }
  rig.wait(settings.confirm_again + seconds(1));
  for (const Pair& pair : pairs) rig.host_sends({pair.write(101), pair.write(102)});
  for (const Pair& pair : pairs) rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.count(Counter::flows_rejoined) == kCount);
}

TEST_CASE("QPNs used again without RDMA-CM are learned anew once custody of their former user has ended",
          "[engine][traffic]") {
  Looking rig;
  const Pair old;
  rig.connect_confirmed(old);
  rig.host_sends(old.write(101));
  // The host crashed and came back.
  answered_write(rig, old, 900000, 1);
  answered_write(rig, old, 900001, 2);
  CHECK(rig.count(Counter::connection_qpn_held) == 1);
  CHECK(rig.engine->custody_packets() == 1);
  rig.wan_sends(old.ack(101, 2));
  rig.wait(seconds(1));  // a flow that was answered a moment ago is alive
  answered_write(rig, old, 900002, 3);
  answered_write(rig, old, 900003, 4);
  answered_write(rig, old, 900004, 5);
  CHECK(rig.count(Counter::connections_from_traffic) == 1);
  rig.at_host();
  rig.host_sends(old.write(900005));
  CHECK(rig.at_host() == Lines{"ack 900005 msn 6"});
}

TEST_CASE("hundreds of unanswered requests under way: the samples thin out and still agree", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  rig.host_sends(pair.writes(100, 500));
  for (std::uint32_t i = 0; i < 500; ++i) rig.wan_sends(pair.ack(100 + i, i + 1));
  CHECK(rig.count(Counter::connections_from_traffic) == 1);
}

TEST_CASE("policy off, learn_from_traffic off: nobody is watched", "[engine][traffic]") {
  auto settings = small_settings();
  SECTION("policy") { settings.policies.fallback = flow::Policy::off; }
  SECTION("switch") { settings.learn_from_traffic = false; }
  Looking rig(settings);
  const Pair pair;
  for (std::uint32_t i = 0; i < 5; ++i) answered_write(rig, pair, 100 + i, 1 + i);
  CHECK(rig.count(Counter::connections_learned) == 0);
}

TEST_CASE("a flood of candidates: those idle make room, nothing grows", "[engine][traffic]") {
  auto settings = small_settings();
  settings.max_candidates = 8;
  Looking rig(settings);
  Pair pair;
  for (std::uint32_t i = 0; i < 100; ++i) {
    pair.b_qpn = 0x1000 + i;
    rig.host_sends(pair.write(100));
  }
  CHECK(rig.count(Counter::traffic_table_full) == 92);
  rig.wait(seconds(2));  // they are idle, and the learner is no longer blind
  const Pair late;
  answered_write(rig, late, 500000, 1);
  answered_write(rig, late, 500001, 2);
  CHECK(rig.count(Counter::connections_from_traffic) == 1);
}

TEST_CASE("a REP with the IDs of a DREQ that waits: the DREQ is not sent after it", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  learn(rig, pair);
  rig.host_sends({pair.write(103), pair.dreq(Side::host)});
  REQUIRE(rig.count(Counter::dreqs_held) == 1);
  rig.active_sends(pair, pair.req());
  rig.passive_sends(pair, pair.rep());
  CHECK(rig.count(Counter::absorbed_dreqs) == 1);
  const Lines out = rig.at_wan();
  CHECK(std::ranges::find(out, "dreq") == out.end());
}

TEST_CASE("an engine tells which keys its connections have", "[engine][traffic]") {
  Looking rig;
  const Pair pair;
  flow::ConnectionInfo info = info_of(pair);
  for (const Side from : {Side::host, Side::wan}) CHECK_FALSE(rig.engine->knows(info, from));
  learn(rig, pair);
  for (const Side from : {Side::host, Side::wan}) CHECK(rig.engine->knows(info, from));
  // Frames from a side carry the QPN of the end on the other side.
  info.end(Side::wan).qpn += 1;
  CHECK_FALSE(rig.engine->knows(info, Side::host));
  CHECK(rig.engine->knows(info, Side::wan));
}

namespace {

/// Connections between two hosts as NCCL makes them: all at PSN 0, each with the UDP source port of its QPNs.
std::vector<Pair> in_step(std::uint32_t count) {
  std::vector<Pair> pairs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    pairs[i].a_qpn = 0x11c0 + i;
    pairs[i].b_qpn = 0x1200 + (i + 1) % count;
    pairs[i] = with_derived_ports(pairs[i]);
  }
  return pairs;
}

struct InStep : Looking {
  static engine::Settings settings() {
    engine::Settings settings = small_settings();
    settings.max_connections = settings.max_candidates = 600;
    settings.connections_pair_share = 1;
    return settings;
  }
  explicit InStep(std::uint32_t count) : Looking(settings()), pairs(in_step(count)) {}

  /// Each sends a WRITE, and a round trip later all are answered.
  void round(std::uint32_t psn) {
    for (const Pair& pair : pairs) host_sends(pair.write(psn));
    wait(milliseconds(10));
    for (const Pair& pair : pairs) wan_sends(pair.ack(psn, psn + 1));
  }
  /// Sends a WRITE of each. How many are acknowledged at once?
  std::size_t acknowledged(std::uint32_t psn) {
    at_host();
    for (const Pair& pair : pairs) host_sends(pair.write(psn));
    return at_host().size();
  }

  std::vector<Pair> pairs;
};

}  // namespace

TEST_CASE("queue pairs in step that ports tell apart are acknowledged for after three round trips",
          "[engine][traffic]") {
  InStep rig(GENERATE(4U, 16U, 512U));
  const auto has_unique_port = [&](const Pair& pair) {
    return std::ranges::count(rig.pairs, pair.a_port, &Pair::a_port) == 1;
  };
  const auto unique = static_cast<std::size_t>(std::ranges::count_if(rig.pairs, has_unique_port));
  REQUIRE(unique * 20 > rig.pairs.size() * 19);
  engine::Shared shared;
  SECTION("one worker") {}
  SECTION("several workers") { rig.engine->share(shared); }
  for (std::uint32_t psn = 0; psn < 3; ++psn) rig.round(psn);
  CHECK(rig.count(Counter::connections_from_traffic) == unique);
  CHECK(rig.acknowledged(3) == unique);
}

TEST_CASE("queue pairs in step without useful ports are not acknowledged for", "[engine][traffic]") {
  InStep rig(16);
  for (Pair& pair : rig.pairs) pair.a_port = pair.b_port = 0xc000;
  for (std::uint32_t psn = 0; psn < 3; ++psn) rig.round(psn);
  CHECK(rig.count(Counter::connections_from_traffic) == 0);
  CHECK(rig.acknowledged(3) == 0);
}

TEST_CASE("an answer from another port confirms no connection learned by its ports", "[engine][traffic]") {
  InStep rig(4);
  for (std::uint32_t psn = 0; psn < 2; ++psn) rig.round(psn);
  REQUIRE(rig.count(Counter::connections_from_traffic) == 4);
  for (Pair& pair : rig.pairs) pair.b_port = 0xc001;
  rig.round(2);
  CHECK(rig.acknowledged(3) == 0);
}

TEST_CASE("a connection that waits for its proof hinders none in step with another port", "[engine][traffic]") {
  InStep rig(2);
  const Pair first = rig.pairs[0];
  for (std::uint32_t psn = 0; psn < 2; ++psn) answered_write(rig, first, psn, psn + 1);
  REQUIRE(rig.count(Counter::connections_from_traffic) == 1);
  rig.wait(milliseconds(200));     // by now it may live again
  rig.host_sends(first.write(2));  // nothing is acknowledged for it yet
  for (std::uint32_t psn = 0; psn < 2; ++psn) answered_write(rig, rig.pairs[1], psn, psn + 1);
  CHECK(rig.count(Counter::connections_from_traffic) == 2);
}

TEST_CASE("another responder in step with the same port keeps a connection unconfirmed", "[engine][traffic]") {
  InStep rig(1);
  for (std::uint32_t psn = 0; psn < 2; ++psn) rig.round(psn);
  REQUIRE(rig.count(Counter::connections_from_traffic) == 1);
  // By chance the requester's QPN, with this responder's, gives the same port.
  Pair twin = rig.pairs[0];
  do ++twin.b_qpn;
  while (with_derived_ports(twin).a_port != twin.a_port);
  rig.host_sends(twin.write(2));
  rig.round(2);
  CHECK(rig.acknowledged(3) == 0);
}

TEST_CASE("connections learned by their ports come back crosswise: neither is acknowledged for the other",
          "[engine][traffic][identity]") {
  InStep rig(2);
  for (std::uint32_t psn = 0; psn < 4; ++psn) rig.round(psn);
  REQUIRE(rig.acknowledged(4) == 2);
  for (const Pair& pair : rig.pairs) rig.wan_sends(pair.ack(4, 5));
  rig.wait(seconds(2));
  std::swap(rig.pairs[0].b_qpn, rig.pairs[1].b_qpn);
  for (Pair& pair : rig.pairs) pair = with_derived_ports(pair);
  const std::uint32_t first = GENERATE(0U, 5U, 30000U);
  const std::uint64_t before = rig.count(Counter::pseudo_acks);
  for (std::uint32_t psn = first; psn < first + 6; ++psn) {
    for (const Pair& pair : rig.pairs) rig.host_sends(pair.write(psn));
    rig.wait(milliseconds(10));
    for (const Pair& pair : rig.pairs) rig.wan_sends(pair.ack(psn, psn - first + 1));
  }
  CHECK(rig.count(Counter::pseudo_acks) == before);
}
