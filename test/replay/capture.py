# SPDX-License-Identifier: BSD-3-Clause
"""Reading and writing capture files, with the standard library only."""
import struct

from roce import Captured

ETHERNET = 1
MICRO, NANO = 0xA1B2C3D4, 0xA1B23C4D


def read_pcap(path):
    """All frames of a pcap file, of either byte order and either resolution."""
    with open(path, "rb") as file:
        data = file.read()
    for order in "<>":
        magic = struct.unpack_from(order + "I", data)[0]
        if magic in (MICRO, NANO):
            break
    else:
        raise ValueError(f"{path}: not a pcap file")
    scale, at, frames = 1000 if magic == MICRO else 1, 24, []
    while at + 16 <= len(data):
        seconds, fraction, stored, length = struct.unpack_from(order + "IIII", data, at)
        at += 16
        frames.append(Captured(seconds * 10**9 + fraction * scale, data[at:at + stored], length))
        at += stored
    return frames


def write_pcap(path, frames, magic=NANO, order="<"):
    scale = 1000 if magic == MICRO else 1
    with open(path, "wb") as file:
        file.write(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, ETHERNET))
        for frame in frames:
            seconds, rest = divmod(frame.time, 10**9)
            file.write(struct.pack(order + "IIII", seconds, rest // scale, len(frame.data), frame.length))
            file.write(frame.data)


def write_pcapng(path, frames, nano=True):
    """One section, one interface; nanoseconds (if_tsresol 9) or the default, microseconds."""
    def block(kind, body):
        size = 12 + len(body)
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    options = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0) if nano else b""
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(block(1, struct.pack("<HHI", ETHERNET, 0, 262144) + options))
        for frame in frames:
            ticks = frame.time if nano else frame.time // 1000
            padding = -len(frame.data) % 4
            file.write(block(6, struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame.data), frame.length)
                             + frame.data + b"\0" * padding))
