// SPDX-License-Identifier: BSD-3-Clause
// Time as an engine has it: the clock's, without the pauses of its loop, and timers that come after what waits in the
// rings.
#pragma once

#include "base/time.hpp"
#include "engine/engine.hpp"

namespace longhaul::engine {

/// One loop's. The program's loop and the testbed's boxes drive their engines by it.
class LoopTime {
 public:
  /// A loop that polls, or sleeps for microseconds, reads its clock all the time. In a gap as long as this it stood
  /// still: a stopped process or virtual machine, a debugger. Shorter ones are those of a busy machine, and count.
  static constexpr Duration kPause = milliseconds(50);

  /// `clock`: what the clock says now. The engine must outlive it.
  LoopTime(Engine& engine, Time clock) : engine_(engine), seen_(clock), round_began_(clock), read_until_(clock) {}

  /// The engine's time when the clock says `clock`. It never goes back, and stands still during a pause, of which the
  /// engine is told here. To be asked before and after anything that may take long, at least once a round.
  Time at(Time clock) {
    if (clock - seen_ >= kPause) [[unlikely]]  // or the clock went back
      skip(clock);
    seen_ = clock;
    return clock - left_out_;
  }

  /// What the clock will say at `time`, if nothing is left out until then.
  Time clock_at(Time time) const { return time == kNever ? kNever : time + left_out_; }

  /// The end of a round that has read all rings: polls the engine. `more`: a ring held a full burst and may hold more.
  /// Timers run up to when the last round began that left nothing, since what they miss may have come before. Returns
  /// the engine's time.
  Time poll(Time clock, bool more);

  /// There was nothing to do until `clock`, and the loop slept or went round without reading its clock.
  Time idled(Time clock) { return round_began_ = at(clock); }

  /// Until `clock` was no pause, though nobody asked: the loop had not begun, or time is virtual, and a loop with
  /// nothing to do is not run.
  Time went_round(Time clock);

  std::uint64_t pauses() const { return pauses_; }
  Duration paused() const { return paused_; }  ///< in all

 private:
  [[gnu::cold, gnu::noinline]] void skip(Time clock);

  Engine& engine_;
  Time seen_;          ///< what the clock said last
  Time left_out_ = 0;  ///< modulo 2^64: a clock that went back has this below zero
  Time round_began_;   ///< of the engine's time, as is:
  Time read_until_;    ///< all that came before has been read
  std::uint64_t pauses_ = 0;
  Duration paused_ = 0;
};

}  // namespace longhaul::engine
