// SPDX-License-Identifier: BSD-3-Clause
// The peers of a box among its workers. Worker 0 has them (peer::Peers), and reads and writes all datagrams; each
// worker has a window to them (peer_window.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/time.hpp"
#include "box/peer_window.hpp"
#include "engine/engine.hpp"
#include "peer/allowance.hpp"
#include "peer/peers.hpp"

struct rte_mempool;
struct rte_ring;

namespace longhaul::box {

struct PeerSettings {
  peer::Settings peers;
  wire::MacAddress mac{};    ///< the WAN port's
  peer::Random random = {};  ///< empty: the system's
};

class PeerDesk final : private peer::Outlet {
 public:
  /// `ports` are worker 0's. It and the pools must outlive the desk. Throws std::runtime_error.
  PeerDesk(const PeerSettings& settings, unsigned workers, engine::Sink& ports, const engine::Pools& pools, Time now);
  PeerDesk(const PeerDesk&) = delete;
  PeerDesk& operator=(const PeerDesk&) = delete;

  /// This worker's, and its thread's.
  PeerWindow& window_of(unsigned worker) { return *windows_[worker]; }
  /// Losses are repaired together with peers.
  bool repairs() const { return repairs_; }

  /// A frame from the WAN that PeerWindow::take() would take. Any thread may ask.
  bool is_for_us(peer::Bytes frame) const { return peers_.is_for_us(frame); }

  // All the rest is worker 0's.

  /// Takes a frame for the box's address.
  void take(rte_mbuf* frame, Time now);
  /// A message of one of the box's workers, to this life of the peer.
  void send(unsigned worker, Speaker to, std::uint64_t epoch, relay::Type type, relay::Bytes body);
  /// Takes what others have handed over, and does what is due.
  void attend(Time now);
  Time deadline() const;
  void set_peers(const std::vector<peer::PeerSettings>& peers) { peers_.set_peers(peers, attended_at_); }
  void stop(Time now) { peers_.stop(now); }
  /// As of the last attend().
  peer::PeersReport report() const;

 private:
  /// Frames for the box that are read; a flood costs the peers at worst. A peer with which flows are repaired sends up
  /// to 20,000 CLOCKs a second, and as many reports.
  static constexpr unsigned kASecond = 60'000;
  static constexpr unsigned kATurn = 32;          ///< of those that each other worker has handed over
  static constexpr unsigned kMessagesATurn = 32;  ///< of others' messages
  /// Messages that come to all workers are brought so often, counted for each worker. Beyond it they are lost: who lies
  /// in a peer's name must not take more of the workers' time the more there are.
  static constexpr unsigned kBroughtASecond = 400'000;

  bool transmit(peer::Bytes frame) override;
  void carried(std::uint32_t peer, const peer::Carried& message) override;
  void take_from(rte_ring& frames, Time now);
  void look_at_peers();
  void bring(unsigned worker, const PeerMessage& message);
  void bring_to_homes(const PeerMessage& message);
  void bring_to_all(const PeerMessage& message);

  engine::Sink& ports_;
  engine::Pools pools_;
  bool repairs_;
  peer::Peers peers_;
  Time attended_at_;
  Time looked_at_ = 0;
  bool more_frames_ = false;  ///< others have handed over more than fits into a turn
  peer::Allowance reads_{kASecond};
  std::uint64_t unread_ = 0;  ///< beyond the limit
  std::map<PeerNumber, peer::Allowance> to_all_;
  PeerWindow::Common common_;
  std::vector<std::unique_ptr<PeerWindow>> windows_;
};

}  // namespace longhaul::box
