# SPDX-License-Identifier: BSD-3-Clause
"""What a box tells systemd, on a socket that stands in for it."""
import os
import signal
import socket

from bench import PATIENCE, expect
from lab.process import wait_until


def told_to_systemd(bench):
    """a box tells the service manager that it is ready, alive, reloading and stopping, and is silent when it stands still"""
    path = bench.directory / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.setblocking(False)
        heard = []

        def hear(words):
            """Whether a message had these words, now or before."""
            try:
                while True:
                    heard.append(manager.recv(4096).decode())
            except BlockingIOError:
                return any(words in message for message in heard)

        environment = {**os.environ, "NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "400000"}
        box = bench.start_box(env=environment)
        wait_until(lambda: hear("READY=1"), PATIENCE, "no READY=1")
        wait_until(lambda: hear("WATCHDOG=1"), PATIENCE, "no WATCHDOG=1")
        expect("STOPPING=1" not in "".join(heard), "STOPPING=1 from a box that runs")
        heard.clear()
        box.send_signal(signal.SIGHUP)
        wait_until(lambda: hear("RELOADING=1"), PATIENCE, "no RELOADING=1")
        wait_until(lambda: hear("READY=1"), PATIENCE, "no READY=1 after a reload")
        expect(box.poll() is None, "SIGHUP ended the box")
        expect(bench.end_box(box) == 0, "the box did not stop in order")
        expect(hear("STOPPING=1"), "no STOPPING=1")


CASES = {"service-told-to-systemd": told_to_systemd}
