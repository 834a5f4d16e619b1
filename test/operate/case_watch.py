# SPDX-License-Identifier: BSD-3-Clause
"""What a box does about a worker that stands still, and about a link that is lost."""
import ctypes
import os

from bench import PATIENCE, expect
from lab.process import LabError, wait_until

_libc = ctypes.CDLL(None, use_errno=True)
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WAIT_ALL = 0x40000000  # __WALL


def _ptrace(request, thread):
    if _libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), None, None) != 0:
        raise LabError(f"ptrace: {os.strerror(ctypes.get_errno())}")


def hold_worker(process):
    """Stops the worker's thread, the main one, and no other."""
    _ptrace(PTRACE_SEIZE, process.pid)
    _ptrace(PTRACE_INTERRUPT, process.pid)
    os.waitpid(process.pid, WAIT_ALL)


def stall_reported(bench):
    """a worker that stands still is said, and that it goes on, and the box lives"""
    box = bench.start_box("watchdog: {stall: 2s}\n")
    hold_worker(box)
    bench.expect_log("near: worker 0 has stood still")
    _ptrace(PTRACE_DETACH, box.pid)
    bench.expect_log("near: worker 0 runs again after standing still for")
    expect(bench.end_box(box) == 0, "the box did not stop in order")


def stall_ends(bench):
    """with watchdog.action exit the process ends at once, exit status 3"""
    box = bench.start_box("watchdog: {stall: 2s, action: exit}\n")
    hold_worker(box)
    wait_until(lambda: box.poll() is not None, PATIENCE, "the box goes on")
    expect(box.returncode == 3, f"exit status {box.returncode}")
    bench.expect_log("the process ends at once")


def links_follow(bench):
    """link_loss: forward: what one port loses the other shows, both ways, and a stopped box shows on both"""
    box = bench.start_box("link_loss: forward\n")
    for lost, other in (("host", "wan"), ("wan", "host")):
        wait_until(lambda: bench.carrier("host") and bench.carrier("wan"), PATIENCE, "links that are not up")
        bench.expect_log(": ready")
        bench.ip("link", "set", lost, "down")
        wait_until(lambda name=other: not bench.carrier(name), PATIENCE, f"{other} has a carrier though {lost} is down")
        bench.ip("link", "set", lost, "up")
        wait_until(lambda name=other: bench.carrier(name), PATIENCE, f"{other} has no carrier though {lost} is up again")
    expect(bench.end_box(box) == 0, "the box did not stop in order")
    expect(not bench.carrier("host") and not bench.carrier("wan"), "a stopped box shows a carrier")
    # The next one sets them up.
    bench.start_box("link_loss: forward\n", log="again.log")
    wait_until(lambda: bench.carrier("host") and bench.carrier("wan"), PATIENCE, "links that a new box did not set up")


def links_ignored(bench):
    """without link_loss a lost link is said and nothing else"""
    bench.start_box()
    bench.ip("link", "set", "host", "down")
    bench.expect_log("the link is down")
    expect(bench.carrier("wan"), "the other link was taken down")


CASES = {
    "watch-stall-reported": stall_reported,
    "watch-stall-ends": stall_ends,
    "watch-links-follow": links_follow,
    "watch-links-ignored": links_ignored,
}
