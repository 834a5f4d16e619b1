// SPDX-License-Identifier: BSD-3-Clause
// The peers of a box among its workers. Worker 0 has them (peer::Peers); the others hand it the frames for the box's
// address, through a ring.
#pragma once

#include <cstdint>
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
  wire::MacAddress mac{};  ///< the WAN port's
};

class PeerDesk final : private peer::Outlet {
 public:
  /// `ports` are worker 0's. It and the pools must outlive the desk. Throws std::runtime_error.
  PeerDesk(const PeerSettings& settings, unsigned workers, engine::Sink& ports, const engine::Pools& pools, Time now);
  ~PeerDesk();
  PeerDesk(const PeerDesk&) = delete;
  PeerDesk& operator=(const PeerDesk&) = delete;

  /// What the engine of this worker gives its frames to.
  engine::OwnFrames& window_of(unsigned worker) { return *windows_[worker]; }

  // All the rest is worker 0's.

  /// Takes what others have handed over, and does what is due.
  void attend(Time now);
  Time deadline() const { return peers_.deadline(); }
  void set_peers(const std::vector<peer::PeerSettings>& peers) { peers_.set_peers(peers, attended_at_); }
  void stop(Time now) { peers_.stop(now); }
  /// As of the last attend().
  peer::PeersReport report() const;

 private:
  struct Window;
  static constexpr unsigned kHandedOver = 256;
  static constexpr unsigned kASecond = 10'000;  ///< frames for the box that are read; a flood costs the peers at worst
  static constexpr unsigned kATurn = 32;        ///< of those that others have handed over

  bool transmit(peer::Bytes frame) override;
  void take(rte_mbuf* frame, Time now);

  engine::Sink& ports_;
  engine::Pools pools_;
  peer::Peers peers_;
  Time attended_at_;
  peer::Allowance reads_{kASecond};
  std::uint64_t unread_ = 0;      ///< beyond the limit
  steer::FrameRing handed_over_;  ///< to worker 0
  std::vector<std::unique_ptr<engine::OwnFrames>> windows_;
};

}  // namespace longhaul::box
