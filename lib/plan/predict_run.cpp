// SPDX-License-Identifier: BSD-3-Clause
#include "plan/predict_run.hpp"

#include <algorithm>
#include <cmath>

#include "plan/predict.hpp"

namespace longhaul::plan {

RunPrediction predict_run(const Scenario& scenario, std::uint64_t messages) {
  const Hosts& hosts = scenario.hosts;
  const double bits = static_cast<double>(scenario.message) * 8;
  const double all = static_cast<double>(messages) * hosts.qps;
  const bool local = scenario.pair.present && scenario.operation != Operation::read;
  const double ends = scenario.pair.present ? 2.0 * static_cast<double>(scenario.pair.local_round_trip) : 0;
  const double loop = ((local ? static_cast<double>(scenario.pair.local_round_trip)
                              : static_cast<double>(scenario.link.round_trip) + ends) +
                       static_cast<double>(hosts.turnaround)) *
                      1e-9;
  // The rate if turns are no limit.
  Scenario no_window = scenario;
  no_window.hosts.depth = no_window.hosts.read_depth = 1u << 31;
  no_window.hosts.nic_depth = 0;
  no_window.hosts.moderation = 1;
  no_window.pair.local_round_trip = 0;
  no_window.hosts.turnaround = 0;
  const double bare = predict(no_window).messages_per_second;
  // A turn: a group of messages of each QP leaves one after the other, then the answer to the last message returns.
  const Outstanding under_way = outstanding(scenario.operation, hosts);
  const std::uint32_t group = under_way.limit == Limit::depth ? hosts.moderation : 1;
  const double turn = loop + group * hosts.qps / bare;
  const double by_turns = hosts.qps * static_cast<double>(under_way.messages) / turn;

  RunPrediction out;
  out.steady = std::min(bare, by_turns) * bits;
  // All messages of the last turn leave, then the answer to the last message returns.
  const double turns = std::max(1.0, std::ceil(static_cast<double>(messages) / under_way.messages));
  const double last = static_cast<double>(messages) - (turns - 1) * under_way.messages;
  const double lasted = std::max((turns - 1) * turn + last * hosts.qps / bare + loop, all / bare + loop);
  out.run = all * bits / lasted;
  return out;
}

}  // namespace longhaul::plan
