// SPDX-License-Identifier: BSD-3-Clause
#include "custody/consistency.hpp"

#include <rte_mbuf.h>

#include "custody/near_part.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

using wire::psn_add;
using wire::psn_le;
using wire::psn_lt;

namespace {

/// What one walk from head to tail finds.
struct Walk {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t large = 0;
  std::uint64_t before_unsent = 0;
  const rte_mbuf* first_read = nullptr;
  bool saw_unsent = false;
  bool saw_to_acknowledge = false;
  std::string_view broken;
};

Walk walk(const NearFlow& flow) {
  Walk out;
  const rte_mbuf* unsent = flow.queue.unsent();
  const rte_mbuf* to_acknowledge = flow.queue.to_acknowledge();
  std::uint32_t expected = flow.una;
  for (const rte_mbuf* mbuf = flow.queue.head(); mbuf != nullptr; mbuf = held_in(mbuf).next) {
    const Held& held = held_in(mbuf);
    // A repeated READ may have left only its tail in custody. While rejoining, custody begins behind una.
    const bool may_skip = held.wants_response || out.packets == 0;
    if (held.psn != expected && !(may_skip && psn_lt(expected, held.psn))) out.broken = "custody has a hole";
    if (!psn_le(held.psn, held.last_psn)) out.broken = "a packet in custody ends before it begins";
    expected = psn_add(held.last_psn, 1);
    out.saw_unsent |= mbuf == unsent;
    out.saw_to_acknowledge |= mbuf == to_acknowledge;
    if (!out.saw_unsent) ++out.before_unsent;
    if (out.first_read == nullptr && held.wants_response) out.first_read = mbuf;
    if (!out.saw_unsent && !held.sent) out.broken = "a packet before unsent was never sent";
    ++out.packets;
    out.bytes += mbuf->pkt_len;
    if (!held.small) ++out.large;
    if (rte_mbuf_refcnt_read(mbuf) == 0) out.broken = "a packet in custody was freed";
    if (out.packets > flow.queue.packets()) break;  // a ring
  }
  if (out.packets != 0 && expected != flow.tail) out.broken = "custody does not end at tail";
  return out;
}

}  // namespace

std::uint64_t large_mbufs_of(const NearFlow& flow) { return walk(flow).large; }

std::string_view inconsistency(const NearFlow& flow) {
  const PacketQueue& queue = flow.queue;
  const std::uint32_t top = psn_lt(flow.tail, flow.sent_top) ? flow.sent_top : flow.tail;
  if (!psn_le(flow.una, flow.h)) return "una <= h";
  if (!psn_le(flow.h, top)) return "h <= what has come from the requester";
  if (flow.phase == Phase::confirmed && !psn_le(flow.h, flow.tail)) return "confirmed: h <= tail";
  // The lane believes these without looking.
  if (flow.is_usual() && !psn_le(flow.sent_top, flow.tail)) return "usual: nothing beyond custody was forwarded";
  if (flow.is_usual() && queue.unsent() == nullptr && flow.hold_until != 0)
    return "usual: held back, with nothing to send";
  if (!flow.waiting.empty() && flow.owed.gap_nak == GapNak::none) return "usual, and something waits";
  const bool answers = !flow.early_responses.empty() || !flow.early_acknowledges.empty();
  if ((answers || !flow.waiting.empty()) && is_over(flow.phase)) return "over, and something waits";
  if ((answers || !flow.waiting.empty()) && flow.deadline == kNever) return "something waits, and nothing ends that";
  if (flow.policy == flow::Policy::window && flow.phase == Phase::confirmed && !psn_le(flow.h, flow.examined_end))
    return "window: h <= what may be acknowledged";
  if (flow.misplaced_event) return "an event that the phase does not know";
  if (is_over(flow.phase) && !queue.empty()) return "over, with custody";
  if (queue.empty() && flow.una != flow.h && !is_over(flow.phase)) return "acknowledged, unanswered and not in custody";
  if (flow.owes() && psn_lt(flow.una, held_in(queue.head()).psn) && !held_in(queue.head()).wants_response)
    return "the oldest acknowledged packet is not in custody";

  const Walk found = walk(flow);
  if (!found.broken.empty()) return found.broken;
  if (NearPart::owed_bytes(flow) != flow.unconfirmed_bytes()) return "bytes acknowledged and not answered";
  if (found.packets != queue.packets() || found.bytes != queue.bytes()) return "custody's sums";
  if (queue.unsent() != nullptr && !found.saw_unsent) return "unsent is not in custody";
  if (queue.to_acknowledge() != nullptr && !found.saw_to_acknowledge) return "to_acknowledge is not in custody";
  if (found.before_unsent != queue.under_way()) return "packets under way";
  if (found.first_read != queue.first_read()) return "the first READ or atomic request";
  return {};
}

}  // namespace longhaul::custody
