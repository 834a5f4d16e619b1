# SPDX-License-Identifier: BSD-3-Clause
"""Deliberate defects: what each changes in the source, and the rule of docs/design.md, section 3, that must catch it.

`old` must stand exactly once in `file`; `run` fails when it does not, so that the table cannot rot. Rule 8 is liveness:
over links that merely lose, everything ends well.
"""
from typing import NamedTuple


class Defect(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    rule: int
    given: str = ''  # what the worlds have that it needs (soak --given), where few have that by chance


DEFECTS = [
    Defect('acknowledges before the WAN port has accepted', 'lib/custody/acknowledge.cpp',
           'if (!held.sent) break;', '', 1),
    Defect('takes damaged requests', 'lib/engine/engine.cpp',
           'if (connection.near.policy != flow::Policy::off && !intact(frame)) return Verdict::forward;', '', 1),
    Defect('a DREQ is not held', 'lib/engine/teardown.cpp',
           '  if (at_once) return Verdict::forward;\n', '  return Verdict::forward;\n', 1),
    Defect('custody at the close of its responder is not counted', 'lib/custody/near_part.cpp',
           'if (flow.owes()) {', 'if (flow.owes() && flow.path_mtu == 1) {', 1),
    Defect('alters a byte when it copies', 'lib/custody/request.cpp',
           '  std::memcpy(rte_pktmbuf_mtod(copy, void*), rte_pktmbuf_mtod(mbuf, const void*), size);\n',
           '  std::memcpy(rte_pktmbuf_mtod(copy, void*), rte_pktmbuf_mtod(mbuf, const void*), size);\n'
           '  rte_pktmbuf_mtod(copy, char*)[size - 5] ^= 1;\n', 2),
    Defect('marks a resend without a new ICRC', 'lib/custody/resend.cpp',
           'wire::store_icrc(bytes + frame.icrc_offset, wire::compute_icrc(frame));', '', 2),
    Defect('new frames overtake those that a port refused', 'lib/engine/egress.cpp',
           'if (refused_.empty()) sent = sink_', 'sent = sink_', 3),
    Defect('a damaged frame is dropped, not passed on', 'lib/engine/engine.cpp',
           'if (connection.near.policy != flow::Policy::off && !intact(frame)) return Verdict::forward;',
           'if (connection.near.policy != flow::Policy::off && !intact(frame)) return Verdict::drop;', 3),
    Defect('MSN too high by one', 'lib/custody/acknowledge.cpp',
           'promise(flow, psn_add(psn, 1), psn_add(flow.msn_base, msn), bytes);',
           'promise(flow, psn_add(psn, 1), psn_add(flow.msn_base, msn + 1), bytes);', 4),
    Defect('P_Key of its own', 'lib/custody/ack_template.cpp',
           '  bth.ack_req = 0;\n', '  bth.ack_req = 0;\n  bth.p_key = 0x7fff;\n', 4),
    Defect('PSN too high by one in a re-acknowledgement', 'lib/custody/acknowledge.cpp',
           'send_made(flow, psn_add(flow.h, -1), flow.msn_h, ack_syndrome(flow),',
           'send_made(flow, flow.h, flow.msn_h, ack_syndrome(flow),', 4),
    Defect('acknowledges past an unfinished READ', 'lib/custody/acknowledge.cpp',
           'if (held.wants_response || is_withheld(flow, held, now)) {',
           'if (held.wants_response) {\n      flow.queue.mark_examined();\n      continue;\n    }\n'
           '    if (is_withheld(flow, held, now)) {', 5),
    Defect('a READ is finished with its first response', 'lib/custody/answer.cpp',
           'if (psn != held.last_psn) return Verdict::forward;', '', 5),
    Defect('asks for a gap before the READ in front of it is answered', 'lib/custody/acknowledge.cpp',
           'if (flow.gap_nak_wanted && flow.phase == Phase::confirmed && flow.queue.to_acknowledge() == nullptr) nak_gap',
           'if (flow.gap_nak_wanted && flow.phase == Phase::confirmed) nak_gap', 5),
    Defect('forgets the fatal NAK', 'lib/custody/acknowledge.cpp',
           'if (flow.fatal_nak_wanted && !flow.doubted() &&\n',
           'if (flow.fatal_nak_wanted && flow.path_mtu == 1 &&\n', 6),
    Defect('the fatal NAK names the PSN after', 'lib/custody/acknowledge.cpp',
           'send_made(flow, flow.fatal_psn, flow.msn_h, wire::nak_syndrome(flow.fatal_code)',
           'send_made(flow, psn_add(flow.fatal_psn, 1), flow.msn_h, wire::nak_syndrome(flow.fatal_code)', 6),
    Defect('passes on a NAK below h', 'lib/custody/answer.cpp',
           '  resend_for_nak(flow, Counter::resends_psn_nak, now);\n  return Verdict::drop;',
           '  resend_for_nak(flow, Counter::resends_psn_nak, now);\n  return Verdict::forward;', 6),
    Defect('a held DREQ has no deadline', 'lib/engine/teardown.cpp',
           'connection.dreqs.add(mbuf, sender, now + settings.dreq_hold);',
           'connection.dreqs.add(mbuf, sender, kNever - 1);', 6),
    Defect('the limit of the box is ignored', 'lib/custody/request.cpp',
           'if (budget_.bytes + bytes > budget_.box_bytes_limit) {', 'if (bytes > budget_.box_bytes_limit) {', 7),
    Defect('a released packet is not freed', 'lib/custody/answer.cpp',
           '  give_back(mbuf);\n}', '  rte_mbuf_refcnt_update(mbuf, 1);\n  give_back(mbuf);\n}', 7),
    Defect('what custody cannot take is dropped', 'lib/custody/request.cpp',
           '    enter_plain(flow);\n    return pass_plain(flow, frame, span);\n  }\n  count_new',
           '    return Verdict::drop;\n  }\n  count_new', 8),
    Defect('lets go of one packet too many at a NAK', 'lib/custody/answer.cpp',
           '  ++counters_[Counter::absorbed_psn_naks];\n  lives(flow, now);\n  release_before(flow, psn, now);',
           '  ++counters_[Counter::absorbed_psn_naks];\n  lives(flow, now);\n  release_before(flow, psn_add(psn, 1), now);',
           8),
    Defect('a resend begins one packet late', 'lib/custody/resend.cpp',
           '  flow.queue.rewind();\n', '  flow.queue.rewind();\n  flow.queue.mark_sent();\n', 8),
    Defect('resends keep the MAC address that they were taken with', 'lib/custody/resend.cpp',
           'if (held.sent) frame = to_next_hop(flow, mbuf, frame);', '', 8,
           'next_hop_dies_at_us=14000'),
    Defect('a first transmission gets another MAC address than its host gave it', 'lib/custody/resend.cpp',
           'if (held.sent) frame = to_next_hop(flow, mbuf, frame);', 'frame = to_next_hop(flow, mbuf, frame);', 2,
           'next_hop_dies_at_us=14000 box_a.wan_mbps=1'),
    Defect('compares PSNs without their circle', 'lib/custody/request.cpp',
           'const std::int32_t ahead = psn_diff(span.psn, flow.tail);',
           'const auto ahead = static_cast<std::int32_t>(span.psn) - static_cast<std::int32_t>(flow.tail);',
           # A life that begins before the end of the circle, behind one that went beyond.
           1, 'come_back=1 a.psn=16777213 a.messages=3'),
    Defect('policy window completes messages', 'lib/custody/acknowledge.cpp',
           'if (flow.policy == flow::Policy::window && held.msn != flow.msn_released) break;', '', 1),
    Defect('promises nothing to the restart record', 'lib/custody/acknowledge.cpp',
           'if (flow.record != nullptr) flow.record->promise(h, msn_h, bytes);', '', 1),
    Defect('writes down as answered what was only taken', 'lib/custody/answer.cpp',
           'flow.record->answered(flow.bytes_answered);', 'flow.record->answered(flow.bytes_taken);', 1),
    Defect('credits never run out', 'lib/custody/acknowledge.cpp',
           'flow.receive_limit - std::min(flow.receive_limit, flow.receives_examined)', 'flow.receive_limit', 4),
    Defect('learns from an ACK that fits two connections', 'lib/flow/traffic_learner.cpp',
           'if (fit.count > 1) {', 'if (fit.count > 9) {', 4,
           'connected=1 starts_us=1100000 connections=3 psns_apart=0'),
    Defect('a DREQ of a connection learned from traffic is not known', 'lib/engine/teardown.cpp',
           'return index && connections[*index].from_traffic ? index : std::nullopt;', 'return std::nullopt;', 1),
    Defect('a REP alone ends the connection that has its QPN', 'lib/engine/learn.cpp',
           'if (outcome.active_side == Side::host) {', 'if (outcome.info.path_mtu != 1) {', 1),
    Defect('a REP alone ends a failed flow', 'lib/engine/learn.cpp',
           'if (table.holder(info, Side::host) || table.holder(info, Side::wan))',
           'if (info.path_mtu == 1)', 6),
    Defect('with confirm: cm, a forged REQ and its REP are enough', 'lib/engine/learn.cpp',
           'learn(info, outcome.active_side == Side::host, outcome.active_side == Side::wan);',
           'learn(info, true, false);', 4),
    Defect('the same exchange is a repeat for ever', 'lib/flow/cm_tracker.cpp',
           'if (pending != pending_.end() && pending->second.connection == connection) erase_pending(pending);',
           'if (pending != pending_.end() && pending->second.connection == connection) pending->second.connection.reset();',
           # The second connection is taken for the first.
           6, 'connected=0 reconnect=1 same_exchange=1 close=2 box_a.confirm_cm=1 box_b.confirm_cm=1 come_back=0 '
           'come_back_qpns=0 come_back_psn=0 leave_us=0 starts_us=0'),
    Defect('custody is sent again where another life waits for its own', 'lib/custody/identity.cpp',
           'if (flow.newcomer.touches(psn)) return false;', 'if (flow.newcomer.touches(psn)) return true;', 2),
    Defect('any answer ends a doubt', 'lib/custody/identity.cpp',
           'if (psn_lt(end, flow.una) || !agrees(flow, end, msn)) return false;',
           'if (psn_lt(end, flow.una) || !agrees(flow, end, msn)) return false;\n  if (msn < 0x1000000) return true;', 1),
    Defect('an answer releases custody whatever its MSN', 'lib/custody/answer.cpp',
           '    if (flow.owes() && !agrees(flow, psn_add(psn, 1), aeth.msn)) return disagreed();\n', '', 1,
           # Another life, not announced, begins where the one before ended, whose custody waits for the long haul.
           'come_back=1 come_back_qpns=0 come_back_psn=10 leave_us=20000 connected=0 starts_us=0 a.messages=10 a.mix=6 '
           'a.uniform=1 a.max_bytes=64 box_a.confirm_cm=1 wan_delay_us=1000 outage_at_us=1900 outage_us=30000 '
           'outage_segment=1'),
]
