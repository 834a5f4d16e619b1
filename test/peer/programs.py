# SPDX-License-Identifier: BSD-3-Clause
"""Processes of reference.py, what they print, and their key files."""
import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from verdict import Skipped, expect

REFERENCE = pathlib.Path(__file__).resolve().parent / "reference.py"
PATIENCE = 30  # seconds until a case gives up; what passes takes a fraction of it


class Directory:
    """Key files and running programs; at the end all of them are ended."""

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self.path = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="longhaul-peer-")))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def key_file(self, name, psks):
        file = self.path / name
        file.write_text("# of two boxes\n" + "".join(base64.b64encode(psk).decode() + "\n" for psk in psks))
        return file

    def start(self, address, peer, key_file, *options, within=()):
        return self._stack.enter_context(Program(address, peer, key_file, *options, within=within))


class Program:
    def __init__(self, address, peer, key_file, *options, within=()):
        self.process = subprocess.Popen(
            [*within, sys.executable, REFERENCE, "--address", address, "--peer", peer, "--key-file", key_file,
             "--seconds", "60", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def lines(self):
        """What was printed up to now, as far as somebody waited for it."""
        return [json.loads(line) for line in self._text.split(b"\n")[:-1]]

    def wait_for(self, wanted, what, after=0):
        """The first line of which `wanted` is true, not counting the first `after` ones."""
        end = time.monotonic() + PATIENCE
        while True:
            found = next((line for line in self.lines()[after:] if wanted(line)), None)
            if found:
                return found
            left = end - time.monotonic()
            expect(left > 0, f"no {what} in {PATIENCE} s: {self.lines()[-2:]}")
            if not select.select([self.process.stdout], [], [], left)[0]:
                continue
            more = os.read(self.process.stdout.fileno(), 65536)
            expect(more, f"ended before {what}: {self.lines()[-2:]} {self.process.stderr.read() if not more else ''}")
            self._text += more

    def wait_for_state(self, state, after=0):
        return self.wait_for(lambda line: line["state"] == state, state, after)

    def end(self, number=signal.SIGTERM):
        """The last line; after SIGKILL there need not be one."""
        self.process.send_signal(number)
        return self.rest()

    def rest(self):
        """Waits for the end; the last line."""
        self._text += self.process.communicate(timeout=PATIENCE)[0]
        return self.lines()[-1] if self.lines() else None


def loopback(last):
    """127.47.91.x, if sockets can have it."""
    address = f"127.47.91.{last}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((address, 0))
        except OSError as error:
            raise Skipped(f"{address}: {error.strerror}") from None
    return address


@contextlib.contextmanager
def network_with(*addresses):
    """A network namespace whose loopback has these addresses; what a command must begin with to be in it."""
    for tool in ("unshare", "ip", "nsenter"):
        if not shutil.which(tool):
            raise Skipped(f"{tool} is absent")
    add = "; ".join(f"ip address add {address}/128 dev lo nodad" for address in addresses)
    holder = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "sh", "-ec",
                               f"ip link set lo up; {add}; echo ready; exec sleep 60"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline() != "ready\n":
            raise Skipped(f"no network namespace: {holder.stderr.read().strip()[:200]}")
        yield ["nsenter", "--target", str(holder.pid), "--user", "--net", "--preserve-credentials"]
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stderr.close()
