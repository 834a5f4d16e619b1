// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/idle.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <ctime>

namespace longhaul::app {

Idle::Idle(bool sleep) : sleep_(sleep) {
  if (sleep) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void Idle::nap(Time now, Time deadline) {
  if (deadline <= now) return;
  timespec time{};
  time.tv_nsec = static_cast<long>(std::min(kSleep, deadline - now));
  nanosleep(&time, nullptr);
}

}  // namespace longhaul::app
