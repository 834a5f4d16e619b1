# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul ctl` as a program, and clients of the control socket that behave badly."""
import json
import socket
import subprocess
import time

from lab.process import LabError, wait_until


class Ctl:
    """`longhaul ctl --socket PATH`."""

    def __init__(self, program, path):
        self._program, self._path = program, path

    def run(self, *words, timeout=300):
        """The finished process."""
        return subprocess.run([self._program, "ctl", "--socket", self._path, *map(str, words)], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False)

    def __call__(self, *words, timeout=300):
        """What it prints; LabError unless it exits with 0."""
        done = self.run(*words, timeout=timeout)
        if done.returncode:
            raise LabError(f"ctl {' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *words, **options):
        """What it prints with --json."""
        return json.loads(self(*words, "--json", **options))

    def counters(self):
        """All counters by name."""
        return json.loads(self("counters"))

    def refused(self, code, why, *words):
        """It must end with this exit code, and say why."""
        done = self.run(*words)
        if done.returncode != code or why not in done.stderr:
            raise LabError(f"ctl {' '.join(map(str, words))}: exit code {done.returncode} instead of {code}, and not "
                           f"\"{why}\": {done.stderr.strip() or done.stdout.strip()}")

    def grows(self, counter, timeout=120):
        """Waits until a counter is larger than now."""
        before = self.counters()[counter]
        wait_until(lambda: self.counters()[counter] > before, timeout, f"{counter} does not grow beyond {before}")


def raw(path):
    """A client's socket."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(path))  # with a time limit it would not wait for a place in the queue
    client.settimeout(120)
    return client


def answer(path, data):
    """All that the box says to these bytes."""
    with raw(path) as client:
        try:
            client.sendall(data)
        except (BrokenPipeError, ConnectionResetError):  # it has heard enough
            pass
        heard = b""
        try:
            while part := client.recv(65536):
                heard += part
        except ConnectionResetError:
            pass
        return heard


def annoy(path):
    """Garbage, a line without end, 200 silent clients and one that does not read: each gets an error, or nothing."""
    for data, why in ((b"garbage\n", b"the request is not valid JSON"), (b"\x00\xff\n", b"the request is not valid JSON"),
                      (b"[" * 200000 + b"\n", b"more than 16 levels deep"), (b"x" * (1 << 20), b"bytes"),
                      (b'{"command": "fly"}\n', b"no command"), (b'{"command": "flows", "limit": -1}\n', b"limit"),
                      (b'{"command": "status", "more": 1}\n', b"unknown parameter")):
        heard = answer(path, data)
        if b'"error"' not in heard or why not in heard:
            raise LabError(f"{data[:40]!r}: {heard[:200]!r}")
    silent = [raw(path) for _ in range(200)]
    stuck = raw(path)
    stuck.sendall(b'{"command": "config show"}\n')
    time.sleep(0.2)
    for client in silent + [stuck]:
        client.close()
