// SPDX-License-Identifier: BSD-3-Clause
// All that a box with `peers:` is on its WAN: a station, and a Peer for each box at the other ends. One worker has it,
// and drives it with frames and time.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "peer/peer.hpp"
#include "peer/report.hpp"
#include "peer/station.hpp"

namespace longhaul::peer {

struct Settings {
  StationSettings station;
  std::vector<PeerSettings> peers;  ///< with different names and addresses
  bool repair = true;               ///< losses are repaired together with peers; false: they are only watched
};

/// The features of a box of so many workers that repairs.
constexpr std::uint32_t repair_features(unsigned workers) {
  return workers == 1 ? kRepairs | kWorkersRepair : kWorkersRepair;
}

/// Where the box's own frames go.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// False when it could not be sent.
  virtual bool transmit(Bytes frame) = 0;
  /// A peer that is up has sent this. Valid during the call.
  virtual void carried(std::uint32_t peer, const Carried& message) = 0;
};

class Peers final : private StationHost, private PeerHost {
 public:
  /// `workers`: of the box. `features`: what it can do beyond sessions. `mac`: the WAN port's. `outlet` must outlive
  /// it.
  Peers(const Settings& settings, std::uint16_t workers, std::uint32_t features, const wire::MacAddress& mac,
        Outlet& outlet, Random random, Time now);

  /// Station::is_for_us(): any thread may ask.
  bool is_for_us(Bytes frame) const { return station_.is_for_us(frame); }
  /// Station::take()
  void take(Bytes frame, Time now);
  /// Does what is due; call it when deadline() has come.
  void poll(Time now);
  Time deadline() const { return deadline_; }
  /// New peers, fewer peers, other keys. The station stays as it is.
  void set_peers(const std::vector<PeerSettings>& peers, Time now);
  /// Says farewell to all. They hear nothing afterwards; the station still answers questions.
  void stop(Time now);

  PeersReport report(Time now) const;

  /// Calls f(peer) for each peer that is up and has selective repeat.
  template <typename F>
  void for_repairing(F&& f) const {
    for (const auto& peer : peers_)
      if (peer->repairs()) f(std::as_const(*peer));
  }
  /// Sends a message to a peer, if it is up.
  void carry(std::uint32_t peer, const Carried& message, Time now);

 private:
  void transmit(Bytes frame) override;
  void datagram(const wire::IpAddress& source, Bytes payload, Time now) override;
  void send(const wire::IpAddress& to, Bytes datagram, Way way, Time now) override;
  void carried(std::uint32_t peer, const Carried& message) override { outlet_.carried(peer, message); }
  std::unique_ptr<Peer> made(const PeerSettings& settings, Time now);
  std::unique_ptr<Peer>* find(const PeerSettings& settings);
  void update_deadline();

  Outlet& outlet_;
  Random random_;
  Self self_;
  Station station_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Time deadline_ = kNever;
  bool stopped_ = false;
  std::uint32_t last_number_ = 0;
  std::uint64_t unsent_ = 0;
  std::uint64_t from_unknown_sources_ = 0;
};

}  // namespace longhaul::peer
