// SPDX-License-Identifier: BSD-3-Clause
// What happens to frames by chance. Fates belong either to the nth frame of a direction, whatever frame that is, or to
// the nth copy of a packet, whenever it comes. In the second case two runs that send the same packets at other times
// have the same luck.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "link/random.hpp"
#include "link/settings.hpp"

struct rte_mbuf;

namespace longhaul::link {

/// Names each frame by its packet, and by which copy of the packet it is. RoCE packets are the same when destination
/// QPN and PSN are the same and both are requests or both are answers. Other packets are the same when all bytes are.
class PacketCopies {
 public:
  /// A number that no other packet, and no other copy of this one, has except by chance.
  std::uint64_t next(const rte_mbuf* frame);

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;
};

/// What chance does to one frame.
struct Chances {
  bool lost = false;
  bool duplicate = false;
  bool corrupt = false;
  std::uint64_t corrupt_bit = 0;
  bool late = false;  ///< may be overtaken
  Duration jitter = 0;
};

class Fates {
 public:
  Fates(const Settings& settings, Way way);
  /// Call once for each frame that enters.
  Chances draw(const rte_mbuf* frame);

 private:
  enum Kind : std::uint64_t { kLoss, kDuplicate, kCorrupt, kCorruptBit, kReorder, kJitter, kKinds };
  void begin(std::uint64_t seed);
  RandomStream& of(Kind kind) { return streams_[kind]; }

  DirectionSettings settings_;
  FatesBy by_;
  std::uint64_t seed_;
  std::uint64_t way_;
  std::vector<RandomStream> streams_;  ///< by Kind
  PacketCopies copies_;
};

}  // namespace longhaul::link
