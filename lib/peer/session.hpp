// SPDX-License-Identifier: BSD-3-Clause
// One session of two boxes: what a handshake has made.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "peer/datagram.hpp"
#include "peer/keys.hpp"
#include "peer/replay_window.hpp"

namespace longhaul::peer {

/// What the two boxes said of themselves in the handshake.
struct Agreed {
  std::uint8_t version = kHighestVersion;
  std::uint64_t peer_epoch = 0;
  std::uint16_t peer_workers = 1;
  std::uint32_t features = 0;  ///< that both have
  Cookie key_id = 0;           ///< of the pre-shared key

  bool repairs() const { return (features & (kRepairs | kWorkersRepair)) != 0; }
  /// Each message of a carried type says which worker it is for.
  bool workers_repair() const { return (features & (kRepairs | kWorkersRepair)) == kWorkersRepair; }
};

/// Why a datagram of a session was not accepted.
enum class Opened : std::uint8_t { accepted, unknown_worker, replayed, forged };

class Session {
 public:
  /// `outgoing`: the path of this box's datagrams; it has so many `workers`.
  Session(const SessionKeys& keys, Role own, std::uint16_t workers, const Agreed& agreed, const Path& outgoing,
          Time now);

  const Agreed& agreed() const { return agreed_; }
  Time made_at() const { return made_at_; }
  /// When it last brought something authentic, or was made.
  Time heard_at() const { return heard_at_; }
  /// In datagrams to this box.
  Cookie cookie() const { return cookie_; }
  /// Sequence numbers that have been used, by the worker that has used most.
  std::uint32_t sent() const { return most_sent_; }

  /// A datagram of one of this box's workers, with its tag.
  std::vector<std::uint8_t> seal(Type type, Bytes body, std::uint16_t worker = 0);

  /// Checks worker, sequence and tag. After `accepted` the same datagram is not accepted again.
  Opened open(const Datagram& datagram, Time now);

 private:
  struct Sender {
    Key key;
    ReplayWindow window;
  };
  /// A worker of this box.
  struct Own {
    Key key;
    std::uint32_t sequence = 0;
  };

  Agreed agreed_;
  Path outgoing_;
  Time made_at_;
  Time heard_at_;
  Cookie cookie_;
  Cookie peer_cookie_;
  std::vector<Own> own_;  ///< by worker
  std::uint32_t most_sent_ = 0;
  std::vector<Sender> senders_;  ///< the peer's workers
};

}  // namespace longhaul::peer
