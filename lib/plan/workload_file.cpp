// SPDX-License-Identifier: BSD-3-Clause
// Workloads from YAML.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "config/quantity.hpp"
#include "plan/workload.hpp"

namespace longhaul::plan {
namespace {

using config::Map;
using config::Value;

constexpr std::uint64_t kMost = 1ull << 50;  // limit for any number of bytes
constexpr std::uint32_t kMostQueuePairs = 1u << 24;
constexpr Duration kLongest = seconds(3600);

std::uint32_t number(const Value& value, std::uint64_t least, std::uint64_t most) {
  return static_cast<std::uint32_t>(value.integer(least, most));
}

Operation read_operation(const Value& value) {
  return value.choice<Operation>({{"write", Operation::write}, {"send", Operation::send}, {"read", Operation::read}});
}

StorageLoad read_storage(const Value& value) {
  const Map map = value.map({"queues", "iodepth", "deep_iodepth", "in_capsule", "device_time", "ios", "streams"});
  StorageLoad out;
  if (const auto v = map.find("queues")) out.queues = number(*v, 1, kMostQueuePairs);
  if (const auto v = map.find("iodepth")) out.depth = number(*v, 1, 65535);
  if (const auto v = map.find("deep_iodepth")) out.deep_depth = number(*v, 1, 65535);
  if (const auto v = map.find("in_capsule")) out.in_capsule = v->size(0, 1 << 20);
  if (const auto v = map.find("device_time")) out.device_time = v->duration(0, kLongest);
  if (const auto v = map.find("ios")) out.ios = v->integer(1, kMost);
  const Value streams = map.at("streams");
  for (const Value& one : streams.list()) {
    const Map fields = one.map({"share", "size", "operation", "access"});
    StorageLoad::Stream stream;
    stream.share = fields.at("share").fraction();
    stream.size = fields.at("size").size(1, 1ull << 30);
    stream.write = fields.at("operation").choice<bool>({{"read", false}, {"write", true}});
    if (const auto v = fields.find("access"))
      stream.random = v->choice<bool>({{"sequential", false}, {"random", true}});
    if (stream.share <= 0) fields.at("share").fail("expected more than 0");
    out.streams.push_back(stream);
  }
  const double sum = std::accumulate(out.streams.begin(), out.streams.end(), 0.0,
                                     [](double all, const auto& one) { return all + one.share; });
  if (out.streams.empty()) streams.fail("expected at least one stream");
  if (sum > 1 + 1e-9) streams.fail(fmt::format("the shares add up to {:.4g} %, more than 100 %", sum * 100));
  return out;
}

/// "64s", "never", or with a remark: "120s, 2 of 4 failed".
MigrationLoad::Published read_published(const Value& value) {
  const std::string text = value.text();
  MigrationLoad::Published out;
  if (text == "never") return out;
  const std::size_t comma = text.find(", ");
  if (comma != std::string::npos) out.remark = text.substr(comma + 2);
  try {
    out.seconds = static_cast<double>(config::parse_duration(text.substr(0, comma))) / 1e9;
  } catch (const config::QuantityError& error) {
    value.fail(fmt::format("{}, or \"never\"", error.what()));
  }
  return out;
}

std::vector<MigrationLoad::Published> read_times(const Value& value, std::size_t wanted) {
  std::vector<MigrationLoad::Published> out;
  for (const Value& one : value.list()) out.push_back(read_published(one));
  if (out.size() != wanted) value.fail(fmt::format("{} times for {} shares of dirty memory", out.size(), wanted));
  return out;
}

MigrationLoad read_migration(const Value& value) {
  const Map map = value.map(
      {"storage", "host_rate", "message", "depth", "dirty", "dirty_interval", "downtime", "rounds", "machines"});
  MigrationLoad out;
  if (const auto v = map.find("storage")) out.storage = v->size(0, kMost);
  if (const auto v = map.find("host_rate")) out.host_rate = v->rate();
  if (const auto v = map.find("message")) out.message = v->size(1, kLargestMessage);
  if (const auto v = map.find("depth")) out.depth = number(*v, 1, kMostQueuePairs);
  for (const Value& one : map.at("dirty").list()) out.dirty.push_back(one.fraction());
  out.dirty_interval = map.at("dirty_interval").duration(1, kLongest);
  if (const auto v = map.find("downtime")) out.downtime = v->duration(1, kLongest);
  if (const auto v = map.find("rounds")) out.rounds = number(*v, 1, 100000);
  const Value machines = map.at("machines");
  for (const Value& one : machines.list()) {
    const Map fields = one.map({"memory", "published_rdma", "published_tcp"});
    MigrationLoad::Machine machine;
    machine.memory = fields.at("memory").size(1, kMost);
    if (const auto v = fields.find("published_rdma")) machine.rdma = read_times(*v, out.dirty.size());
    if (const auto v = fields.find("published_tcp")) machine.tcp = read_times(*v, out.dirty.size());
    out.machines.push_back(std::move(machine));
  }
  if (out.machines.empty()) machines.fail("expected at least one machine");
  if (out.dirty.empty()) map.at("dirty").fail("expected at least one share of the memory, 0 for an idle machine");
  return out;
}

StreamLoad read_streams(const Value& value) {
  const Map map = value.map({"qps", "message", "rate_per_qp"});
  StreamLoad out;
  out.qps = number(map.at("qps"), 1, kMostQueuePairs);
  out.message = map.at("message").size(1, kLargestMessage);
  const Value rate = map.at("rate_per_qp");
  out.rate_per_qp = rate.rate();
  if (out.rate_per_qp == 0) rate.fail("expected more than 0");
  return out;
}

MessageLoad read_messages(const Value& value) {
  MessageLoad out;
  for (const Value& one : value.list()) {
    const Map map = one.map({"name", "operation", "size", "qps", "depth", "answered", "wanted", "total"});
    MessageLoad::Stream stream;
    stream.name = map.at("name").text();
    stream.operation = read_operation(map.at("operation"));
    stream.size = map.at("size").size(1, kLargestMessage);
    if (const auto v = map.find("qps")) stream.qps = number(*v, 1, kMostQueuePairs);
    if (const auto v = map.find("depth")) stream.depth = number(*v, 1, kMostQueuePairs);
    if (const auto v = map.find("answered")) stream.answered = v->boolean();
    if (const auto v = map.find("wanted")) stream.wanted = static_cast<double>(v->integer(1, kMost));
    if (const auto v = map.find("total")) stream.total = v->size(1, kMost);
    out.streams.push_back(std::move(stream));
  }
  if (out.streams.empty()) value.fail("expected at least one stream");
  return out;
}

}  // namespace

Workload read_workload(const Value& top) {
  const Map map =
      top.map({"title", "source", "remarks", "distance", "nvmeof", "migration", "unacknowledged", "messages"});
  Workload out;
  out.title = map.at("title").text();
  if (const auto v = map.find("source")) out.source = v->text();
  if (const auto v = map.find("remarks"))
    for (const Value& remark : v->list()) out.remarks.push_back(remark.text());
  if (const auto v = map.find("distance")) {
    out.round_trip = 2 * v->distance(seconds(30));
    if (out.round_trip == 0) v->fail("expected more than 0");
  }
  unsigned kinds = 0;
  if (const auto v = map.find("nvmeof")) out.load = read_storage(*v), ++kinds;
  if (const auto v = map.find("migration")) out.load = read_migration(*v), ++kinds;
  if (const auto v = map.find("unacknowledged")) out.load = read_streams(*v), ++kinds;
  if (const auto v = map.find("messages")) out.load = read_messages(*v), ++kinds;
  if (kinds != 1)
    top.fail(fmt::format("expected one of nvmeof, migration, unacknowledged, messages; got {} of them", kinds));
  return out;
}

}  // namespace longhaul::plan
