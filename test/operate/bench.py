# SPDX-License-Identifier: BSD-3-Clause
"""A place for one case: a directory, a namespace with two cables, and a box between them. All of it goes when it ends."""
import json
import os
import signal

from lab.process import LabError, run, spawn, stop, wait_until

# Seconds for what takes less than one: a busy machine may take its time, and what never comes is told from it in the end.
PATIENCE = 120

BOX = """\
name: near
ports:
  host: {{vdev: "net_af_packet0,iface=box-host,framesz=16384,blocksz=1048576,framecnt=128"}}
  wan: {{vdev: "net_af_packet1,iface=box-wan,framesz=16384,blocksz=1048576,framecnt=128"}}
hugepages: false
idle: sleep
custody: {{box_limit: 16MiB, flow_limit: 8MiB, mbufs: 1024, small_mbufs: 2048}}
connections: 256
restart_record: {record}
"""


class Bench:
    """`host` and `wan` are the far ends of the cables to the box, `box-host` and `box-wan` its own."""

    def __init__(self, directory, program, verbose=False):
        self.directory = directory
        self._verbose = verbose
        self.program = program
        self.namespace = f"lh-{os.getpid()}-operate"
        self._running = []

    def __enter__(self):
        run("ip", "netns", "add", self.namespace)
        try:
            for end in ("host", "wan"):
                self.ip("link", "add", end, "mtu", "9000", "type", "veth", "peer", "name", f"box-{end}", "mtu", "9000")
                for name in (end, f"box-{end}"):
                    # The kernel's own traffic would be in every count.
                    run("ip", "netns", "exec", self.namespace, "sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
                    self.ip("link", "set", name, "up")
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _remove(self):
        for process in reversed(self._running):
            stop(process, grace=0)
        run("ip", "netns", "del", self.namespace, check=False)

    def say(self, text):
        """What happens, for who wants to read along."""
        if self._verbose:
            print(f"  {text}", flush=True)

    def ip(self, *words):
        """`ip` inside the namespace."""
        return run("ip", "-n", self.namespace, *words)

    def carrier(self, name):
        """The interface is up and so is its other end."""
        link = json.loads(self.ip("-json", "link", "show", "dev", name))[0]
        return "LOWER_UP" in link["flags"]

    def start(self, argv, log, **options):
        """A process in the namespace that ends with the bench; what it prints goes to the file `log`."""
        with open(self.directory / log, "wb") as file:
            process = spawn(argv, self.namespace, cwd=self.directory, stdout=file, stderr=file, **options)
        self._running.append(process)
        return process

    def write_box(self, extra=""):
        """The configuration of a box, with further lines; its path."""
        path = self.directory / "box.yaml"
        path.write_text(BOX.format(record=self.directory / "box.record") + extra, encoding="utf-8")
        return path

    def start_box(self, extra="", log="box.log", **options):
        """A box with these further lines in its configuration, ready. Its log is read by log_of()."""
        process = self.start([self.program, "run", "--config", self.write_box(extra)], log, **options)
        wait_until(lambda: ": ready" in self.log_of(log) or process.poll() is not None, PATIENCE, "the box is not ready")
        if process.poll() is not None:
            raise LabError(f"the box ended: {self.log_of(log)}")
        return process

    def log_of(self, log="box.log"):
        """What a process has printed so far."""
        return (self.directory / log).read_text(encoding="utf-8", errors="replace")

    def expect_log(self, words, timeout=PATIENCE, log="box.log"):
        """Waits until the log has these words."""
        wait_until(lambda: words in self.log_of(log), timeout, f'"{words}" is not in {log}')

    @staticmethod
    def end_box(process):
        """Stops a box in order; its exit code."""
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: process.poll() is not None, PATIENCE, "the box does not stop")
        return process.returncode


class Skip(Exception):
    """Why a case cannot run here."""


def expect(condition, what):
    """LabError unless it is so."""
    if not condition:
        raise LabError(what)
