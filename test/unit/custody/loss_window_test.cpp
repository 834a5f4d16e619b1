// SPDX-License-Identifier: BSD-3-Clause
// How many packets a path with losses has under way: figures by hand, and what the header says about random losses.
#include "custody/loss_window.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace longhaul;
using custody::LossWindow;

namespace {

void deliver(LossWindow& window, unsigned packets) {
  for (unsigned i = 0; i < packets; ++i) window.on_delivered();
}

}  // namespace

TEST_CASE("what has lost nothing has no limit", "[custody][loss_window]") {
  LossWindow window;
  CHECK(window.packets() == LossWindow::kUnlimited);
  deliver(window, 1000);
  CHECK(window.packets() == LossWindow::kUnlimited);
}

TEST_CASE("three times the packets between losses, the newest run counting half", "[custody][loss_window]") {
  LossWindow window;
  deliver(window, 100);
  window.on_loss();
  CHECK(window.packets() == 300);
  deliver(window, 40);
  window.on_loss();
  CHECK(window.packets() == 3 * 70);  // (100 + 40) / 2
  deliver(window, 69);
  CHECK(window.packets() == 3 * 70);
  // A run that is longer than the average counts before it ends.
  deliver(window, 431);
  CHECK(window.packets() == 3 * 500);
  window.on_loss();
  CHECK(window.packets() == 3 * 285);  // (70 + 500) / 2
}

TEST_CASE("losses in a row halve the window to 64 packets, and to eight where nothing comes through",
          "[custody][loss_window]") {
  LossWindow window;
  deliver(window, 1000);
  for (const std::uint64_t expected : {3000, 1500, 750, 375, 186, 93, 64, 64, 48, 16, 8, 8}) {
    window.on_loss();
    CHECK(window.packets() == expected);
  }
}

TEST_CASE("a run without end is counted up to more than any custody has", "[custody][loss_window]") {
  LossWindow window;
  window.on_loss();
  CHECK(window.packets() == 64);
  deliver(window, (1 << 24) + 1000);
  CHECK(window.packets() == 3ull << 24);
  window.on_loss();
  CHECK(window.packets() == 3 * (((1ull << 24) + 21) / 2));  // with what is assumed of a path at first
}

TEST_CASE("with random losses the window cuts off about one run in twenty", "[custody][loss_window]") {
  constexpr double kLoss = 1e-3;
  constexpr unsigned kRuns = 4000;
  std::mt19937_64 random(1);
  std::geometric_distribution<unsigned> run(kLoss);
  LossWindow window;
  double delivered = 0;
  double within = 0;
  for (unsigned i = 0; i < kRuns; ++i) {
    const unsigned packets = run(random);
    // If a whole run is sent at once, the part beyond the window waits for a round trip.
    delivered += packets;
    within += static_cast<double>(std::min<std::uint64_t>(packets, window.packets()));
    deliver(window, packets);
    window.on_loss();
  }
  // 1 - 1/e^3 = 0.950 if the average were exact, but it rests on a few runs only.
  CHECK(within / delivered > 0.85);
  CHECK(within / delivered < 0.96);
}
