// SPDX-License-Identifier: BSD-3-Clause
// What a capture shows of one flow's requests, PSN by PSN: the evidence for why an ACK has no pseudo-ACK.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "wire/frame.hpp"

namespace longhaul::replay {

/// How the engine treated an arrival of a request.
enum class Treatment : std::uint8_t {
  beyond_gap,  ///< dropped: an earlier PSN was still missing
  plain,       ///< passed without custody
  bad_icrc,    ///< passed; nothing in the frame was trusted
  other,
};

/// All arrivals of the request with one PSN.
struct Seen {
  std::uint64_t first_frame = 0;  ///< number in the capture, from 1
  std::uint64_t last_frame = 0;
  std::uint32_t arrivals = 0;
  std::uint32_t beyond_gap = 0;  ///< arrivals treated as beyond_gap
  std::uint32_t plain = 0;
  std::uint32_t bad_icrc = 0;
  bool ack_req = false;         ///< set in any arrival
  bool wants_response = false;  ///< READ or atomic
  bool unknown_opcode = false;
};

class RequestHistory {
 public:
  void note(const wire::Frame& request, std::uint64_t frame_number, Treatment treatment);

  /// The newest arrival of this PSN was dropped after all, beyond a gap.
  void note_beyond_gap(std::uint32_t psn);

  const Seen* find(std::uint32_t psn) const;
  /// The first READ or atomic with a PSN in [from, to].
  std::optional<std::uint32_t> read_or_atomic_between(std::uint32_t from, std::uint32_t to) const;
  /// The first request with a PSN in [from, to] that passed without custody.
  std::optional<std::uint32_t> plain_between(std::uint32_t from, std::uint32_t to) const;

 private:
  template <typename Match>
  std::optional<std::uint32_t> first_between(std::uint32_t from, std::uint32_t to, Match match) const;

  /// PSNs of the last half circle: older PSNs cannot be told from future ones.
  std::map<std::uint32_t, Seen> by_psn_;
  std::optional<std::uint32_t> newest_;
};

}  // namespace longhaul::replay
