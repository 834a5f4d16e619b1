// SPDX-License-Identifier: BSD-3-Clause
// What the far box knows of the order of one flow's requests: the first PSN that it has not handed on, and the runs of
// those that came behind a gap.
#pragma once

#include <cstdint>

#include "flow/key_index.hpp"
#include "relay/messages.hpp"
#include "relay/runs.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

struct FarFlow {
  flow::KeyIndex::Key key;
  Speaker peer = 0;
  Name name{};
  std::uint32_t path_mtu = 0;
  std::uint32_t next = 0;  ///< first PSN not handed on
  // PSNs that the near box has sent and does not have: [lacks_from, lacks_to).
  std::uint32_t lacks_from = 0;
  std::uint32_t lacks_to = 0;
  std::uint32_t hosts = 0;  ///< which share of the room its two hosts have
  Runs runs;
  std::uint8_t bound_left = 0;   ///< reports that must still say so
  std::uint8_t mended_left = 0;  ///< the same
  bool in_use = false;
  bool listed = false;  ///< among those that have something to report
  bool ready = false;   ///< among those that have something to hand on
  bool ending = false;  ///< gaps are not waited for any more, and the binding ends when all is handed on

  /// `psn` never comes from the near box.
  bool is_lacked(std::uint32_t psn) const { return !wire::psn_lt(psn, lacks_from) && wire::psn_lt(psn, lacks_to); }
  /// What is held next in order can go on.
  bool can_go() const { return !runs.empty() && (runs.first().begin == next || ending || is_lacked(next)); }
  bool has_gap() const { return !runs.empty() && runs.first().begin != next; }
};

}  // namespace longhaul::relay
