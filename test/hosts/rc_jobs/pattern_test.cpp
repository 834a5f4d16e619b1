// SPDX-License-Identifier: BSD-3-Clause
// The comparison on which rc_jobs' word "equal" stands.
#include "pattern.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace longhaul::jobs;

namespace {

constexpr Pattern kPattern{.job = 3, .messages = 60, .largest = 5000, .same_first = 1, .vary = false};

std::vector<std::uint8_t> whole(const Pattern& pattern, Side side = Side::client) {
  const Layout layout(pattern);
  std::vector<std::uint8_t> region(layout.region());
  for (std::uint32_t n = 0; n < pattern.messages; ++n) {
    const auto& place = layout.places()[n];
    fill(pattern, side, n, std::span(region).subspan(place.offset, place.size));
  }
  return region;
}

Comparison compare_all(const Pattern& pattern, std::span<const std::uint8_t> region) {
  return compare(pattern, Side::client, Layout(pattern), region);
}

}  // namespace

TEST_CASE("what was sent is equal, to the last byte") {
  const auto found = compare_all(kPattern, whole(kPattern));
  CHECK(found.wrong == 0);
  CHECK(found.compared == Layout(kPattern).region());
}

TEST_CASE("each single byte that differs is found, between the messages too") {
  auto region = whole(kPattern);
  for (std::size_t at = 0; at < region.size(); at += 97) {
    region[at] ^= 0x10;
    const auto found = compare_all(kPattern, region);
    CHECK(found.wrong == 1);
    CHECK(found.first_wrong == at);
    region[at] ^= 0x10;
  }
}

TEST_CASE("a message that never arrived is missing, and counted") {
  auto region = whole(kPattern);
  const auto place = Layout(kPattern).places()[7];
  std::fill_n(region.begin() + static_cast<std::ptrdiff_t>(place.offset), place.size, std::uint8_t{0});
  const auto found = compare_all(kPattern, region);
  CHECK(found.wrong == place.size);
  CHECK(found.missing == place.size);
}

TEST_CASE("another job's bytes differ, but for the first messages that are to be the same") {
  auto before = kPattern;
  before.job = 2;
  const auto found = compare_all(kPattern, whole(before));
  const auto second = Layout(kPattern).places()[1];
  CHECK(found.first_wrong >= second.offset);
  CHECK(found.first_wrong < second.offset + second.size);
  CHECK(found.missing == 0);
  CHECK(found.wrong > (Layout(kPattern).bytes() - Layout(kPattern).places()[0].size) * 9 / 10);
}

TEST_CASE("a reply is not what it answers") { CHECK(compare_all(kPattern, whole(kPattern, Side::server)).wrong > 0); }

TEST_CASE("sizes are of all magnitudes, within bounds, the same in each job unless they vary") {
  auto other = kPattern;
  other.job = 4;
  std::set<std::uint32_t> sizes;
  const Layout layout(kPattern), of_other(other);
  for (std::size_t n = 0; n < layout.places().size(); ++n) {
    sizes.insert(layout.places()[n].size);
    CHECK(layout.places()[n].size == of_other.places()[n].size);
  }
  CHECK(*sizes.begin() >= 1);
  CHECK(*sizes.begin() < 16);
  CHECK(*sizes.rbegin() <= kPattern.largest);
  CHECK(*sizes.rbegin() > kPattern.largest / 2);
  auto vary = kPattern, vary_other = other;
  vary.vary = vary_other.vary = true;
  CHECK(Layout(vary).bytes() != Layout(vary_other).bytes());
}
