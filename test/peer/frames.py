# SPDX-License-Identifier: BSD-3-Clause
"""Ethernet frames with UDP datagrams in them, and capture files, written by hand."""
import ipaddress
import struct

PORT = 47910
MACS = bytes.fromhex("020000000002020000000001")
LINK_ETHERNET = 1


def _sum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def frame(source, destination, payload, port=PORT, vlan=None):
    """A whole frame; IPv4 or IPv6 by the addresses, with a VLAN tag if `vlan` is a number."""
    source, destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    length = 8 + len(payload)
    udp = struct.pack(">HHHH", port, port, length, 0) + payload
    pseudo = source.packed + destination.packed + (struct.pack(">BBH", 0, 17, length) if source.version == 4
                                                   else struct.pack(">IHBB", length, 0, 0, 17))
    udp = udp[:6] + struct.pack(">H", _sum(pseudo + udp) or 0xffff) + udp[8:]
    if source.version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0xc0, 20 + length, 0, 0x4000, 64, 17, 0) + source.packed + destination.packed
        head = head[:10] + struct.pack(">H", _sum(head)) + head[12:]
    else:
        head = struct.pack(">IHBB", 6 << 28 | 0xc0 << 20, length, 17, 64) + source.packed + destination.packed
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return MACS + tag + (b"\x08\x00" if source.version == 4 else b"\x86\xdd") + head + udp


def write_pcap(file, frames, most=65535):
    """`most`: bytes of each frame that the file keeps, as tcpdump -s does."""
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, most, LINK_ETHERNET))
        for number, whole in enumerate(frames):
            out.write(struct.pack("<IIII", 1_700_000_000 + number, 0, min(len(whole), most), len(whole)) + whole[:most])
