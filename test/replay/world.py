# SPDX-License-Identifier: BSD-3-Clause
"""What a capture shows of the connections in it: the model that a replay's output is judged against."""
import ipaddress
import math
import re
from dataclasses import dataclass, field

import roce


@dataclass
class Request:
    """One new request packet that arrived in sequence."""
    psn: int
    next_psn: int
    msn: int  # messages completed once this packet is executed
    index: int  # of its first in-sequence arrival in the capture
    answered_by_data: bool
    p_key: int


@dataclass
class Flow:
    """Requests of one direction of an RC connection that RDMA-CM or perftest over TCP set up within the capture."""
    requester: object
    responder: object
    responder_qpn: int
    requester_qpn: int
    mtu: int
    expected: int  # next PSN in sequence
    over_tcp: bool = False
    msn: int = 0
    requests: dict = field(default_factory=dict)  # PSN: Request
    arrivals: dict = field(default_factory=dict)  # PSN: [(index, in sequence or a repeat)]
    real_acks: list = field(default_factory=list)  # (index, Packet)

    def request(self, index, packet):
        ahead = roce.psn_diff(packet.psn, self.expected)
        self.arrivals.setdefault(packet.psn, []).append((index, ahead <= 0))
        if ahead != 0 or not packet.icrc_ok:
            return
        span = 1
        if packet.opcode == roce.READ_REQUEST:
            span = max(1, math.ceil(packet.dma_length / self.mtu))
        self.msn = (self.msn + (packet.opcode in roce.MESSAGE_ENDS)) & roce.PSN_MASK
        self.expected = (packet.psn + span) & roce.PSN_MASK
        self.requests[packet.psn] = Request(packet.psn, self.expected, self.msn, index,
                                            packet.opcode == roce.READ_REQUEST or packet.opcode in roce.ATOMIC_REQUESTS,
                                            packet.p_key)

    def __str__(self):
        return f"{self.requester} {self.requester_qpn:#x} -> {self.responder} {self.responder_qpn:#x}"


class World:
    """Everything in a capture: its packets, their sides, its connections and flows."""

    def __init__(self, frames, near):
        self.frames = frames
        self.packets = [roce.parse(frame.data) for frame in frames]
        self.sides = sides(frames, near)
        self.flows = []
        self.flow_of = []  # by frame: the flow whose request or answer it is, or None
        self.teardowns = set()  # communication IDs, as frozensets of both, with DREQ and DREP seen
        self.connections = set()
        self._by_key = {}
        self._by_requester = {}
        self._requests = {}
        self._dreqs = set()
        self._told_over_tcp = {}
        for index, packet in enumerate(self.packets):
            self.flow_of.append(None)
            if packet is None:
                self._tcp(frames[index].data)
                continue
            if packet.cm:
                self._cm(packet)
            elif packet.rc:
                self._rc(index, packet)

    def _cm(self, packet):
        cm = packet.cm
        both = frozenset((cm["local"], cm["remote"]))
        if cm["attribute"] == roce.CM_REQ and cm["reliable"]:
            self._requests[(packet.source, cm["local"])] = cm
        elif cm["attribute"] == roce.CM_REP and both not in self.connections:
            request = self._requests.get((packet.destination, cm["remote"]))
            if request is None:
                return
            self.connections.add(both)
            # The PSN in a CM message is the one that its receiver starts to send with.
            self._flow(packet.destination, packet.source, cm["qpn"], request["qpn"], request["mtu"], cm["psn"])
            self._flow(packet.source, packet.destination, request["qpn"], cm["qpn"], request["mtu"], request["psn"])
        elif cm["attribute"] == roce.CM_DREQ:
            self._dreqs.add(both)
        elif cm["attribute"] == roce.CM_DREP and both in self._dreqs:
            self.teardowns.add(both)

    def _tcp(self, data):
        """perftest tells its peer over TCP, as text: LID, READs at once, QPN, starting PSN, R_Key, address, GID."""
        told = re.match(rb"[0-9a-f]{4}:[0-9a-f]{4}:([0-9a-f]{6}):([0-9a-f]{6}):", roce.tcp_payload(data))
        if not told:
            return
        source, destination = (ipaddress.ip_address(data[at:at + 4]) for at in (26, 30))
        ends = self._told_over_tcp
        ends[source] = [int(number, 16) for number in told.groups()]
        if destination not in ends or (source, destination, ends[destination][0]) in self._by_key:
            return
        for one, two in ((source, destination), (destination, source)):
            self._flow(one, two, ends[two][0], ends[one][0], 4096, ends[one][1], over_tcp=True)

    def _flow(self, requester, responder, responder_qpn, requester_qpn, mtu, psn, over_tcp=False):
        flow = Flow(requester, responder, responder_qpn, requester_qpn, mtu, psn, over_tcp)
        self.flows.append(flow)
        self._by_key[(requester, responder, responder_qpn)] = flow
        self._by_requester[(responder, requester, requester_qpn)] = flow

    def _rc(self, index, packet):
        flow = (self._by_key if packet.request else self._by_requester).get(packet.key)
        self.flow_of[index] = flow
        if flow is None:
            return
        if packet.request:
            flow.request(index, packet)
        elif packet.real_ack and packet.icrc_ok:
            flow.real_acks.append((index, packet))

    @property
    def all_torn_down(self):
        """False also where a connection was set up over TCP: no DREQ tells its end."""
        return self.connections == self.teardowns and not any(flow.over_tcp and flow.requests for flow in self.flows)

    def requester_flow(self, packet):
        """The flow that an answer belongs to."""
        return self._by_requester.get(packet.key)

    def request_flow(self, packet):
        return self._by_key.get(packet.key)


def sides(frames, near):
    """"host" or "wan" for each frame: by IP or ARP sender, else by a MAC known to be near."""
    networks = [ipaddress.ip_network(prefix) for prefix in near]
    macs, result = set(), []
    for frame in frames:
        address, mac = roce.sender(frame.data), frame.data[6:12]
        if address is not None and any(address in network for network in networks):
            macs.add(mac)
            result.append("host")
        elif address is not None and not (address.is_link_local or address.is_unspecified):
            result.append("wan")
        else:
            result.append("host" if mac in macs else "wan")
    return result
