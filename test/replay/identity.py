# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul run` itself, and QPs that may have begun another life (docs/design.md, section 4).

Frames of a capture, and forged ones made from them, through a box whose ports are capture files (killed.py).
"""
import struct

import roce
from capture import Captured
from edges import EDGES
from killed import Box, expect, first_connection

NEW_MAC = bytes.fromhex("02000000aa01")
LISTENER_ID, LISTENER_QPN, FORGED_ID = 0x5eed0001, 0x4242, 0xF0F0F0F0


def frame(data):
    return Captured(0, bytes(data), len(data))


def turned_cm(packet, words):
    """The CM message as the other host would send it, MAC and IP addresses exchanged, with other `words`: {offset: word},
    offsets from the communication ID on."""
    data = bytearray(packet.data)
    _, ip, _ = roce.skip_tags(data)
    data[:12] = data[6:12] + data[:6]
    data[ip + 12:ip + 20] = data[ip + 16:ip + 20] + data[ip + 12:ip + 16]
    message = packet.bth + 12 + 8 + 24  # BTH, DETH and the MAD's common header
    for offset, word in words.items():
        struct.pack_into("!I", data, message + offset, word)
    return frame(roce.with_icrc(bytes(data)))


class Connection:
    """The capture's first connection from its set-up on, and what else its two hosts could send."""

    def __init__(self):
        self.setup, self._requests, self.closing = first_connection()
        self._cm = [roce.parse(captured.data) for _, captured in self.setup[:3]]
        self._first, self._ack = (roce.parse(captured.data) for _, captured in self.setup[3:5])
        self.first_psn = self._first.psn

    def request(self, nth):
        """The nth request, from 0; each is a message of one packet."""
        return ("host", self.setup[3][1] if nth == 0 else self._requests[nth - 1][0])

    def other_bytes(self, nth):
        """The nth request with another payload."""
        data = bytearray(self.request(nth)[1].data)
        packet = roce.parse(bytes(data))
        data[packet.end - 1] ^= 0x5A
        return ("host", frame(roce.with_icrc(bytes(data))))

    def read(self, nth, length):
        """A READ request with the nth request's PSN."""
        reth = struct.pack("!QII", 0x1000, 0x77, length)
        return ("host", frame(roce.rewritten(self._first, roce.READ_REQUEST, self.first_psn + nth, reth)))

    def answer(self, nth, msn, syndrome=0x1F):
        aeth = struct.pack("!I", syndrome << 24 | msn)
        return ("wan", frame(roce.rewritten(self._ack, roce.ACK, self.first_psn + nth, aeth, ack_req=False)))

    def forged_req(self):
        """A REQ with the far host's address and its QPN, to a service of the near host."""
        return ("wan", turned_cm(self._cm[0], {0: FORGED_ID, 32: self._first.qpn << 8}))

    def rep_to_forged_req(self):
        """The near host's genuine answer."""
        return ("host", turned_cm(self._cm[1], {0: LISTENER_ID, 4: FORGED_ID, 12: LISTENER_QPN << 8}))

    def gratuitous_arp(self, mac):
        """The far host, or the router that has its address, says where it is from now on."""
        address = self._first.destination.packed
        arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + address + bytes(6) + address
        return ("wan", frame(b"\xff" * 6 + mac + b"\x08\x06" + arp + bytes(18)))


def pseudo_acks(box, connection):
    """Where they are, counted from the first request."""
    return [packet.psn - connection.first_psn for packet in box.roce("host") if packet.real_ack]


def passed(box, name):
    box.wait_for(f"the {name}", lambda: [packet.name for packet in box.roce("wan")].count(f"CM_{name}") == 1)


def acknowledged(box, connection, nth):
    box.wait_for(f"an ACK for request {nth}", lambda: nth in pseudo_acks(box, connection))


def qpn_used_again(longhaul, directory):
    """All is answered, and the QPs begin again without RDMA-CM: the same first packet, others after it. Nothing that the
    responder has not got is acknowledged, and nothing is kept from it."""
    connection = Connection()
    old = [connection.request(nth) for nth in (1, 2, 3, 4)] + [connection.answer(4, 5)]
    again = [connection.request(0)] + [connection.other_bytes(nth) for nth in (1, 2, 3)]
    with Box(longhaul, directory, connection.setup + old + again) as box:
        sent = lambda: [packet.data for packet in box.roce("wan") if packet.request]
        box.wait_for("the new life's requests", lambda: len(sent()) >= 5 + len(again))
        _, stats = box.stop()
        yield from expect("what reached the WAN", sent()[5:], [captured.data for _, captured in again])
        yield from expect("ACKs", pseudo_acks(box, connection), [0, 1, 2, 3, 4])
        yield from expect("absorbed_duplicates", stats["absorbed_duplicates"], 0)


def forged_req_ends_nothing(longhaul, directory):
    """A REQ of a forger, and the genuine REP to it: what was acknowledged stays in custody until it is answered."""
    connection = Connection()
    owed = [connection.request(nth) for nth in (1, 2, 3)]
    forged = [connection.forged_req(), connection.rep_to_forged_req()]
    with Box(longhaul, directory, connection.setup + owed + forged) as box:
        acknowledged(box, connection, 3)
        passed(box, "REP")
        code, stats = box.stop()
        yield from expect("exit code with packets in custody", code, 1)
        yield from expect("unconfirmed_at_close_bytes", stats["unconfirmed_at_close_bytes"], 0)

    with Box(longhaul, directory, []) as box:
        box.wait_for("the flow in the restart record", lambda: "the box was restarted" in box.errors())
        box.stop()

    answered = connection.answer(3, 4)
    with Box(longhaul, directory, connection.setup + owed + forged + [answered]) as box:
        acknowledged(box, connection, 3)
        passed(box, "REP")
        code, stats = box.stop()
        yield from expect("exit code after the answer", code, 0)
        yield from expect("flows_resumed", stats["flows_resumed"], 1)


def resends_follow_the_next_hop(longhaul, directory):
    """The far router dies, another one announces its address: what is sent again goes there."""
    connection = Connection()
    frames = connection.setup + [connection.request(1), connection.gratuitous_arp(NEW_MAC)]
    with Box(longhaul, directory, frames) as box:
        again = lambda: [packet for packet in box.roce("wan") if packet.psn == connection.first_psn + 1 and packet.rc][1:]
        box.wait_for("a resend", again)
        box.stop()
        yield from expect("MAC addresses of resends", {packet.macs[:6] for packet in again()}, {NEW_MAC})
        yield from expect("their ICRC", all(packet.icrc_ok for packet in again()), True)


def unknown_nak(longhaul, directory):
    """A NAK of a code that IBTA does not define, for what was acknowledged: no answer, and no failure."""
    connection = Connection()
    frames = connection.setup + [connection.request(1), connection.answer(1, 1, 0x65), connection.answer(1, 2)]
    with Box(longhaul, directory, frames) as box:
        acknowledged(box, connection, 1)
        code, stats = box.stop()
        yield from expect("exit code", code, 0)
        yield from expect("flows_failed", stats["flows_failed"], 0)
        yield from expect("absorbed_unknown_naks", stats["absorbed_unknown_naks"], 1)
        yield from expect("answers to the host", [(packet.syndrome >> 5, packet.psn - connection.first_psn)
                                                 for packet in box.roce("host") if packet.opcode == roce.ACK], [(0, 0), (0, 1)])


def forged_read(longhaul, directory):
    """A READ of 2^31 bytes below all that is under way: once the responder has answered, requests are acknowledged."""
    connection = Connection()
    frames = connection.setup + [connection.request(1), connection.read(-20, 1 << 31), connection.answer(1, 2),
                                 connection.request(2), connection.answer(2, 3), connection.request(3)]
    with Box(longhaul, directory, frames) as box:
        acknowledged(box, connection, 3)
        box.stop()


def same_exchange_again(longhaul, directory):
    """A connection is set up, used and closed three times within a moment, with the same IDs, QPNs and PSNs."""
    connection = Connection()
    once = connection.setup + [connection.request(1), connection.answer(1, 2)] + connection.closing
    with Box(longhaul, directory, once * 3) as box:
        names = lambda: [packet.name for packet in box.roce("wan")]
        box.wait_for("the last DREQ", lambda: names().count("CM_DREQ") == 3)
        _, stats = box.stop()
        one = ["CM_REQ", "CM_RTU", "SEND_ONLY", "SEND_ONLY", "CM_DREQ"]
        yield from expect("what reached the WAN", names(), one * 3)
        yield from expect("connections_learned", stats["connections_learned"], 3)
        yield from expect("connections_closed", stats["connections_closed"], 3)


def failed_flow_and_the_next_user(longhaul, directory):
    """A flow that failed with the box's restart, and another user of its QPN that begins below: no NAK is made for it."""
    connection = Connection()
    with Box(longhaul, directory, connection.setup + [connection.request(nth) for nth in (1, 2, 3)]) as box:
        acknowledged(box, connection, 3)
        box.kill()
    with Box(longhaul, directory, [connection.request(1)]) as box:
        requests = lambda: [packet.psn for packet in box.roce("wan") if packet.request]
        box.wait_for("the request", lambda: requests() == [connection.first_psn + 1])
        _, stats = box.stop()
        yield from expect("flows_failed_by_restart", stats["flows_failed_by_restart"], 1)
        yield from expect("answers", [packet.name for packet in box.roce("host")], [])


EDGES += [qpn_used_again, forged_req_ends_nothing, resends_follow_the_next_hop, unknown_nak, forged_read,
          same_exchange_again, failed_flow_and_the_next_user]
