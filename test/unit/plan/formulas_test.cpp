// SPDX-License-Identifier: BSD-3-Clause
// The formulas of lib/plan that the program's output does not show: bounds, rounding, tables and plots that other code
// makes.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "plan/advice.hpp"
#include "plan/buffer.hpp"
#include "plan/depth.hpp"
#include "plan/framing.hpp"
#include "plan/plot.hpp"
#include "plan/predict.hpp"
#include "plan/table.hpp"
#include "plan/workload.hpp"

using namespace longhaul;
using namespace longhaul::plan;

TEST_CASE("a middle packet is 4178 bytes on the line, 82 more than its payload") {
  CHECK(full_frame({}) == 4178);
  CHECK(frame_overhead({4096, true, 0}) == 102);
  CHECK(frame_overhead({4096, true, 2}) == 110);
  std::uint32_t sum = 0;
  for (const FramePart& part : parts_of({})) sum += part.bytes;
  CHECK(sum == 82);
}

TEST_CASE("depth and the distance that it fills are whole numbers, also where 64 bits are too few") {
  CHECK(depth_for(100'000'000'000, milliseconds(1), 4178) == 2991);
  CHECK(depth_for(100'000'000'000, microseconds(200), 4178) == 598);
  CHECK(depth_for(100'000'000'000'000, seconds(60), 64) == 11'718'750'000'000);
  CHECK(round_trip_filled(100'000'000'000, 1ull << 24, 8'556'560) > seconds(11'000));
  CHECK(bandwidth_delay_bytes(100'000'000'000, milliseconds(1)) == 12'500'000);
  // The computed depth fills the path, and one message less does not.
  for (const Duration round_trip : {microseconds(17), milliseconds(1), milliseconds(38), seconds(1)}) {
    const std::uint64_t depth = depth_for(25'000'000'000, round_trip, 1122);
    CHECK(round_trip_filled(25'000'000'000, depth, 1122) <= round_trip);
    CHECK(round_trip_filled(25'000'000'000, depth + 1, 1122) >= round_trip);
  }
}

TEST_CASE("distances for a curve begin and end where they should, and rise") {
  const auto all = distances_between(microseconds(10), milliseconds(100));
  CHECK(all.front() == microseconds(10));
  CHECK(all.back() == milliseconds(100));
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] > all[i - 1]);
}

TEST_CASE("a prediction never exceeds any of its bounds, and never falls when a host gets more") {
  for (const Operation operation : {Operation::write, Operation::send, Operation::read}) {
    for (const bool pair : {false, true}) {
      for (const std::uint64_t message : {2ull, 512ull, 4096ull, 1ull << 20}) {
        Scenario scenario;
        scenario.operation = operation;
        scenario.message = message;
        scenario.pair.present = pair;
        const Prediction base = predict(scenario);
        CHECK(base.bits_per_second <= line_cap(scenario) * (1 + 1e-12));
        Scenario more = scenario;
        more.hosts.depth *= 2;
        CHECK(predict(more).bits_per_second >= base.bits_per_second);
        more = scenario;
        more.hosts.qps = 7;
        CHECK(predict(more).bits_per_second >= base.bits_per_second);
        more = scenario;
        more.link.round_trip *= 2;
        CHECK(predict(more).bits_per_second <= base.bits_per_second);
        // Distance does not limit a WRITE or SEND with a pair.
        if (pair && operation != Operation::read) CHECK(predict(more).bits_per_second == base.bits_per_second);
      }
    }
  }
}

TEST_CASE("what no host can do is refused by the formula too") {
  Scenario scenario;
  scenario.hosts.moderation = 129;
  CHECK_THROWS_AS(predict(scenario), std::invalid_argument);
  scenario.hosts.moderation = 0;
  CHECK_THROWS_AS(predict(scenario), std::invalid_argument);
  scenario = {};
  scenario.message = 0;
  CHECK_THROWS_AS(predict(scenario), std::invalid_argument);
  scenario = {};
  scenario.link.rate_bps = 0;
  CHECK_THROWS_AS(predict(scenario), std::invalid_argument);
}

TEST_CASE("the depth that fills a line does, and one less does not") {
  for (const std::uint64_t message : {64ull, 4096ull, 65536ull}) {
    Scenario scenario;
    scenario.message = message;
    scenario.hosts.depth = static_cast<std::uint32_t>(depth_to_fill(scenario));
    CHECK(predict(scenario).limit == Limit::line);
    if (--scenario.hosts.depth > 0) CHECK(predict(scenario).limit == Limit::depth);
  }
}

TEST_CASE("a box's resend timer on a steady path leaves a quarter of the round trip, and 10 ms at least") {
  CHECK(resend_timer(milliseconds(1)) == milliseconds(10));
  const Duration timer = resend_timer(milliseconds(100));
  CHECK(timer >= milliseconds(124));
  CHECK(timer <= milliseconds(126));
}

TEST_CASE("custody grows with loss, and a path that loses nothing needs its round trip only") {
  BufferQuestion question;
  question.link.round_trip = milliseconds(10);
  CHECK(custody_for(question).time == milliseconds(10));
  CHECK(custody_for(question).bytes == 125'000'000);
  CHECK(custody_for(question).reorder_bytes == 0);
  Duration before = 0;
  for (const double loss : {0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5}) {
    question.loss = loss;
    const Custody custody = custody_for(question);
    CHECK(custody.time >= before);
    before = custody.time;
  }
}

TEST_CASE("pre-copy finishes below the throughput and not above it") {
  MigrationLoad load;
  load.rounds = 1000;
  const std::uint64_t memory = 8'000'000'000;
  CHECK(migrate(load, memory, 1e9, 0).rounds == 1);
  CHECK(migrate(load, memory, 1e9, 0).seconds == Approx(8));
  CHECK(migrate(load, memory, 1e9, 0.99e9).finishes);
  CHECK_FALSE(migrate(load, memory, 1e9, 1e9).finishes);
  // A guest that writes all of its memory in a round never has more to send than its memory.
  CHECK(migrate(load, memory, 1e9, 50e9).downtime == Approx(8));
}

TEST_CASE("a table is the same for people and programs, and says what its numbers are") {
  Table table("rows", "Things", Kind::simulated,
              {{"name", "name", Column::Align::left, {}},
               {"bits", "Gbit/s", Column::Align::right, {}},
               {"hidden", "", Column::Align::right, {}},
               {"quoted", "theirs", Column::Align::right, Kind::published}});
  table.add({word("a, \"b\""), number(1.5), count(7), nothing()});
  table.add({word("\u00b5s"), number(20), count(8), number(3)});
  CHECK_THROWS_AS(table.add({word("short")}), std::logic_error);
  CHECK(table.text() ==
        "Things (simulated)\n"
        "name    Gbit/s  theirs (published)\n"
        "------  ------  ------------------\n"
        "a, \"b\"     1.5\n"
        "\u00b5s          20                   3\n");
  CHECK(table.csv() ==
        "name,bits,hidden,quoted,kind\r\n"
        "\"a, \"\"b\"\"\",1.5,7,,simulated\r\n"
        "\u00b5s,20.0,8,3.0,simulated\r\n");
  const Json json = table.json();
  CHECK(json[0]["hidden"] == 7);
  CHECK(json[0]["quoted"].is_null());
  CHECK(json[1]["kind"] == "simulated");
  CHECK(json[1]["kinds"]["quoted"] == "published");
}

TEST_CASE("what a plot is told cannot be broken by names, gaps or infinite values") {
  Plot plot;
  plot.title = "it's 'all' one line\nset output 'x'";
  plot.kind = Kind::simulated;
  plot.x = {"x", true, Axis::Marks::bytes};
  plot.y = {"y", true, Axis::Marks::numbers};
  plot.series = {{"a", {2, 1024, 4096}, {1, 0, std::numeric_limits<double>::infinity()}}};
  const std::string text = script(plot, "a.svg");
  CHECK(text.find("'it''s ''all'' one lineset output ''x'' (simulated)'") != std::string::npos);
  CHECK(text.find("\nset output") == std::string::npos);
  CHECK(text.find("1024 NaN\n4096 NaN\n") != std::string::npos);
  CHECK(text.find("'4 KiB' 4096") == std::string::npos);  // every second power of two: 2, 8, ...
  CHECK(text.find("'2 KiB' 2048 0") != std::string::npos);
  CHECK(script(plot, "a.png").find("pngcairo") != std::string::npos);
  plot.series[0].y.pop_back();
  CHECK_THROWS_AS(script(plot, "a.svg"), PlotError);
  CHECK_THROWS_AS(draw(plot, "a.gif"), PlotError);
}
