// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan simulate`: scenarios in the testbed, compared with arithmetic by hand.
#include <catch2/catch.hpp>

#include "plan/predict.hpp"
#include "plan/predict_run.hpp"
#include "plan/simulated.hpp"
#include "pools.hpp"

using namespace longhaul;
using plan::Operation;
using plan::Run;
using plan::Scenario;
using plan::Simulation;

namespace {

// Times on the line at 100 Gbit/s, in ns: 1024 B of payload, 82 B around it, RETH and AETH.
constexpr double kWrite = (1024 + 82 + 16) * 0.08;
constexpr double kReadResponse = (1024 + 82 + 4) * 0.08;
constexpr double kAck = (82 + 4) * 0.08;
constexpr double kReadRequest = (82 + 16) * 0.08;

Run run_of(Operation operation, std::uint64_t messages, std::uint32_t depth) {
  Run run;
  run.scenario.operation = operation;
  run.scenario.message = 1024;
  run.scenario.hosts.depth = depth;
  run.messages = messages;
  return run;
}

double microseconds_of(const Run& run) {
  return static_cast<double>(plan::simulate(run, test::sim_pools()).lasted) / 1000;
}

}  // namespace

TEST_CASE("one message at a time takes a round trip, its own time on three lines and the turnaround") {
  // Three lines: the host's, the long haul's, and the one to the other host.
  const double write = 1000 + 2 + 3 * (kWrite + kAck) / 1000;
  CHECK(microseconds_of(run_of(Operation::write, 10, 1)) == Approx(10 * write).epsilon(1e-5));
  const double read = 1000 + 2 + 3 * (kReadResponse + kReadRequest) / 1000;
  CHECK(microseconds_of(run_of(Operation::read, 10, 1)) == Approx(10 * read).epsilon(1e-5));
}

TEST_CASE("a window of messages takes as long as one, a READ's no more than the NIC asks for at once") {
  const double one = microseconds_of(run_of(Operation::write, 1, 1));
  const double sixteen = one + 15 * kWrite / 1000;
  CHECK(microseconds_of(run_of(Operation::write, 16, 16)) == Approx(sixteen).epsilon(1e-5));
  // Of 32 READs that are posted, 16 are under way.
  const double half = microseconds_of(run_of(Operation::read, 16, 32));
  CHECK(microseconds_of(run_of(Operation::read, 32, 32)) == Approx(2 * half).epsilon(0.02));
}

TEST_CASE("several queue pairs share a line evenly") {
  Run run = run_of(Operation::write, 2000, 4096);
  run.scenario.message = 4096;
  run.scenario.hosts.qps = 4;
  run.scenario.link.round_trip = microseconds(100);
  const Simulation simulation = plan::simulate(run, test::sim_pools());
  // All queue pairs start and end together. Otherwise the line would be idle for the last one's round trips.
  CHECK(simulation.bits_per_second == Approx(plan::predict_run(run.scenario, run.messages).run).epsilon(0.002));
}

TEST_CASE("with a pair the distance is gone, and every request was acknowledged by the box") {
  Run run = run_of(Operation::write, 3000, 128);
  run.scenario.pair.present = true;
  const Simulation near = plan::simulate(run, test::sim_pools());
  run.scenario.link.round_trip = milliseconds(20);
  const Simulation far = plan::simulate(run, test::sim_pools());
  CHECK(near.lasted == far.lasted);
  CHECK(far.pseudo_acks == 3000);
  CHECK(far.bits_per_second == Approx(plan::predict(run.scenario).bits_per_second).epsilon(0.01));
  // READs still take the whole way.
  Run read = run_of(Operation::read, 32, 1);
  read.scenario.pair.present = true;
  CHECK(plan::simulate(read, test::sim_pools()).lasted > milliseconds(32));
}

TEST_CASE("losses are repaired, counted, and named as the reason") {
  plan::SimulatedPoint point;
  point.way = "pair";
  point.run = run_of(Operation::write, 5000, 128);
  point.run.scenario.pair.present = true;
  point.run.loss_ppm = 2000;
  point.simulation = plan::simulate(point.run, test::sim_pools());
  CHECK(point.simulation.lost > 0);
  CHECK(point.simulation.resends >= point.simulation.lost / 3);
  CHECK_THAT(plan::reason_of(point), Catch::Contains("frames were lost"));
  // The same seed loses the same frames, and another seed loses others.
  const Simulation again = plan::simulate(point.run, test::sim_pools());
  CHECK(again.lasted == point.simulation.lasted);
  CHECK(again.events == point.simulation.events);
  point.run.seed = 2;
  CHECK(plan::simulate(point.run, test::sim_pools()).events != point.simulation.events);
}

TEST_CASE("what differs from the formula has its reason, what is not known is said to be unknown") {
  plan::SimulatedPoint point;
  point.run = run_of(Operation::write, 5000, 128);
  const double formula = plan::predict(point.run.scenario).bits_per_second;
  point.simulation.bits_per_second = formula * 0.97;
  CHECK(plan::reason_of(point).empty());
  point.simulation.bits_per_second = formula * 0.5;
  CHECK_THAT(plan::reason_of(point), Catch::Contains("not explained"));
  // 300 messages, 128 at a time, take three turns. The formula has 2.3.
  point.run.messages = 300;
  point.simulation = plan::simulate(point.run, test::sim_pools());
  CHECK_THAT(plan::reason_of(point), Catch::Contains("the run is short") && !Catch::Contains("not explained"));
  // In groups of 64, each message waits for the 64th. That takes long compared with a short way.
  point.run.messages = 6400;
  point.run.scenario.hosts.moderation = 64;
  point.run.scenario.link.round_trip = microseconds(60);
  point.simulation = plan::simulate(point.run, test::sim_pools());
  CHECK_THAT(plan::reason_of(point),
             Catch::Contains("a completion covers 64 messages") && !Catch::Contains("not explained"));
}

TEST_CASE("what the testbed has no room for is refused, with what would do") {
  Run run = run_of(Operation::write, 5'000'000, 128);
  CHECK_THROWS_WITH(plan::pools_for(run), Catch::Contains("at most 4000000 messages of this size"));
  run.messages = 0;
  CHECK_THROWS_AS(plan::pools_for(run), std::invalid_argument);
  run.messages = 100;
  run.scenario.hosts.qps = 257;
  CHECK_THROWS_WITH(plan::pools_for(run), Catch::Contains("257 queue pairs") && Catch::Contains("1 to 256"));
  plan::SimulationQuestion question;
  question.ways = {"sideways"};
  CHECK_THROWS_WITH(plan::points_of(question), Catch::Contains("standard, deep, alone, pair"));
}

TEST_CASE("as many messages as usual: three round trips, perftest's 5,000, or some seconds' worth") {
  Scenario scenario;
  scenario.message = 1024;
  CHECK(plan::usual_messages(scenario) == 5000);
  scenario.hosts.depth = 4096;
  CHECK(plan::usual_messages(scenario) == Approx(3 * 4096).epsilon(0.01));
  scenario.message = 8 << 20;
  CHECK(plan::usual_messages(scenario) == 400'000 / 2048);
}
