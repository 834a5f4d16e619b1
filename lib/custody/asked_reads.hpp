// SPDX-License-Identifier: BSD-3-Clause
// READs that may be another life's. A responder acknowledges nothing within a READ and expects the next request after
// the last response. That PSN depends on the path MTU, which another life need not share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

class AskedReads {
 public:
  /// Notes a READ of `bytes` whose first response has `psn`. Returns false, and notes nothing, when there is no room.
  bool add(std::uint32_t psn, std::uint32_t bytes) {
    const Read read{psn, bytes};
    if (any([&read](const Read& other) { return other == read; })) return true;
    if (count_ == kMost) return false;
    reads_[count_++] = read;
    return true;
  }

  /// A READ may end just before `psn`: its responder may expect a request there.
  bool may_end_at(std::uint32_t psn) const {
    return any([psn](const Read& read) { return read.may_end_within(psn, 0); });
  }

  /// One may end at `psn`, or up to `reach` PSNs before it.
  bool may_come_to(std::uint32_t psn, std::uint32_t reach) const {
    return any([=](const Read& read) { return read.may_end_within(psn, reach); });
  }

  /// The PSN after the highest possible response; `psn` when none lies beyond `psn`.
  std::uint32_t top_from(std::uint32_t psn) const {
    std::uint32_t top = psn;
    for (unsigned i = 0; i < count_; ++i) {
      const std::uint32_t end = wire::psn_add(reads_[i].psn, reads_[i].most_psns());
      if (wire::psn_lt(top, end)) top = end;
    }
    return top;
  }

  /// A response may have `psn`.
  bool may_have(std::uint32_t psn) const {
    return any([psn](const Read& read) { return ((psn - read.psn) & wire::kPsnMask) < read.most_psns(); });
  }

 private:
  static constexpr unsigned kMost = 2;

  struct Read {
    std::uint32_t psn = 0;
    std::uint32_t bytes = 0;
    bool operator==(const Read&) const = default;

    std::uint32_t most_psns() const { return wire::responses_to_read(bytes, wire::kLeastPathMtu); }

    // For one of the path MTUs, the READ ends at `place`, or up to `reach` PSNs before it.
    bool may_end_within(std::uint32_t place, std::uint32_t reach) const {
      for (std::uint32_t mtu = wire::kLeastPathMtu; mtu <= wire::kMostPathMtu; mtu *= 2)
        if (((place - psn - wire::responses_to_read(bytes, mtu)) & wire::kPsnMask) <= reach) return true;
      return false;
    }
  };

  template <typename Condition>
  bool any(Condition condition) const {
    return std::any_of(reads_.begin(), reads_.begin() + count_, condition);
  }

  std::array<Read, kMost> reads_{};
  unsigned count_ = 0;
};

}  // namespace longhaul::custody
