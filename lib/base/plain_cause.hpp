// SPDX-License-Identifier: BSD-3-Clause
// Why a request was forwarded plain, and what each cause is called wherever it is shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul {

/// Why a SEND or WRITE with AckReq had no pseudo-ACK. What passes because of an earlier request counts for its cause.
enum class PlainCause : std::uint8_t {
  policy,
  unconfirmed,
  custody_flow,
  custody_box,
  custody_pair,
  custody_buffers,
  gap,
  catching_up,
  doubted,
  untrusted,
  draining,
  ended,
  unknown,
};
inline constexpr std::size_t kPlainCauses = static_cast<std::size_t>(PlainCause::unknown) + 1;

struct PlainCauseInfo {
  std::string_view name;  ///< for programs
  std::string_view why;   ///< for people, of the requests
};

inline constexpr std::array<PlainCauseInfo, kPlainCauses> kPlainCauseInfo = {{
    {"policy", "policy is off for their hosts"},
    {"unconfirmed", "no real answer has confirmed their connection yet"},
    {"custody_flow", "their flow has its limit of custody"},
    {"custody_box", "custody is full"},
    {"custody_pair", "their two hosts have their share of custody"},
    {"custody_buffers", "custody has no buffers to spare"},
    {"gap", "requests before them were lost on the way to the box"},
    {"catching_up", "what passed plain before them is not answered yet"},
    {"doubted", "their queue pairs may have a new connection"},
    {"untrusted", "answers contradicted the box, or none came"},
    {"draining", "the box drains"},
    {"ended", "their connection failed or is in error"},
    {"unknown", "their connection is unknown"},
}};

/// A number for each cause.
template <typename Number>
using ByPlainCause = std::array<Number, kPlainCauses>;

}  // namespace longhaul
