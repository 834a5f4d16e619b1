// SPDX-License-Identifier: BSD-3-Clause
// What hostile hosts may send so that the box works more for one frame the more it holds. Each attack says what it
// needs held, what one of its frames is, and where it comes from. To add one, add a row to table.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/side.hpp"
#include "support/hosts.hpp"
#include "test/bench/attacks/stage.hpp"

namespace longhaul::bench {

struct AttackFrame {
  Side from;
  test::Bytes bytes;
};

struct Attack {
  std::string_view name;
  std::string_view why;  ///< a source, or the reason why it could hurt
  /// Brings the engine to where it holds `held` of what the attack is about.
  void (*prepare)(Stage& stage, std::uint32_t held);
  /// The attack's frame `number`, from 0 on.
  AttackFrame (*frame)(std::uint32_t number, std::uint32_t held);
  /// After `frames` of them, this says what is wrong with the attack itself: it did not do what it is meant to do.
  /// Empty: nothing.
  std::string_view (*missed)(const Stage& stage, std::uint32_t held, std::uint32_t frames);
};

std::span<const Attack> attacks();

}  // namespace longhaul::bench
