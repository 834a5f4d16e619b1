// SPDX-License-Identifier: BSD-3-Clause
// A box of several workers in threads of their own, and another box that binds flows: each message comes to the worker
// that it is for, and each answer says who gave it.
#include <catch2/catch.hpp>

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "peer/peers.hpp"
#include "relay/messages.hpp"
#include "steer/pair_hash.hpp"
#include "support/two_boxes.hpp"
#include "thread_sanitizer.hpp"
#include "threaded_box.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr unsigned kSeveral = 3;
constexpr std::uint32_t kFlows = 30;  // fewer than each worker has room for

peer::Settings settings_of(const std::string& own, const std::string& other) {
  peer::Settings settings;
  settings.station.network = network_of(own);
  settings.peers.push_back({"other", wire::IpAddress::parse(other), {key_number(1)}});
  return settings;
}

/// The box at the other end. It has two workers, which speak in turn.
class OtherBox final : private peer::Outlet {
 public:
  OtherBox(Box& box, Time now)
      : box_(box),
        peers_(settings_of("192.0.2.2", "192.0.2.1"), 2, peer::kWorkersRepair, {2, 0, 0, 0, 0, 2}, *this,
               peer::system_random(), now) {}

  void turn(Time now) {
    now_ = now;
    while (rte_mbuf* frame = box_.wires->take(Side::wan)) {
      const peer::Bytes bytes{rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->data_len};
      if (peers_.is_for_us(bytes)) peers_.take(bytes, now);
      free_taken(frame);
    }
    if (now >= peers_.deadline()) peers_.poll(now);
    peer_ = 0;
    peers_.for_repairing([this](const peer::Peer& peer) { peer_ = peer.number(); });
  }
  bool is_up() const { return peer_ != 0; }
  void say(unsigned from, relay::Type type, relay::Bytes body) {
    peers_.carry(peer_, {static_cast<std::uint16_t>(from), peer::kToAll, static_cast<std::uint8_t>(type), body}, now_);
  }

  /// By handle, the workers that have said so.
  std::map<std::uint32_t, std::set<unsigned>> bound;
  std::map<std::uint32_t, std::set<unsigned>> ended;

 private:
  // To any of the queues: a NIC may spread by what it likes.
  bool transmit(peer::Bytes bytes) override {
    rte_mbuf* frame = rte_pktmbuf_alloc(box_.pools.frames);
    std::ranges::copy(bytes, rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())));
    if (box_.wires->put(Side::wan, turn_++ % kSeveral, frame)) return true;
    rte_pktmbuf_free(frame);
    return false;
  }
  void carried(std::uint32_t, const peer::Carried& message) override {
    if (message.type != static_cast<std::uint8_t>(relay::Type::state)) return;
    relay::StateReader reader(message.body);
    if (reader.head() == nullptr) return;
    relay::StateEntry entry{};
    std::vector<relay::Missing> missing;
    while (reader.next(entry, missing)) {
      if ((entry.flags & relay::kBound) != 0) bound[entry.name.handle].insert(message.from);
      if ((entry.flags & relay::kNotBound) != 0) ended[entry.name.handle].insert(message.from);
    }
  }

  Box& box_;
  peer::Peers peers_;
  Time now_ = 0;
  std::uint32_t peer_ = 0;
  unsigned turn_ = 0;
};

flow::KeyIndex::Key key_number(std::uint32_t handle) {
  flow::KeyIndex::Key key;
  key.first = wire::IpAddress::parse("10.0.0." + std::to_string(1 + handle));
  key.second = wire::IpAddress::parse("10.1.0.1");
  key.qpn = 0x100 + handle;
  return key;
}

}  // namespace

TEST_CASE("workers in threads and a peer: who has a flow binds it, and all say that it has ended") {
  box::PeerSettings settings;
  settings.peers = settings_of("192.0.2.1", "192.0.2.2");
  settings.mac = {2, 0, 0, 0, 0, 1};
  Box box(true, kSeveral, settings);
  app::Requests requests;
  bool all_bound = false, all_ended = false;
  std::map<std::uint32_t, std::set<unsigned>> bound;
  std::thread peer([&] {
    rte_thread_register();
    const auto now = [] {
      return static_cast<Time>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
    };
    OtherBox other(box, now());
    const Time until = now() + seconds(120);
    std::uint32_t binding = 0;
    // Says it again until it is answered: a queue may be full.
    const auto until_all = [&](const auto& say, const auto& answered) {
      bool all = false;
      while (!all && now() < until) {
        other.turn(now());
        if (!other.is_up()) continue;
        all = true;
        for (std::uint32_t handle = 0; handle < kFlows; ++handle)
          if (!answered(handle)) all = false, say(handle);
        for (unsigned from : {0u, 1u}) {
          relay::Body clock;
          clock.add(relay::ClockHead{now()});
          other.say(from, relay::Type::clock, clock.bytes());
        }
        for (const Time next = now() + milliseconds(20); now() < next; std::this_thread::yield()) other.turn(now());
      }
      return all;
    };
    all_bound = until_all(
        [&](std::uint32_t handle) {
          relay::Body body;
          body.add(relay::BindEntry::of({handle, ++binding}, key_number(handle), 0x200 + handle, 100, 1024));
          other.say(handle % 2, relay::Type::bind, body.bytes());
        },
        [&](std::uint32_t handle) { return other.bound.contains(handle); });
    bound = other.bound;
    all_ended = until_all(
        [&](std::uint32_t handle) {
          relay::Body body;
          body.add(relay::UnbindEntry{{handle, ++binding}, 0});
          other.say(handle % 2, relay::Type::unbind, body.bytes());
        },
        [&](std::uint32_t handle) { return other.ended[handle].size() == kSeveral; });
    requests.stops.store(2);
  });
  box.workers->run(requests);
  peer.join();
  CHECK(all_bound);
  CHECK(all_ended);
  std::set<unsigned> owners;
  for (const auto& [handle, workers] : bound) {
    const flow::KeyIndex::Key key = key_number(handle);
    CHECK(workers == std::set<unsigned>{steer::home_of(key.first, key.second, kSeveral)});
    owners.insert(workers.begin(), workers.end());
  }
  CHECK(owners.size() == kSeveral);
}
