# SPDX-License-Identifier: BSD-3-Clause
"""RoCEv2 packets, a second time.

An independent reading of the formats for judging longhaul from outside: it shares nothing with the C++ code, and
uses the standard library only. Speed does not matter here, being obviously right does.
"""
import ipaddress
import struct
import zlib
from dataclasses import dataclass, field

RC_NAMES = {
    0x00: "SEND_FIRST", 0x01: "SEND_MIDDLE", 0x02: "SEND_LAST", 0x03: "SEND_LAST_IMM", 0x04: "SEND_ONLY",
    0x05: "SEND_ONLY_IMM", 0x06: "WRITE_FIRST", 0x07: "WRITE_MIDDLE", 0x08: "WRITE_LAST", 0x09: "WRITE_LAST_IMM",
    0x0A: "WRITE_ONLY", 0x0B: "WRITE_ONLY_IMM", 0x0C: "READ_REQUEST", 0x0D: "READ_RESP_FIRST",
    0x0E: "READ_RESP_MIDDLE", 0x0F: "READ_RESP_LAST", 0x10: "READ_RESP_ONLY", 0x11: "ACK", 0x12: "ATOMIC_ACK",
    0x13: "COMPARE_SWAP", 0x14: "FETCH_ADD", 0x16: "SEND_LAST_INV", 0x17: "SEND_ONLY_INV",
}
READ_REQUEST, ACK, ATOMIC_ACK = 0x0C, 0x11, 0x12
READ_RESPONSES = (0x0D, 0x0E, 0x0F, 0x10)
ATOMIC_REQUESTS = (0x13, 0x14)
RESPONSES = READ_RESPONSES + (ACK, ATOMIC_ACK)
MESSAGE_ENDS = (0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, READ_REQUEST) + ATOMIC_REQUESTS + (0x16, 0x17)
CM_REQ, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP = 0x10, 0x12, 0x13, 0x14, 0x15, 0x16
PSN_MASK = 0xFFFFFF


def psn_diff(a, b):
    """How far `a` is after `b` on the 24-bit circle, from -2^23 to 2^23 - 1."""
    distance = (a - b) & PSN_MASK
    return distance - (1 << 24) if distance >= 1 << 23 else distance


@dataclass(frozen=True)
class Captured:
    time: int  # ns
    data: bytes
    length: int  # on the wire


@dataclass
class Packet:
    """A RoCEv2 frame; `opcode` is the whole byte, so RC is below 0x20."""
    data: bytes
    macs: bytes
    tags: tuple
    source: object
    destination: object
    source_port: int
    bth: int  # offset
    opcode: int
    p_key: int
    qpn: int
    ack_req: bool
    psn: int
    end: int  # offset of the ICRC
    icrc_ok: bool
    syndrome: int = None
    msn: int = None
    dma_length: int = None
    cm: dict = field(default=None)

    @property
    def rc(self):
        return self.opcode < 0x20

    @property
    def request(self):
        return self.rc and self.opcode not in RESPONSES

    @property
    def real_ack(self):
        return self.opcode == ACK and self.syndrome >> 5 == 0

    @property
    def payload_bytes(self):
        pad = self.data[self.bth + 1] >> 4 & 3
        return self.end - self.bth - 12 - pad

    @property
    def key(self):
        return (self.source, self.destination, self.qpn)

    @property
    def name(self):
        if self.rc:
            return RC_NAMES.get(self.opcode, f"RC_{self.opcode:02x}")
        if self.cm:
            return {0x10: "CM_REQ", 0x11: "CM_MRA", 0x12: "CM_REJ", 0x13: "CM_REP", 0x14: "CM_RTU", 0x15: "CM_DREQ",
                    0x16: "CM_DREP"}.get(self.cm["attribute"], f"CM_{self.cm['attribute']:04x}")
        return f"{ {1: 'UC', 3: 'UD'}.get(self.opcode >> 5, 'OP')}_{self.opcode:02x}"


def skip_tags(data):
    """(EtherType, offset behind it, tags as bytes)."""
    at, tags = 12, []
    while len(data) >= at + 2:
        ether_type = struct.unpack_from("!H", data, at)[0]
        if ether_type not in (0x8100, 0x88A8):
            return ether_type, at + 2, tuple(tags)
        tags.append(data[at:at + 4])
        at += 4
    return None, len(data), tuple(tags)


def sender(data):
    """The sender's IP address from IP or ARP, or None."""
    ether_type, at, _ = skip_tags(data)
    if ether_type == 0x0800 and len(data) >= at + 20:
        return ipaddress.ip_address(data[at + 12:at + 16])
    if ether_type == 0x86DD and len(data) >= at + 40:
        return ipaddress.ip_address(data[at + 8:at + 24])
    if ether_type == 0x0806 and len(data) >= at + 28:
        return ipaddress.ip_address(data[at + 14:at + 18])
    return None


def parse(data):
    """The Packet in a frame, or None when it is not RoCEv2."""
    ether_type, ip, tags = skip_tags(data)
    if ether_type == 0x0800:
        if len(data) < ip + 20 or data[ip + 9] != 17:
            return None
        udp = ip + 4 * (data[ip] & 15)
        total = ip + struct.unpack_from("!H", data, ip + 2)[0]
        source, destination = data[ip + 12:ip + 16], data[ip + 16:ip + 20]
    elif ether_type == 0x86DD:
        if len(data) < ip + 40 or data[ip + 6] != 17:
            return None
        udp = ip + 40
        total = udp + struct.unpack_from("!H", data, ip + 4)[0]
        source, destination = data[ip + 8:ip + 24], data[ip + 24:ip + 40]
    else:
        return None
    if total > len(data) or total < udp + 8 + 12 + 4:
        return None
    source_port, destination_port = struct.unpack_from("!HH", data, udp)
    if destination_port != 4791:
        return None
    bth, end = udp + 8, total - 4
    opcode, _, p_key, qpn, ack_psn = struct.unpack_from("!BBHII", data, bth)
    packet = Packet(
        data=data, macs=data[:12], tags=tags, source=ipaddress.ip_address(source),
        destination=ipaddress.ip_address(destination), source_port=source_port, bth=bth, opcode=opcode, p_key=p_key,
        qpn=qpn & 0xFFFFFF, ack_req=bool(ack_psn >> 31), psn=ack_psn & PSN_MASK, end=end,
        icrc_ok=data[end:end + 4] == struct.pack("<I", icrc(data, ip, udp, bth, end)))
    body = bth + 12
    if opcode in (0x0D, 0x0F, 0x10, ACK, ATOMIC_ACK):
        word = struct.unpack_from("!I", data, body)[0]
        packet.syndrome, packet.msn = word >> 24, word & 0xFFFFFF
    if opcode in (0x06, 0x0A, 0x0B, READ_REQUEST):
        packet.dma_length = struct.unpack_from("!I", data, body + 12)[0]
    if opcode == 0x64 and packet.qpn == 1:
        packet.cm = parse_cm(data[body + 8:end])
    return packet


def tcp_payload(data):
    """The payload of an untagged TCP/IPv4 frame, or b""."""
    if len(data) < 54 or data[12:14] != b"\x08\x00" or data[14] >> 4 != 4 or data[23] != 6:
        return b""
    end = 14 + int.from_bytes(data[16:18], "big")
    tcp = 14 + 4 * (data[14] & 15)
    return data[tcp + 4 * (data[tcp + 12] >> 4):end]


def parse_cm(mad):
    """The fields of a CM MAD that matter here, or None."""
    if len(mad) < 256 or mad[1] != 7:
        return None
    attribute = struct.unpack_from("!H", mad, 16)[0]
    body = mad[24:]
    word = lambda offset: struct.unpack_from("!I", body, offset)[0]
    cm = {"attribute": attribute, "local": word(0), "remote": word(4)}
    if attribute == CM_REQ:
        cm.update(remote=0, qpn=word(32) >> 8, reliable=body[43] >> 1 & 3 == 0, psn=word(44) >> 8, mtu=128 << (body[50] >> 4))
    elif attribute == CM_REP:
        cm.update(qpn=word(12) >> 8, psn=word(20) >> 8)
    elif attribute == CM_DREQ:
        cm.update(qpn=word(8) >> 8)
    return cm


def icrc(data, ip, udp, bth, end):
    """CRC-32 over the frame from IP to the padding's end, with what routers change as ones."""
    packet = bytearray(data[ip:end])
    if packet[0] >> 4 == 4:
        packet[1] = 0xFF  # ToS
        packet[8] = 0xFF  # TTL
        packet[10:12] = b"\xff\xff"
    else:
        packet[0] |= 0x0F  # traffic class and flow label
        packet[1:4] = b"\xff\xff\xff"
        packet[7] = 0xFF  # hop limit
    packet[udp - ip + 6:udp - ip + 8] = b"\xff\xff"
    packet[bth - ip + 4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + packet)


def with_icrc(data):
    """`data`, a RoCE frame, with the ICRC that it should have."""
    packet = parse(data)
    _, ip, _ = skip_tags(data)
    right = struct.pack("<I", icrc(data, ip, packet.bth - 8, packet.bth, packet.end))
    return data[:packet.end] + right + data[packet.end + 4:]


def store_header_checksum(data, ip):
    """Makes the checksum of an IPv4 header without options right."""
    struct.pack_into("!H", data, ip + 10, 0)
    total = sum(struct.unpack_from("!10H", data, ip))
    struct.pack_into("!H", data, ip + 10, ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)


def rewritten(packet, opcode, psn, rest, ack_req=True, qpn=None, source_port=None, addresses=None):
    """Headers up to the BTH of `packet`, with another opcode and PSN, and what follows; lengths, checksum and ICRC right.
    With others instead of its destination QPN, UDP source port or (source, destination) of IPv4, where they are given."""
    data = bytearray(packet.data[:packet.bth + 12])
    data[packet.bth] = opcode
    data[packet.bth + 1] &= 0xCF  # no padding
    struct.pack_into("!I", data, packet.bth + 8, ack_req << 31 | psn & PSN_MASK)
    data += rest + bytes(4)
    _, ip, _ = skip_tags(data)
    if qpn is not None:
        struct.pack_into("!I", data, packet.bth + 4, qpn)
    if source_port is not None:
        struct.pack_into("!H", data, packet.bth - 8, source_port)
    if addresses is not None:
        data[ip + 12:ip + 20] = b"".join(address.packed for address in addresses)
    struct.pack_into("!H", data, ip + 2, len(data) - ip)
    struct.pack_into("!H", data, packet.bth - 4, len(data) - packet.bth + 8)
    store_header_checksum(data, ip)
    return with_icrc(bytes(data))


def without_ack_req(packet):
    """A request's bytes with AckReq and ICRC blanked: equal for all that a resend may differ in."""
    data = bytearray(packet.data)
    data[packet.bth + 8] &= 0x7F
    data[packet.end:packet.end + 4] = b"\0\0\0\0"
    return bytes(data)


def with_tags(data, tags):
    """`data` with 4-byte VLAN tags inserted behind the MACs."""
    return data[:12] + b"".join(tags) + data[12:]
