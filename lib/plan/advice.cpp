// SPDX-License-Identifier: BSD-3-Clause
#include "plan/advice.hpp"

#include <bit>

#include <fmt/format.h>

#include "plan/predict.hpp"
#include "plan/text.hpp"

namespace longhaul::plan {
namespace {

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

}  // namespace

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

std::string advise(const Ways& ways) {
  const Prediction standard = predict(ways.standard);
  const Prediction pair = predict(ways.pair);
  const std::string rate = rate_text(standard.bits_per_second);
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
    return fmt::format("The pair would not help ({} is the limit with it): {} would fill the line ({} instead of {}).",
                       name_of(pair.limit), alternatives(ways.standard, true), full, rate);
  return fmt::format(
      "The pair would help: {} instead of {} with the hosts as they are, limited by {}; without it the line ({}) takes "
      "{}.",
      rate_text(pair.bits_per_second), rate, name_of(pair.limit), full, alternatives(ways.standard, true));
}

}  // namespace longhaul::plan
