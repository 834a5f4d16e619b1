// SPDX-License-Identifier: BSD-3-Clause
// Frames for the box's address among its workers: who floods it must not hold up the worker.
#include <catch2/catch.hpp>

#include <rte_mbuf.h>

#include <algorithm>
#include <vector>

#include "box/peer_desk.hpp"
#include "engine/pools.hpp"

using namespace longhaul;

namespace {

struct Nowhere final : engine::Sink {
  std::uint16_t transmit(Side, rte_mbuf** frames, std::uint16_t count) override {
    sent += count;
    rte_pktmbuf_free_bulk(frames, count);
    return count;
  }
  unsigned sent = 0;
};

struct Desk {
  Desk() {
    engine::PoolPlan plan;
    plan.name = "desk";
    plan.frame_bytes = 2048;
    plan.frames = 4096;
    plan.small_frames = 1024;
    pools = engine::Pools::create(plan);
    settings.peers.station.network = wire::Prefix::parse("192.0.2.1/24");
    peer::Key key;
    key.fill(1);
    settings.peers.peers.push_back({"far", wire::IpAddress::parse("192.0.2.2"), {peer::PreSharedKey(key)}});
    settings.mac = {2, 0, 0, 0, 0, 1};
  }
  ~Desk() { pools.destroy(); }

  /// IPv4 with this protocol, to 192.0.2.`last`.
  rte_mbuf* frame(std::uint8_t protocol, std::uint8_t last = 1) const {
    const std::vector<std::uint8_t> bytes = {2,    0, 0,   0,  0, 1,    2, 0, 0,  0,        0, 2, 8,  0,
                                             0x45, 0, 0,   28, 0, 0,    0, 0, 64, protocol, 0, 0, 10, 0,
                                             0,    9, 192, 0,  2, last, 0, 9, 18, 183,      0, 8, 0,  0};
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pools.frames);
    REQUIRE(mbuf != nullptr);
    std::ranges::copy(bytes, rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())));
    return mbuf;
  }

  engine::Pools pools;
  box::PeerSettings settings;
  Nowhere ports;
};

constexpr std::uint8_t kOspf = 89;
constexpr std::uint8_t kUdp = 17;

}  // namespace

TEST_CASE("what other workers hand over is taken in turns", "[peer]") {
  Desk its;
  const unsigned before = rte_mempool_avail_count(its.pools.frames);
  {
    box::PeerDesk desk(its.settings, 2, its.ports, its.pools, seconds(1));
    for (int i = 0; i < 1000; ++i) REQUIRE(desk.window_of(1).take(its.frame(kOspf), seconds(1)));
    desk.attend(seconds(1));
    CHECK(desk.report().not_understood == 32);
    for (int i = 0; i < 100; ++i) desk.attend(seconds(1));
    // The ring was full: the rest was lost.
    CHECK(desk.report().not_understood >= 255);
    CHECK(desk.report().not_understood < 1000);
    REQUIRE(desk.window_of(1).take(its.frame(kOspf), seconds(1)));
  }
  CHECK(rte_mempool_avail_count(its.pools.frames) == before);
}

TEST_CASE("beyond its limit a box reads nothing that is for itself", "[peer]") {
  Desk its;
  box::PeerDesk desk(its.settings, 1, its.ports, its.pools, seconds(1));
  for (int i = 0; i < 100'000; ++i) REQUIRE(desk.window_of(0).take(its.frame(kOspf), seconds(1)));
  desk.attend(seconds(1));
  CHECK(desk.report().not_understood == 60'000);
  CHECK(desk.report().unread == 40'000);
  REQUIRE(desk.window_of(0).take(its.frame(kOspf), seconds(2)));
  CHECK(desk.report().not_understood == 60'001);
}

TEST_CASE("what is for others, and RoCE, is not the box's", "[peer]") {
  Desk its;
  box::PeerDesk desk(its.settings, 1, its.ports, its.pools, seconds(1));
  for (rte_mbuf* frame : {its.frame(kOspf, 2), its.frame(kUdp)}) {  // UDP to 4791
    CHECK_FALSE(desk.window_of(0).take(frame, seconds(1)));
    rte_pktmbuf_free(frame);
  }
}
