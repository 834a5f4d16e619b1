// SPDX-License-Identifier: BSD-3-Clause
// Frames from worker to worker: real captures, full rings, and what a second engine is shown.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "steer/shown_sink.hpp"
#include "steer/spreader.hpp"
#include "support/captures.hpp"
#include "support/hosts.hpp"
#include "support/mbufs.hpp"
#include "wire/cm.hpp"

using namespace longhaul;
using namespace longhaul::steer;
using test::Bytes;
using test::Pair;
using test::pair_number;

namespace {

/// What a worker's engine gets, in order.
struct Given {
  Side side;
  Bytes bytes;
  bool shown;
};

/// Workers without engines, in one thread.
class Team {
 public:
  explicit Team(unsigned workers, std::uint32_t ring = HandOverRings::kFrames, bool spread = true)
      : rings_(workers, ring), given(workers) {
    for (Worker i = 0; i < workers; ++i) {
      SteeringSettings settings{i, {}, 64, 64};
      for (Worker owner = 0; spread && owner < workers; ++owner) settings.owners.push_back(owner);
      spreaders_.push_back(std::make_unique<Spreader>(settings, rings_, shown_.get()));
    }
  }

  void receive(Worker at, Side side, const std::vector<Bytes>& frames) {
    std::vector<rte_mbuf*> mbufs;
    for (const Bytes& bytes : frames) mbufs.push_back(pool_.make(bytes));
    const std::uint16_t kept = spreaders_[at]->keep(side, mbufs.data(), static_cast<std::uint16_t>(mbufs.size()), now);
    for (std::uint16_t i = 0; i < kept; ++i) give(at, side, mbufs[i], false);
  }

  /// Moves frames until all rings are empty.
  void hand_over() {
    for (bool any = true; any;) {
      any = false;
      for (Worker to = 0; to < spreaders_.size(); ++to)
        for (Worker from = 0; from < spreaders_.size(); ++from)
          if (from != to && take(from, to)) any = true;
    }
  }

  std::uint64_t count(Counter counter) const {
    std::uint64_t sum = 0;
    for (const auto& spreader : spreaders_) sum += spreader->counters()[counter];
    return sum;
  }
  std::size_t frames_given() const {
    std::size_t sum = 0;
    for (const auto& list : given) sum += static_cast<std::size_t>(std::ranges::count(list, false, &Given::shown));
    return sum;
  }
  bool sees_whole(Worker worker, const flow::ConnectionInfo& info) const {
    return spreaders_[worker]->sees_whole(info, now);
  }
  unsigned workers() const { return static_cast<unsigned>(spreaders_.size()); }

 private:
  struct ShownPool {
    rte_mempool* pool = make_shown_pool(-1);
    ~ShownPool() { rte_mempool_free(pool); }
    rte_mempool* get() const { return pool; }
  };

  bool take(Worker from, Worker to) {
    Received received;
    if (spreaders_[to]->take(from, received, now) == 0) return false;
    for (std::uint16_t i = 0; i < received.shown_count; ++i)
      give(to, received.shown[i].side, received.shown[i].frame, true);
    for (const Side side : {Side::host, Side::wan}) {
      const auto& burst = received.bursts[side];
      for (std::uint16_t i = 0; i < burst.count; ++i) give(to, side, burst.frames[i], false);
    }
    return true;
  }
  void give(Worker to, Side side, rte_mbuf* mbuf, bool shown) {
    CHECK(spreaders_[to]->is_shown(mbuf) == shown);
    given[to].push_back({side, test::bytes_of(mbuf), shown});
    rte_pktmbuf_free(mbuf);
  }

  test::MbufPool pool_{4095, 9000};
  ShownPool shown_;
  HandOverRings rings_;
  std::vector<std::unique_ptr<Spreader>> spreaders_;

 public:
  std::vector<std::vector<Given>> given;  ///< by worker
  Time now = seconds(1000);
};

using FlowKey = std::tuple<Side, std::string, std::string, std::uint32_t, std::uint32_t>;

/// A stream whose order must be kept: the frames to one QP from one side.
FlowKey key_of(Side side, const wire::Frame& frame) {
  return {side, frame.source.to_string(), frame.destination.to_string(), frame.vlan.value, frame.destination_qpn()};
}

bool parse(const Bytes& bytes, wire::Frame& frame) { return wire::is_roce(wire::parse(bytes, frame)); }

Worker home_of_pair(const Pair& pair, unsigned workers) {
  wire::Frame frame;
  const Bytes bytes = pair.write(1);
  REQUIRE(parse(bytes, frame));
  return home_of(frame, workers);
}

}  // namespace

TEST_CASE("captures: every frame arrives once, no flow is reordered, both directions of a connection have one worker") {
  std::size_t spread = 0;
  for (const std::string& name : test::capture_names())
    for (const unsigned workers : {2u, 3u, 4u})
      for (const unsigned receiver_offset : {0u, 1u}) {
        CAPTURE(name, workers, receiver_offset);
        const auto frames = test::read_capture(name);
        Team team(workers);
        // The host that speaks first is on the host side.
        std::string ours;
        std::map<FlowKey, std::vector<Bytes>> sent;
        std::size_t foreign = 0;
        std::vector<Bytes> burst;
        Side burst_side = Side::host;
        Worker burst_at = 0;
        const auto flush = [&] {
          if (!burst.empty()) team.receive(burst_at, burst_side, burst);
          burst.clear();
          // Not every time, so that rings fill.
          if (team.now / 1000 % 3 == 0) team.hand_over();
        };
        for (const Bytes& bytes : frames) {
          team.now += 1000;
          wire::Frame frame;
          const bool roce = parse(bytes, frame);
          if (roce && ours.empty()) ours = frame.source.to_string();
          const Side side = !roce || frame.source.to_string() == ours ? Side::host : Side::wan;
          const Worker at =
              roce ? static_cast<Worker>((home_of(frame, workers) + receiver_offset) % workers) : Worker{0};
          if (roce)
            sent[key_of(side, frame)].push_back(bytes);
          else
            ++foreign;
          if (side != burst_side || at != burst_at || burst.size() == Spreader::kBurst) flush();
          burst_side = side;
          burst_at = at;
          burst.push_back(bytes);
        }
        flush();
        team.hand_over();

        CHECK(team.frames_given() == frames.size());
        CHECK(team.count(Counter::dropped_ring_full) == 0);
        // Each flow has one worker and keeps its order. CM shares QP1 among connections, so only their own order
        // counts.
        std::map<FlowKey, std::map<Worker, std::vector<Bytes>>> came;
        std::map<std::uint32_t, Worker> owners;  // by the active end's communication ID
        std::size_t given_foreign = 0;
        for (Worker worker = 0; worker < workers; ++worker)
          for (const Given& given : team.given[worker]) {
            wire::Frame frame;
            if (!parse(given.bytes, frame)) {
              ++given_foreign;
              continue;
            }
            if (given.shown) {
              CHECK(wire::parse_cm(frame)->attribute == wire::CmAttribute::req);
              continue;
            }
            came[key_of(given.side, frame)][worker].push_back(given.bytes);
          }
        CHECK(given_foreign == foreign);
        REQUIRE(came.size() == sent.size());
        for (const auto& [key, by_worker] : came) {
          const std::uint32_t qpn = std::get<4>(key);
          CAPTURE(std::get<1>(key), std::get<2>(key), qpn);
          std::size_t count = 0;
          for (const auto& [worker, list] : by_worker) count += list.size();
          CHECK(count == sent[key].size());
          if (qpn == wire::kGsiQpn) continue;
          REQUIRE(by_worker.size() == 1);
          CHECK(by_worker.begin()->second == sent[key]);
        }
        // The two directions of each connection that RDMA-CM set up, according to the CM messages.
        std::map<std::uint32_t, std::pair<std::uint32_t, std::string>> requests;  // by communication ID
        for (const Bytes& bytes : frames) {
          wire::Frame frame;
          if (!parse(bytes, frame)) continue;
          const auto message = wire::parse_cm(frame);
          if (!message) continue;
          if (message->attribute == wire::CmAttribute::req)
            requests[message->local_comm_id] = {message->local_qpn, frame.source.to_string()};
          if (message->attribute != wire::CmAttribute::rep || !requests.contains(message->remote_comm_id)) continue;
          const auto& [active_qpn, active] = requests[message->remote_comm_id];
          const Side active_side = active == ours ? Side::host : Side::wan;
          const std::string passive = frame.source.to_string();
          const auto forth = came.find({active_side, active, passive, frame.vlan.value, message->local_qpn});
          const auto back = came.find({other(active_side), passive, active, frame.vlan.value, active_qpn});
          if (forth == came.end() || back == came.end()) continue;
          CHECK(forth->second.begin()->first == back->second.begin()->first);
          if (forth->second.begin()->first != home_of(frame, workers)) ++spread;
        }
        // Each engine learns of its connections: REQ and REP, in this order, before any data.
        for (Worker worker = 0; worker < workers; ++worker) {
          std::map<std::uint32_t, bool> asked;
          for (const Given& given : team.given[worker]) {
            wire::Frame frame;
            if (!parse(given.bytes, frame)) continue;
            const auto message = wire::parse_cm(frame);
            if (!message) continue;
            if (message->attribute == wire::CmAttribute::req) asked[message->local_comm_id] = true;
            if (message->attribute == wire::CmAttribute::rep) CHECK(asked[message->remote_comm_id]);
          }
        }
      }
  CHECK(spread > 20);
}

TEST_CASE("without spreading of connections all of two hosts go to their home") {
  for (const std::string name : {"write_bw_r_q4", "rping_v6"}) {
    Team team(4, HandOverRings::kFrames, false);
    const auto frames = test::read_capture(name);
    std::string ours;
    for (const Bytes& bytes : frames) {
      wire::Frame frame;
      if (!parse(bytes, frame)) continue;
      if (ours.empty()) ours = frame.source.to_string();
      team.receive(0, frame.source.to_string() == ours ? Side::host : Side::wan, {bytes});
      team.hand_over();
    }
    unsigned busy = 0;
    for (const auto& list : team.given) busy += !list.empty();
    CHECK(busy == 1);
    CHECK(team.count(Counter::handed_over) == 0);
    CHECK(team.count(Counter::cm_requests_shown) == 0);
  }
}

TEST_CASE("frames that find no room are dropped by name, the others keep their order") {
  constexpr std::uint32_t kRoom = 15;
  Team team(2, kRoom);
  const Pair pair = pair_number(0);
  const Worker home = home_of_pair(pair, 2);
  team.receive(home, Side::host, {pair.req()});
  team.receive(home, Side::wan, {pair.rep()});
  team.hand_over();
  const Worker owner = 1 - home;
  REQUIRE(std::ranges::any_of(team.given[owner], &Given::shown));
  team.given[owner].clear();
  const std::vector<Bytes> burst = pair.writes(pair.a_psn, 20);
  team.receive(home, Side::host, burst);
  team.hand_over();
  REQUIRE(team.given[owner].size() == kRoom);
  for (std::size_t i = 0; i < kRoom; ++i) CHECK(team.given[owner][i].bytes == burst[i]);
  CHECK(team.count(Counter::dropped_ring_full) == 20 - kRoom);
  CHECK(team.count(Counter::handed_over) == 1 + kRoom);  // the REP and the writes
}

TEST_CASE("a lost REQ copy is shown again with the REP's repeat") {
  Team team(2, 3);
  const Pair other_pair = pair_number(0), pair = pair_number(2);
  const Worker home = home_of_pair(pair, 2);
  const Worker owner = 1 - home;
  team.receive(home, Side::host, {other_pair.req()});
  team.receive(home, Side::wan, {other_pair.rep()});
  team.hand_over();
  // The home is the least loaded worker now. Another connection evens this out.
  const Pair at_home = pair_number(1);
  team.receive(home, Side::host, {at_home.req()});
  team.receive(home, Side::wan, {at_home.rep()});
  team.hand_over();
  // Fill the ring, then connect.
  team.receive(home, Side::host, {other_pair.write(1), other_pair.write(2), other_pair.write(3)});
  team.receive(home, Side::host, {pair.req()});
  team.receive(home, Side::wan, {pair.rep()});
  team.hand_over();
  team.given[owner].clear();
  team.receive(home, Side::wan, {pair.rep()});
  team.hand_over();
  REQUIRE(team.given[owner].size() == 2);
  CHECK(team.given[owner][0].shown);
  CHECK(team.given[owner][0].bytes == pair.req());
  CHECK(team.given[owner][0].side == Side::host);
  CHECK(team.given[owner][1].bytes == pair.rep());
}

TEST_CASE("a REP whose REQ cannot be shown is dropped by name, and its repeat goes on with the REQ") {
  Team team(2);
  const Pair pair;
  const Worker home = home_of_pair(pair, 2);
  const Worker owner = 1 - home;
  team.receive(home, Side::host, {pair.req()});
  // Each repeat needs a buffer as long as the owner takes nothing from its ring.
  constexpr std::uint64_t kReplies = 400;
  for (std::uint64_t i = 0; i < kReplies; ++i) team.receive(home, Side::wan, {pair.rep()});
  const std::uint64_t dropped = team.count(Counter::dropped_unshown);
  CHECK(dropped > 0);
  CHECK(team.count(Counter::cm_requests_shown) == kReplies - dropped);
  CHECK(team.count(Counter::handed_over) == kReplies - dropped);
  CHECK(team.count(Counter::dropped_ring_full) == 0);
  team.hand_over();
  const auto& given = team.given[owner];
  CHECK(given.size() == 2 * (kReplies - dropped));
  const auto shown = static_cast<std::uint64_t>(std::ranges::count(given, true, &Given::shown));
  CHECK(shown == kReplies - dropped);
  team.given[owner].clear();
  team.receive(home, Side::wan, {pair.rep()});
  team.hand_over();
  REQUIRE(given.size() == 2);
  CHECK(given[0].shown);
  CHECK(given[0].bytes == pair.req());
  CHECK(given[1].bytes == pair.rep());
  CHECK(team.count(Counter::dropped_unshown) == dropped);
}

TEST_CASE("only the home of two hosts may learn from traffic between them") {
  Team team(4);
  const Pair pair;
  const flow::ConnectionInfo info = test::info_of(pair);
  const Worker home = home_of_pair(pair, 4);
  for (Worker worker = 0; worker < 4; ++worker) CHECK(team.sees_whole(worker, info) == (worker == home));
}

TEST_CASE("a sink passes on everything but what was shown") {
  test::MbufPool pool;
  HandOverRings rings(2);
  rte_mempool* shown = make_shown_pool(-1);
  {
    const Spreader spreader({0, {0, 1}, 16, 16}, rings, shown);
    struct Port final : engine::Sink {
      std::uint16_t transmit(Side, rte_mbuf** frames, std::uint16_t count) override {
        const auto n = std::min(room, count);
        for (std::uint16_t i = 0; i < n; ++i) {
          sent.push_back(frames[i]);
          rte_pktmbuf_free(frames[i]);
        }
        room = static_cast<std::uint16_t>(room - n);
        return n;
      }
      std::vector<rte_mbuf*> sent;
      std::uint16_t room = 3;
    } port;
    ShownSink sink(port, spreader);
    const Bytes bytes(60, 1);
    rte_mbuf* copy = rte_pktmbuf_alloc(shown);
    rte_mbuf* second = rte_pktmbuf_alloc(shown);
    std::array<rte_mbuf*, 6> frames = {pool.make(bytes), copy,   pool.make(bytes),
                                       pool.make(bytes), second, pool.make(bytes)};
    CHECK(sink.transmit(Side::wan, frames.data(), 6) == 5);
    CHECK(port.sent == std::vector<rte_mbuf*>{frames[0], frames[2], frames[3]});
    port.room = 1;
    CHECK(sink.transmit(Side::wan, frames.data() + 5, 1) == 1);
    CHECK(rte_mempool_in_use_count(shown) == 0);
    CHECK(pool.used() == 0);
  }
  rte_mempool_free(shown);
}
