// SPDX-License-Identifier: BSD-3-Clause
// What an operator's capture keeps: the last frames of one flow, in and out, and no others.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "app/box/box_loop.hpp"
#include "app/box/tap.hpp"
#include "app/protocol/base64.hpp"
#include "drivers/memory_port.hpp"
#include "support/hosts.hpp"
#include "support/mbufs.hpp"

using namespace longhaul;
using namespace longhaul::app;
using namespace longhaul::test;

namespace {

Bytes kept(const Tap& tap, std::size_t i) { return {tap.bytes(i).begin(), tap.bytes(i).end()}; }

struct Frames {
  explicit Frames(test::MbufPool& pool) : pool_(pool) {}
  ~Frames() {
    for (rte_mbuf* mbuf : all_) rte_pktmbuf_free(mbuf);
  }
  rte_mbuf* operator()(const Bytes& bytes) {
    all_.push_back(pool_.make(bytes));
    return all_.back();
  }

 private:
  test::MbufPool& pool_;
  std::vector<rte_mbuf*> all_;
};

}  // namespace

TEST_CASE("a tap keeps the last frames of its flow and no others", "[control]") {
  test::MbufPool pool;
  Frames frame(pool);
  const drivers::Clock clock;
  const Pair pair;
  Pair other = pair;
  other.b_qpn = 0x99;
  Tap tap({info_of(pair), std::nullopt}, 3, 9000, clock);
  rte_mbuf* first[] = {frame(pair.write(1)), frame(other.write(1)), frame(Bytes(60, 0x55)), frame(pair.req())};
  CHECK(tap.see(Side::host, Tap::Way::in, first) == 2);
  rte_mbuf* answer[] = {frame(pair.ack(1, 1))};
  CHECK(tap.see(Side::wan, Tap::Way::in, answer) == 1);
  REQUIRE(tap.seen().size() == 3);
  CHECK(kept(tap, 0) == pair.write(1));
  CHECK(kept(tap, 1) == pair.req());
  CHECK(kept(tap, 2) == pair.ack(1, 1));
  rte_mbuf* more[] = {frame(pair.write(2)), frame(pair.write(3))};
  tap.see(Side::wan, Tap::Way::out, more);
  tap.take_back();  // the port had no room for the last
  CHECK(tap.total() == 4);
  REQUIRE(tap.seen().size() == 3);
  CHECK(kept(tap, 0) == pair.req());
  CHECK(kept(tap, 2) == pair.write(2));
  CHECK(tap.seen()[2].side == Side::wan);
  CHECK(tap.seen()[2].way == Tap::Way::out);
  CHECK(tap.seen()[0].at <= tap.seen()[2].at);
}

TEST_CASE("a tap by prefix takes both directions, and no more bytes than it may", "[control]") {
  test::MbufPool pool;
  Frames frame(pool);
  const drivers::Clock clock;
  const Pair pair;
  Tap tap({std::nullopt, flow::Prefix::parse("10.0.0.2/32")}, 10, 64, clock);
  Pair elsewhere = pair;
  elsewhere.b_ip = "10.0.0.3";
  rte_mbuf* frames[] = {frame(pair.write(1)), frame(elsewhere.write(1)), frame(pair.ack(1, 1))};
  CHECK(tap.see(Side::host, Tap::Way::in, frames) == 2);
  CHECK(tap.bytes(0).size() == 64);
  CHECK(tap.seen()[0].size == pair.write(1).size());
  const Bytes whole = pair.write(1);
  CHECK(kept(tap, 0) == Bytes(whole.begin(), whole.begin() + 64));
}

TEST_CASE("a sink with a tap tells it of what the port has accepted only", "[control]") {
  test::MbufPool pool;
  const drivers::Clock clock;
  const Pair pair;
  auto [host, host_box] = drivers::MemoryPort::make_wire("host", 63);
  auto [wan, wan_box] = drivers::MemoryPort::make_wire("wan", 3);
  PortSink sink(*host_box, *wan_box);
  Tap tap({info_of(pair), std::nullopt}, 10, 9000, clock);
  sink.tap_by(&tap);
  std::vector<rte_mbuf*> frames;
  for (std::uint32_t psn = 0; psn < 5; ++psn) frames.push_back(pool.make(pair.write(psn)));
  CHECK(sink.transmit(Side::wan, frames.data(), 5) == 3);
  CHECK(tap.total() == 3);
  CHECK(kept(tap, 2) == pair.write(2));
  sink.tap_by(nullptr);
  CHECK(sink.transmit(Side::host, &frames[3], 2) == 2);
  CHECK(tap.total() == 3);
  rte_mbuf* got = nullptr;
  while (wan->receive(&got, 1) == 1) rte_pktmbuf_free(got);
  while (host->receive(&got, 1) == 1) rte_pktmbuf_free(got);
  CHECK(pool.used() == 0);
}

TEST_CASE("base64 is RFC 4648's", "[control]") {
  const auto bytes = [](const std::string& text) { return std::vector<std::uint8_t>(text.begin(), text.end()); };
  // RFC 4648, section 10.
  const std::pair<const char*, const char*> kVectors[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : kVectors) {
    CHECK(to_base64(bytes(plain)) == coded);
    CHECK(from_base64(coded) == bytes(plain));
  }
  for (const char* wrong : {"Zg=", "Zg", "Z===", "Zm9*", "=m9v", "Zg==Zg=="}) CHECK_THROWS(from_base64(wrong));
}
