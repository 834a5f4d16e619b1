// SPDX-License-Identifier: BSD-3-Clause
#include "plan/predict.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "plan/framing.hpp"

namespace longhaul::plan {
namespace {

struct LimitName {
  std::string_view key;
  std::string_view name;
};

// In the order of Limit.
constexpr LimitName kLimits[] = {
    {"line", "the line"},
    {"depth", "work requests posted"},
    {"nic_depth", "work requests in the NIC (LOG_MAX_OUTSTANDING_WQE)"},
    {"read_depth", "unanswered READs (max_qp_rd_atom)"},
    {"message_time", "the NIC's message rate"},
    {"local_loop", "the round trip between host and near box"},
    {"box", "the frame rate of the box"},
};

constexpr std::string_view kOperations[] = {"write", "send", "read"};

void check(const Scenario& scenario) {
  const Hosts& hosts = scenario.hosts;
  const auto refuse = [](const std::string& why) { throw std::invalid_argument(why); };
  if (scenario.link.rate_bps == 0 || hosts.rate_bps == 0) refuse("a line of 0 bit/s carries nothing");
  if (scenario.message == 0) refuse("a message of 0 bytes carries nothing");
  if (hosts.qps == 0) refuse("without a queue pair there is no throughput: give at least 1");
  if (hosts.depth == 0 || hosts.read_depth == 0) refuse("a depth of 0 sends nothing: give at least 1");
  if (hosts.moderation == 0 || hosts.moderation > hosts.depth)
    refuse(fmt::format(
        "only every {}th work request gets a completion, but at most {} are posted: no completion would come",
        hosts.moderation, hosts.depth));
  if (scenario.pair.present && (scenario.pair.workers == 0 || scenario.pair.frame_time == 0))
    refuse("a box needs at least one worker, and a worker needs time for each frame");
}

/// Messages per second that complete when each is under way for `loop`; no bound if `loop` is 0.
double per_loop(const Hosts& hosts, std::uint32_t messages, Duration loop) {
  return loop == 0 ? HUGE_VAL : static_cast<double>(hosts.qps) * messages / in_seconds(loop);
}

}  // namespace

std::string_view name_of(Limit limit) { return kLimits[static_cast<std::size_t>(limit)].name; }
std::string_view key_of(Limit limit) { return kLimits[static_cast<std::size_t>(limit)].key; }
std::string_view name_of(Operation operation) { return kOperations[static_cast<std::size_t>(operation)]; }

std::uint64_t line_bytes(Operation operation, std::uint64_t message, std::uint32_t path_mtu) {
  return line_bytes(operation, message, Framing{path_mtu, false, 0});
}

Outstanding outstanding(Operation operation, const Hosts& hosts) {
  // Completions come in groups, and so do the work requests that replace them.
  Outstanding out{hosts.depth / hosts.moderation * hosts.moderation, Limit::depth};
  if (hosts.nic_depth != 0 && hosts.nic_depth < out.messages) out = {hosts.nic_depth, Limit::nic_depth};
  if (operation == Operation::read && hosts.read_depth < out.messages) out = {hosts.read_depth, Limit::read_depth};
  return out;
}

double line_cap(const Scenario& scenario) {
  if (scenario.cap_bps != 0) return static_cast<double>(scenario.cap_bps);
  const double rate = static_cast<double>(std::min(scenario.link.rate_bps, scenario.hosts.rate_bps));
  return rate * static_cast<double>(scenario.message) /
         static_cast<double>(line_bytes(scenario.operation, scenario.message, scenario.hosts.path_mtu));
}

Prediction predict(const Scenario& scenario) {
  check(scenario);
  const Hosts& hosts = scenario.hosts;
  const Pair& pair = scenario.pair;
  const double message_bits = static_cast<double>(scenario.message) * 8;
  const Outstanding under_way = outstanding(scenario.operation, hosts);
  // Only the responder has the data of a READ, so a pair does not shorten its loop.
  const bool local = pair.present && scenario.operation != Operation::read;
  const Duration loop = (local ? pair.local_round_trip : scenario.link.round_trip) + hosts.turnaround;

  Prediction out{line_cap(scenario) / message_bits, 0, Limit::line};
  const auto bound = [&out](double messages_per_second, Limit limit) {
    if (messages_per_second < out.messages_per_second) out = {messages_per_second, 0, limit};
  };
  bound(per_loop(hosts, under_way.messages, loop), local ? Limit::local_loop : under_way.limit);
  if (hosts.message_time != 0) bound(hosts.qps / in_seconds(hosts.message_time), Limit::message_time);
  if (pair.present) {
    // A connection stays with one worker.
    const double frames = std::min(pair.workers, hosts.qps) / in_seconds(pair.frame_time);
    bound(frames / static_cast<double>(packets_of(scenario.message, hosts.path_mtu)), Limit::box);
  }
  out.bits_per_second = out.messages_per_second * message_bits;
  return out;
}

Latency latency(const Scenario& scenario) {
  const double transfer = static_cast<double>(scenario.message) * 8 / line_cap(scenario);
  const double round_trip = in_seconds(scenario.link.round_trip);
  const double turnaround = in_seconds(scenario.hosts.turnaround);
  if (scenario.operation == Operation::read) return {round_trip + transfer, round_trip + turnaround + transfer};
  const double loop = scenario.pair.present ? in_seconds(scenario.pair.local_round_trip) : round_trip;
  return {round_trip / 2 + transfer, loop + turnaround + transfer};
}

std::uint64_t depth_to_fill(const Scenario& scenario) {
  const double loop = in_seconds(scenario.link.round_trip + scenario.hosts.turnaround);
  const double messages = line_cap(scenario) / (static_cast<double>(scenario.message) * 8) * loop;
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(messages / scenario.hosts.qps)));
}

}  // namespace longhaul::plan
