// SPDX-License-Identifier: BSD-3-Clause
// One peer of a box: makes sessions with it, and says whether it is there. docs/peer-protocol.md, sections 6 and 7:
//
//   A box without a session sends INIT, at first each 100 ms. A RESPONSE makes a session that waits for its
//   confirmation: CONFIRM is sent each 100 ms until anything has come on it. As a responder the box remembers nothing
//   until a CONFIRM has come. All sessions are received on, and the newest one is sent on. An older one ends when a
//   newer was established 3 s ago and the peer has not used the older for as long: after handshakes that crossed, the
//   two boxes may not agree which is newer. Each 100 ms goes a KEEPALIVE, and the peer is gone after 350 ms, or three
//   round trips, of silence.
//
// Nothing here is on the path of packets: a datagram may cost an allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "peer/allowance.hpp"
#include "peer/datagram.hpp"
#include "peer/report.hpp"
#include "peer/session.hpp"

namespace longhaul::peer {

/// What is the same for all peers of a box.
struct Self {
  wire::IpAddress address;
  std::uint64_t epoch = 0;  ///< random, of this life of the process
  std::uint16_t workers = 1;
  std::uint32_t features = 0;
  std::uint8_t lowest_version = kLowestVersion;
  std::uint8_t highest_version = kHighestVersion;
};

struct PeerSettings {
  std::string name;
  wire::IpAddress address;
  std::vector<PreSharedKey> keys;  ///< one to four; the first is for INIT
  bool operator==(const PeerSettings&) const = default;
};

/// What is known of the way to a peer.
enum class Way : std::uint8_t { works, doubtful };

/// What a peer needs of its box.
class PeerHost {
 public:
  virtual ~PeerHost() = default;
  virtual void send(const wire::IpAddress& to, Bytes datagram, Way way, Time now) = 0;
  /// A message has come from the peer with this number.
  virtual void carried(std::uint32_t peer, const Carried& message) = 0;
};

class Peer {
 public:
  static constexpr Duration kKeepalive = milliseconds(100);
  // Three lost KEEPALIVEs, and what they vary.
  static constexpr Duration kGone = milliseconds(350);
  static constexpr unsigned kGoneRoundTrips = 3;
  static constexpr Duration kGoneAtMost = seconds(3);
  static constexpr Duration kMostRoundTrip = seconds(1);
  // How much less than what a peer has held a KEEPALIVE may seem to have been on its way: clocks of DPDK are measured,
  // and two of them differ by some thousandths.
  static constexpr Duration kClocksDiffer = microseconds(100);
  static constexpr Duration kClocksDifferPart = 64;
  static constexpr Duration kFirstRetry = milliseconds(100);
  static constexpr Duration kLastRetry = milliseconds(1600);
  static constexpr Duration kConfirmAgain = milliseconds(100);
  static constexpr unsigned kConfirms = 10;
  static constexpr Duration kRenew = seconds(3600);
  static constexpr Duration kLongest = 2 * kRenew;
  static constexpr std::uint32_t kRenewSequence = 1u << 31;
  static constexpr Duration kUnused = seconds(3);
  static constexpr std::size_t kMostSessions = 4;
  static constexpr unsigned kVerifiedASecond = 500;  ///< tags of handshakes, of each kind

  /// All must outlive it, but for the settings. `number` tells it apart from all others that there ever were.
  Peer(std::uint32_t number, const Self& self, PeerSettings settings, PeerHost& host, const Random& random, Time now);

  std::uint32_t number() const { return number_; }
  const PeerSettings& settings() const { return settings_; }
  /// It is `up`, and both boxes have selective repeat.
  bool repairs() const { return up_ && current().agreed().repairs(); }
  /// Of its workers, those that repair. Only while repairs().
  std::uint16_t repairing_workers() const {
    const Agreed& agreed = current().agreed();
    return agreed.workers_repair() ? agreed.peer_workers : std::uint16_t{1};
  }
  /// Its epoch, 0 if it is not known.
  std::uint64_t epoch() const { return report_.epoch; }
  /// Without queues, 0 if it is not known.
  Duration least_round_trip() const { return report_.least_round_trip; }
  /// Only while repairs().
  void carry(const Carried& message, Time now);
  /// Ends sessions whose key is no longer there; with another first key, makes a new one.
  void set_keys(std::vector<PreSharedKey> keys, Time now);

  /// A datagram from its address.
  void receive(Bytes bytes, Time now);
  /// Does what is due.
  void poll(Time now);
  Time deadline() const;
  /// Says farewell, and ends all sessions.
  void leave(ByeReason reason, Time now);

  PeerReport report(Time now) const;

 private:
  /// An INIT that waits for its RESPONSE.
  struct Opening {
    PreSharedKey key;
    Init body;
  };
  /// A session as its initiator, until anything has come on it.
  struct Unconfirmed {
    std::unique_ptr<Session> session;
    std::vector<std::uint8_t> confirm;  ///< the body
    unsigned sent = 0;
    Time again_at = 0;
  };

  void drop(Drop why) {
    ++report_.dropped[static_cast<std::size_t>(why)];
    ++report_.dropped_lately[static_cast<std::size_t>(why)];
  }
  void send(const std::vector<std::uint8_t>& datagram, Time now);
  std::uint64_t random_number() const;
  Duration about(Duration duration, unsigned percent) const;
  const PreSharedKey* key_of(Cookie id) const;

  void begin_handshake(Time now);
  void send_handshake(Type type, Cookie cookie, Bytes body, const Key& key, Time now);
  void take_init(const Datagram& datagram, Time now);
  void take_response(const Datagram& datagram, Time now);
  void take_confirm(const Datagram& datagram, Time now);
  void take_refuse(const Datagram& datagram, Time now);
  Response response_to(Bytes init, std::uint8_t version) const;
  std::optional<std::uint8_t> common_version(const Init& init) const;
  void send_confirm(Time now);

  void take_of_session(const Datagram& datagram, Session& session, Time now);
  void take_carried(const Datagram& datagram, const Agreed& agreed);
  void establish(std::unique_ptr<Session> session, Time now);
  void lives(Time now);
  void go_down(DownCause cause, Time now);
  Duration gone_after() const;
  enum class Sign : std::uint8_t { life, late, unheard };
  Sign take_keepalive(const Keepalive& said, const Session& session, Time now);
  Time end_of(const Session& older) const;
  Session& current() const;
  Time wants_handshake_at() const;
  void end_old_sessions(Time now);
  void send_keepalive(Session& session, Time now);

  std::uint32_t number_;
  const Self& self_;
  PeerSettings settings_;
  PeerHost& host_;
  const Random& random_;
  Key challenge_secret_;       ///< of the nonces that this box computes as a responder
  std::uint64_t counter_ = 1;  ///< of the next CONFIRM that it accepts: each established session voids it
  // Each for itself: a flood of one kind does not hold up the others.
  Allowance inits_{kVerifiedASecond};
  Allowance answers_{kVerifiedASecond};
  Allowance confirms_{kVerifiedASecond};

  std::vector<std::unique_ptr<Session>> sessions_;  ///< established, oldest first
  std::optional<Opening> opening_;
  Unconfirmed unconfirmed_;
  Time init_at_;                  ///< when the next INIT is due, if there is nothing to confirm
  Duration retry_ = kFirstRetry;  ///< after it
  Time renew_at_ = kNever;        ///< when the newest session is old
  Time established_at_ = 0;       ///< the newest session
  bool key_changed_ = false;      ///< a session with the first key is still to be made
  Time keepalive_at_ = kNever;
  bool up_ = false;
  Time heard_at_ = 0;            ///< 0: never
  Time unheard_at_ = 0;          ///< when it last said that it does not hear this box; 0: never
  std::uint64_t its_clock_ = 0;  ///< the newest that its present epoch has said; 0: none
  Time its_clock_at_ = 0;        ///< and when that came
  Time changed_at_;
  PeerReport report_;  ///< its counts, and what else does not depend on the time
};

}  // namespace longhaul::peer
