// SPDX-License-Identifier: BSD-3-Clause
#include "plan/advice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "plan/framing.hpp"
#include "plan/predict.hpp"
#include "plan/text.hpp"

namespace longhaul::plan {
std::string alternatives(const Scenario& standard, bool depth_helps) {
  std::string out;
  const auto add = [&out](const std::string& one) { out += (out.empty() ? "" : ", or ") + one; };
  if (depth_helps)
    add(fmt::format("{} work requests a QP, posted and in the NIC (now {})", depth_to_fill(standard),
                    outstanding(standard.operation, standard.hosts).messages));
  const std::uint64_t qps = qps_to_fill(standard);
  add(fmt::format("{} QP{} (now {})", qps, qps == 1 ? "" : "s", standard.hosts.qps));
  if (const std::uint64_t message = message_to_fill(standard); message != 0)
    add(fmt::format("messages of {}", size_text(message)));
  return out;
}

Ways ways(const Scenario& scenario, const Hosts& deep) {
  Ways out{scenario, scenario, scenario};
  out.standard.pair.present = out.deep.pair.present = false;
  out.deep.hosts.depth = deep.depth;
  out.deep.hosts.nic_depth = deep.nic_depth;
  out.deep.hosts.read_depth = deep.read_depth;
  out.pair.pair.present = true;
  return out;
}

std::uint64_t message_to_fill(const Scenario& scenario) {
  Scenario larger = scenario;
  for (larger.message = std::bit_ceil(scenario.message); larger.message <= kLargestMessage; larger.message *= 2)
    if (predict(larger).limit == Limit::line) return larger.message;
  return 0;
}

std::uint64_t qps_to_fill(const Scenario& scenario) {
  Scenario one = scenario;
  one.hosts.qps = 1;
  const std::uint64_t each = outstanding(one.operation, one.hosts).messages;
  return (depth_to_fill(one) + each - 1) / each;
}

std::uint64_t workers_to_fill(const Scenario& scenario) {
  const double messages = line_cap(scenario) / (8 * static_cast<double>(scenario.message));
  const double frames = messages * static_cast<double>(packets_of(scenario.message, scenario.hosts.path_mtu));
  const double workers = frames * static_cast<double>(scenario.pair.frame_time) / 1e9;
  // A tolerance for what double cannot show, or 4 workers would be 5.
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(workers - 1e-9)));
}

std::string box_remedy(std::uint64_t workers, const Pair& pair, std::uint32_t qps) {
  if (workers > kMostWorkers)
    return fmt::format(
        "a box has {} workers at most, and {} would be needed: larger messages would help, or a larger path MTU",
        kMostWorkers, workers);
  const bool more_workers = pair.workers < workers;
  const bool more_qps = qps < workers;
  if (more_workers && more_qps)
    return fmt::format("{0} workers and {0} QPs (now {1} and {2}) would carry the line", workers, pair.workers, qps);
  if (more_qps)
    return fmt::format("{} QPs (now {}) would carry the line, because a connection stays with one worker", workers,
                       qps);
  return fmt::format("{} workers (now {}) would carry the line", workers, pair.workers);
}

std::string box_remedy(const Scenario& scenario) {
  return box_remedy(workers_to_fill(scenario), scenario.pair, scenario.hosts.qps);
}

std::string advise(const Ways& ways) {
  const Prediction standard = predict(ways.standard);
  const Prediction pair = predict(ways.pair);
  const std::string rate = rate_text(standard.bits_per_second);
  if (standard.limit == Limit::line && pair.bits_per_second < standard.bits_per_second)
    return fmt::format(
        "The line is already full at {} of payload, and a pair like this would be slower ({}, limited by {}): {}.",
        rate, rate_text(pair.bits_per_second), name_of(pair.limit), box_remedy(ways.pair));
  if (standard.limit == Limit::line)
    return fmt::format("The line is already full at {} of payload: more depth, more QPs or the pair would add nothing.",
                       rate);
  if (standard.limit == Limit::message_time)
    return fmt::format(
        "The NIC cannot begin more messages ({}): larger messages or more QPs would help, more depth or the pair would "
        "not.",
        rate);
  const std::string full = rate_text(line_cap(ways.standard));
  if (ways.standard.operation == Operation::read)
    return fmt::format(
        "READ waits for the far host's data, so the pair does not help: {} would fill the line ({} of payload instead "
        "of {}).",
        alternatives(ways.standard, false), full, rate);
  if (pair.bits_per_second < standard.bits_per_second * kWorthwhile)
    return fmt::format(
        "The pair would not help ({} is the limit with it{}): {} would fill the line ({} instead of {}).",
        name_of(pair.limit), pair.limit == Limit::box ? "; " + box_remedy(ways.pair) : "",
        alternatives(ways.standard, true), full, rate);
  return fmt::format(
      "The pair would help: {} instead of {} with the hosts as they are, limited by {}{}; without it the line ({}) "
      "takes "
      "{}.",
      rate_text(pair.bits_per_second), rate, name_of(pair.limit),
      pair.limit == Limit::box ? fmt::format(" ({})", box_remedy(ways.pair)) : "", full,
      alternatives(ways.standard, true));
}

}  // namespace longhaul::plan
