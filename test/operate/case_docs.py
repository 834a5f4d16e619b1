# SPDX-License-Identifier: BSD-3-Clause
"""The operator's documents against the program they describe."""
import re

from bench import expect
from lab.tools import REPOSITORY

PICTURE = REPOSITORY / "docs" / "operate" / "packet-path"


def counters():
    """The names in the table of counters."""
    text = (REPOSITORY / "lib" / "metrics" / "counters.hpp").read_text(encoding="utf-8")
    return re.findall(r"^ *X\((\w+),", text, re.MULTILINE)


def packet_path(_bench):
    """the picture of the packet's path has each counter once, and its SVG is the one that its source gives"""
    for suffix in (".dot", ".svg"):
        text = PICTURE.with_suffix(suffix).read_text(encoding="utf-8")
        words = re.findall(r"\w+", text.replace("&#45;", "-"))
        wrong = [f"{name}: {words.count(name)} times" for name in counters() if words.count(name) != 1]
        # Words of English that are names of counters, too.
        wrong = [line for line in wrong if not line.startswith(("requests:", "resends:"))]
        expect(not wrong, f"{PICTURE.name}{suffix}: {', '.join(wrong)}")


CASES = {"docs-packet-path": packet_path}
