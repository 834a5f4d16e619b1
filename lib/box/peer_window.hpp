// SPDX-License-Identifier: BSD-3-Clause
// A worker's window to the box's peers: its frames for the box's address, and what its engine and the peers' engines
// say to each other. The desk (peer_desk.hpp), which has the sessions, is worker 0's. Between the two are rings, so
// nobody waits for anybody; what finds no room is lost, as on a wire.
//
//   to a peer      engine -> window -> ring -> desk -> datagram. Worker 0's go without the ring
//   from a peer    datagram -> desk -> ring of the worker that it is for -> window -> engine, between two bursts
//   BIND           names a flow, and which worker has it knows the home of its two hosts: desk -> home -> owner
//
// A message has its peer's epoch: what was said before a peer lost its memory is dropped.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/speaker.hpp"
#include "base/time.hpp"
#include "box/peer_messages.hpp"
#include "engine/engine.hpp"
#include "engine/own_frames.hpp"
#include "engine/peer_link.hpp"
#include "steer/hand_over.hpp"
#include "steer/spreader.hpp"

namespace longhaul::box {

class PeerDesk;

/// A peer that is up, and repairs flows with this box.
struct RepairingPeer {
  PeerNumber number = 0;
  std::uint64_t epoch = 0;
  Duration round_trip = 0;  ///< 0: not known
  unsigned workers = 1;
  bool operator==(const RepairingPeer&) const = default;
};

/// Those that there are. The desk changes them, all windows read them.
class RepairingPeers {
 public:
  using List = std::vector<RepairingPeer>;

  /// The desk's thread only. Null: it is not there.
  const RepairingPeer* find(PeerNumber number) const {
    const auto found = std::ranges::find(peers_, number, &RepairingPeer::number);
    return found == peers_.end() ? nullptr : &*found;
  }
  void set(List peers) {
    if (peers == peers_) return;
    const std::scoped_lock lock(mutex_);
    peers_ = std::move(peers);
    ++version_;
  }

  /// Other than 0 once there are any. It grows with each change.
  std::uint64_t version() const { return version_; }
  List all() const {
    const std::scoped_lock lock(mutex_);
    return peers_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> version_ = 0;
  List peers_;
};

class PeerWindow final : public engine::OwnFrames, private engine::PeerLink {
 public:
  /// What all windows have in common.
  struct Common {
    explicit Common(unsigned workers);

    unsigned workers;
    RepairingPeers peers;
    std::vector<steer::FrameRing> frames;  ///< from each worker to the desk: those for the box's address
    PeerMessages to_peers;                 ///< to the desk
    std::vector<std::unique_ptr<PeerMessages>> to_worker;  ///< to each worker's window
  };

  PeerWindow(PeerDesk& desk, Common& common, unsigned worker) : desk_(desk), common_(common), worker_(worker) {}

  bool take(rte_mbuf* frame, Time now) override;

  /// The worker's engine repairs flows with peers from here on. `spreader`: null for an only worker. Both must outlive
  /// the window's use.
  void join(engine::Engine& engine, steer::Spreader* spreader);
  /// Tells the engine of peers, and what they have said.
  void attend(Time now);
  Time deadline() const { return has_news() ? attended_at_ : kNever; }

 private:
  static constexpr unsigned kAtOnce = 256;

  void send(Speaker to, relay::Type type, relay::Bytes body) override;
  bool has_news() const {
    return engine_ != nullptr && (known_version_ != common_.peers.version() || !common_.to_worker[worker_]->empty());
  }
  void look_at_peers(Time now);
  void hear(std::unique_ptr<PeerMessage> message, Time now);

  PeerDesk& desk_;
  Common& common_;
  unsigned worker_;
  engine::Engine* engine_ = nullptr;
  steer::Spreader* spreader_ = nullptr;
  Time attended_at_ = 0;
  std::uint64_t known_version_ = 0;
  std::map<PeerNumber, std::uint64_t> known_;  ///< peers that the engine knows, and their epochs
};

}  // namespace longhaul::box
