// SPDX-License-Identifier: BSD-3-Clause
#include "engine/loop_time.hpp"

namespace longhaul::engine {

Time LoopTime::poll(Time clock, bool more) {
  const Time now = at(clock);
  if (!more) read_until_ = round_began_;
  engine_.poll(now, read_until_);
  round_began_ = now;
  return now;
}

Time LoopTime::went_round(Time clock) {
  seen_ = clock;
  return idled(clock);
}

void LoopTime::skip(Time clock) {
  const Time stood = seen_ - left_out_;
  left_out_ = clock - stood;
  // A virtual machine that moved to another machine may find a younger clock there.
  if (clock < seen_) return;
  const Duration lasted = clock - seen_;
  ++pauses_;
  paused_ += lasted;
  engine_.paused(lasted, stood);
}

}  // namespace longhaul::engine
