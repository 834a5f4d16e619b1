// SPDX-License-Identifier: BSD-3-Clause
// The outcome of a world.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "sim/rules.hpp"
#include "sim/totals.hpp"

namespace longhaul::sim {

/// A frame that an attacker sent.
struct SentFrame {
  Duration at = 0;    ///< since the start of the world
  unsigned host = 0;  ///< on whose side
  std::uint32_t bytes = 0;
};

/// The outcome of everything that one requester posted.
struct Delivery {
  std::string flow;
  unsigned host = 0;      ///< of the requester
  bool began = false;     ///< it has sent something
  bool died = false;      ///< its queue pair went into error
  bool accepted = false;  ///< its responder has accepted all
  Duration took = 0;      ///< from its first packet until its responder has accepted all
  // In worlds with an attack:
  std::size_t posted = 0;          ///< messages
  Duration completed_took = 0;     ///< from its first packet until the last completion; 0: not all was completed
  Duration closed_in = 0;          ///< from when its application closed it until both ends were closed; 0: never
  std::vector<Duration> delays{};  ///< of each completed message, from its first packet to its completion
};

/// What a box holds at the end of a world with an attack, when nothing is under way.
struct BoxHolds {
  std::uint64_t connections = 0;  ///< entries of the connection table
  std::uint64_t custody_packets = 0;
  std::uint64_t waiting_frames = 0;
};

struct Result {
  std::optional<Violation> violation;
  Totals totals;
  Duration lasted = 0;                        ///< virtual time
  std::vector<Delivery> deliveries;           ///< of all that posted something
  std::array<std::uint64_t, 2> wan_frames{};  ///< that entered the long link, by link::Way
  // In worlds with an attack:
  std::vector<SentFrame> attack_frames;
  std::array<BoxHolds, 2> holds{};    ///< by box
  std::uint64_t buffers_held = 0;     ///< by both boxes, of all pools
  std::array<Duration, 2> drained{};  ///< by box: Operators::drained()
};

}  // namespace longhaul::sim
