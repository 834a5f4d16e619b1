// SPDX-License-Identifier: BSD-3-Clause
// How often the kernel took the processor from a thread that had more to do. Cycles that pass meanwhile are not its
// own.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace longhaul::bench {

/// Of the calling thread, since it began.
long preemptions();

/// The same of a thread of another process, by its kernel's name. Costs microseconds.
class OtherThread {
 public:
  /// Throws std::runtime_error when process `pid` has no thread of that name.
  OtherThread(pid_t pid, std::string_view name);
  ~OtherThread();
  OtherThread(const OtherThread&) = delete;
  OtherThread& operator=(const OtherThread&) = delete;
  /// -1 when the thread has ended.
  long preemptions() const;

 private:
  int status_ = -1;
};

}  // namespace longhaul::bench
