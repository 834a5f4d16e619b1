// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <random>
#include <set>

#include "peer/replay_window.hpp"

using longhaul::peer::ReplayWindow;

TEST_CASE("a window knows each of its numbers, as a set of all that came does", "[peer]") {
  std::mt19937 engine(7);
  const auto luck = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int world = 0; world < 50; ++world) {
    ReplayWindow window;
    std::set<std::uint32_t> came;
    std::uint32_t newest = 0;
    const std::uint32_t stride = 1 + luck() % 700;
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t number =
          newest + luck() % stride > 500 ? newest + luck() % stride - luck() % 500 : luck() % 600;
      const bool expected =
          number != 0 && came.count(number) == 0 && (number > newest || newest - number < ReplayWindow::kNumbers);
      REQUIRE(window.is_new(number) == expected);
      if (!expected) continue;
      window.note(number);
      came.insert(number);
      newest = std::max(newest, number);
    }
  }
}

TEST_CASE("a window at the end of its numbers", "[peer]") {
  ReplayWindow window;
  window.note(0xffffffff);
  CHECK_FALSE(window.is_new(0xffffffff));
  CHECK(window.is_new(0xfffffffe));
  CHECK_FALSE(window.is_new(0xffffffff - ReplayWindow::kNumbers));
  CHECK_FALSE(window.is_new(0));
}
