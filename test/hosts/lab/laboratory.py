# SPDX-License-Identifier: BSD-3-Clause
"""Two booted hosts and what lies between them, made for one scenario and gone after it."""
import contextlib
import time

from .capture import Captures
from .guest import Guest
from .network import MACHINE_SETTINGS, Network, Settings, remove_leftovers, require_root
from .path import HOST_INTERFACE, Boxes, Bridge
from .process import LabError
from .session import Session

# After the last disconnect: time for answers on the way, and for a held DREQ, before custody is counted.
SETTLE_SECONDS = 1.0
_PATHS = {"boxes": Boxes, "bridge": lambda network, _: Bridge(network)}


class Laboratory(contextlib.ExitStack):
    """A context: everything that it makes is removed at its end, whatever the end is.

    `through`: what lies between the hosts: "boxes", "bridge", or who makes it of a Network and the program.
    """

    def __init__(self, kernel, program, directory, through="boxes", capture=True, progress=lambda text: None):
        super().__init__()
        self.directory = directory
        self.sessions = []
        self.network = None
        self._kernel, self._program, self._through = kernel, program, through
        self._capture, self._progress = capture, progress
        self._failed = False

    def __enter__(self):
        super().__enter__()
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def _make(self):
        require_root()
        for name in remove_leftovers():
            self._progress(f"removed {name}, left by a run that was killed")
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = Settings(MACHINE_SETTINGS)
        self.callback(settings.restore)
        network = self.network = Network()
        self.callback(network.remove)
        self.path = _PATHS.get(self._through, self._through)(network, self._program)
        self.callback(self.path.kill)
        self._hosts = []
        for role, number in (("host-a", 2), ("host-b", 1)):
            host = Guest(self._kernel, role, network.namespace(role), HOST_INTERFACE, number, self.directory)
            self.callback(host.stop)
            self._hosts.append(host)
        for host in self._hosts:
            host.wait_ready()
        self._progress("two hosts booted")
        if self._capture:
            captures = Captures(network, self.path.capture_points, self.directory / "captures")
            self.callback(lambda: captures.stop(keep=self._failed))

    def __exit__(self, kind, error, trace):
        self._failed = kind is not None
        return super().__exit__(kind, error, trace)

    @contextlib.contextmanager
    def session(self, conditions, may_lose=False):
        """Boxes and link under these conditions for the length of a with block; afterwards .counters are known.

        `may_lose`: a box that ends with an error (1: it had acknowledged what was not delivered) is left to the
        scenario's own checks, in .wrong.
        """
        number = len(self.sessions) + 1
        directory = self.directory / f"session-{number}"
        directory.mkdir()
        session = Session(self._hosts, conditions, self.path, self._progress)
        self.sessions.append(session)
        self.path.start(conditions, directory)
        try:
            yield session
            time.sleep(SETTLE_SECONDS + 2 * conditions.rtt)
        except BaseException:
            # The counters of a failed run are worth having, but not worth an error of their own.
            session.counters, _ = self.path.stop(grace=5)
            raise
        session.counters, session.wrong = self.path.stop()
        if session.wrong and not may_lose:
            raise LabError("; ".join(session.wrong))
