// SPDX-License-Identifier: BSD-3-Clause
// What an operator asks and changes while the engine runs: bypass, policy, rates, and a look at its connections.
#include <catch2/catch.hpp>

#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

void forget_all(Rig& rig) { rig.engine->forget(0, rig.engine->connection_slots(), "an operator said so", rig.now); }

std::vector<engine::ConnectionState> described(const Rig& rig) {
  std::vector<engine::ConnectionState> out;
  // In portions: no connection twice, none left out, and none beyond the table.
  for (std::uint32_t first = 0; first < rig.engine->connection_slots(); first += 3)
    rig.engine->describe(first, 3, rig.now, out);
  return out;
}

engine::Settings with_policy(flow::Policy policy) {
  engine::Settings settings = small_settings();
  settings.policies.fallback = policy;
  return settings;
}

/// Changes the policy of all connections at run time.
void change_policy(Rig& rig, flow::Policy policy) {
  rig.engine->reconfigure(with_policy(policy));
  rig.engine->apply_policies(0, rig.engine->connection_slots());
}

}  // namespace

TEST_CASE("with bypass all passes without a look, and what was learned before is learned again", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.engine->set_bypass(true, rig.now);
  forget_all(rig);
  CHECK(rig.engine->bypass());
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.count(Counter::connections_closed) == 1);
  rig.host_sends({pair.write(101), pair.dreq(Side::host)});
  rig.wan_sends(pair.ack(101, 2));
  CHECK(rig.at_wan() == Lines{"write_only 101!", "dreq"});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  CHECK(rig.count(Counter::bypassed) == 3);
  CHECK(rig.engine->custody_packets() == 0);

  rig.engine->set_bypass(false, rig.now);
  Pair next;
  next.a_qpn = 0x33;
  next.b_qpn = 0x44;
  next.a_comm = 0xa2;
  next.b_comm = 0xb2;
  next.transaction = 0x78;
  rig.connect_confirmed(next);
  rig.host_sends(next.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
}

TEST_CASE("after bypass a requester that went on is learned from its traffic", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.engine->set_bypass(true, rig.now);
  forget_all(rig);
  rig.host_sends(pair.write(101));
  rig.engine->set_bypass(false, rig.now);
  // Answers to requests that passed unseen teach nothing. The requests that follow, and their ACKs, do.
  rig.wan_sends(pair.ack(101, 2));
  rig.wait(seconds(2));
  for (std::uint32_t psn = 102; psn < 110; ++psn) {
    rig.host_sends(pair.write(psn));
    rig.wait(milliseconds(1));
    rig.wan_sends(pair.ack(psn, psn - 99));
  }
  CHECK(rig.count(Counter::connections_from_traffic) == 1);
  rig.at_host();
  rig.host_sends(pair.write(110));
  CHECK(rig.at_host() == Lines{"ack 110 msn 11"});
}

TEST_CASE("a REP that comes again after bypass: what its first one set up has begun unseen", "[engine][control]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair pair;
  rig.host_sends(pair.req());
  rig.engine->set_bypass(true, rig.now);
  rig.wan_sends(pair.rep());
  rig.host_sends({pair.rtu(), pair.write(100), pair.write(101)});
  rig.wait(seconds(1));
  rig.engine->set_bypass(false, rig.now);
  rig.wan_sends(pair.rep());
  rig.at_host();
  rig.host_sends({pair.rtu(), pair.write(102)});
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host().empty());  // no NAK for requests that passed unseen, and no ACK
}

TEST_CASE("requests come before the REP that comes again to a box that has just started: they have begun unseen",
          "[engine][control]") {
  auto settings = small_settings();
  settings.confirm = engine::Confirm::cm;
  Rig rig(settings);
  const Pair pair;
  rig.host_sends({pair.req(), pair.write(100), pair.write(101)});
  rig.wan_sends({pair.rep(), pair.ack(101, 2)});
  rig.at_host();
  rig.host_sends(pair.write(102));
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host().empty());
}

TEST_CASE("what is forgotten with acknowledged data in custody has failed, and its requester is told if it listens",
          "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  const bool listens = GENERATE(true, false);
  rig.host_sends(pair.write(101));
  if (listens) rig.host_sends(pair.silent_write(102));
  rig.at_host();
  const std::uint64_t owed = rig.engine->unconfirmed_bytes();
  REQUIRE(owed > 0);
  rig.engine->set_bypass(true, rig.now);
  forget_all(rig);
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.count(Counter::failed_bytes) == owed);
  CHECK(rig.engine->custody_packets() == 0);
  if (listens)
    CHECK(rig.at_host() == Lines{"nak3 102 msn 2"});
  else
    CHECK(rig.at_host().empty());
  CHECK(rig.count(Counter::closed_untold_bytes) == (listens ? 0 : owed));
}

TEST_CASE("what is failed stays, and its requester is told when it asks again; others are left alone",
          "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  rig.engine->fail(0, rig.engine->connection_slots(), "an operator said so", rig.now);
  CHECK(rig.count(Counter::flows_failed) == 1);
  CHECK(rig.count(Counter::connections_closed) == 0);
  CHECK(rig.engine->custody_packets() == 0);
  rig.at_host();
  rig.host_sends(pair.write(102));
  CHECK(rig.count(Counter::fatal_naks) == 1);
  rig.engine->fail(0, rig.engine->connection_slots(), "again", rig.now);
  CHECK(rig.count(Counter::flows_failed) == 1);
}

TEST_CASE("what is forgotten with nothing acknowledged has not failed", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.silent_write(101));
  REQUIRE(rig.engine->custody_packets() == 1);
  forget_all(rig);
  CHECK(rig.count(Counter::flows_failed) == 0);
  CHECK(rig.count(Counter::unconfirmed_at_close_packets) == 0);
  CHECK(rig.engine->custody_packets() == 0);
}

TEST_CASE("a drain that is taken back begins custody again", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.engine->set_draining(true);
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(101, 2));
  rig.engine->set_draining(false);
  rig.host_sends(pair.write(102));
  rig.wan_sends(pair.ack(102, 3));
  rig.at_host();
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host() == Lines{"ack 103 msn 4"});
}

TEST_CASE("while draining, a request beyond a gap passes, and nobody is asked for the gap", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.engine->set_draining(true);
  rig.host_sends(pair.write(105));
  CHECK(rig.at_wan() == Lines{"write_only 105!"});
  CHECK(rig.at_host().empty());
}

TEST_CASE("a policy changed to off: what is in custody goes on, what comes passes", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.write(102)});
  CHECK(rig.at_host() == Lines{"ack 101 msn 2", "ack 102 msn 3"});
  rig.at_wan();
  change_policy(rig, flow::Policy::off);
  rig.host_sends(pair.write(103));
  CHECK(rig.at_host().empty());
  // 101 was lost on the way: custody repairs what it acknowledged.
  rig.wan_sends(pair.nak(101, 1));
  CHECK(rig.at_wan() == Lines{"write_only 103!", "write_only 101!", "write_only 102!"});
  rig.at_host();
  rig.wan_sends(pair.ack(102, 3));
  CHECK(rig.engine->custody_packets() == 0);
  rig.host_sends(pair.write(103));
  rig.wan_sends(pair.ack(103, 4));
  rig.at_host();
  rig.host_sends(pair.write(104));
  CHECK(rig.at_host().empty());
  CHECK(rig.engine->custody_packets() == 0);
  CHECK(described(rig).front().next_policy == flow::Policy::off);

  // And back.
  rig.wan_sends(pair.ack(104, 5));
  change_policy(rig, flow::Policy::full);
  rig.host_sends(pair.write(105));
  rig.wan_sends(pair.ack(105, 6));
  rig.at_host();
  rig.host_sends(pair.write(106));
  CHECK(rig.at_host() == Lines{"ack 106 msn 7"});
}

TEST_CASE("a connection that began as off is accelerated once its policy allows, and a damaged frame does not begin it",
          "[engine][control]") {
  Rig rig(with_policy(flow::Policy::off));
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  rig.wan_sends(pair.ack(100, 1));
  change_policy(rig, flow::Policy::full);
  rig.host_sends(damaged(pair.write(101)));
  CHECK(rig.engine->custody_packets() == 0);
  rig.host_sends(pair.write(101));
  CHECK(rig.engine->custody_packets() == 1);
  rig.wan_sends(pair.ack(101, 2));
  rig.at_host();
  rig.host_sends(pair.write(102));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
}

TEST_CASE("what a damaged answer said while the policy was off is in no pseudo-ACK", "[engine][control]") {
  Rig rig(with_policy(flow::Policy::off));
  const Pair pair;
  rig.connect(pair);
  rig.host_sends(pair.write(100));
  Bytes bad = pair.ack(100, 1);
  constexpr std::size_t kPKey = 14 + 20 + 8 + 2;
  bad[kPKey] ^= 0x40;
  rig.wan_sends(bad);
  change_policy(rig, flow::Policy::full);
  rig.host_sends(pair.write(101));
  rig.wan_sends(pair.ack(101, 2));
  rig.host_sends(pair.write(102));
  REQUIRE(rig.host_out.back().line() == "ack 102 msn 3");
  CHECK(rig.host_out.back().p_key == Seen(pair.ack(102, 3)).p_key);
}

TEST_CASE("a policy changed to window acknowledges no message's end any more", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.write(101));
  CHECK(rig.at_host() == Lines{"ack 101 msn 2"});
  change_policy(rig, flow::Policy::window);
  rig.wan_sends(pair.ack(101, 2));
  rig.host_sends(pair.write(102));
  rig.wan_sends(pair.ack(102, 3));
  rig.at_host();
  rig.host_sends({pair.request("write_first", 103, {true, 1024}), pair.request("write_last", 104, {true, 64})});
  CHECK(rig.at_host() == Lines{"ack 103 msn 3"});
  CHECK(described(rig).front().policy == flow::Policy::window);
}

TEST_CASE("a WAN rate given at run time holds custody back", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  engine::Settings slow = small_settings();
  slow.wan_rate_bps = 1'000'000;
  rig.engine->reconfigure(slow);
  rig.at_wan();
  rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
  CHECK(rig.at_wan().size() == 1);
  rig.engine->reconfigure(small_settings());
  rig.wait(milliseconds(10));
  CHECK(rig.at_wan().size() == 2);
}

TEST_CASE("a connection is described as it stands", "[engine][control]") {
  Rig rig;
  const Pair pair;
  CHECK(described(rig).empty());
  rig.connect_confirmed(pair);
  rig.host_sends({pair.write(101), pair.silent_write(102)});
  rig.wait(milliseconds(3));
  const auto all = described(rig);
  REQUIRE(all.size() == 1);
  const engine::ConnectionState& state = all.front();
  CHECK(state.info.end(Side::host).qpn == pair.a_qpn);
  CHECK(state.info.end(Side::wan).ip == wire::IpAddress::parse(pair.b_ip));
  CHECK(state.phase == custody::Phase::confirmed);
  CHECK(name_of(state.phase) == "confirmed");
  CHECK_FALSE(state.from_traffic);
  CHECK_FALSE(state.closing);
  CHECK(state.custody_packets == 2);
  CHECK(state.custody_bytes == rig.engine->custody_bytes());
  CHECK(state.unconfirmed_bytes == rig.engine->unconfirmed_bytes());
  CHECK(state.unconfirmed_bytes < state.custody_bytes);
  CHECK(state.oldest == milliseconds(3));
  CHECK(state.idle == milliseconds(3));
  CHECK(state.una == 101);
  CHECK(state.h == 102);
  CHECK(state.tail == 103);
}

TEST_CASE("a connection is described by the number that the log has for it", "[engine][control]") {
  struct Heard final : custody::Observer {
    void on_flow_learned(const custody::FlowIdentity& flow, Time) override { serial = flow.serial; }
    std::uint64_t serial = 0;
  } heard;
  Rig rig(small_settings(), &heard);
  rig.connect(Pair{});
  REQUIRE(described(rig).size() == 1);
  CHECK(described(rig).front().serial == heard.serial);
}

TEST_CASE("how long requests wait behind a READ to be acknowledged is counted", "[engine][control]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends({pair.read(101), pair.write(102)});
  CHECK(rig.at_host().empty());
  CHECK(rig.count(Counter::read_stalls) == 1);
  rig.wait(milliseconds(5));
  rig.wan_sends(pair.answer("read_only", 101, 2));
  CHECK(rig.at_host() == Lines{"read_only 101", "ack 102 msn 3"});
  CHECK(rig.count(Counter::read_stall_ns) == milliseconds(5));
  // A READ with nothing behind it delays nobody.
  rig.wan_sends(pair.ack(102, 3));
  rig.host_sends(pair.read(103));
  rig.wait(milliseconds(5));
  rig.wan_sends(pair.answer("read_only", 103, 4));
  CHECK(rig.count(Counter::read_stalls) == 1);
}
