// SPDX-License-Identifier: BSD-3-Clause
#include "box/memory_plan.hpp"

#include <algorithm>
#include <numeric>

#include "box/peer_messages.hpp"
#include "custody/budget.hpp"
#include "custody/packet_index.hpp"
#include "custody/restart_record.hpp"
#include "custody/waiting_packets.hpp"
#include "engine/footprint.hpp"
#include "engine/next_hop.hpp"
#include "flow/key_index.hpp"
#include "flow/traffic_learner.hpp"
#include "relay/answer_order.hpp"
#include "relay/far_part.hpp"
#include "steer/steering.hpp"

namespace longhaul::box {

using engine::BufferClass;
using engine::NextHops;
using engine::Pools;
using flow::KeyIndex;

namespace {

__extension__ typedef unsigned __int128 Wide;

// One connection's RDMA-CM exchange: nodes of two hash tables with malloc's own bytes around them, and their buckets.
constexpr std::uint64_t kExchangeBytes = 96 + 64 + 24;
// The same before the connection stands: a node of a table, two of lists, one while it waits for its active end, one of
// its pair of hosts, and buckets.
constexpr std::uint64_t kPendingBytes = 288 + 2 * 32 + 80 + 96 + 32;

// Receive buffers that are enough for `bytes` when frames of `small` bytes fill all buffers that may hold such frames,
// and frames of `large` bytes fill the rest.
std::uint64_t receive_buffers(std::uint64_t bytes, std::uint32_t small, std::uint32_t large) {
  std::uint64_t enough = bytes / std::min(small, large) + 1;
  std::uint64_t too_few = 0;
  while (enough - too_few > 1) {
    custody::Budget budget;
    budget.large_mbufs_limit = too_few + (enough - too_few) / 2;
    const std::uint64_t with_small = budget.plentiful_mbufs();
    const Wide held = Wide{with_small} * small + Wide{budget.large_mbufs_limit - with_small} * large;
    (held >= bytes ? enough : too_few) = budget.large_mbufs_limit;
  }
  return enough;
}

}  // namespace

std::uint64_t CustodyPromise::bytes_under_way(std::uint64_t rate_bps, Duration round_trip) {
  constexpr Wide kBitNanoseconds = Wide{8} * seconds(1);
  const Wide bytes = (Wide{rate_bps} * round_trip + kBitNanoseconds - 1) / kBitNanoseconds;
  return static_cast<std::uint64_t>(std::min<Wide>(bytes, UINT64_MAX));
}

std::vector<BufferNeed> buffers_needed(const CustodyPromise& promise, std::span<const BufferClass> classes,
                                       unsigned workers) {
  const std::uint64_t share = promise.share(workers);
  std::vector<BufferNeed> needs;
  std::uint32_t too_small = 0;  // frames up to here go into an earlier class
  for (const BufferClass& buffers : classes) {
    BufferNeed need{0, buffers.reserve};
    const std::uint32_t least = std::max(promise.least_frame, too_small + 1);
    if (promise.bytes > 0 && least <= buffers.frame_bytes) {
      need.least_frame = least;
      need.buffers += workers * (&buffers == &classes.back() ? receive_buffers(share, promise.least_frame, least)
                                                             : (share + least - 1) / least);
    }
    needs.push_back(need);
    too_small = buffers.frame_bytes;
  }
  return needs;
}

MemoryPlan plan_memory(const engine::Settings& settings, const engine::PoolPlan& pools, const CustodyPromise& promise,
                       const Division& division) {
  MemoryPlan plan;
  plan.buffers = Pools::classes(pools);
  if (promise.bytes > 0) plan.needs = buffers_needed(promise, plan.buffers, division.workers);
  const std::uint64_t connection_bytes = engine::bytes_per_connection();
  const std::uint64_t workers = division.workers;
  const std::uint64_t sockets = division.sockets;
  const std::uint64_t connections = workers * settings.max_connections;
  const std::uint64_t candidates = workers * settings.max_candidates;
  const std::uint64_t pending = workers * settings.max_pending_cm;

  std::uint64_t buffer_bytes = 0;
  for (const BufferClass& buffers : plan.buffers) {
    const std::uint64_t count = sockets * buffers.buffers;
    plan.dpdk.push_back({"buffers " + buffers.name, count, count * buffers.buffer_bytes});
    buffer_bytes += plan.dpdk.back().bytes;
  }
  plan.dpdk.push_back({"buffers made", sockets * Pools::made_buffers(pools), sockets * Pools::made_bytes(pools)});
  buffer_bytes += plan.dpdk.back().bytes;
  plan.dpdk.push_back(
      {"pools themselves", sockets * (plan.buffers.size() + 1), sockets * Pools::bytes_needed(pools) - buffer_bytes});
  plan.dpdk.push_back(
      {"connections, by frame", connections, workers * 2 * KeyIndex::bytes_needed(settings.max_connections)});
  plan.dpdk.push_back({"pairs of hosts", connections, workers * NextHops::bytes_needed(settings.max_connections)});
  const std::uint64_t by_frame = plan.dpdk.end()[-2].bytes + plan.dpdk.end()[-1].bytes;
  plan.dpdk.push_back({"candidates, by frame", candidates,
                       workers * flow::TrafficLearner::kIndexes * KeyIndex::bytes_needed(settings.max_candidates)});
  const std::uint64_t owned = workers > 1 ? workers * division.connections : 0;
  if (owned > 0)
    plan.dpdk.push_back({"owners, by frame", owned, workers * steer::Steering::table_bytes(division.connections)});

  plan.ordinary.push_back({"connections", connections, connections * connection_bytes});
  const std::uint64_t packets = settings.custody_mbufs + Pools::kSmallBytes.size() * std::uint64_t{pools.small_frames};
  plan.ordinary.push_back(
      {"packets in custody, by PSN", workers * packets, workers * custody::PacketIndex::bytes_needed(packets)});
  const std::uint64_t waiting = custody::WaitingPackets::most(settings.custody_mbufs);
  plan.ordinary.push_back({"packets that wait for one before them, by PSN", workers * waiting,
                           workers * custody::WaitingPackets::bytes_needed(settings.custody_mbufs)});
  plan.ordinary.push_back({"their RDMA-CM exchanges", connections, connections * kExchangeBytes});
  plan.ordinary.push_back({"exchanges under way", pending, pending * kPendingBytes});
  plan.ordinary.push_back(
      {"candidates", candidates,
       candidates * flow::TrafficLearner::kBytesPerCandidate + workers * flow::TrafficLearner::kBytes});
  if (owned > 0) {
    plan.ordinary.push_back(
        {"owners, about", owned, owned * (steer::Steering::bytes_per_connection() + kExchangeBytes)});
    plan.ordinary.push_back({"exchanges at home, about", pending, pending * kPendingBytes});
  }
  if (division.repairs) {
    const std::uint64_t held = relay::FarPart::most_held(settings.custody_mbufs);
    plan.dpdk.push_back({"flows of peers, by frame", connections,
                         workers * (relay::FarPart::table_bytes(settings.max_connections) +
                                    relay::AnswerCopies::table_bytes(settings.max_connections))});
    plan.ordinary.push_back({"flows of peers", connections,
                             workers * (relay::FarPart::flow_bytes(settings.max_connections) +
                                        relay::AnswerCopies::flow_bytes(settings.max_connections) +
                                        relay::AnswerOrder::flow_bytes(settings.max_connections))});
    // Full rings to and from the desk. Those between homes and owners have little.
    const std::uint64_t messages = 2 * workers * PeerMessages::kMost;
    plan.ordinary.push_back({"messages of peers between workers, at most", messages,
                             messages * (sizeof(PeerMessage) + relay::kMostBytes + 64) +
                                 workers * (workers + 1) * (PeerMessages::kMost + 1) * sizeof(void*)});
    plan.ordinary.push_back({"requests held for peers, by PSN", workers * held,
                             workers * relay::FarPart::held_bytes(settings.custody_mbufs)});
  }
  plan.file.push_back({"restart record", connections, connections * sizeof(custody::RecordSlot)});

  plan.bytes_per_connection =
      connection_bytes + kExchangeBytes + (connections == 0 ? 0 : (by_frame + connections - 1) / connections);
  return plan;
}

std::uint64_t MemoryPlan::dpdk_bytes_of_tables() const { return sum(std::span(dpdk).subspan(buffers.size() + 2)); }

std::uint64_t MemoryPlan::sum(std::span<const Item> items) {
  return std::accumulate(items.begin(), items.end(), std::uint64_t{0},
                         [](std::uint64_t bytes, const Item& item) { return bytes + item.bytes; });
}

}  // namespace longhaul::box
