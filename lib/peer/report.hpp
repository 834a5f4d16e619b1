// SPDX-License-Identifier: BSD-3-Clause
// What a box shows of a peer: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "peer/keys.hpp"

namespace longhaul::peer {

enum class State : std::uint8_t { down, confirming, up };
inline constexpr std::string_view kStateNames[] = {"down", "confirming", "up"};
constexpr std::string_view name_of(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

/// Why a peer went down last.
enum class DownCause : std::uint8_t { never_up, silent, stopped, removed_us, key_removed, sessions_ended };
inline constexpr std::string_view kDownCauseNames[] = {
    "never up", "silent", "it stopped", "it removed this box", "key removed", "session ended"};
constexpr std::string_view name_of(DownCause cause) { return kDownCauseNames[static_cast<std::size_t>(cause)]; }

/// Why a datagram was dropped: from a configured peer's address, but for the first.
enum class Drop : std::uint8_t {
  unknown_source,
  malformed,
  unknown_cookie,
  unknown_key,
  forged,
  replayed,
  unknown_worker,
  stale_handshake,
  no_common_version,
  late,
  too_many,
};
/// As labels of a metric.
inline constexpr std::string_view kDropNames[] = {
    "unknown_source",     "malformed",      "unknown_cookie",  "unknown_key",       "forged",
    "replayed",           "unknown_worker", "stale_handshake", "no_common_version", "late",
    "too_many_handshakes"};
inline constexpr std::size_t kDrops = std::size(kDropNames);
constexpr std::string_view name_of(Drop drop) { return kDropNames[static_cast<std::size_t>(drop)]; }
using ByDrop = std::array<std::uint64_t, kDrops>;

struct PeerReport {
  std::string name;
  wire::IpAddress address;
  State state = State::down;
  DownCause down_cause = DownCause::never_up;  ///< meaningless while up
  Duration in_state = 0;                       ///< since it came up, or went down
  Duration round_trip = 0;                     ///< smoothed, 0: not measured
  Duration least_round_trip = 0;               ///< of the newest session
  Duration silent_for = 0;                     ///< since the last sign of life; kNever: there was none
  std::uint64_t epoch = 0;                     ///< 0: not known
  std::uint8_t version = 0;                    ///< of the newest session, 0: there is none
  std::uint16_t workers = 0;
  Cookie key_id = 0;  ///< of the newest session
  Duration session_age = 0;
  unsigned sessions = 0;        ///< that are received on
  bool hears_us = true;         ///< within the last second it has not said that it does not
  bool repairs = false;         ///< it is up, and both boxes have selective repeat
  bool resolved = false;        ///< the MAC address of the next hop is known
  std::uint8_t its_lowest = 0;  ///< versions, of a peer that has refused; 0: none has
  std::uint8_t its_highest = 0;

  std::uint64_t sent = 0;        ///< datagrams, those of handshakes too
  std::uint64_t received = 0;    ///< accepted ones
  std::uint64_t handshakes = 0;  ///< sessions that were established
  std::uint64_t went_down = 0;
  std::uint64_t restarts = 0;  ///< times that its epoch was another one
  ByDrop dropped{};
  ByDrop dropped_lately{};  ///< of these, since it went down last
};

/// Of a box with `peers:`.
struct PeersReport {
  wire::IpAddress address;  ///< the box's own
  std::uint64_t epoch = 0;
  std::vector<PeerReport> peers;
  std::uint64_t address_conflicts = 0;     ///< frames in which another says that it has the box's address
  std::uint64_t not_understood = 0;        ///< frames for the box's address that are nothing it knows
  std::uint64_t unread = 0;                ///< frames for the box's address beyond what it reads in a second
  std::uint64_t unsent = 0;                ///< frames of its own: the port took none, or there was no buffer
  std::uint64_t from_unknown_sources = 0;  ///< datagrams from addresses of no peer: Drop::unknown_source
};

}  // namespace longhaul::peer
