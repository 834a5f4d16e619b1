# SPDX-License-Identifier: BSD-3-Clause
"""What real NICs, switches and their vendors do that the captures of Soft-RoCE lack, put into those captures."""
import struct
from dataclasses import replace

import roce
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
