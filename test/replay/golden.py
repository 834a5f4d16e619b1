# SPDX-License-Identifier: BSD-3-Clause
"""Golden files: the report and one line for each frame that left a port."""
import difflib
import json
import pathlib
import zlib

import roce

DIRECTORY = pathlib.Path(__file__).parent / "golden"


def listing(frames, first_time):
    """Time in ns since the capture's first frame, what, destination QPN, PSN, AckReq, answer, length, CRC-32."""
    lines = []
    for frame in frames:
        packet = roce.parse(frame.data)
        what = ["-"]
        if packet:
            what = [packet.name, f"{packet.qpn:x}", f"{packet.psn:06x}", "A" if packet.ack_req else "-"]
            if packet.syndrome is not None:
                what.append(f"{packet.syndrome:02x}/{packet.msn}")
        lines.append(" ".join([str(frame.time - first_time), *what, str(len(frame.data)), f"{zlib.crc32(frame.data):08x}"]))
    return "\n".join(lines) + "\n"


def report_text(report):
    """As the program prints it, with what says nothing (zero counters) left out."""
    report = dict(report)
    del report["capture"]  # where it lies
    for table in ("counters", "parse", "made", "not_forwarded"):
        report[table] = {name: value for name, value in report[table].items() if value}
    return json.dumps(report, indent=1) + "\n"


class Goldens:
    def __init__(self, regenerate):
        self.regenerate = regenerate
        self.changed = []

    def compare(self, name, contents):
        """Lines that say how `contents` ({suffix: text}) differ from the golden files, or none."""
        errors = []
        for suffix, text in contents.items():
            path = DIRECTORY / f"{name}.{suffix}"
            old = path.read_text() if path.exists() else None
            if text == old:
                continue
            difference = list(difflib.unified_diff((old or "").splitlines(), text.splitlines(), "golden", "now", lineterm="", n=0))
            if self.regenerate:
                DIRECTORY.mkdir(exist_ok=True)
                path.write_text(text)
                added = sum(line.startswith("+") and not line.startswith("+++") for line in difference)
                removed = sum(line.startswith("-") and not line.startswith("---") for line in difference)
                self.changed.append(f"{path.name}: " + ("new" if old is None else f"+{added} -{removed} lines"))
            elif old is None:
                errors.append(f"{path.name} does not exist (--regenerate makes it)")
            else:
                errors.append(f"{path.name} differs: " + " | ".join(difference[2:8]))
        return errors
