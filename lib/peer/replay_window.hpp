// SPDX-License-Identifier: BSD-3-Clause
// Which of the last sequence numbers have come: RFC 4303, 3.4.3 and appendix A, with 32 bits.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace longhaul::peer {

class ReplayWindow {
 public:
  static constexpr std::uint32_t kNumbers = 1024;

  /// False when the number is 0, was here, or is older than the window. Ask before the tag is checked.
  bool is_new(std::uint32_t number) const {
    if (number == 0) return false;
    if (number > newest_) return true;
    return newest_ - number < kNumbers && !seen_[number % kNumbers];
  }
  /// The number is_new(), and its datagram authentic.
  void note(std::uint32_t number) {
    if (number > newest_) {
      if (number - newest_ >= kNumbers)
        seen_.reset();
      else
        for (std::uint32_t passed = newest_ + 1; passed != number; ++passed) seen_.reset(passed % kNumbers);
      newest_ = number;
    }
    seen_.set(number % kNumbers);
  }

 private:
  std::uint32_t newest_ = 0;
  std::bitset<kNumbers> seen_;  ///< by number modulo kNumbers: those of the window
};

}  // namespace longhaul::peer
