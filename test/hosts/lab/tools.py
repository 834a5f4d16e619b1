# SPDX-License-Identifier: BSD-3-Clause
"""The programs that the laboratory needs, and signals that end it in order."""
import pathlib
import shutil
import signal
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PERFTEST_CLOCK = REPOSITORY / "build" / "test" / "hosts" / "libperftest_clock.so"
RC_JOBS = REPOSITORY / "build" / "test" / "hosts" / "rc_jobs" / "rc_jobs"
DEMO_COMMANDS = ("ip", "rdma", "ethtool", "sysctl", "ib_write_bw", "ping")
COMMANDS = (*DEMO_COMMANDS, "tcpdump", "rping", "rstream", "ibv_rc_pingpong", "nvme", "fio")


def kernel(*options):
    """The user-mode kernel that tools/kernel built, or None. `options` are of tools/kernel, like --any."""
    path = subprocess.run([REPOSITORY / "tools" / "kernel", "--path", *options], capture_output=True, text=True, check=False)
    found = pathlib.Path(path.stdout.strip() or "/nonexistent")
    return found if found.is_file() else None


def missing(program, through, demo=False):
    """Why scenarios cannot run here, or None. demo: only those of tools/demo, with any cached kernel."""
    absent = [command for command in (DEMO_COMMANDS if demo else COMMANDS) if not shutil.which(command)]
    if absent:
        return f"not installed: {', '.join(absent)} (run tools/setup)"
    if not kernel(*(["--any"] if demo else [])):
        return "no user-mode kernel (run tools/kernel)"
    if not PERFTEST_CLOCK.is_file():
        return f"{PERFTEST_CLOCK} is not built (run tools/build)"
    if through == "boxes" and not program.is_file():
        return f"{program} is not built (run tools/build)"
    if not demo and not RC_JOBS.is_file():
        return f"{RC_JOBS} is not built (run tools/build)"
    return None


def exit_on_signals():
    """SIGTERM and SIGHUP leave like an interrupt does: through every `finally`, which no second signal may cut short."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def leave(number, _):
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)
    for number in numbers:
        signal.signal(number, leave)
