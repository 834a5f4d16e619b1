// SPDX-License-Identifier: BSD-3-Clause
#include "engine/busy_pairs.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace longhaul;
using engine::BusyPairs;

namespace {

flow::KeyIndex::Key between(std::uint8_t number) {
  flow::KeyIndex::Key key;
  key.first = wire::IpAddress::parse("10.0.0.1");
  key.second = wire::IpAddress::parse("10.0.1." + std::to_string(number));
  return key;
}

std::uint64_t ticks_of(const BusyPairs& busy, std::uint8_t number) {
  const auto all = busy.pairs();
  const auto found = std::ranges::find(all, between(number), &engine::BusyPair::hosts);
  return found == all.end() ? 0 : found->ticks;
}

}  // namespace

TEST_CASE("one call in sixteen is measured, and counts for sixteen", "[busy_pairs]") {
  BusyPairs busy;
  for (int call = 1; call <= 160; ++call) CHECK(busy.samples_this_call() == (call % 16 == 0));
  busy.note(between(1), 100);
  busy.note(between(1), 50);
  CHECK(ticks_of(busy, 1) == 16 * 150);
}

TEST_CASE("the chosen frame stands for all frames of the calls", "[busy_pairs]") {
  BusyPairs busy;
  busy.note(between(1), 100, engine::Asked::accelerated, 8);
  busy.note(between(1), 100, engine::Asked::unknown, 2);
  const auto pair = busy.pairs().front();
  CHECK(pair.asked[static_cast<std::size_t>(engine::Asked::accelerated)] == 16 * 8);
  CHECK(pair.asked[static_cast<std::size_t>(engine::Asked::unknown)] == 16 * 2);
}

TEST_CASE("frames take turns to be the one that counts", "[busy_pairs]") {
  BusyPairs busy;
  for (const std::size_t expected : {0, 1, 2, 0, 1, 2}) CHECK(busy.chosen_of(3) == expected);
}

TEST_CASE("a pair that finds no place takes that of the least busy pair", "[busy_pairs]") {
  BusyPairs busy;
  for (std::uint8_t number = 0; number < BusyPairs::kMost; ++number) busy.note(between(number), number == 7 ? 5 : 10);
  busy.note(between(200), 3);
  CHECK(busy.pairs().size() == BusyPairs::kMost);
  CHECK(ticks_of(busy, 200) == 16 * 3);
  CHECK(ticks_of(busy, 7) == 0);
  CHECK(ticks_of(busy, 8) == 16 * 10);
  busy.clear();
  CHECK(busy.pairs().empty());
}
