# SPDX-License-Identifier: BSD-3-Clause
"""What a box tells systemd, on a socket that stands in for it."""
import datetime
import json
import os
import re
import signal
import socket
import subprocess

from bench import PATIENCE, expect
from lab.process import spawn, stop, wait_until


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


def _objects(text):
    """The log's objects. Standard error must have nothing else."""
    found = [json.loads(line) for line in text.splitlines()]
    for each in found:
        expect(list(each) == ["ts", "level", "name", "message"], f"keys: {each}")
        expect(datetime.datetime.fromisoformat(each["ts"].replace("Z", "+00:00")).tzinfo, f"no time with zone: {each}")
        expect(each["level"] in ("debug", "info", "warning", "error", "critical"), f"level: {each}")
        expect(each["name"] == "near" and each["message"], f"name or message: {each}")
    return found


def logs_json(bench):
    """with log: {format: json} each line on standard error is an object: the program's, DPDK's, and why it ends"""
    def stderr_of(extra):
        """Exit status, and what a box says on standard error until it ends; it is asked to as soon as it is ready."""
        with open(bench.directory / "errors", "wb") as errors:
            box = spawn([bench.program, "run", "--config", bench.write_box(extra)], bench.namespace,
                        stdout=subprocess.PIPE, stderr=errors, cwd=bench.directory)
        try:
            if b": ready" in box.stdout.readline():
                box.send_signal(signal.SIGHUP)
                bench.expect_log("has not changed", log="errors")
                box.send_signal(signal.SIGTERM)
            wait_until(lambda: box.poll() is not None, PATIENCE, "the box does not end")
        finally:
            stop(box, grace=0)
            box.stdout.close()
        return box.returncode, bench.log_of("errors")

    status, text = stderr_of("log: {format: json}\n")
    logged = _objects(text)
    expect(status == 0, f"exit status {status}: {text}")
    expect(any("ICRC by" in each["message"] and each["level"] == "info" for each in logged), text)
    # A processor that is not there, memory that DPDK cannot have, and a directory that is none.
    for extra, code, words in (("core: 1023\n", 1, "core 1023"), ("memory: 1TiB\n", 1, "memory"),
                               ("control: {socket: /dev/null/near.sock}\n", 2, "control")):
        status, text = stderr_of("log: {format: json}\n" + extra)
        logged = _objects(text)
        expect(status == code, f"exit status {status}: {text}")
        expect(logged[-1]["level"] == "error" and words in logged[-1]["message"], f"why it ends: {text}")
    _, text = stderr_of("log: {format: text}\n")
    expect(" info: ICRC by" in text and "{" not in text.splitlines()[0], text)
    status, text = stderr_of("log: {format: xml}\n")
    expect(status == 2 and re.search(r"box\.yaml:\d+:\d+: log\.format: .*text.*json", text), f"{status}: {text}")


CASES = {"service-told-to-systemd": told_to_systemd, "service-logs-json": logs_json}
