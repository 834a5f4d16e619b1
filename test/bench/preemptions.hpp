// SPDX-License-Identifier: BSD-3-Clause
// How often the kernel took the processor from a thread that had more to do. The cycles that pass meanwhile are not the
// thread's own.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace longhaul::bench {

/// The number for the calling thread since it began.
long preemptions();

/// The same for a thread of another process, found by the kernel's name for it. Costs microseconds.
class OtherThread {
 public:
  /// Throws std::runtime_error if process `pid` has no thread of that name.
  OtherThread(pid_t pid, std::string_view name);
  ~OtherThread();
  OtherThread(const OtherThread&) = delete;
  OtherThread& operator=(const OtherThread&) = delete;
  /// -1 if the thread has ended.
  long preemptions() const;

 private:
  int status_ = -1;
};

}  // namespace longhaul::bench
