// SPDX-License-Identifier: BSD-3-Clause
// An adversary that learns. The input is what a tenant does, a script for one pair of hosts (sim/attack_script.hpp);
// it runs beside a victim in a world with boxes, and again as harmless UDP of the same sizes and times. libFuzzer keeps
// an input that reaches new code and also one that costs the victim more than all before: what the victim loses of its
// throughput, and how much longer its completions take, are counters for it like those of the code. Each new record is
// printed, with the case that `build/test/sim/tenants --case` shows.
//
// An input is a finding if a rule is broken or the victim is worse off than LONGHAUL_FUZZ_COST times (8).
//
// Input: byte 0 the victim's world, byte 1 the time between two steps, byte 2 the size of requests, byte 3 the manners
// of the tenant's connections (bit 0 not announced by RDMA-CM, bit 1 from the other side, bits 2-4 the answer once not
// polite, bits 5-7 for how many requests it is polite), byte 4 the timeout that its REQs announce. Each step has three
// bytes: verb, connection, value.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "../sim/pools.hpp"
#include "expect.hpp"
#include "input.hpp"
#include "sim/attack_script.hpp"
#include "sim/attack_table.hpp"
#include "sim/fair.hpp"

using namespace longhaul;

namespace {

constexpr std::size_t kMostSteps = 40;
constexpr sim::Number kWorlds = 32;
constexpr sim::Number kRepetitions = 500;  // steps in a world

constexpr std::array<sim::Number, 8> kPauses = {1, 2, 5, 10, 20, 50, 100, 500};  // microseconds
constexpr std::array<sim::Number, 4> kSizes = {16, 256, 1024, 4000};             // bytes
constexpr std::array<sim::Number, 8> kPolite = {0, 1, 4, 16, 64, 256, 1024, 1'000'000'000};

// Counters that libFuzzer reads beside those of the code. A counter stands for a cost, in eighths of a doubling.
constexpr unsigned kPerDoubling = 8;
constexpr unsigned kBuckets = 96;
struct CostCounters {
  std::uint8_t throughput[kBuckets];
  std::uint8_t delay[kBuckets];
};
[[gnu::section("__libfuzzer_extra_counters"), gnu::used]] CostCounters counters;

unsigned bucket_of(double times) {
  return std::min(kBuckets - 1, static_cast<unsigned>(kPerDoubling * std::log2(std::max(times, 1.0))));
}

sim::Number value_of(std::uint8_t code) {
  constexpr std::uint8_t kExact = 192;  // greater ones are powers of two
  return code < kExact ? code : sim::Number{1} << (code - kExact) % 24;
}

sim::Case case_of(fuzz::Input in) {
  const sim::Number world = 1 + in.u8() % kWorlds;
  sim::Case c = sim::draw_attacked(world, sim::attack_number(sim::kScripted));
  c.connections = 2;  // without the one that begins when all must be over
  c.last_later_us = 0;
  c.attack.every_us = kPauses[in.u8() % kPauses.size()];
  c.attack.steps = kRepetitions;
  c.attack.bytes = kSizes[in.u8() % kSizes.size()];
  const std::uint8_t manners = in.u8();
  c.attack.announced = (manners & 1) == 0;
  c.attack.side = manners >> 1 & 1;
  c.attack.then = (manners >> 2 & 7) % (number_of(sim::Answer::last_ack) + 1);
  c.attack.polite = kPolite[manners >> 5];
  c.attack.ack_timeout = in.u8() % 32;
  c.script.clear();
  while (!in.empty() && c.script.size() < kMostSteps) {
    const std::uint8_t verb = in.u8(), connection = in.u8();
    c.script.push_back({verb % sim::script_verbs(), connection % sim::kScriptConnections, value_of(in.u8())});
  }
  return c;
}

/// What a box without shares would have done to the victim.
void plant_defect(const sim::Case& c, sim::Fairness& fairness) {
  for (sim::Delivery& delivery : fairness.attacked.deliveries) {
    if (fuzz::defect("throughput")) delivery.took = delivery.completed_took = 100 * std::max(delivery.took, Time{1});
    if (fuzz::defect("delay"))
      for (Duration& delay : delivery.delays) delay = 100 * delay + seconds(1);
    if (fuzz::defect("death")) delivery.died = true;
  }
  fairness.unfair = sim::taken(c, fairness.attacked, fairness.harmless);
}

double most_cost() {
  static const char* const given = std::getenv("LONGHAUL_FUZZ_COST");
  return given == nullptr ? 8 : std::atof(given);
}

/// Prints the case if it costs more than all before.
void tell_record(const sim::Case& c, const sim::Cost& cost, double times) {
  static double most = 1.1;
  if (times <= most * 1.05) return;
  most = times;
  fmt::print(stderr, "COST {:.2f}: {:.2f} of the throughput, {:.2f} times the delay: {}\n", times, cost.throughput,
             cost.delay, sim::to_text(c));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sim::Case c = case_of({data, size});
  if (c.script.empty()) return 0;
  sim::Fairness fairness = sim::run_attack(c, test::tight_pools());
  static const bool defective = std::getenv("LONGHAUL_FUZZ_DEFECT") != nullptr;
  if (defective) plant_defect(c, fairness);
  const sim::Cost cost = sim::cost_of(c, fairness);
  const double slower = 1 / std::max(cost.throughput, 1e-3);
  counters.throughput[bucket_of(slower)] = 1;
  counters.delay[bucket_of(cost.delay)] = 1;
  const double times = std::max(slower, cost.delay);
  tell_record(c, cost, times);
  const auto what = [&c](const std::string& text) { return text + ": " + sim::to_text(c); };
  fuzz::expect(!fairness.attacked.violation, what("a broken rule"));
  fuzz::expect(times <= most_cost(), what(fmt::format("a victim that is {:.1f} times worse off", times)));
  return 0;
}
