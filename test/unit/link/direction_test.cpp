// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <vector>

#include "link/direction.hpp"
#include "support/mbufs.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::link;
using longhaul::test::MbufPool;
using Bytes = std::vector<std::uint8_t>;

namespace {

struct Arrival {
  Time time;
  Bytes bytes;
};

/// All frames that arrive up to `until`, at the times that next_deadline() gives.
std::vector<Arrival> drain(Direction& direction, Time until = kNever - 1) {
  std::vector<Arrival> out;
  while (direction.next_deadline() <= until) {
    const Time now = direction.next_deadline();
    rte_mbuf* frame = nullptr;
    REQUIRE(direction.collect(&frame, 1, now) == 1);
    out.push_back({now, test::bytes_of(frame)});
    rte_pktmbuf_free(frame);
  }
  return out;
}

Bytes numbered(std::uint32_t n, std::size_t size = 100) {
  Bytes bytes(size, 0);
  for (unsigned i = 0; i < 4; ++i) bytes[20 + i] = static_cast<std::uint8_t>(n >> (8 * i));
  return bytes;
}

std::uint32_t number_of(const Bytes& bytes) {
  return bytes[20] | static_cast<std::uint32_t>(bytes[21]) << 8 | static_cast<std::uint32_t>(bytes[22]) << 16;
}

Settings one(const DirectionSettings& direction) {
  Settings settings;
  settings.directions[0] = direction;
  return settings;
}

bool balanced(const Direction& d) {
  const Counters& c = d.counters();
  return c.received + c.duplicated + c.event_duplicate ==
         c.sent + c.lost + c.queue_dropped + c.buffer_dropped + c.event_drop + d.held();
}

/// Sends `n` numbered frames `gap` apart and returns the numbers that arrived, in order.
std::vector<std::uint32_t> survivors(const Settings& settings, std::uint32_t n, Duration gap) {
  MbufPool pool;
  std::vector<std::uint32_t> out;
  {
    Direction direction(settings, Way::a_to_b);
    for (std::uint32_t i = 0; i < n; ++i) {
      direction.offer(pool.make(numbered(i)), i * gap);
      for (const Arrival& a : drain(direction, i * gap)) out.push_back(number_of(a.bytes));
    }
    for (const Arrival& a : drain(direction)) out.push_back(number_of(a.bytes));
    CHECK(balanced(direction));
  }
  CHECK(pool.used() == 0);
  return out;
}

}  // namespace

TEST_CASE("delay and serialization add up") {
  MbufPool pool;
  DirectionSettings s;
  s.delay = milliseconds(5);
  s.rate_bps = 8'000'000'000;  // one byte takes 1 ns
  Direction d(one(s), Way::a_to_b);
  CHECK(d.next_deadline() == kNever);
  d.offer(pool.make(numbered(0, 1000)), 100);
  d.offer(pool.make(numbered(1, 500)), 100);
  rte_mbuf* none = nullptr;
  CHECK(d.collect(&none, 1, milliseconds(5) + 1099) == 0);
  const auto got = drain(d);
  REQUIRE(got.size() == 2);
  CHECK(got[0].time == milliseconds(5) + 1100);
  CHECK(got[1].time == milliseconds(5) + 1600);
}

TEST_CASE("the rate has room for what frames cost on the line, and for who takes them in") {
  MbufPool pool;
  DirectionSettings s;
  s.rate_bps = 8'000'000'000;  // one byte takes 1 ns
  s.line_overhead = 24;
  s.frame_time = 700;
  Direction d(one(s), Way::a_to_b);
  d.offer(pool.make(numbered(0, 1000)), 100);
  d.offer(pool.make(numbered(1, 500)), 100);
  const auto got = drain(d);
  REQUIRE(got.size() == 2);
  CHECK(got[0].time == 1124);
  CHECK(got[1].time == 1824);
}

TEST_CASE("a full queue drops at its tail, and counts") {
  MbufPool pool;
  DirectionSettings s;
  s.rate_bps = 8'000'000'000;
  s.queue_bytes = 3000;
  Direction d(one(s), Way::a_to_b);
  for (std::uint32_t i = 0; i < 5; ++i) d.offer(pool.make(numbered(i, 1000)), 0);
  CHECK(d.counters().queue_dropped == 2);
  d.offer(pool.make(numbered(5, 1000)), 1000);  // one frame has left by now
  CHECK(d.counters().queue_dropped == 2);
  const auto got = drain(d);
  REQUIRE(got.size() == 4);
  CHECK(number_of(got[3].bytes) == 5);
  CHECK(balanced(d));
}

TEST_CASE("a queue marks frames that find it too full, and no others") {
  MbufPool pool;
  DirectionSettings s;
  s.rate_bps = 8'000'000'000;
  s.ecn_bytes = 2 * 998;
  Direction d(one(s), Way::a_to_b);
  const Bytes frame = wire::PacketBuilder().payload_size(940).build();
  REQUIRE(frame.size() == 998);
  for (int i = 0; i < 4; ++i) d.offer(pool.make(frame), 0);
  const auto got = drain(d);
  REQUIRE(got.size() == 4);
  const Bytes marked = wire::PacketBuilder().tos(0x03).payload_size(940).build();
  for (std::size_t i = 0; i < 4; ++i) CHECK(got[i].bytes == (i < 2 ? frame : marked));
}

TEST_CASE("a direction holds no more frames than it was given buffers") {
  MbufPool pool;
  DirectionSettings s;
  s.delay = 1;
  Direction d(one(s), Way::a_to_b, 3);
  for (std::uint32_t i = 0; i < 5; ++i) d.offer(pool.make(numbered(i)), 0);
  CHECK(d.held() == 3);
  CHECK(d.counters().buffer_dropped == 2);
}

TEST_CASE("the same seed loses the same frames whatever the timing") {
  DirectionSettings s;
  s.loss = 0.1;
  Settings slow = one(s);
  Settings fast = slow;
  fast.directions[0].delay = milliseconds(3);
  fast.directions[0].jitter = 50;
  fast.directions[0].corrupt = 0;  // other kinds of damage have random streams of their own
  const auto a = survivors(slow, 2000, 1);
  CHECK(a == survivors(fast, 2000, 1000));
  CHECK(a.size() > 1740);
  CHECK(a.size() < 1860);
  Settings other = slow;
  other.seed = 2;
  CHECK(a != survivors(other, 2000, 1));
  // The two directions do not share their random numbers either.
  Settings mirrored = slow;
  mirrored.directions[1] = s;
  MbufPool pool;
  Direction back(mirrored, Way::b_to_a);
  std::vector<std::uint32_t> b;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    back.offer(pool.make(numbered(i)), i);
    for (const Arrival& x : drain(back)) b.push_back(number_of(x.bytes));
  }
  CHECK(a != b);
}

TEST_CASE("fates of packets are the same whatever is sent beside them, and in whatever order") {
  DirectionSettings s;
  s.loss = 0.3;
  Settings settings = one(s);
  settings.fates_by = FatesBy::packet;
  constexpr std::uint32_t kPackets = 500;
  /// Which copies arrived, by PSN.
  const auto arrived = [&](bool backwards, bool ack_req, std::uint32_t others) {
    MbufPool pool;
    Direction direction(settings, Way::a_to_b);
    std::vector<unsigned> copies(kPackets, 0);
    for (unsigned copy = 0; copy < 3; ++copy) {
      for (std::uint32_t i = 0; i < kPackets; ++i) {
        const std::uint32_t psn = backwards ? kPackets - 1 - i : i;
        for (std::uint32_t other = 0; other < others; ++other)
          direction.offer(pool.make(numbered(i * others + other)), 0);
        wire::PacketBuilder packet;
        direction.offer(pool.make(packet.opcode(wire::kRcSendOnly).qpn(7).psn(psn).ack_req(ack_req).build()), 0);
        for (const Arrival& a : drain(direction)) {
          wire::Frame frame;
          if (wire::parse(a.bytes, frame) == wire::ParseStatus::roce) copies[frame.psn()] |= 1u << copy;
        }
      }
    }
    return copies;
  };
  const auto forwards = arrived(false, false, 0);
  CHECK(std::ranges::count(forwards, 7u) > 100);  // 0.7 cubed
  CHECK(std::ranges::count(forwards, 7u) < 250);
  CHECK(arrived(true, false, 0) == forwards);
  CHECK(arrived(false, true, 3) == forwards);
  settings.seed = 2;
  CHECK(arrived(false, false, 0) != forwards);
}

TEST_CASE("jitter keeps the order, reordering does not") {
  DirectionSettings s;
  s.delay = 1000;
  s.jitter = 10'000;
  const auto with_jitter = survivors(one(s), 500, 10);
  CHECK(std::is_sorted(with_jitter.begin(), with_jitter.end()));
  CHECK(with_jitter.size() == 500);
  s.jitter = 0;
  s.reorder = 0.1;
  s.reorder_extra = 100;
  const auto reordered = survivors(one(s), 500, 10);
  CHECK_FALSE(std::is_sorted(reordered.begin(), reordered.end()));
  CHECK(reordered.size() == 500);
}

TEST_CASE("duplicates are frames of their own, corruption flips one bit behind the Ethernet header") {
  MbufPool pool;
  DirectionSettings s;
  s.duplicate = 1;
  s.corrupt = 1;
  Direction d(one(s), Way::a_to_b);
  const Bytes original = numbered(7);
  rte_mbuf* shared = pool.make(original);
  rte_mbuf_refcnt_update(shared, 1);  // someone else holds a reference
  d.offer(shared, 0);
  CHECK(test::bytes_of(shared) == original);
  rte_pktmbuf_free(shared);
  const auto got = drain(d);
  REQUIRE(got.size() == 2);
  CHECK(got[0].bytes == got[1].bytes);
  int bits = 0;
  for (std::size_t i = 0; i < original.size(); ++i) {
    const int flipped = std::popcount(static_cast<unsigned>(original[i] ^ got[0].bytes[i]));
    if (i < 14) CHECK(flipped == 0);
    bits += flipped;
  }
  CHECK(bits == 1);
  CHECK(balanced(d));
  CHECK(pool.used() == 0);
}

TEST_CASE("events match by QPN and PSN, or by number") {
  const auto roce = [](std::uint32_t qpn, std::uint32_t psn) {
    return wire::PacketBuilder().opcode(wire::kRcSendOnly).qpn(qpn).psn(psn).payload_size(16).build();
  };
  const auto run = [&](Event event) {
    MbufPool pool;
    Settings settings;
    settings.events.push_back(event);
    Direction d(settings, Way::a_to_b);
    // To QPN 1: PSNs 10, 11, 12, 11, 11. To QPN 2: PSN 11. And a frame that is not RoCE.
    for (const auto& frame :
         {numbered(0), roce(1, 10), roce(1, 11), roce(2, 11), roce(1, 12), roce(1, 11), roce(1, 11)}) {
      d.offer(pool.make(frame), 0);
    }
    const std::size_t arrived = drain(d).size();
    CHECK(balanced(d));
    return arrived;
  };
  Event event;
  event.psn = 11;
  CHECK(run(event) == 6);
  event.count = 10;
  CHECK(run(event) == 3);
  event.qpn = 1;
  CHECK(run(event) == 4);
  event.qpn = 3;
  CHECK(run(event) == 7);
  event = Event{};
  event.nth = 1;
  event.qpn = 2;
  CHECK(run(event) == 6);
  event.action = Action::duplicate;
  CHECK(run(event) == 8);
  event.way = Way::b_to_a;
  CHECK(run(event) == 7);
}

TEST_CASE("a delayed frame is overtaken") {
  MbufPool pool;
  Settings settings;
  Event event;
  event.nth = 1;
  event.action = Action::delay;
  event.delay = milliseconds(5);
  settings.events.push_back(event);
  Direction d(settings, Way::a_to_b);
  for (std::uint32_t psn : {1u, 2u}) d.offer(pool.make(wire::PacketBuilder().psn(psn).payload_size(8).build()), 10);
  const auto got = drain(d);
  REQUIRE(got.size() == 2);
  CHECK(got[0].time == 10);
  CHECK(got[1].time == milliseconds(5) + 10);
  CHECK(d.counters().event_delay == 1);
}

TEST_CASE("a congestion mark leaves IPv4 checksum and ICRC right") {
  const std::vector<std::pair<std::string, std::string>> ends = {{"10.9.0.1", "10.9.0.2"}, {"fd00::1", "fd00::2"}};
  for (const auto& [from, to] : ends) {
    for (const std::uint8_t tos : std::initializer_list<std::uint8_t>{0x00, 0x02, 0x6a, 0xff}) {
      MbufPool pool;
      Settings settings;
      Event event;
      event.nth = 1;
      event.action = Action::ecn;
      settings.events.push_back(event);
      Direction d(settings, Way::a_to_b);
      const Bytes frame = wire::PacketBuilder().ips(from, to).tos(tos).payload_size(64).build();
      d.offer(pool.make(frame), 0);
      const auto got = drain(d);
      REQUIRE(got.size() == 1);
      // The builder's own frame with that ToS is the reference: it computes the checksum from scratch.
      CHECK(got[0].bytes ==
            wire::PacketBuilder().ips(from, to).tos(static_cast<std::uint8_t>(tos | 3)).payload_size(64).build());
      wire::Frame view;
      REQUIRE(wire::parse(got[0].bytes, view) == wire::ParseStatus::roce);
      CHECK(wire::verify_icrc(view));
    }
  }
}
