# SPDX-License-Identifier: BSD-3-Clause
"""One transfer between the hosts that something may be done to while it runs."""
import dataclasses
import time

from . import nvme, perftest
from .process import LabError, wait_until
from .traffic import UNACCELERATED, WRONG_DATA

# A server that only waits for a completion does not learn that its client has failed: not a matter of the path.
SERVER_GRACE_SECONDS, LEFT_SERVER_GRACE_SECONDS = 60, 3
FAILED_QP_SECONDS = 5
RETRY_SECONDS = 20  # eight times 2.1 s, what RDMA-CM gives here, and some
MOST_REFUSALS = 8
HUNG = 124  # guest_init's code for a command that reached its time limit


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How both ends ended; for NVMe the server's end is its kernel's and always 0."""
    rc: int
    server_rc: int
    server_ended_by_itself: bool
    seconds: float
    ended: float  # by time.monotonic(); if it failed, when the first end did
    wrong_data: bool
    output: str

    @property
    def complete(self):
        return self.rc == 0 and self.server_rc == 0 and not self.wrong_data

    @property
    def hung(self):
        return self.rc == HUNG

    def __str__(self):
        if self.complete:
            return "complete"
        what = "wrong data" if self.wrong_data else f"exit codes {self.rc} and {self.server_rc} (server)"
        return f"{what} after {self.seconds:.1f} s: {self.output.strip()[-600:]}"


class Transfer:
    """Started when made. finish() waits for both ends."""

    def __init__(self, session, traffic, count, timeout, server_extra, client_extra):
        self._session, self._traffic, self._timeout = session, traffic, timeout
        self._server = None
        self._refused = 0
        if traffic.operation == "nvme":
            self._attach()
            self._words = (None, nvme.fio_command(count))
        else:
            server, _ = traffic.commands(traffic, session.server, count, server_extra)
            _, client = traffic.commands(traffic, session.server, count, client_extra)
            self._words = (server, client)
        self._start()

    def _start(self):
        server, client = self._words
        if server is not None:
            self._server = self._session.server.start(server, self._timeout)
            wait_until(lambda: self._traffic.listening(self._session.server) or not self._server.running, 60,
                       f"{self._server} to listen")
        self._client = self._session.client.start(client, self._timeout)

    def _again_if_refused(self):
        """The client has ended. Starts both ends again, and is true, if the client was refused (perftest.REFUSED)."""
        if self._server is None or self._client.rc == 0 or not perftest.REFUSED.search(self._client.output):
            return False
        self._server.kill()
        self._refused += 1
        if self._refused > MOST_REFUSALS:
            return False
        self._start()
        return True

    def _attach(self):
        nvme.export(self._session, self._traffic.family)
        # Both are nvme-cli's options: retry soon, and for longer than any of our outages.
        nvme.connect(self._session, self._traffic.family, ["--reconnect-delay=2", "--ctrl-loss-tmo=120"])

    @property
    def running(self):
        return self._client.running

    def wait_until(self, condition, what, seconds=180):
        """Until condition() is true, with the transfer still running; one that was refused is begun again meanwhile."""
        def seen():
            if self.running or self._again_if_refused():
                return condition()
            raise LabError(f"{self._client}: over before {what}, exit code "
                           f"{self._client.rc}\n{self._client.output[-1000:]}")
        return wait_until(seen, seconds, what)

    def wait_under_way(self, count=50, of=None, seconds=180):
        """Until these counters of the near box (by default its pseudo-ACKs, or requests where it may make none) have
        reached `count`, with the transfer still running."""
        unaccelerated = self._traffic.operation in UNACCELERATED
        of = of or (("requests", "requests_unlearned") if unaccelerated else ("pseudo_acks",))

        def reached():
            counters = self._session.path.snapshot("near")
            return sum(counters[name] for name in of) >= count
        self.wait_until(reached, f"{count} {' + '.join(of)} of {self._client}", seconds)

    def _end_who_cannot_know(self):
        """While the client runs: an end whose QP has been in error for a while is ended, which its peer then hears of;
        and the client, when the server has ended and the client's own retries would have told it.

        rstream goes on polling after its QP has failed, for ever; the error, which the path owes it, it has. Nothing
        in RDMA tells a client that only waits for a message, without a request of its own, that its server has failed.
        """
        since = {}
        ends = ((self._session.client, self._client), (self._session.server, self._server))
        while not self._client.ended(1.0):
            now = time.monotonic()
            for host, command in ends:
                qps = host.run(["rdma", "resource", "show", "qp"], check=False).output
                if "state ERR" not in qps:
                    since.pop(host, None)
                elif now - since.setdefault(host, now) > FAILED_QP_SECONDS:
                    command.kill()
            if not self._server.running and now - self._server.ended_at > RETRY_SECONDS:
                self._client.kill()

    def kill(self):
        """Ends both ends, of a transfer that was not meant to be complete."""
        self._client.kill()
        if self._server is not None:
            self._server.kill()

    def finish(self, qp_may_fail=False):
        """Waits for the client, then for the server; the Outcome is also a step of the session's record."""
        if qp_may_fail and self._server is not None:
            self._end_who_cannot_know()
        self._client.wait()
        while self._again_if_refused():
            self._client.wait()
        by_itself, ended = True, self._client.ended_at
        if self._server is not None:
            if self._client.rc and not self._server.running:
                ended = min(ended, self._server.ended_at)
            end = time.monotonic() + (LEFT_SERVER_GRACE_SECONDS if self._client.rc else SERVER_GRACE_SECONDS)
            while self._server.running and time.monotonic() < end:
                time.sleep(0.05)
            by_itself = not self._server.running
            self._server.kill()
        else:
            nvme.disconnect(self._session)
        output = self._client.output + (self._server.output if self._server else "")
        rcs = [perftest.exit_code(end.rc, end.output) if end else 0 for end in (self._client, self._server)]
        outcome = Outcome(*rcs, by_itself, self._client.seconds, ended, WRONG_DATA.search(output) is not None, output)
        step = {"command": str(self._client), "server_command": str(self._server), "rc": outcome.rc,
                "server_rc": outcome.server_rc, "server_ended_by_itself": by_itself, "seconds": outcome.seconds,
                "wrong_data": outcome.wrong_data, "refused": self._refused}
        if not outcome.complete:
            step["output"] = output[-4000:]
        self._session.steps.append(step)
        return outcome
