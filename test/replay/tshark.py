# SPDX-License-Identifier: BSD-3-Clause
"""A second outside judge: Wireshark's dissectors must find nothing malformed that they do not find in the input."""
import pathlib
import shutil
import subprocess
import tempfile

import capture
import roce


def available():
    return shutil.which("tshark") is not None


def malformed(frames):
    """The frames among `frames` that tshark calls malformed."""
    with tempfile.TemporaryDirectory(prefix="longhaul-tshark-") as directory:
        path = pathlib.Path(directory) / "frames.pcap"
        capture.write_pcap(path, frames)
        done = subprocess.run(["tshark", "-n", "-r", path, "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number"],
                              capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"tshark: {done.stderr.strip()}")
    return [frames[int(number) - 1] for number in done.stdout.split()]


def _essence(frame):
    packet = roce.parse(frame.data)
    return roce.without_ack_req(packet) if packet and packet.request else frame.data


def check(inputs, out):
    """tshark 4.0 calls SENDs without payload malformed: those of the input, also when sent again, are not held against us."""
    known = None
    for side, frames in out.items():
        found = malformed(frames)
        if not found:
            continue
        known = known if known is not None else {_essence(frame) for frame in malformed(inputs)}
        for frame in found:
            if _essence(frame) not in known:
                packet = roce.parse(frame.data)
                yield f"tshark: malformed {packet.name if packet else 'frame'} out of the {side} port: {frame.data.hex()}"
