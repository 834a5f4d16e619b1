# SPDX-License-Identifier: BSD-3-Clause
"""Judges one replay by its input, its two outputs and its report. Each check yields lines that say what is wrong."""
import struct
from collections import Counter, defaultdict

import roce

# Of a connection that RDMA-CM did not announce: the first reveals it, with the second it is learned.
ACKS_BEFORE_LEARNED = 1
REORDER_WAIT = 200_000  # ns: timers.reorder_wait


class Outputs:
    """The frames that left the two ports, each explained: forwarded, resent or made by the box."""

    def __init__(self, world, out):
        self.world = world
        self.out = out  # {"host": [Captured], "wan": [Captured]}
        self.packets = {side: [roce.parse(frame.data) for frame in frames] for side, frames in out.items()}
        self.forwarded = {"host": [], "wan": []}  # (output index, input index)
        self.resends = []  # indices into wan
        self.pseudo_acks = []  # indices into host
        self.naks = []  # indices into host
        self.cnps = []  # indices into host
        self.errors = []
        for side in ("host", "wan"):
            self._explain(side)

    def _is_cnp(self, data, packet):
        """A congestion notification, field by field, for a QP that the responder's own answers go to (IPv4)."""
        fields = struct.unpack_from("!BBHII", data, packet.bth)
        answered = any(answer and answer.opcode == roce.ACK and side == "wan" and
                       (answer.destination, answer.qpn) == (packet.destination, packet.qpn)
                       for answer, side in zip(self.world.packets, self.world.sides))
        return (fields == (0x81, 0, packet.p_key, 0x40 << 24 | packet.qpn, 0) and data[15] == 48 << 2 | 2 and
                packet.icrc_ok and data[packet.bth + 12:packet.bth + 28] == bytes(16) and answered)

    def _explain(self, side):
        world = self.world
        inputs = defaultdict(list)
        blanked = {}
        for index, frame in enumerate(world.frames):
            if world.sides[index] != side:
                inputs[frame.data].append(index)
                packet = world.packets[index]
                if packet and packet.request:
                    blanked.setdefault(roce.without_ack_req(packet), frame.time)
        last, newest, taken = {}, {}, set()
        for position, frame in enumerate(self.out[side]):
            packet = self.packets[side][position]
            # DREQs may be held; each RC flow and everything else keeps its own order.
            group = ("dreq",) if packet and packet.cm and packet.cm["attribute"] == roce.CM_DREQ else (
                packet.key + (packet.request,) if packet and packet.rc else ())
            candidates = [index for index in inputs[frame.data]
                          if index > last.get(group, -1) and world.frames[index].time <= frame.time]
            # What came before its turn goes behind what was late, or when it has waited for long enough.
            waited = [index for index in inputs[frame.data] if packet and packet.rc and index not in taken and
                      world.frames[index].time <= frame.time <= world.frames[index].time + REORDER_WAIT and
                      (frame.time == world.frames[index].time + REORDER_WAIT or
                       0 < (packet.psn - newest.get(group, packet.psn)) % (1 << 24) < 1 << 23)]
            if candidates or waited:
                index = candidates[0] if candidates else waited[0]
                taken.add(index)
                last[group] = max(index, last.get(group, -1)) if candidates else last.get(group, -1)
                if packet and packet.rc:
                    newest[group] = packet.psn
                self.forwarded[side].append((position, index))
            elif side == "wan" and packet and packet.request and blanked.get(
                    roce.without_ack_req(packet), frame.time + 1) <= frame.time:
                self.resends.append(position)
            elif side == "host" and packet and packet.opcode == roce.ACK:
                (self.pseudo_acks if packet.real_ack else self.naks).append(position)
            elif side == "host" and packet and self._is_cnp(frame.data, packet):
                self.cnps.append(position)
            else:
                kind = packet.name if packet else "a frame that is not RoCE"
                self.errors.append(f"{side} frame {position + 1}: {kind} is neither forwarded in order nor made by the box")


def check_explained(outputs, report):
    yield from outputs.errors
    for side in ("host", "wan"):
        if len(outputs.out[side]) != report[f"emitted_{side}"]:
            yield f"{side} output has {len(outputs.out[side])} frames, the report says {report[f'emitted_{side}']}"
    made = report["made"]
    on_host = made["pseudo_acks"] + made["pseudo_acks_repeated"] + made["pseudo_naks"] + made["repair_naks"] + made["rnr_naks_made"] + made["fatal_naks"]
    on_host += made["cnps_made"]
    if len(outputs.cnps) != made["cnps_made"]:
        yield f"{len(outputs.cnps)} CNPs are not from the capture, the report says {made}"
    if report["emitted_host"] != report["forwarded_host"] + on_host:
        yield f"host output: {report['emitted_host']} sent, {report['forwarded_host']} forwarded + {on_host} made"
    if report["emitted_wan"] != report["forwarded_wan"] + made["resends"]:
        yield f"WAN output: {report['emitted_wan']} sent, {report['forwarded_wan']} forwarded + {made['resends']} resent"
    # A made frame may equal a captured one to the byte, so the outside can only find fewer.
    if len(outputs.pseudo_acks) > made["pseudo_acks"] + made["pseudo_acks_repeated"]:
        yield f"{len(outputs.pseudo_acks)} ACKs are not from the capture, the report says {made}"
    if len(outputs.resends) > made["resends"]:
        yield f"{len(outputs.resends)} resends found, the report says {made['resends']}"


def check_sums(outputs, report):
    if not report["sum_ok"]:
        yield "sum_ok is false"
    total = report["forwarded_host"] + report["forwarded_wan"] + sum(report["not_forwarded"].values())
    if total != report["frames"] or report["frames"] != len(outputs.world.frames):
        yield f"{len(outputs.world.frames)} frames in the capture, {report['frames']} in the report, sum {total}"
    compared = sum(report[f"real_acks_{kind}"] for kind in ("matched", "mismatched", "unmatched", "forwarded"))
    if compared != report["real_acks"]:
        yield f"real ACKs: {report['real_acks']}, but {compared} in the four classes"
    bad = sum(1 for packet in outputs.world.packets if packet and not packet.icrc_ok)
    if bad != report["icrc_bad"]:
        yield f"icrc_bad is {report['icrc_bad']}, the capture has {bad}"


def check_icrc(outputs):
    bad_inputs = {packet.data for packet in outputs.world.packets if packet and not packet.icrc_ok}
    for side in ("host", "wan"):
        for position, packet in enumerate(outputs.packets[side]):
            if packet and not packet.icrc_ok and packet.data not in bad_inputs:
                yield f"{side} frame {position + 1}: {packet.name} PSN {packet.psn} has a wrong ICRC"


def check_untouched(outputs):
    """What is not learned RC goes out of the other side, all of it, in order, to the byte."""
    world = outputs.world

    def is_dreq(packet):
        return packet is not None and packet.cm is not None and packet.cm["attribute"] == roce.CM_DREQ

    learned = {flow_key for flow in world.flows for flow_key in (
        (flow.requester, flow.responder, flow.responder_qpn), (flow.responder, flow.requester, flow.requester_qpn))}

    def untouchable(packet):
        return packet is None or not packet.rc or packet.key not in learned

    for side in ("host", "wan"):
        entered = [(frame.data, world.packets[i]) for i, frame in enumerate(world.frames)
                   if world.sides[i] != side and untouchable(world.packets[i])]
        made = outputs.cnps if side == "host" else ()
        left = [(frame.data, outputs.packets[side][i]) for i, frame in enumerate(outputs.out[side])
                if untouchable(outputs.packets[side][i]) and i not in made]
        if [data for data, packet in entered if not is_dreq(packet)] != [data for data, packet in left if not is_dreq(packet)]:
            yield f"frames that are not learned RC did not come out of the {side} port as they went in"
        missing = Counter(data for data, packet in entered if is_dreq(packet))
        missing.subtract(data for data, packet in left if is_dreq(packet))
        if any(count < 0 for count in missing.values()) or sum(missing.values()) > 0:
            yield f"DREQs on the {side} port: {dict(missing)}"


def check_pseudo_acks(outputs):
    """Each ACK that the box made: for whom, for what, when, and with which fields."""
    world = outputs.world
    sent_at = defaultdict(list)  # (flow, PSN): times at which the request left the WAN port
    for frame, packet in zip(outputs.out["wan"], outputs.packets["wan"]):
        if packet and packet.request and (flow := world.request_flow(packet)):
            sent_at[(id(flow), packet.psn)].append(frame.time)
    answered = defaultdict(set)  # flow: PSNs of READ and atomic responses that have left the host port
    made = set(outputs.pseudo_acks)
    judged = 0
    for position, (frame, packet) in enumerate(zip(outputs.out["host"], outputs.packets["host"])):
        flow = packet and packet.rc and not packet.request and world.requester_flow(packet)
        if flow and (packet.opcode in roce.READ_RESPONSES or packet.opcode == roce.ATOMIC_ACK):
            answered[id(flow)].add(packet.psn)
        if position not in made:
            continue
        where = f"host frame {position + 1}, pseudo-ACK of PSN {packet.psn} to QPN {packet.qpn:#x}"
        if not flow:
            yield f"{where}: no RC connection set up in the capture has this requester"
            continue
        request = flow.requests.get(packet.psn)
        if request is None or world.frames[request.index].time > frame.time:
            yield f"{where}: its request had not come in sequence"
            continue
        if not any(time <= frame.time for time in sent_at[(id(flow), packet.psn)]):
            yield f"{where}: its request had not left the WAN port"
        if (packet.msn, packet.syndrome, packet.p_key) != (request.msn, 0x1F, request.p_key):
            yield f"{where}: MSN {packet.msn}, syndrome {packet.syndrome:#x}, P_Key {packet.p_key:#x}; MSN should be {request.msn}"
        for earlier in flow.requests.values():
            if not earlier.answered_by_data or roce.psn_diff(packet.psn, earlier.psn) < 0:
                continue
            psn = earlier.psn
            while psn != earlier.next_psn:
                if psn not in answered[id(flow)]:
                    yield f"{where}: the response {psn} of READ or atomic {earlier.psn} had not gone to the requester"
                    break
                psn = (psn + 1) & roce.PSN_MASK
        real = next((ack for index, ack in flow.real_acks
                     if ack.psn == packet.psn and world.frames[index].time >= frame.time), None)
        if real is None:
            continue
        judged += 1
        for name in ("macs", "tags", "source", "destination", "opcode", "p_key", "qpn", "psn", "syndrome", "msn"):
            if getattr(packet, name) != getattr(real, name):
                yield f"{where}: {name} is {getattr(packet, name)}, the responder's is {getattr(real, name)}"
        if len(packet.data) != len(real.data):
            yield f"{where}: {len(packet.data)} bytes, the responder's has {len(real.data)}"
    outputs.judged_pseudo_acks = judged


def check_real_acks(outputs, report):
    """The report's own verdict, and its reasons wherever the capture can prove or disprove them."""
    world = outputs.world
    for mismatch in report["mismatches"]:
        yield f"mismatch: {mismatch}"
    if report["real_acks_mismatched"]:
        yield f"{report['real_acks_mismatched']} mismatched"
    acks = 0
    for flow in world.flows:
        from_beyond = sum(1 for index, _ in flow.real_acks if world.sides[index] == "wan")
        acks += max(0, from_beyond - ACKS_BEFORE_LEARNED) if flow.over_tcp else from_beyond
    if acks != report["real_acks"]:
        yield f"real_acks is {report['real_acks']}, the capture has {acks} for learned flows from beyond the box"
    for item in report["unmatched"]:
        index = item["frame"] - 1
        flow = world.flow_of[index]
        where = f"unmatched ACK, frame {item['frame']}, PSN {item['psn']}: \"{item['reason']}\""
        if flow is None:
            yield f"{where}: the frame belongs to no flow"
            continue
        arrivals = [in_sequence for at, in_sequence in flow.arrivals.get(item["psn"], []) if at < index]
        if item["reason"].startswith("request not in the capture") and arrivals:
            yield f"{where}: but it is"
        if item["reason"].startswith("request arrived beyond a gap") and (not arrivals or any(arrivals)):
            yield f"{where}: but it arrived in sequence"
        if "before confirmation" in item["reason"]:
            earlier = [ack.psn for at, ack in flow.real_acks if at < index]
            if not any(roce.psn_diff(item["psn"], psn) <= 0 for psn in earlier):
                yield f"{where}: but no earlier ACK covers it"
        if item["reason"] == "unexplained":
            yield where


def check_custody(outputs, report, ends_early):
    """Every orderly disconnect leaves nothing behind."""
    torn_down = outputs.world.all_torn_down
    if torn_down == bool(ends_early):
        yield f"the table says ends_early={ends_early}, but all connections torn down: {torn_down}"
    if ends_early:
        return
    if report["custody_left_packets"] != 0:
        yield f"{report['custody_left_packets']} packets left in custody"
    for flow in report["flows"]:
        if flow["end"] != "orderly":
            yield f"flow {flow['requester']} {flow['requester_qpn']} -> {flow['responder_qpn']} ended {flow['end']}"


def check_all(outputs, report, ends_early=False):
    errors = []
    for found in (check_explained(outputs, report), check_sums(outputs, report), check_icrc(outputs),
                  check_untouched(outputs), check_pseudo_acks(outputs), check_real_acks(outputs, report),
                  check_custody(outputs, report, ends_early)):
        errors.extend(found)
    return errors
