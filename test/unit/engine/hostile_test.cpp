// SPDX-License-Identifier: BSD-3-Clause
// Frames nobody would send, with good ICRCs, into learned flows: the rig checks sums, buffers and deadlines.
#include <catch2/catch.hpp>
#include <random>

#include "support/rig.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::test;

TEST_CASE("a READ for 4 GiB, and what follows it", "[engine][hostile]") {
  Rig rig;
  Pair pair;
  pair.path_mtu = 1;
  rig.connect_confirmed(pair);
  rig.host_sends(
      {pair.write(101), pair.read(102, 0xffffffff), pair.write(102), pair.write(103), pair.read(90, 0xffffffff)});
  rig.wan_sends(
      {pair.ack(101, 2), pair.answer("read_last", 101, 3), pair.nak(102, 2), pair.answer("read_first", 102, 3)});
  rig.wait(seconds(5));
  CHECK(rig.count(Counter::frames_host) > 5);
}

TEST_CASE("READs for more than half the circle of PSNs", "[engine][hostile]") {
  Rig rig;
  Pair pair;
  rig.connect_confirmed(pair);
  std::uint32_t psn = 101;
  for (int i = 0; i < 4; ++i, psn = (psn + (1U << 22)) & 0xffffff) rig.host_sends(pair.read(psn, 0xffffffff));
  // The first READ reaches as far as before and after can be told apart. The others pass and change nothing.
  CHECK(rig.count(Counter::requests_implausible) == 3);
  CHECK(rig.at_wan().size() == 4);
  rig.wan_sends(pair.ack(101, 1));
  rig.wait(seconds(200));
}

TEST_CASE("any request and any answer at any PSN in any order", "[engine][hostile]") {
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
  };
  for (int world = 0; world < 150; ++world) {
    CAPTURE(world);
    auto settings = small_settings();
    settings.custody_flow_bytes = 500 + below(20000);
    settings.give_up = milliseconds(500 + below(60000));
    if (below(2) == 0) settings.wan_rate_bps = 1'000'000 * (1 + below(100));
    Rig rig(settings);
    Pair pair;
    pair.retry_count = 0;
    rig.connect_confirmed(pair);
    std::uint32_t next = 101;
    for (int step = 0; step < 300; ++step) {
      rig.allow(Side::wan, below(8) == 0 ? below(4) : Rig::kUnlimited);
      rig.allow(Side::host, below(8) == 0 ? below(4) : Rig::kUnlimited);
      std::vector<Bytes> burst;
      const bool from_host = below(2) == 0;
      for (std::uint32_t n = 1 + below(5); n > 0; --n) {
        const std::uint32_t psn = below(3) == 0 ? next + below(16) - 8 : (below(20) == 0 ? below(0xffffff) : next);
        Bytes frame = from_host
                          ? (below(4) == 0 ? pair.read(psn & 0xffffff, below(9000)) : pair.write(psn & 0xffffff))
                          : pair.ack((psn - below(6)) & 0xffffff, below(400), static_cast<std::uint8_t>(below(256)));
        if (from_host && psn == next) next = (next + 1) & 0xffffff;
        if (!from_host && below(3) == 0)
          frame = pair.answer(below(2) == 0 ? "read_only" : "read_last", psn & 0xffffff, below(400));
        // Any byte from the BTH on is changed, and the ICRC made right again.
        if (below(4) == 0)
          frame[42 + below(static_cast<std::uint32_t>(frame.size()) - 46)] = static_cast<std::uint8_t>(below(256));
        wire::refresh_icrc(frame);
        burst.push_back(std::move(frame));
      }
      if (below(150) == 0) burst.push_back(from_host ? pair.dreq(Side::host) : pair.drep(Side::wan));
      if (below(100) == 0) rig.engine->set_draining(below(2) == 0);
      from_host ? rig.host_sends(burst) : rig.wan_sends(burst);
      rig.wait(microseconds(below(20000)));
      if (below(60) == 0) {
        ++pair.transaction;
        rig.connect(pair);
      }
      rig.host_out.clear();
      rig.wan_out.clear();
    }
    rig.allow(Side::wan, Rig::kUnlimited);
    rig.allow(Side::host, Rig::kUnlimited);
    rig.wait(seconds(200));
  }
}
