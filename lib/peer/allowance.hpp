// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/time.hpp"

namespace longhaul::peer {

/// So many of something in a second: whoever asks for more must not take the worker's time.
class Allowance {
 public:
  explicit Allowance(unsigned a_second) : a_second_(a_second) {}

  /// One more may be had now. A refused one does not count towards the next second.
  bool take(Time now) {
    if (now - since_ >= seconds(1)) {
      since_ = now;
      left_ = a_second_;
    }
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  unsigned a_second_;
  unsigned left_ = a_second_;
  Time since_ = 0;
};

}  // namespace longhaul::peer
