// SPDX-License-Identifier: BSD-3-Clause
// What a box says that it needs, compared with arithmetic by hand and with what it then takes.
#include <malloc.h>
#include <rte_malloc.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include "box/memory_plan.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;
using box::buffers_needed;
using box::CustodyPromise;
using engine::BufferClass;

namespace {

constexpr std::uint32_t kConnections = 65536;

struct NoPorts final : engine::Sink {
  std::uint16_t transmit(Side /*out*/, rte_mbuf** /*frames*/, std::uint16_t /*count*/) override { return 0; }
};

[[maybe_unused]] std::uint64_t of_dpdk() {
  rte_malloc_socket_stats stats{};
  std::uint64_t bytes = 0;
  for (int socket = 0; socket < RTE_MAX_NUMA_NODES; ++socket)
    if (rte_malloc_get_socket_stats(socket, &stats) == 0) bytes += stats.heap_allocsz_bytes;
  return bytes;
}

[[maybe_unused]] std::uint64_t of_heap() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

[[maybe_unused]] flow::CmExchange exchange_of(std::uint32_t number) {
  flow::CmExchange exchange{};
  exchange.active_comm_id = number;
  exchange.passive_comm_id = number;
  return exchange;
}

std::uint64_t bytes_of(const std::vector<box::MemoryPlan::Item>& items, const std::string& what) {
  const auto found = std::ranges::find(items, what, &box::MemoryPlan::Item::what);
  REQUIRE(found != items.end());
  return found->bytes;
}

}  // namespace

TEST_CASE("bytes under way are rate times round trip, rounded up", "[memory]") {
  // 100 Gbit/s for 30 ms: 3,000,000,000 bits.
  CHECK(CustodyPromise::bytes_under_way(100'000'000'000, milliseconds(30)) == 375'000'000);
  CHECK(CustodyPromise::bytes_under_way(100'000'000'000, milliseconds(1)) == 12'500'000);
  CHECK(CustodyPromise::bytes_under_way(1, seconds(9)) == 2);  // nine bits
  CHECK(CustodyPromise::bytes_under_way(UINT64_MAX, seconds(60)) == UINT64_MAX);
}

TEST_CASE("30 ms of 100 Gbit/s: each class of buffers holds all of it in the worst mix for it", "[memory]") {
  const std::array<BufferClass, 3> classes{
      {{"small_256", 256, 0, 4096, 712}, {"small_1280", 1280, 0, 0, 1736}, {"receive", 9022, 0, 8192, 9416}}};
  const CustodyPromise promise{375'000'000, 1024};
  const auto needs = buffers_needed(promise, classes);
  REQUIRE(needs.size() == 3);
  CHECK(needs[0].least_frame == 0);  // no frame of 1024 bytes goes there
  CHECK(needs[0].buffers == 4096);
  CHECK(needs[1].least_frame == 1024);
  CHECK(needs[1].buffers == 366'211);  // 366,210 frames of 1024 bytes are 374,999,040
  CHECK(needs[2].least_frame == 1281);
  // Half of the receive buffers may hold small frames. 162,690 frames of 1024 bytes are 166,594,560 bytes; the same
  // number of frames of 1281 bytes in the rest are 208,405,890; together 375,000,450. With one small frame less:
  // 374,999,426.
  CHECK(needs[2].buffers == 2 * 162'690 + 8192);

  // For smaller frames, the class that they go into decides.
  CHECK(buffers_needed({375'000'000, 128}, classes)[0].buffers == 2'929'688 + 4096);  // 2,929,687.5
  CHECK(buffers_needed({375'000'000, 128}, classes)[1].buffers == 1'459'144);         // of 257 bytes: 1,459,143.97
  // Only frames of the full path MTU of 4096: 91,552.7 of them.
  CHECK(buffers_needed({375'000'000, 4096}, classes)[1].buffers == 0);
  CHECK(buffers_needed({375'000'000, 4096}, classes)[2].buffers == 91'553 + 8192);
  // If nothing is promised, the reserves.
  CHECK(buffers_needed({}, classes)[2].buffers == 8192);
}

TEST_CASE("a promise of several workers: each holds its share, rounded up", "[memory]") {
  const std::array<BufferClass, 2> classes{{{"small", 1280, 0, 100, 2500}, {"receive", 9022, 0, 8192, 9416}}};
  const CustodyPromise promise{10'000'000, 1000};
  CHECK(promise.share(3) == 3'333'334);
  const auto needs = buffers_needed(promise, classes, 3);
  CHECK(needs[0].buffers == 3 * 3334 + 100);
  CHECK(needs[1].buffers == 3 * (buffers_needed({3'333'334, 1000}, classes)[1].buffers - 8192) + 8192);
}

TEST_CASE("where all frames fit small buffers, a promise needs no receive buffers", "[memory]") {
  const std::array<BufferClass, 2> classes{{{"small", 2048, 0, 0, 2500}, {"receive", 1522, 0, 8192, 2000}}};
  const auto needs = buffers_needed({1'000'000, 1000}, classes);
  CHECK(needs[0].buffers == 1000);
  CHECK(needs[1].buffers == 8192);
}

TEST_CASE("the plan's sums are the sums of its items, and its pools those that are made", "[memory]") {
  engine::Settings settings;
  settings.max_connections = kConnections;
  engine::PoolPlan pools;
  const auto plan = box::plan_memory(settings, pools, {375'000'000, 1024});
  CHECK(plan.dpdk_bytes() == engine::Pools::bytes_needed(pools) + plan.dpdk_bytes_of_tables());
  REQUIRE(plan.buffers.size() == engine::Pools::kSmallBytes.size() + 1);
  CHECK(plan.buffers.back().buffers == pools.frames);
  CHECK(plan.buffers.back().frame_bytes == pools.frame_bytes);
  CHECK(plan.needs.size() == plan.buffers.size());
  CHECK(plan.file.front().bytes == kConnections * 128);
}

TEST_CASE("several workers: their tables, the owners of connections at each home, and pools on each socket",
          "[memory]") {
  engine::Settings share;
  share.max_connections = 1000;
  const engine::PoolPlan pools;
  const auto one = box::plan_memory(share, pools, {});
  const auto three = box::plan_memory(share, pools, {}, {3, 2, 3000});
  CHECK(bytes_of(three.dpdk, "buffers receive") == 2 * bytes_of(one.dpdk, "buffers receive"));
  CHECK(bytes_of(three.dpdk, "connections, by frame") == 3 * bytes_of(one.dpdk, "connections, by frame"));
  CHECK(three.dpdk_bytes() == 2 * engine::Pools::bytes_needed(pools) + three.dpdk_bytes_of_tables());
  CHECK(bytes_of(three.ordinary, "exchanges under way") == 3 * bytes_of(one.ordinary, "exchanges under way"));
  CHECK(bytes_of(three.file, "restart record") == 3 * bytes_of(one.file, "restart record"));
  // Each of three homes has room for all 3000, as much as an engine's table for 3000 connections.
  engine::Settings all;
  all.max_connections = 3000;
  CHECK(bytes_of(three.dpdk, "owners, by frame") ==
        3 * bytes_of(box::plan_memory(all, pools, {}).dpdk, "connections, by frame"));
  CHECK(std::ranges::find(one.dpdk, "owners, by frame", &box::MemoryPlan::Item::what) == one.dpdk.end());
  CHECK(three.bytes_per_connection == one.bytes_per_connection);
}

// The sanitizers' allocators count differently.
#if !defined(__SANITIZE_ADDRESS__)

TEST_CASE("tables for 65,536 connections take what the plan says, up to a quarter less", "[memory]") {
  const Rig eal;
  engine::Settings settings;
  settings.max_connections = kConnections;
  engine::PoolPlan pool_plan;
  pool_plan.name = "tables";
  pool_plan.frames = pool_plan.small_frames = pool_plan.made_frames = 1024;
  engine::Pools pools = engine::Pools::create(pool_plan);
  const auto plan = box::plan_memory(settings, pool_plan, {});
  NoPorts sink;
  const std::uint64_t dpdk = of_dpdk();
  const std::uint64_t heap = of_heap();
  auto engine = std::make_unique<engine::Engine>(settings, pools, sink);
  const std::uint64_t dpdk_taken = of_dpdk() - dpdk;
  const std::uint64_t heap_taken = of_heap() - heap;
  CHECK(dpdk_taken <= plan.dpdk_bytes_of_tables());
  CHECK(dpdk_taken >= plan.dpdk_bytes_of_tables() * 3 / 4);
  const std::uint64_t at_start = bytes_of(plan.ordinary, "connections") + bytes_of(plan.ordinary, "candidates") +
                                 bytes_of(plan.ordinary, "packets in custody, by PSN");
  CHECK(heap_taken <= at_start * 21 / 20);
  CHECK(heap_taken >= at_start * 3 / 4);
  // About two kilobytes per connection.
  CHECK(plan.bytes_per_connection > 900);
  CHECK(plan.bytes_per_connection < 2200);
  engine.reset();
  pools.destroy();
}

TEST_CASE("RDMA-CM's exchanges take what the plan says, up to a quarter less", "[memory]") {
  engine::Settings settings;
  settings.max_connections = 10000;
  const std::uint64_t planned = bytes_of(box::plan_memory(settings, {}, {}).ordinary, "their RDMA-CM exchanges");
  const std::uint64_t heap = of_heap();
  flow::CmTracker tracker(16, settings.max_connections);
  flow::ConnectionInfo info;
  info.end(Side::host).ip = wire::IpAddress::parse("10.0.0.1");
  info.end(Side::wan).ip = wire::IpAddress::parse("10.0.0.2");
  for (std::uint32_t i = 0; i < settings.max_connections; ++i) tracker.restore(i, info, exchange_of(i));
  const std::uint64_t taken = of_heap() - heap;
  CHECK(taken <= planned);
  CHECK(taken >= planned * 3 / 4);
}

TEST_CASE("pools take what was said beforehand, up to a quarter less", "[memory]") {
  const Rig eal;
  engine::PoolPlan plan;
  plan.name = "planned";
  plan.frames = 4096;
  plan.frame_bytes = 9022;
  plan.small_frames = 16384;
  const std::uint64_t before = of_dpdk();
  engine::Pools pools = engine::Pools::create(plan);
  const std::uint64_t taken = of_dpdk() - before;
  pools.destroy();
  CHECK(taken <= engine::Pools::bytes_needed(plan));
  CHECK(taken >= engine::Pools::bytes_needed(plan) * 3 / 4);
}

#endif
