// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/memory_report.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "app/process/memory_demand.hpp"
#include "app/process/runtime.hpp"
#include "base/bytes_text.hpp"
#include "base/fair_share.hpp"
#include "box/memory_plan.hpp"
#include "box/share.hpp"
#include "drivers/mtu.hpp"

namespace longhaul::app {
namespace {

using box::MemoryPlan;
using box::share_of;

// Ethernet, IPv4, UDP, BTH, ICRC.
constexpr std::uint32_t kLeastFrame = 14 + 20 + 8 + 12 + 4;

std::string amount(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

std::string items_text(std::string_view title, std::span<const MemoryPlan::Item> items) {
  std::string out;
  std::uint64_t sum = 0;
  for (const MemoryPlan::Item& item : items) {
    out += fmt::format("  {:<28} {:>9} x {:>7} B {:>14}\n", item.what, item.count,
                       item.count == 0 ? 0 : (item.bytes + item.count - 1) / item.count, amount(item.bytes));
    sum += item.bytes;
  }
  return fmt::format("{:<53} {:>14}\n", title, amount(sum)) + out;
}

/// What the machine must have, and why it is more than what was planned.
std::string demand_text(const config::ProcessConfig& process, const MemoryDemand& demand) {
  const char* kind = process.hugepages ? "hugepages to reserve" : "ordinary memory that must be free";
  const std::string why = demand.given > demand.needed()
                              ? std::string("set by `memory`")
                              : fmt::format("{} planned, {} for DPDK itself", amount(demand.planned),
                                            amount(demand.at_start() - demand.planned));
  std::string out = fmt::format("{:<53} {:>14} ({})\n", kind, amount(demand.at_start()), why);
  if (const unsigned sockets = sockets_of(process); sockets > 1)
    out += fmt::format("    workers run on {} NUMA sockets with pools on each: reserve an equal part on each socket\n",
                       sockets);
  if (!process.hugepages && demand.given != 0 && demand.given < demand.needed())
    out += "    `memory` is less than needed: the box will not start\n";
  return out;
}

std::uint64_t custody_of_pair(const engine::Settings& engine) {
  return pair_limit_of(engine.custody_box_bytes, engine.custody_pair_share);
}

std::string workers_text(const config::BoxConfig& config) {
  const unsigned workers = config.process.workers();
  if (workers == 1) return "";
  std::string processors = std::to_string(*config.process.core);
  for (const unsigned core : config.process.more_cores) processors += fmt::format(", {}", core);
  const engine::Settings share = share_of(config.engine, workers);
  return fmt::format(
      "{} workers, on processors {}; the share of each: {} connections, {} in custody, {} receive buffers{}\n", workers,
      processors, share.max_connections, amount(share.custody_box_bytes), share.custody_mbufs,
      share.wan_rate_bps == 0 ? ""
                              : fmt::format(", {:g} Gbit/s to the WAN", static_cast<double>(share.wan_rate_bps) / 1e9));
}

std::string custody_text(const config::BoxConfig& config, const MemoryPlan& plan) {
  const engine::Settings& engine = config.engine;
  std::string out = fmt::format("custody: limit {}, {} a pair of hosts, {} a connection; ",
                                amount(engine.custody_box_bytes), amount(custody_of_pair(engine)),
                                amount(share_of(engine, config.process.workers()).custody_flow_bytes));
  if (plan.needs.empty())
    out += "nothing promised (set custody.round_trip or custody.least_frame for a promise)\n";
  else
    out += fmt::format("promised: {} in frames of {} B or more\n", amount(config.promise.bytes),
                       config.promise.least_frame);
  if (const unsigned workers = config.process.workers(); !plan.needs.empty() && workers > 1)
    out += fmt::format(
        "    each of {} workers holds its share, {}, for its own connections; one connection cannot have more\n",
        workers, amount(config.promise.share(workers)));
  std::uint32_t least = kLeastFrame;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const engine::BufferClass& buffers = plan.buffers[i];
    if (least > buffers.frame_bytes) continue;
    // If there are few small buffers, all may be within their reserve.
    const std::uint64_t ours = buffers.buffers - std::min(buffers.buffers, buffers.reserve);
    if (!plan.needs.empty()) least = std::max(least, plan.needs[i].least_frame);
    out += fmt::format("    frames of {:>4} to {:>4} B: {:>8} buffers of {} B hold at least {}", least,
                       buffers.frame_bytes, ours, buffers.buffer_bytes, amount(ours * least));
    if (!plan.needs.empty() && plan.needs[i].least_frame != 0)
      out += fmt::format("; {} needed", plan.needs[i].buffers - buffers.reserve);
    out += '\n';
    least = buffers.frame_bytes + 1;
  }
  const engine::BufferClass& receive = plan.buffers.back();
  const std::uint64_t most = std::uint64_t{receive.buffers - receive.reserve} * receive.frame_bytes;
  if (most < engine.custody_box_bytes)
    out += fmt::format("    large frames cannot reach the limit: {} buffers hold at most {}\n",
                       receive.buffers - receive.reserve, amount(most));
  return out;
}

Json items_json(std::span<const MemoryPlan::Item> items) {
  Json out = Json::array();
  for (const MemoryPlan::Item& item : items)
    out.push_back({{"what", item.what}, {"count", item.count}, {"bytes", item.bytes}});
  return out;
}

Json to_json(const config::BoxConfig& config, const MemoryPlan& plan, const MemoryDemand& demand) {
  Json out;
  out["name"] = config.name;
  out["dpdk_bytes"] = plan.dpdk_bytes();
  out["needed_bytes"] = demand.needed();
  out["reserve_bytes"] = demand.at_start();
  out["ordinary_bytes"] = plan.ordinary_bytes();
  out["bytes_per_connection"] = plan.bytes_per_connection;
  const engine::Settings share = share_of(config.engine, config.process.workers());
  out["workers"] = config.process.workers();
  out["worker"] = {{"connections", share.max_connections},
                   {"custody_bytes", share.custody_box_bytes},
                   {"mbufs", share.custody_mbufs},
                   {"wan_rate_bps", share.wan_rate_bps}};
  out["custody_limit_bytes"] = config.engine.custody_box_bytes;
  out["custody_pair_bytes"] = custody_of_pair(config.engine);
  out["custody_connection_bytes"] = share.custody_flow_bytes;
  out["promised_bytes"] = config.promise.bytes;
  out["promised_worker_bytes"] = config.promise.share(config.process.workers());
  out["promised_least_frame"] = config.promise.least_frame;
  out["buffers"] = Json::array();
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const engine::BufferClass& buffers = plan.buffers[i];
    Json row = {{"name", buffers.name},
                {"frame_bytes", buffers.frame_bytes},
                {"buffer_bytes", buffers.buffer_bytes},
                {"buffers", buffers.buffers},
                {"reserve", buffers.reserve}};
    if (!plan.needs.empty()) row["needed"] = plan.needs[i].buffers;
    out["buffers"].push_back(std::move(row));
  }
  out["dpdk"] = items_json(plan.dpdk);
  out["ordinary"] = items_json(plan.ordinary);
  out["file"] = items_json(plan.file);
  return out;
}

}  // namespace

BoxMemory::BoxMemory(const config::BoxConfig& config, const drivers::EthdevSpec& host, const drivers::EthdevSpec& wan,
                     const std::string& root)
    : pools(config.pools), mtu(config.process.mtu.value_or(drivers::kDefaultMtu)) {
  try {
    fit_to_ports(pools, config.process, host, wan);
    mtu = expected_mtu(config.process, host, wan);
  } catch (const std::runtime_error&) {
    pools.frame_bytes = std::max(drivers::mbuf_bytes_for(host, mtu), drivers::mbuf_bytes_for(wan, mtu));
  }
  plan = plan_box(config, pools, root);
  demand = memory_demand(config.process, pools, plan.dpdk_bytes_of_tables(), root);
}

MemoryReport report_memory(const config::BoxConfig& config, const drivers::EthdevSpec& host,
                           const drivers::EthdevSpec& wan) {
  const BoxMemory memory(config, host, wan);
  config::check_frames_arrive(config, memory.mtu);
  const MemoryPlan& plan = memory.plan;
  const MemoryDemand& demand = memory.demand;
  return {demand_text(config.process, demand) +
              items_text(config.process.hugepages ? "from hugepages" : "from ordinary memory, by DPDK", plan.dpdk) +
              items_text("from ordinary memory, with all connections in use", plan.ordinary) +
              (config.restart_record.empty() ? "" : items_text("in " + config.restart_record, plan.file)) +
              fmt::format("per connection: {}\n", amount(plan.bytes_per_connection)) + workers_text(config) +
              custody_text(config, plan),
          to_json(config, plan, demand)};
}

}  // namespace longhaul::app
