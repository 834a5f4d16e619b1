# SPDX-License-Identifier: BSD-3-Clause
"""A real Linux RDMA host: a user-mode kernel with Soft-RoCE on one end of a cable.

Commands go to its first process (guest_init) as lines of JSON over a socket that the kernel shows there as a console;
the output of each is a file in the run's directory.
"""
import contextlib
import itertools
import json
import os
import pathlib
import shlex
import signal
import socket
import threading
import time

from .network import MTU
from .process import LabError, spawn, stop

INIT = pathlib.Path(__file__).resolve().parent.parent / "guest_init"
BOOT_SECONDS = 120
SILENT_SECONDS = 60
MEMORY = "768M"


class Command:
    """A command inside a guest, running or finished."""

    def __init__(self, guest, number, argv, output, timeout):
        self.argv = argv
        self._guest, self._number, self._output, self._timeout = guest, number, output, timeout
        self._done = threading.Event()
        self.rc = None
        self.seconds = None
        self.ended_at = None  # by time.monotonic()

    def __str__(self):
        return f"{self._guest.name}$ {shlex.join(self.argv)}"

    @property
    def running(self):
        return not self._done.is_set()

    @property
    def output(self):
        try:
            return self._output.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def wait(self):
        """Until it ends; guest_init enforces the time limit, and a guest that is silent beyond it has failed."""
        if not self._done.wait(self._timeout + SILENT_SECONDS):
            raise LabError(f"{self}: the host no longer answers (log: {self._guest.log})")
        return self

    def ended(self, seconds):
        """Whether it ends within `seconds`."""
        return self._done.wait(seconds)

    def kill(self):
        """Ends it if it still runs."""
        if self.running:
            self._guest.request({"op": "kill", "target": self._number})
        return self.wait()

    def finished(self, rc, seconds):
        self.rc, self.seconds, self.ended_at = rc, seconds, time.monotonic()
        self._done.set()


class Guest:
    """One host. `interface` is the end of the cable, inside `namespace`, that becomes its only network device."""

    def __init__(self, kernel, name, namespace, interface, number, directory):
        self.name = name
        self.ip, self.ip6 = f"10.9.0.{number}", f"fd00::{number}"
        self.mac = f"02:00:00:00:00:{number:02x}"
        self.log = directory / f"{name}.log"
        self._directory = directory / name
        self._directory.mkdir()
        self._numbers = itertools.count(1)
        self._commands = {}
        self._ready = threading.Event()
        self._gone = False
        self._write_lock = threading.Lock()
        self._process = self._boot(kernel, namespace, interface)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _boot(self, kernel, namespace, interface):
        cpuinfo = self._directory / "cpuinfo"
        cpuinfo.write_text(pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"), encoding="ascii")
        config = self._directory / "config.json"
        config.write_text(json.dumps({"addresses": [f"{self.ip}/24", f"{self.ip6}/64"], "mtu": MTU,
                                      "cpuinfo": str(cpuinfo)}))
        self._socket, theirs = socket.socketpair()
        with theirs, open(self.log, "wb") as log:
            fd = theirs.fileno()
            return spawn(
                [kernel, f"mem={MEMORY}", "rootfstype=hostfs", "rootflags=/", "rw", f"init={INIT}", "loglevel=4",
                 "con=null", "con0=fd:0,fd:1", f"con1=fd:{fd}",
                 f"vec0:transport=raw,ifname={interface},depth=512,mtu={MTU},mac={self.mac}",
                 f"lh_config={config}"],
                namespace=namespace, stdout=log, stderr=log, pass_fds=[fd],
                env={"PATH": os.environ["PATH"], "TMPDIR": "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp",
                     "HOME": str(self._directory)})

    def wait_ready(self):
        if not self._ready.wait(BOOT_SECONDS) or self._gone:
            raise LabError(f"{self.name} did not boot (log: {self.log})")

    def _read(self):
        try:
            with self._socket.makefile("rb") as lines:
                for line in lines:
                    self._heard(line)
        except OSError:  # the kernel ended without closing its console
            pass
        self._gone = True
        self._ready.set()
        for command in list(self._commands.values()):
            command.finished(-1, 0.0)

    def _heard(self, line):
        try:
            message = json.loads(line)
        except ValueError:  # a console may say other things
            return
        if "ready" in message:
            self._ready.set()
        elif message.get("id") in self._commands:
            self._commands.pop(message["id"]).finished(message["rc"], message["seconds"])

    def request(self, message):
        with self._write_lock:
            try:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
            except OSError as error:
                raise LabError(f"{self.name} is gone (log: {self.log})") from error

    def start(self, argv, timeout=60):
        """Starts a command (a list of words, or a line for the shell) and returns at once."""
        argv = ["sh", "-c", argv] if isinstance(argv, str) else [str(word) for word in argv]
        number = next(self._numbers)
        tool = next(pathlib.Path(word).name for word in argv if word != "env" and "=" not in word)
        output = self._directory / f"{number:03}-{tool}.out"
        command = self._commands[number] = Command(self, number, argv, output, timeout)
        self.request({"op": "run", "id": number, "argv": argv, "output": str(output), "timeout": timeout})
        return command

    def run(self, argv, timeout=60, check=True):
        """Runs a command to its end. LabError unless it exits with 0 (check=False: look at .rc)."""
        command = self.start(argv, timeout).wait()
        if check and command.rc:
            raise LabError(f"{command}: exit code {command.rc}\n{command.output[-2000:]}")
        return command

    @contextlib.contextmanager
    def throttled(self, runs, rests):
        """A slower host: for the length of a with block it runs for `runs` seconds, then rests, in turns."""
        done = threading.Event()

        def duty():
            while not done.wait(runs):
                self._process.send_signal(signal.SIGSTOP)
                done.wait(rests)
                self._process.send_signal(signal.SIGCONT)
        thread = threading.Thread(target=duty, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def stop(self):
        """Powers it off, politely first: a user-mode kernel then ends the processes it is made of."""
        try:
            self.request({"op": "off"})
            self._process.wait(3)
        except Exception:  # whatever it was, the next line ends it
            pass
        stop(self._process, grace=2)
        self._socket.close()
