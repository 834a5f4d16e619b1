# SPDX-License-Identifier: BSD-3-Clause
"""What real NICs, switches and their vendors do that the captures of Soft-RoCE lack, put into those captures."""
import struct
import subprocess
from dataclasses import replace

import roce
import tshark
from edges import BASE, CLIENT, edge, judged, load, saved

RESERVED_OF_FECN, RESERVED_OF_ACK_REQ = 0x15, 0x41


def altered(frames, change):
    """`frames` with change(packet, bytes) made to each RoCE frame, and its ICRC made right."""
    out = []
    for frame in frames:
        packet = roce.parse(frame.data)
        if packet:
            data = bytearray(frame.data)
            change(packet, data)
            frame = replace(frame, data=roce.with_icrc(bytes(data)))
        out.append(frame)
    return out


def set_reserved(packet, data):
    if packet.opcode == roce.ACK:
        data[packet.bth + 4] |= RESERVED_OF_FECN
        data[packet.bth + 8] |= RESERVED_OF_ACK_REQ


@edge
def reserved_bits_of_acks(longhaul, directory):
    """A responder that sets reserved bits of the BTH in its ACKs: pseudo-ACKs have them, too, once it has sent one."""
    for name in (BASE, "rping_v6", "nvmeof_fio"):
        near = ("fd00::2/128",) if name == "rping_v6" else CLIENT
        frames = altered(load(name), set_reserved)
        run = longhaul.replay(saved(directory, frames), near)
        if run.exit_code != 0:
            yield f"{name}: exit {run.exit_code}: {run.stderr.strip()}"
            continue
        yield from judged(frames, near, run)
        made = 0
        originals = {frame.data for frame in frames}
        for frame in run.out["host"]:
            packet = roce.parse(frame.data)
            if not packet or packet.opcode != roce.ACK or frame.data in originals:
                continue
            made += 1
            bits = packet.data[packet.bth + 4], packet.data[packet.bth + 8]
            if bits != (RESERVED_OF_FECN, RESERVED_OF_ACK_REQ):
                yield f"{name}: a pseudo-ACK for PSN {packet.psn} has {bits[0]:#x} and {bits[1]:#x} in the reserved fields"
        # Most are equal to the real ACK but for the IPv4 identification.
        if made == 0 and name == BASE:
            yield f"{name}: no pseudo-ACK was found"


PRIORITY = bytes.fromhex("81006000")  # 802.1Q, VID 0


@edge
def priority_tags_in_one_direction(longhaul, directory):
    """The requests of the near host have a tag with VID 0, the answers have none: accelerated as before, untagged."""
    for base in (BASE, "write_bw_tcpexchange"):
        plain = longhaul.replay(saved(directory, load(base)), CLIENT).report
        frames = []
        for frame in load(base):
            packet = roce.parse(frame.data)
            tagged = packet and str(packet.source) == "10.9.0.2"
            data = roce.with_tags(frame.data, (PRIORITY,)) if tagged else frame.data
            frames.append(replace(frame, data=data, length=len(data)))
        run = longhaul.replay(saved(directory, frames), CLIENT)
        if run.exit_code != 0 or run.report["pseudo_acks"] != plain["pseudo_acks"] or plain["pseudo_acks"] == 0:
            yield f"{base}: exit {run.exit_code}, {run.report['pseudo_acks']} pseudo-ACKs, {plain['pseudo_acks']} without tags"
        for frame in run.out["host"]:
            packet = roce.parse(frame.data)
            if packet and packet.opcode == roce.ACK and packet.tags:
                yield f"{base}: an ACK towards the host has a tag"
                break
        yield from judged(frames, CLIENT, run, ends_early=base != BASE)


def ipv4(protocol, payload, flags=0):
    header = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, flags, 64, protocol, 0,
                                   bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])))
    roce.store_header_checksum(header, 0)
    return bytes(header) + payload


def encapsulated():
    """A real WRITE in what a box does not take apart: what it is called, the frame, what tshark calls its layers."""
    inner = next(frame.data for frame in load(BASE) if (packet := roce.parse(frame.data)) and packet.name == "WRITE_ONLY")
    ethernet = inner[:12]
    vxlan = struct.pack("!HHHH", 0xC000, 4789, 16 + len(inner), 0) + bytes.fromhex("0800000000000900") + inner
    return {
        "vxlan": (ethernet + b"\x08\x00" + ipv4(17, vxlan), "vxlan"),
        "mpls": (ethernet + b"\x88\x47" + bytes.fromhex("00010040") + bytes.fromhex("00020140") + inner[14:], "mpls"),
        "gre": (ethernet + b"\x08\x00" + ipv4(47, b"\0\0\x08\0" + inner[14:]), "gre"),
        "tags": (roce.with_tags(inner, (bytes.fromhex("88a80001"), bytes.fromhex("81000002"), bytes.fromhex("81000003"))), "vlan:ethertype:vlan:ethertype"),
        "fragments": (ethernet + b"\x08\x00" + ipv4(17, inner[34:34 + 1000], 0x2000), "ip"),
    }


@edge
def roce_in_something(longhaul, directory):
    """Each is counted by its name, and passes as it came. tshark sees the same layers."""
    for name, (data, layers) in encapsulated().items():
        path = saved(directory, [roce.Captured(10**18 + i, data, len(data)) for i in range(3)])
        run = longhaul.replay(path, ("192.0.2.1/32",))
        parse = {what: count for what, count in run.report["parse"].items() if count}
        if parse != {f"parse_roce_in_{name}": 3}:
            yield f"{name}: {parse}"
        left = [frame.data for side in ("host", "wan") for frame in run.out[side]]
        if left != [data] * 3:
            yield f"{name}: {len(left)} frames left, or others"
        if not tshark.available():
            continue
        said = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.protocols"], capture_output=True, text=True,
                              check=True, timeout=60).stdout.splitlines()[0]
        inside = said.endswith("infiniband") or ":infiniband" in said
        if layers not in said or inside != (name != "fragments"):
            yield f"{name}: tshark sees {said}"
