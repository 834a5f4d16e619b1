// SPDX-License-Identifier: BSD-3-Clause
// What hostile hosts may send so that the box works more for one frame the more it holds. Each attack says what it
// needs held, what one of its frames is, and where it comes from. To add one, add a row to table.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/side.hpp"
#include "metrics/counter_set.hpp"
#include "support/hosts.hpp"

namespace longhaul::bench {

struct AttackFrame {
  Side from;
  test::Bytes bytes;
};

/// Where frames go: into an engine alone, or into a box among others' frames.
class Target {
 public:
  virtual ~Target() = default;
  virtual void send(Side from, const test::Bytes& frame) = 0;
  /// REQ, REP and RTU, and one WRITE that the responder acknowledges: the next PSN is a_psn + 1, the MSN is 1.
  void connect(const test::Pair& pair);
};

struct Attack {
  std::string_view name;
  std::string_view why;  ///< a source, or the reason why it could hurt
  /// Brings the box to where it holds `held` of what the attack is about.
  void (*prepare)(Target& target, std::uint32_t held);
  /// The attack's frame `number`, from 0 on.
  AttackFrame (*frame)(std::uint32_t number, std::uint32_t held);
  /// After `frames` of them, this says what is wrong with the attack itself: it did not do what it is meant to do.
  /// Empty: nothing.
  std::string_view (*missed)(const Counters& counters, std::uint32_t held, std::uint32_t frames);
};

std::span<const Attack> attacks();
/// Those of which each frame adds to what is held.
std::span<const Attack> hoards();

/// From here on the frames of all attacks come from hosts of this number, from 0 on: 10.66.NUMBER.1 and .2.
void attack_from(std::uint8_t hosts);

}  // namespace longhaul::bench
