// SPDX-License-Identifier: BSD-3-Clause
// Which worker a frame belongs to.
#include <catch2/catch.hpp>

#include <rte_thash.h>

#include <algorithm>
#include <set>
#include <string>

#include "steer/steering.hpp"
#include "support/hosts.hpp"

using namespace longhaul;
using namespace longhaul::steer;
using test::Bytes;
using test::damaged;
using test::info_of;
using test::Pair;
using test::pair_number;

namespace {

/// The steering of worker 0 of four.
struct Home {
  explicit Home(std::vector<Worker> owners = {0, 1, 2, 3}, std::uint32_t connections = 16,
                Duration give_up = seconds(60))
      : steering(settings(std::move(owners), connections, give_up), counters) {}

  SteeringSettings settings(std::vector<Worker> owners, std::uint32_t connections, Duration give_up) {
    SteeringSettings settings{0, std::move(owners), connections, 16, {give_up, std::max(give_up, seconds(7200))}};
    settings.own_engine_knows = [this](const flow::ConnectionInfo& info, Side from) {
      return engine_qpns.contains({from, info.end(other(from)).qpn});
    };
    return settings;
  }

  Target target(Side from, const Bytes& bytes) {
    last = bytes;
    wire::Frame frame;
    REQUIRE(wire::is_roce(wire::parse(last, frame)));
    return steering.owner_of(from, frame, now);
  }
  Worker owner(Side from, const Bytes& bytes) { return target(from, bytes).worker; }

  /// Sends REQ, REP and RTU. Returns the worker that got the REP.
  Worker connect(const Pair& pair) {
    CHECK(owner(pair.active, pair.req()) == 0);
    const Worker worker = owner(other(pair.active), pair.rep());
    CHECK(owner(pair.active, pair.rtu()) == worker);
    return worker;
  }

  Counters counters;
  std::set<std::pair<Side, std::uint32_t>> engine_qpns;  ///< destination QPNs that worker 0's own engine knows
  Steering steering;
  Bytes last;
  Time now = seconds(1000);
};

/// Connections of two workers, and a third that will use one QPN of each.
struct TwoAndOneBetween {
  Pair first, second, between;
  Worker of_first, of_second;
};
TwoAndOneBetween two_and_one_between(Home& home) {
  TwoAndOneBetween all{pair_number(0), pair_number(1), pair_number(2), 0, 0};
  all.of_first = home.connect(all.first);
  all.of_second = home.connect(all.second);
  REQUIRE(all.of_first != all.of_second);
  all.between.a_qpn = all.first.a_qpn;
  all.between.b_qpn = all.second.b_qpn;
  return all;
}

}  // namespace

TEST_CASE("the hash of two hosts is the one that a NIC computes, and the same for both directions") {
  // The 40 bytes that NICs take, in the byte order of rte_softrss_be().
  std::vector<std::uint8_t> key(40);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = kRssKeyPattern[i % 2];
  std::vector<std::uint32_t> converted(key.size() / 4);
  rte_convert_rss_key(reinterpret_cast<std::uint32_t*>(key.data()), converted.data(), static_cast<int>(key.size()));
  const auto nic = [&](const std::string& a, const std::string& b) {
    const auto source = wire::IpAddress::parse(a), destination = wire::IpAddress::parse(b);
    const std::size_t skipped = source.is_ipv4() ? 12 : 0;
    std::vector<std::uint32_t> words;  // host byte order
    for (const auto* address : {&source, &destination})
      for (std::size_t i = skipped; i < 16; i += 4) {
        const auto* at = address->bytes.data() + i;
        words.push_back(std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3]);
      }
    return rte_softrss_be(words.data(), static_cast<std::uint32_t>(words.size()),
                          reinterpret_cast<const std::uint8_t*>(converted.data()));
  };
  std::set<std::uint32_t> hashes;
  for (const auto& [a, b] : {std::pair{"10.9.0.1", "10.9.0.2"},
                             {"10.9.0.2", "10.9.0.1"},
                             {"192.168.17.200", "10.0.0.1"},
                             {"255.255.255.255", "0.0.0.1"},
                             {"fd00::1", "fd00::2"},
                             {"fd00:1234:5678:9abc:def0:1:2:3", "2001:db8::dead:beef"}}) {
    CAPTURE(a, b);
    const auto one = wire::IpAddress::parse(a), other = wire::IpAddress::parse(b);
    CHECK(pair_hash(one, other) == nic(a, b));
    CHECK(pair_hash(one, other) == pair_hash(other, one));
    hashes.insert(pair_hash(one, other));
  }
  CHECK(hashes.size() >= 4);
}

TEST_CASE("the indirection table gives every worker its share, and a larger table of a NIC says the same") {
  for (unsigned workers = 1; workers <= kMaxWorkers; ++workers) {
    std::vector<unsigned> shares(workers);
    for (std::size_t i = 0; i < kIndirection; ++i) ++shares.at(worker_of_entry(i, workers));
    for (const unsigned share : shares) CHECK(share >= kIndirection / workers);
    for (std::size_t i = 0; i < 512; ++i)
      CHECK(worker_of_entry(i, workers) == worker_of_entry(i % kIndirection, workers));
  }
}

TEST_CASE("connections go to the workers in turn, both directions of each to one") {
  for (const Side active : {Side::host, Side::wan}) {
    Home home;
    std::vector<unsigned> load(4);
    for (std::uint32_t n = 0; n < 8; ++n) {
      Pair pair = pair_number(n);
      pair.active = active;
      const Worker worker = home.connect(pair);
      ++load.at(worker);
      CHECK(home.owner(Side::host, pair.write(pair.a_psn)) == worker);
      CHECK(home.owner(Side::wan, pair.ack(pair.a_psn, 1)) == worker);
      CHECK(home.owner(Side::wan, pair.cnp()) == worker);
      CHECK(home.owner(Side::wan, pair.b_write(pair.b_psn)) == worker);
      CHECK(home.owner(Side::host, pair.a_ack(pair.b_psn, 1)) == worker);
    }
    CHECK(load == std::vector<unsigned>{2, 2, 2, 2});
    CHECK(home.counters[Counter::connections_spread] == 6);
  }
}

TEST_CASE("the owner gets the REQ with the REP, and with each repeat of it") {
  Home home;
  const Pair pair;
  home.owner(Side::host, pair.req());
  for (int i = 0; i < 2; ++i) {
    const Target target = home.target(Side::wan, pair.rep());
    REQUIRE(target.worker != 0);
    CHECK(Bytes(target.request.begin(), target.request.end()) == pair.req());
  }
  CHECK(home.target(Side::host, pair.rtu()).request.empty());
}

TEST_CASE("a connection that its home keeps needs no second REQ") {
  Home home({0});
  const Pair pair;
  CHECK(home.connect(pair) == 0);
  CHECK(home.target(Side::wan, pair.rep()).request.empty());
}

TEST_CASE("what is not known stays at home: other QPs, VLANs, directions, UD, UC") {
  Home home;
  const Pair pair;
  REQUIRE(home.connect(pair) != 0);
  Pair stranger = pair;
  stranger.b_qpn = 0x999;
  CHECK(home.owner(Side::host, stranger.write(1)) == 0);
  Pair tenant = pair;
  tenant.vlan = 7;
  CHECK(home.owner(Side::host, tenant.write(1)) == 0);
  CHECK(home.owner(Side::wan, pair.write(1)) == 0);  // from the wrong side
}

TEST_CASE("DREQ and DREP belong to the connection, which then is known no more") {
  for (const Side from : {Side::host, Side::wan}) {
    Home home;
    const Pair pair;
    const Worker worker = home.connect(pair);
    REQUIRE(worker != 0);
    CHECK(home.owner(from, pair.dreq(from)) == worker);
    CHECK(home.owner(from, pair.dreq(from)) == worker);
    CHECK(home.owner(Side::host, pair.write(pair.a_psn)) == worker);
    CHECK(home.owner(other(from), pair.drep(other(from))) == worker);
    CHECK(home.owner(Side::host, pair.write(pair.a_psn)) == 0);
    CHECK(home.steering.connections() == 0);
  }
}

TEST_CASE("a REJ of the REP ends it, one of the REQ leaves nothing") {
  Home home;
  const Pair pair;
  const Worker worker = home.connect(pair);
  CHECK(home.owner(Side::host, pair.rej(Side::host)) == worker);
  CHECK(home.steering.connections() == 0);
  const Pair second = pair_number(1);
  home.owner(Side::host, second.req());
  CHECK(home.owner(Side::wan, second.rej(Side::wan)) == 0);
  CHECK(home.owner(Side::wan, second.rep()) == 0);
  CHECK(home.steering.connections() == 0);
}

TEST_CASE("RDMA-CM with a wrong ICRC and messages of nobody change nothing") {
  Home home;
  const Pair pair;
  CHECK(home.owner(Side::host, damaged(pair.req())) == 0);
  CHECK(home.owner(Side::wan, pair.rep()) == 0);
  CHECK(home.steering.connections() == 0);
  const Worker worker = home.connect(pair);
  Pair forged = pair;
  forged.a_comm = 0x5555;
  CHECK(home.owner(Side::wan, forged.drep(Side::wan)) == 0);
  CHECK(home.owner(Side::host, pair.write(pair.a_psn)) == worker);
}

TEST_CASE("RDMA-CM with a wrong checksum of IPv4 or UDP changes nothing, as in an engine") {
  constexpr std::size_t kIpTtl = 14 + 8, kUdpChecksum = 14 + 20 + 6;
  for (const std::size_t at : {kIpTtl, kUdpChecksum}) {
    CAPTURE(at);
    Home home;
    const Pair pair;
    const auto damaged_at = [at](Bytes bytes) {
      bytes[at] ^= 0x10;  // the ICRC does not cover it
      return bytes;
    };
    home.owner(Side::host, damaged_at(pair.req()));
    CHECK(home.owner(Side::wan, pair.rep()) == 0);
    CHECK(home.steering.connections() == 0);
    home.owner(Side::host, pair.req());
    CHECK(home.owner(Side::wan, damaged_at(pair.rep())) == 0);
    CHECK(home.steering.connections() == 0);
    const Worker worker = home.owner(Side::wan, pair.rep());
    REQUIRE(worker != 0);
    home.owner(Side::host, damaged_at(pair.rej(Side::host)));
    CHECK(home.owner(Side::host, pair.write(1)) == worker);
  }
}

TEST_CASE("a QPN that is announced anew stays with the worker of its former user") {
  for (const bool far : {false, true}) {
    Home home;
    const Pair old = pair_number(0);
    const Worker worker = home.connect(old);
    home.connect(pair_number(1));
    Pair pair = pair_number(2);
    (far ? pair.b_qpn : pair.a_qpn) = far ? old.b_qpn : old.a_qpn;
    CHECK(home.connect(pair) == worker);
    // The former user keeps the QPN that it does not share.
    CHECK(home.owner(Side::host, old.write(1)) == worker);
    CHECK(home.owner(Side::wan, old.ack(1, 1)) == worker);
    CHECK(home.owner(Side::host, pair.write(1)) == worker);
    CHECK(home.owner(Side::wan, pair.ack(1, 1)) == worker);
    // The end of the old connection does not take away the new one's QPNs.
    home.owner(Side::host, old.dreq(Side::host));
    home.owner(Side::wan, old.drep(Side::wan));
    CHECK(home.owner(Side::host, pair.write(1)) == worker);
    CHECK(home.owner(Side::wan, pair.ack(1, 1)) == worker);
  }
}

TEST_CASE("a QPN announced anew is its former user's again when the newcomer ends first") {
  for (const bool far : {false, true})
    for (const bool rejected : {false, true}) {
      CAPTURE(far, rejected);
      Home home;
      const Pair old = pair_number(0);
      const Worker worker = home.connect(old);
      REQUIRE(worker != 0);
      Pair pair = pair_number(1);
      (far ? pair.b_qpn : pair.a_qpn) = far ? old.b_qpn : old.a_qpn;
      REQUIRE(home.connect(pair) == worker);
      if (rejected) {
        home.owner(Side::host, pair.rej(Side::host));
      } else {
        home.owner(Side::host, pair.dreq(Side::host));
        home.owner(Side::wan, pair.drep(Side::wan));
      }
      CHECK(home.owner(Side::host, old.write(1)) == worker);
      CHECK(home.owner(Side::wan, old.ack(1, 1)) == worker);
      // The newcomer's own QPN is gone with it.
      CHECK((far ? home.owner(Side::wan, pair.ack(1, 1)) : home.owner(Side::host, pair.write(1))) == 0);
      home.owner(Side::host, old.dreq(Side::host));
      home.owner(Side::wan, old.drep(Side::wan));
      CHECK(home.owner(Side::host, old.write(1)) == 0);
      CHECK(home.owner(Side::wan, old.ack(1, 1)) == 0);
      CHECK(home.steering.connections() == 0);
    }
}

TEST_CASE("a QPN taken over by a connection of another worker comes back to its own") {
  Home home;
  const auto [first, second, pair, of_first, of_second] = two_and_one_between(home);
  REQUIRE(home.connect(pair) == of_second);
  REQUIRE(home.owner(Side::wan, first.ack(1, 1)) == of_second);
  home.owner(Side::host, pair.rej(Side::host));
  CHECK(home.owner(Side::wan, first.ack(1, 1)) == of_first);
  CHECK(home.owner(Side::host, first.write(1)) == of_first);
  CHECK(home.owner(Side::host, second.write(1)) == of_second);
}

TEST_CASE("of several users of one QPN the newest that goes on has it, in whatever order they end") {
  std::vector<std::uint32_t> order = {0, 1, 2, 3};
  do {
    Home home;
    std::vector<Pair> pairs;
    for (std::uint32_t n = 0; n < order.size(); ++n) {
      pairs.push_back(pair_number(n));
      pairs.back().a_qpn = 0x11;
      REQUIRE(home.connect(pairs.back()) != 0);
    }
    std::set<std::uint32_t> going_on(order.begin(), order.end());
    for (const std::uint32_t n : order) {
      home.owner(Side::host, pairs[n].dreq(Side::host));
      home.owner(Side::wan, pairs[n].drep(Side::wan));
      going_on.erase(n);
      CAPTURE(n, going_on.size());
      CHECK(home.steering.connections() == going_on.size());
      for (std::uint32_t i = 0; i < pairs.size(); ++i)
        CHECK((home.owner(Side::host, pairs[i].write(1)) != 0) == going_on.contains(i));
      CHECK((home.owner(Side::wan, pairs[0].ack(1, 1)) != 0) == !going_on.empty());
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("of two former users the one beyond the WAN decides: resends go there") {
  Home home;
  const auto [first, second, pair, of_first, of_second] = two_and_one_between(home);
  CHECK(home.connect(pair) == of_second);
  // A connection with the QPNs of `pair` replaces it.
  Pair again = pair_number(3);
  again.a_qpn = pair.a_qpn;
  again.b_qpn = pair.b_qpn;
  const std::uint32_t before = home.steering.connections();
  CHECK(home.connect(again) == of_second);
  CHECK(home.steering.connections() == before);
}

TEST_CASE("a QPN that is announced anew stays at home when the home's own engine has its former user") {
  const Pair pair;
  for (const auto& known : {std::pair{Side::host, pair.b_qpn}, std::pair{Side::wan, pair.a_qpn}}) {
    Home home;
    home.engine_qpns.insert(known);
    CHECK(home.connect(pair) == 0);
    CHECK(home.owner(Side::host, pair.write(1)) == 0);
    CHECK(home.owner(Side::wan, pair.ack(1, 1)) == 0);
    CHECK(home.steering.connections() == 1);
  }
  Home home;
  home.engine_qpns = {{Side::host, pair.a_qpn}, {Side::wan, pair.b_qpn}};  // from the wrong side: others' QPNs
  CHECK(home.connect(pair) != 0);
}

TEST_CASE("of two former users, one of them in the home's own engine, the one beyond the WAN decides") {
  for (const bool far_in_engine : {false, true}) {
    Home home;
    const Pair old = pair_number(0);
    const Worker worker = home.connect(old);
    REQUIRE(worker != 0);
    Pair pair = pair_number(1);
    (far_in_engine ? pair.a_qpn : pair.b_qpn) = far_in_engine ? old.a_qpn : old.b_qpn;
    home.engine_qpns.insert(far_in_engine ? std::pair{Side::host, pair.b_qpn} : std::pair{Side::wan, pair.a_qpn});
    CHECK(home.connect(pair) == (far_in_engine ? 0 : worker));
  }
}

TEST_CASE("a full table: newcomers stay at home, until a silent connection makes room") {
  Home home({0, 1, 2, 3}, 4);
  for (std::uint32_t n = 0; n < 4; ++n) home.connect(pair_number(n));
  const Pair late = pair_number(4);
  CHECK(home.connect(late) == 0);
  CHECK(home.owner(Side::host, late.write(1)) == 0);
  CHECK(home.counters[Counter::connections_at_home] == 1);
  home.now += seconds(599);
  for (std::uint32_t n : {0u, 1u, 3u}) home.owner(Side::host, pair_number(n).write(1));
  home.now += seconds(2);
  const Worker worker = home.connect(pair_number(5));
  CHECK(home.owner(Side::host, pair_number(5).write(1)) == worker);
  CHECK(home.counters[Counter::connections_at_home] == 1);
  CHECK(home.steering.connections() == 4);
  CHECK(home.owner(Side::host, pair_number(2).write(1)) == 0);
}

TEST_CASE("a silent connection makes no room while its owner may have custody for it") {
  const Time last_seen = seconds(1000);
  std::uint32_t newcomers = 0;
  const auto fits_after = [&](Home& home, Duration silence) {
    home.now = last_seen + silence;
    return home.connect(pair_number(++newcomers)) == 1;
  };
  SECTION("by the box's give_up") {
    Home home({1}, 1, seconds(3600));
    home.connect(pair_number(0));
    CHECK_FALSE(fits_after(home, seconds(3600)));
    CHECK(fits_after(home, seconds(3601)));
  }
  SECTION("by the hosts' own timeouts, 7 times 550 s") {
    Home home({1}, 1);
    Pair pair = pair_number(0);
    pair.ack_timeout = 27;
    home.connect(pair);
    CHECK_FALSE(fits_after(home, seconds(3800)));
    CHECK(fits_after(home, seconds(3900)));
  }
  SECTION("by the hosts' own timeouts, 7 times 1100 s, of which the box allows 7200") {
    Home home({1}, 1);
    Pair pair = pair_number(0);
    pair.ack_timeout = 28;
    home.connect(pair);
    CHECK_FALSE(fits_after(home, seconds(7150)));
    CHECK(fits_after(home, seconds(7250)));
  }
  SECTION("after a DREQ") {
    Home home({1}, 1, seconds(300));
    home.connect(pair_number(0));
    home.owner(Side::host, pair_number(0).dreq(Side::host));
    CHECK_FALSE(fits_after(home, seconds(299)));
    CHECK(fits_after(home, seconds(300)));
  }
}

TEST_CASE("a connection whose DREQ nobody answers is forgotten after a minute, traffic or not") {
  for (const bool traffic : {false, true}) {
    CAPTURE(traffic);
    Home home;
    const Pair old = pair_number(0);
    const Worker worker = home.connect(old);
    REQUIRE(worker != 0);
    home.owner(Side::host, old.dreq(Side::host));
    home.now += seconds(30);
    if (traffic) CHECK(home.owner(Side::host, old.write(1)) == worker);
    CHECK(home.owner(Side::host, old.dreq(Side::host)) == worker);  // a repeat
    home.now += seconds(60) - 1;
    if (traffic) CHECK(home.owner(Side::host, old.write(1)) == worker);
    home.now += 1;
    CHECK(home.owner(Side::wan, old.ack(1, 1)) == 0);
    CHECK(home.owner(Side::host, old.write(1)) == 0);
    CHECK(home.steering.connections() == 0);
  }
}

TEST_CASE("behind a connection that has closed unanswered its QPN's older user is found") {
  Home home;
  const Pair old = pair_number(0);
  const Worker worker = home.connect(old);
  REQUIRE(worker != 0);
  Pair pair = pair_number(1);
  pair.a_qpn = old.a_qpn;
  REQUIRE(home.connect(pair) == worker);
  home.owner(Side::host, pair.dreq(Side::host));
  home.now += seconds(60);
  CHECK(home.owner(Side::wan, old.ack(1, 1)) == worker);
  CHECK(home.steering.connections() == 1);
}

TEST_CASE("connections of an earlier process keep the worker that remembers them") {
  Home home;
  const Pair pair;
  const flow::ConnectionInfo info = info_of(pair);
  SECTION("set up by RDMA-CM") {
    home.steering.restore(info, flow::CmExchange{Side::host, pair.a_comm, pair.b_comm}, 3, home.now);
    CHECK(home.owner(Side::host, pair.write(1)) == 3);
    CHECK(home.owner(Side::host, pair.dreq(Side::host)) == 3);
    CHECK(home.owner(Side::wan, pair.drep(Side::wan)) == 3);
    CHECK(home.owner(Side::host, pair.write(1)) == 0);
  }
  SECTION("learned from traffic: its DREQ is known by the QPN") {
    home.steering.restore(info, std::nullopt, 3, home.now);
    CHECK(home.owner(Side::wan, pair.ack(1, 1)) == 3);
    CHECK(home.owner(Side::host, pair.dreq(Side::host)) == 3);
  }
}

TEST_CASE("frames of an exchange come to one worker while it waits for its active end, and it takes no QPN before") {
  for (const bool far : {false, true})
    for (const bool comes : {false, true}) {
      CAPTURE(far, comes);
      Home home;
      const Pair old = pair_number(0);
      const Worker worker = home.connect(old);
      REQUIRE(worker != 0);
      home.connect(pair_number(1));
      // far: the REQ comes over the WAN and has the far end's QPN. Otherwise it comes from here with the near end's
      // QPN.
      Pair pair = pair_number(2);
      (far ? pair.b_qpn : pair.a_qpn) = far ? old.b_qpn : old.a_qpn;
      pair.active = far ? Side::wan : Side::host;
      CHECK(home.owner(pair.active, pair.req()) == 0);
      for (int i = 0; i < 2; ++i) {
        const Target target = home.target(other(pair.active), pair.rep());
        CHECK(target.worker == worker);
        CHECK(Bytes(target.request.begin(), target.request.end()) == pair.req());
      }
      // Nobody else has the QPN in the REP, so its frames go to their worker already.
      CHECK((far ? home.owner(Side::wan, pair.ack(1, 1)) : home.owner(Side::host, pair.write(1))) == worker);
      if (comes) CHECK(home.owner(pair.active, pair.rtu()) == worker);
      home.owner(Side::host, old.dreq(Side::host));
      home.owner(Side::wan, old.drep(Side::wan));
      const Worker now = far ? home.owner(Side::host, old.write(1)) : home.owner(Side::wan, old.ack(1, 1));
      CHECK(now == (comes ? worker : 0));
      if (comes) CHECK(home.owner(Side::host, pair.dreq(Side::host)) == worker);
    }
}

TEST_CASE("what a REQ that may be forged leads away is missed at home until its active end has read the REP") {
  Home home;
  Pair pair;
  pair.active = Side::wan;
  const flow::ConnectionInfo info = info_of(pair);
  CHECK(home.steering.sees_whole(info, home.now));
  home.owner(Side::wan, pair.req());
  REQUIRE(home.owner(Side::host, pair.rep()) != 0);
  CHECK(home.steering.sees_whole(info, home.now));  // the REQ has led nothing away yet
  REQUIRE(home.owner(Side::host, pair.write(pair.a_psn)) != 0);
  CHECK_FALSE(home.steering.sees_whole(info, home.now));
  home.now += seconds(11);
  CHECK(home.steering.sees_whole(info, home.now));
  SECTION("forged: as often as it does so") {
    home.owner(Side::host, pair.write(pair.a_psn));
    CHECK_FALSE(home.steering.sees_whole(info, home.now));
  }
  SECTION("genuine: its answers go there too") {
    home.owner(Side::wan, pair.rtu());
    home.owner(Side::host, pair.write(pair.a_psn));
    CHECK(home.steering.sees_whole(info, home.now));
  }
}

TEST_CASE("REQs forged for both QPNs of a connection, and answered, do not make its home forget it") {
  Home home;
  const Pair old = pair_number(0);
  const Worker worker = home.connect(old);
  REQUIRE(worker != 0);
  Pair far = pair_number(1);
  far.active = Side::wan;
  far.b_qpn = old.b_qpn;
  Pair near = pair_number(2);
  near.a_qpn = old.a_qpn;
  for (const Pair& forged : {far, near}) {
    home.owner(forged.active, forged.req());
    home.owner(other(forged.active), forged.rep());
  }
  CHECK(home.owner(Side::host, old.write(1)) == worker);
  CHECK(home.owner(Side::host, old.dreq(Side::host)) == worker);
  CHECK(home.owner(Side::wan, old.drep(Side::wan)) == worker);
}

TEST_CASE("of two former users the near one keeps its worker until the RTU, the far one not beyond the REP") {
  Home home;
  const auto [first, second, pair, of_first, of_second] = two_and_one_between(home);
  home.owner(Side::host, pair.req());
  CHECK(home.owner(Side::wan, pair.rep()) == of_second);
  CHECK(home.owner(Side::wan, first.ack(1, 1)) == of_first);
  CHECK(home.owner(Side::host, pair.rtu()) == of_second);
  CHECK(home.owner(Side::wan, first.ack(1, 1)) == of_second);
}

// The owner's engine has followed the newcomer since the REP, and must see the answers to requests that it
// acknowledged.
TEST_CASE("the former user of both QPNs ends between REP and RTU: answers go where requests go") {
  Home home;
  const Pair old;
  const Worker worker = home.connect(old);
  REQUIRE(worker != 0);
  Pair again = pair_number(1);
  again.a_qpn = old.a_qpn;
  again.b_qpn = old.b_qpn;
  home.owner(Side::host, again.req());
  CHECK(home.owner(Side::wan, again.rep()) == worker);
  home.owner(Side::wan, old.dreq(Side::wan));
  home.owner(Side::host, old.drep(Side::host));
  CHECK(home.owner(Side::host, again.write(again.a_psn)) == worker);
  CHECK(home.owner(Side::wan, again.ack(again.a_psn, 1)) == worker);
  CHECK(home.owner(Side::host, again.rtu()) == worker);
  CHECK(home.owner(Side::wan, again.ack(again.a_psn, 1)) == worker);
  home.owner(Side::host, again.dreq(Side::host));
  home.owner(Side::wan, again.drep(Side::wan));
  CHECK(home.steering.connections() == 0);
}

TEST_CASE("a newcomer that finds no place, on the QPNs of former users: they end, and its frames go where they went") {
  Home home({1}, 1);
  const Pair old;
  REQUIRE(home.connect(old) == 1);
  Pair again = pair_number(1);
  again.a_qpn = old.a_qpn;
  again.b_qpn = old.b_qpn;
  const bool asked_before = GENERATE(false, true);
  if (asked_before) home.owner(Side::host, old.dreq(Side::host));
  home.owner(Side::host, again.req());
  CHECK(home.target(Side::wan, again.rep()).request.size() > 0);
  if (!asked_before) home.owner(Side::host, old.dreq(Side::host));
  if (GENERATE(false, true)) home.owner(Side::wan, old.drep(Side::wan));
  for (unsigned minutes = 0; minutes < 5; ++minutes, home.now += seconds(60)) {
    CHECK(home.owner(Side::host, again.write(again.a_psn)) == 1);
    CHECK(home.owner(Side::wan, again.ack(again.a_psn, 1)) == 1);
  }
  home.now += seconds(600);
  CHECK(home.connect(pair_number(2)) == 1);  // the silent one makes room
}

TEST_CASE("what waited in vain makes room") {
  Home home({1}, 2);
  const Pair old = pair_number(0);
  home.connect(old);
  Pair forged = pair_number(1);
  forged.a_qpn = old.a_qpn;
  home.owner(Side::host, forged.req());
  home.owner(Side::wan, forged.rep());
  CHECK(home.connect(pair_number(2)) == 0);
  home.now += flow::CmTracker::kPendingLife + 1;
  home.owner(Side::host, old.write(1));
  CHECK(home.connect(pair_number(3)) == 1);
  CHECK(home.owner(Side::host, old.write(1)) == 1);
}
