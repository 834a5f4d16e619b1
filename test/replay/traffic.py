# SPDX-License-Identifier: BSD-3-Clause
"""RC traffic as other NICs and applications send it: headers of a captured connection, with other opcodes, PSNs and times.

Nothing here reacts: what would come back is put in at the times of a path without a box.
"""
import functools
import ipaddress
import struct

import roce
from capture import Captured
from killed import first_connection

SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x04, 0x06, 0x07, 0x08, 0x0A
ACK, RNR_NAK = 0x1F, 0x20  # syndromes; 0x1f: no credits told
MTU = 4096
US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
START = 1_700_000_000 * SECOND


def symmetric_port(one_qpn, other_qpn):
    """rdma_get_udp_sport() of Linux (include/rdma/ib_verbs.h) for a flow label of 0: equal in both directions."""
    product = one_qpn * other_qpn
    product ^= product >> 20
    product ^= product >> 40
    label = product & 0xFFFFF
    return (label & 0x3FFF) ^ (label >> 14) | 0xC000


_captured = functools.cache(first_connection)  # read once, however many queue pairs there are


class QueuePair:
    """A requester and its responder. What it makes are frames; where in time they are, is the caller's."""

    def __init__(self, requester_qpn=None, responder_qpn=None, psn=None, ports=None, addresses=None):
        """`ports`: UDP source ports of requests and of answers. `addresses`: of requester and responder."""
        self._cm, _, self._closing = _captured()
        self._request, self._answer = (roce.parse(frame.data) for _, frame in self._cm[3:5])
        self.requester_qpn = self._answer.qpn if requester_qpn is None else requester_qpn
        self.responder_qpn = self._request.qpn if responder_qpn is None else responder_qpn
        self.psn = self._request.psn if psn is None else psn  # the first one
        self._ports = ports or (None, None)
        self._addresses = [ipaddress.ip_address(one) for one in addresses] if addresses else None

    def setup(self, time=0):
        """REQ, REP and RTU of RDMA-CM."""
        return [at(time + 10 * US * i, frame.data) for i, (_, frame) in enumerate(self._cm[:3])]

    def closing(self, time):
        """DREQ and DREP."""
        return [at(time + 10 * US * i, frame.data) for i, (_, frame) in enumerate(self._closing)]

    def request(self, nth, opcode, rest=b"", ack_req=True):
        """The request packet with the nth PSN from the first one on, from 0."""
        return roce.rewritten(self._request, opcode, self.psn + nth, rest, ack_req, self.responder_qpn, self._ports[0],
                              self._addresses)

    def answer(self, nth, opcode, rest):
        """The answer with that PSN."""
        return roce.rewritten(self._answer, opcode, self.psn + nth, rest, False, self.requester_qpn, self._ports[1],
                              self._addresses and self._addresses[::-1])

    def write(self, nth, size=64, ack_req=True):
        """A WRITE of one packet."""
        return self.request(nth, WRITE_ONLY, reth(size) + payload(nth, size), ack_req)

    def write_in_packets(self, nth, packets, asks):
        """A WRITE of several full packets, as a list; `asks(i)`: whether the ith one has AckReq."""
        made = []
        for i in range(packets):
            opcode = WRITE_FIRST if i == 0 else WRITE_LAST if i == packets - 1 else WRITE_MIDDLE
            rest = (reth(packets * MTU) if i == 0 else b"") + payload(nth + i, MTU)
            made.append(self.request(nth + i, opcode, rest, asks(i)))
        return made

    def send(self, nth, size=64):
        return self.request(nth, SEND_ONLY, payload(nth, size))

    def read(self, nth, length):
        return self.request(nth, roce.READ_REQUEST, reth(length))

    def ack(self, nth, msn, syndrome=ACK):
        return self.answer(nth, roce.ACK, aeth(syndrome, msn))

    def responses(self, nth, packets, msn):
        """To a READ of several full packets, as a list."""
        made = []
        for i in range(packets):
            first, last = i == 0, i == packets - 1
            opcode = 0x10 if first and last else 0x0D if first else 0x0F if last else 0x0E
            rest = (aeth(ACK, msn) if first or last else b"") + payload(nth + i, MTU)
            made.append(self.answer(nth + i, opcode, rest))
        return made


def reth(length):
    return struct.pack("!QII", 0x10000, 0x77, length)


def aeth(syndrome, msn):
    return struct.pack("!I", syndrome << 24 | msn & roce.PSN_MASK)


def payload(psn, size):
    """Another one for each PSN, so that what is given to the wrong one shows."""
    return struct.pack("!I", psn & 0xFFFFFFFF) * (size // 4)


def at(time, data):
    """`time`: ns from the start."""
    return Captured(START + time, data, len(data))


def in_time(frames):
    return sorted(frames, key=lambda frame: frame.time)


def real_acks_at_host(run):
    """(ns from the start, packet) of each ACK that has left the host port."""
    return [(frame.time - START, packet) for frame in run.out["host"]
            if (packet := roce.parse(frame.data)) and packet.real_ack]
