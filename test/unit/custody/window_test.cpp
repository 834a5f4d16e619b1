// SPDX-License-Identifier: BSD-3-Clause
// How many bytes may be unanswered: twice what a path delivers in a round trip, computed by hand.
#include "custody/window.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

using namespace longhaul;
using custody::UnansweredWindow;

namespace {

constexpr std::uint64_t kInitial = 65'536;
constexpr Duration kRtt = milliseconds(10);
constexpr Time kBegin = seconds(1);

/// A path whose answers come once a round trip.
struct Path {
  UnansweredWindow window;
  std::uint64_t delivered = 0;
  Time now = kBegin;

  Path() { window.on_delivered(0, kRtt, now); }
  /// A round trip in which `bytes` are answered.
  void round(std::uint64_t bytes, bool limited) {
    if (limited) window.on_limited();
    window.on_delivered(delivered += bytes, kRtt, now += kRtt);
  }
  std::uint64_t bytes() const { return window.bytes(kInitial, now); }
};

}  // namespace

TEST_CASE("until a round is over the window is the initial one, and never less", "[custody][window]") {
  UnansweredWindow window;
  CHECK(window.bytes(kInitial, kBegin) == kInitial);
  // Without a round trip time nothing is known.
  window.on_delivered(0, 0, kBegin);
  window.on_delivered(10'000'000, 0, kBegin + seconds(1));
  CHECK(window.bytes(kInitial, kBegin + seconds(1)) == kInitial);
  // A round begins when the round trip time is known. Bytes that were answered before do not count.
  window.on_delivered(20'000'000, kRtt, kBegin + seconds(2));
  CHECK(window.bytes(kInitial, kBegin + seconds(2)) == kInitial);
  Path path;
  path.round(kInitial / 2 - 1, false);
  CHECK(path.bytes() == kInitial);
  path.round(kInitial / 2 + 1, false);
  CHECK(path.bytes() == kInitial + 2);
}

TEST_CASE("twice what was answered in a round trip", "[custody][window]") {
  UnansweredWindow window;
  window.on_delivered(5'000'000, kRtt, kBegin);  // bytes answered before do not count
  window.on_delivered(5'900'000, kRtt, kBegin + milliseconds(9));
  CHECK(window.bytes(kInitial, kBegin + milliseconds(9)) == kInitial);
  // 1 Gbit/s over 10 ms are 1,250,000 bytes.
  window.on_delivered(6'250'000, kRtt, kBegin + kRtt);
  CHECK(window.bytes(kInitial, kBegin + kRtt) == 2'500'000);
  // A round may last longer: 3,750,000 bytes in 25 ms are 1,500,000 in 10.
  window.on_delivered(10'000'000, kRtt, kBegin + milliseconds(35));
  CHECK(window.bytes(kInitial, kBegin + milliseconds(35)) == 3'000'000);
}

TEST_CASE("a burst of answers on a short path is no rate", "[custody][window]") {
  UnansweredWindow window;
  constexpr Duration kShort = microseconds(50);
  window.on_delivered(0, kShort, kBegin);
  window.on_delivered(1'000'000, kShort, kBegin + microseconds(999));
  CHECK(window.bytes(kInitial, kBegin + microseconds(999)) == kInitial);
  // 4,000,000 bytes in a millisecond are 200,000 in 50 us.
  window.on_delivered(4'000'000, kShort, kBegin + milliseconds(1));
  CHECK(window.bytes(kInitial, kBegin + milliseconds(1)) == 400'000);
}

TEST_CASE("a pipe that the window fills grows to twice in each round trip", "[custody][window]") {
  Path path;
  for (std::uint64_t expected = kInitial; expected < 100'000'000; expected *= 2) {
    CHECK(path.bytes() == expected);
    path.round(path.bytes(), true);
  }
}

TEST_CASE("the best of the last eight rounds that were held back or better", "[custody][window]") {
  std::mt19937_64 random(1);
  Path path;
  std::deque<std::uint64_t> counted;
  for (unsigned i = 0; i < 2000; ++i) {
    const std::uint64_t best = counted.empty() ? 0 : *std::max_element(counted.begin(), counted.end());
    const auto bytes = std::uniform_int_distribution<std::uint64_t>(0, 10'000'000)(random);
    const bool limited = i % 3 == 0;
    path.round(bytes, limited);
    if (limited || bytes >= best) counted.push_back(bytes);
    if (counted.size() > 8) counted.pop_front();
    CHECK(path.bytes() == std::max(kInitial, 2 * *std::max_element(counted.begin(), counted.end())));
  }
}

TEST_CASE("congestion halves the window until its end", "[custody][window]") {
  Path path;
  path.round(1'000'000, false);
  path.window.on_congestion(path.now + kRtt);
  CHECK(path.window.bytes(kInitial, path.now + kRtt - 1) == 1'000'000);
  CHECK(path.window.bytes(kInitial, path.now + kRtt) == 2'000'000);
  CHECK(path.window.bytes(4'000'000, path.now) == 2'000'000);
}

TEST_CASE("a rate beyond 32 bits is taken for the largest", "[custody][window]") {
  Path path;
  std::mt19937_64 random(1);
  path.round(std::uniform_int_distribution<std::uint64_t>(1ull << 40, 1ull << 41)(random), false);
  CHECK(path.bytes() == 2 * 0xffff'ffffull);
}
