// SPDX-License-Identifier: BSD-3-Clause
// Which rule decides about a connection.
#include <catch2/catch.hpp>

#include "flow/policy.hpp"

using namespace longhaul;
using namespace longhaul::flow;

namespace {

constexpr std::uint32_t kMellanox = 0x15b3;
const wire::IpAddress kA = wire::IpAddress::parse("10.0.0.1");
const wire::IpAddress kB = wire::IpAddress::parse("10.9.0.1");

/// A REQ that offered, and a REP that accepted, options of these vendors; 0: none.
std::optional<EceExchange> ece(std::uint32_t offered, std::uint32_t accepted) {
  return EceExchange{{offered, 3}, {accepted, 1}};
}

Policy decided(const std::string& match, const std::optional<EceExchange>& exchange) {
  PolicyTable table;
  table.fallback = Policy::full;
  table.rules.push_back({Prefix::parse("::/0"), Policy::off, EceMatch::parse(match)});
  return table.lookup(kA, kB, exchange);
}

}  // namespace

TEST_CASE("what the REP accepted decides, not what the REQ offered", "[flow][policy]") {
  CHECK(decided("any", ece(kMellanox, kMellanox)) == Policy::off);
  CHECK(decided("any", ece(kMellanox, 0)) == Policy::full);
  CHECK(decided("any", ece(0, 0)) == Policy::full);
  CHECK(decided("none", ece(kMellanox, kMellanox)) == Policy::full);
  CHECK(decided("none", ece(kMellanox, 0)) == Policy::off);
  CHECK(decided("none", ece(0, 0)) == Policy::off);
  CHECK(decided("0x15b3", ece(kMellanox, kMellanox)) == Policy::off);
  CHECK(decided("5555", ece(kMellanox, kMellanox)) == Policy::off);
  CHECK(decided("0x15b3", ece(kMellanox, 0)) == Policy::full);
  CHECK(decided("0x15b4", ece(kMellanox, kMellanox)) == Policy::full);
}

TEST_CASE("where no RDMA-CM was seen, no rule about ECE applies", "[flow][policy]") {
  for (const char* match : {"any", "none", "0x15b3"}) CHECK(decided(match, std::nullopt) == Policy::full);
}

TEST_CASE("a rule needs both: an address and the ECE", "[flow][policy]") {
  PolicyTable table;
  table.rules.push_back({Prefix::parse("10.9.0.0/24"), Policy::off, EceMatch::parse("any")});
  table.rules.push_back({Prefix::parse("10.9.0.0/24"), Policy::window});
  CHECK(table.lookup(kA, kB, ece(kMellanox, kMellanox)) == Policy::off);
  CHECK(table.lookup(kA, kB, ece(0, 0)) == Policy::window);
  CHECK(table.lookup(kA, kB) == Policy::window);
  CHECK(table.lookup(kA, kA, ece(kMellanox, kMellanox)) == Policy::full);
}

TEST_CASE("an ECE match reads as it is written", "[flow][policy]") {
  for (const char* text : {"any", "none", "0x15b3", "0x1", "0xffffff"})
    CHECK(EceMatch::parse(text).to_string() == text);
  CHECK(EceMatch{}.to_string().empty());
  for (const char* text : {"", "0x", "0", "0x0", "0x1000000", "0x15b3 ", "-1", "all", "15b3", "Any"}) {
    INFO(text);
    CHECK_THROWS_WITH(EceMatch::parse(text), Catch::Contains("any, none, or a vendor ID"));
  }
}
