// SPDX-License-Identifier: BSD-3-Clause
// An engine's time: the clock's time without the pauses of the loop. Timers run only up to the time before which the
// rings have been read.
#pragma once

#include "base/time.hpp"
#include "engine/engine.hpp"

namespace longhaul::engine {

/// The time of one loop. The program's loop and the testbed's boxes drive their engines with it.
class LoopTime {
 public:
  /// A loop that polls, or sleeps for microseconds, reads its clock all the time. A gap as long as this means that it
  /// stood still: a stopped process or virtual machine, a debugger. Shorter gaps are normal on a busy machine, and
  /// count as time.
  static constexpr Duration kPause = milliseconds(50);

  /// `clock`: what the clock says now. The engine must outlive it.
  LoopTime(Engine& engine, Time clock) : engine_(engine), seen_(clock), round_began_(clock), read_until_(clock) {}

  /// The engine's time when the clock says `clock`. It never goes back, and stands still during a pause. This call
  /// tells the engine of the pause. Call it before and after anything that may take long, and at least once a round.
  Time at(Time clock) {
    if (clock - seen_ >= kPause) [[unlikely]]  // or the clock went back
      skip(clock);
    seen_ = clock;
    return clock - left_out_;
  }

  /// What the clock will say at `time`, if there is no pause until then.
  Time clock_at(Time time) const { return time == kNever ? kNever : time + left_out_; }

  /// Polls the engine at the end of a round that has read all rings. `more`: a ring held a full burst and may hold
  /// more. Timers run up to the beginning of the last round that emptied the rings, because the answers they wait for
  /// may be in the rings. Returns the engine's time.
  Time poll(Time clock, bool more);

  /// The loop had nothing to do until `clock`, and slept or went round without reading its clock.
  Time idled(Time clock) { return round_began_ = at(clock); }

  /// The time until `clock` was no pause, although the loop did not read its clock: it had not begun, or time is
  /// virtual and an idle loop does not run.
  Time went_round(Time clock);

  std::uint64_t pauses() const { return pauses_; }
  Duration paused() const { return paused_; }  ///< total

 private:
  [[gnu::cold, gnu::noinline]] void skip(Time clock);

  Engine& engine_;
  Time seen_;          ///< what the clock said last
  Time left_out_ = 0;  ///< modulo 2^64: below zero after a clock went back
  Time round_began_;   ///< in the engine's time
  Time read_until_;    ///< in the engine's time; all that came before has been read
  std::uint64_t pauses_ = 0;
  Duration paused_ = 0;
};

}  // namespace longhaul::engine
