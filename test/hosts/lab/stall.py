# SPDX-License-Identifier: BSD-3-Clause
"""Why a command hangs: which host still sends and which box still forwards, just before its time limit ends it."""
import re

from .process import LabError

# Looks twice, so far apart: longer than the ACK timeout of 2.1 s, at which a host that is alive sends again.
WATCH_SECONDS = 5
# When to begin, before the time limit; looking takes a while on a busy machine.
BEFORE_LIMIT_SECONDS = 20

_HOST_COUNTERS = "grep -H . /sys/class/net/vec0/statistics/[rt]x_packets " \
                 "/sys/class/infiniband/rxe0/ports/1/hw_counters/* 2>/dev/null"
BOX_COUNTERS = ("frames_host", "forwarded_wan", "frames_wan", "forwarded_host", "custody_packets", "waiting_frames")


def watch(command, hosts, path):
    """Until the command's time limit ends it: what moved before, in words."""
    try:
        before = _look(hosts, path)
        command.ended(WATCH_SECONDS)
        seen = describe(before, _look(hosts, path))
    except LabError as error:
        seen = f"hung, and nobody can say why: {error}\n"
    command.wait()
    return seen


def describe(before, after):
    """A line for each host and box: its counters other than 0, and by how much they grew while watched."""
    lines = [f"hung; what moved in {WATCH_SECONDS} s:"]
    for name, counters in after.items():
        lines.append(f"  {name}: " + ", ".join(f"{key} {value} ({value - before[name].get(key, 0):+})"
                                               for key, value in counters.items() if value))
    return "\n".join(lines) + "\n"


def _look(hosts, path):
    seen = {host.name: _host(host) for host in hosts}
    for name in path.boxes:
        counters = path.snapshot(name)
        seen[name] = {key: counters[key] for key in BOX_COUNTERS}
    return seen


def _host(host):
    lines = host.run(_HOST_COUNTERS, check=False).output
    return {name: int(value) for name, value in re.findall(r"/(\w+):(\d+)$", lines, re.MULTILINE)}
