# SPDX-License-Identifier: BSD-3-Clause
"""perftest and rping: the command lines, and reading the figures that they print."""
import dataclasses
import re

from .process import LabError
from .tools import PERFTEST_CLOCK

# rping of rdma-core 44 closes its event channel while a thread of its own may still read there, which then ends the
# process with 255 though all had gone well (mended upstream since). What goes wrong before that has other words.
RPING_RACE = re.compile(r"^rdma_get_cm_event: Bad file descriptor$", re.MULTILINE)
RPING_FAILED = re.compile(r"failed:|mismatch|error ", re.MULTILINE)

DEVICE = "rxe0"
CM_PORT = 18515  # perftest's own default


@dataclasses.dataclass(frozen=True)
class Figures:
    """The result line of a perftest, in its own units."""
    size: int
    iterations: int
    gbit_per_second: float = None
    messages_per_second: float = None
    typical_latency_us: float = None


def parse(text):
    """Figures from perftest's output (with --report_gbits). LabError where there is no result line."""
    lines = text.splitlines()
    for heading, values in zip(lines, lines[1:]):
        if not heading.lstrip().startswith("#bytes"):
            continue
        numbers = re.findall(r"[-+.\w]+", values)
        if "MsgRate" in heading and len(numbers) >= 5:
            size, iterations, _, average, rate = numbers[:5]
            return Figures(int(size), int(iterations), float(average), float(rate) * 1e6)
        if "t_typical" in heading and len(numbers) >= 5:
            return Figures(int(numbers[0]), int(numbers[1]), typical_latency_us=float(numbers[4]))
    raise LabError("perftest printed no result line")


def has_result(text):
    """Whether a perftest has printed its figures, which it does when its last measured message is complete."""
    try:
        parse(text)
    except LabError:
        return False
    return True


def exit_code(rc, text):
    """What an end's exit code `rc` means, given what it printed."""
    lost_race = rc == 255 and RPING_RACE.search(text) and not RPING_FAILED.search(text)
    return 0 if lost_race else rc


def knows_clock(text):
    """False when perftest found its sampling of the processor's clock too noisy, and printed 0 for every figure."""
    return "Correlation coefficient" not in text


def command(tool, size, count, depth=None, connection="RC", cm=True, server=None, extra=()):
    """The command line of one end; the client's names the server. Without `cm`, a GID index among `extra` or IPv4's.

    -F: one that cannot measure the processor's clock does not fail, and perftest_clock.cpp gives it one that it can.
    """
    words = ["env", f"LD_PRELOAD={PERFTEST_CLOCK}", tool, "-d", DEVICE, "-F", "-p", CM_PORT, "-s", size, "-n", count]
    if cm:
        words += ["-R"]
    elif "-x" not in extra:
        words += ["-x", 1]
    if connection != "RC":
        words += ["-c", connection]
    if "_bw" in tool:
        # -Q 1: a completion for each message, so that `depth` is what is in flight and not a batch size.
        words += ["--report_gbits", "-Q", 1]
    if depth:
        words += ["-t", depth]
    words += extra
    return words + ([server] if server else [])


def cm_listening(host):
    """True when something on the host waits for an RDMA-CM connection."""
    return "state LISTEN" in host.run(["rdma", "resource", "show", "cm_id"]).output


def tcp_listening(host, port=CM_PORT):
    """True when something on the host waits for a TCP connection at `port` (state 0A in proc(5))."""
    table = host.run("cat /proc/net/tcp /proc/net/tcp6 2>/dev/null", check=False).output
    return re.search(rf":{port:04X} \S+ 0A ", table) is not None


# What perftest's client says when the server was between two listens: a race of its own making, not of the path.
# (8 is the same event by its number, where nothing listens yet.)
REFUSED = re.compile(r"RDMA_CM_EVENT_REJECTED|Unexpected CM event bl blka 8\b|Couldn't connect to")
