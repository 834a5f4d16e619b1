// SPDX-License-Identifier: BSD-3-Clause
// The peers of a box among its workers. Worker 0 has them (peer::Peers); the others hand it the frames for the box's
// address, through a ring. The engine of an only worker repairs flows together with peers, and speaks to them through
// the desk: what they say waits until the engine is between two bursts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/time.hpp"
#include "engine/engine.hpp"
#include "engine/own_frames.hpp"
#include "peer/allowance.hpp"
#include "peer/peers.hpp"
#include "steer/hand_over.hpp"

struct rte_mempool;

namespace longhaul::box {

struct PeerSettings {
  peer::Settings peers;
  wire::MacAddress mac{};    ///< the WAN port's
  peer::Random random = {};  ///< empty: the system's
};

class PeerDesk final : private peer::Outlet, private engine::PeerLink {
 public:
  /// `ports` are worker 0's. It and the pools must outlive the desk. Throws std::runtime_error.
  PeerDesk(const PeerSettings& settings, unsigned workers, engine::Sink& ports, const engine::Pools& pools, Time now);
  ~PeerDesk();
  PeerDesk(const PeerDesk&) = delete;
  PeerDesk& operator=(const PeerDesk&) = delete;

  /// What the engine of this worker gives its frames to.
  engine::OwnFrames& window_of(unsigned worker) { return *windows_[worker]; }
  /// The engine of the box's only worker repairs flows with peers from here on. It must outlive the desk's use.
  void join(engine::Engine& engine);

  /// A frame from the WAN that window_of() would take.
  bool is_for_us(peer::Bytes frame) const { return peers_.is_for_us(frame); }

  // All the rest is worker 0's.

  /// Takes what others have handed over, and does what is due.
  void attend(Time now);
  Time deadline() const { return said_.empty() ? peers_.deadline() : attended_at_; }
  void set_peers(const std::vector<peer::PeerSettings>& peers) { peers_.set_peers(peers, attended_at_); }
  void stop(Time now) { peers_.stop(now); }
  /// As of the last attend().
  peer::PeersReport report() const;

 private:
  struct Window;
  static constexpr unsigned kHandedOver = 256;
  /// Frames for the box that are read; a flood costs the peers at worst. A peer with which flows are repaired sends up
  /// to 20,000 (each 100 us a CLOCK and a STATE).
  static constexpr unsigned kASecond = 60'000;
  static constexpr unsigned kATurn = 32;  ///< of those that others have handed over

  bool transmit(peer::Bytes frame) override;
  void carried(std::uint32_t peer, std::uint8_t type, peer::Bytes body) override;
  void send(relay::PeerNumber to, relay::Type type, relay::Bytes body) override;
  void tell_engine(Time now);
  void look_at_peers(Time now);
  void take(rte_mbuf* frame, Time now);

  engine::Sink& ports_;
  engine::Pools pools_;
  peer::Peers peers_;
  Time attended_at_;
  peer::Allowance reads_{kASecond};
  std::uint64_t unread_ = 0;          ///< beyond the limit
  engine::Engine* engine_ = nullptr;  ///< null: flows are not repaired with peers
  struct Said {
    std::uint32_t peer;
    relay::Type type;
    std::vector<std::uint8_t> body;
  };
  static constexpr std::size_t kMostSaid = 256;
  Time looked_at_ = 0;
  std::vector<Said> said_;                            ///< for the engine
  std::map<std::uint32_t, std::uint64_t> repairing_;  ///< peers that the engine knows, and their epochs
  steer::FrameRing handed_over_;                      ///< to worker 0
  std::vector<std::unique_ptr<engine::OwnFrames>> windows_;
};

}  // namespace longhaul::box
