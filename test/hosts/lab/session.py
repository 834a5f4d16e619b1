# SPDX-License-Identifier: BSD-3-Clause
"""Traffic between the two hosts under given conditions, and the record of it."""
import contextlib
import dataclasses
import pathlib
import time

from . import nvme, perftest, stall
from .process import LabError, wait_until
from .transfer import RETRY_SECONDS, Transfer

GUEST_TCP = pathlib.Path(__file__).resolve().parent.parent / "guest_tcp"
GUEST_UDP = GUEST_TCP.with_name("guest_udp")
DISCARD_PORT = 9
LOAD_SECONDS = 300
CONNECT_ATTEMPTS = 8
POLL_SECONDS = 0.5


class Session:
    """What a scenario runs between the start and the end of the boxes."""

    def __init__(self, hosts, conditions, path, progress):
        self.client, self.server = hosts
        self.conditions, self.path = conditions, path
        self.counters, self.wrong = {}, []
        self.steps = []
        self._progress = progress

    def _client_server(self, server_argv, client_argv, listening, timeout):
        """Starts a server, waits until it listens, runs the client; again when the client was refused."""
        for attempt in range(1, CONNECT_ATTEMPTS + 1):
            server = self.server.start(server_argv, timeout)
            wait_until(lambda: listening(self.server) or not server.running, 60, f"{server} to listen")
            client = self.client.start(client_argv, timeout)
            left, hung = self._wait(client, server, timeout)
            failed = not left and perftest.exit_code(client.rc, client.output)
            refused = failed and perftest.REFUSED.search(client.output)
            if failed:
                server.kill()
            if not refused or attempt == CONNECT_ATTEMPTS:
                break
        try:
            server.wait()
        finally:
            step = {"command": str(client), "server_command": str(server), "rc": client.rc, "server_rc": server.rc,
                    "seconds": client.seconds, "refused": attempt - 1, "left": left}
            self.steps.append(step)
        if failed or perftest.exit_code(server.rc, server.output):
            step["output"], step["server_output"] = client.output, server.output
            raise LabError(f"{client}: exit code {client.rc}, server's {server.rc}\n{hung}{client.output[-1500:]}\n"
                           f"server said:\n{server.output[-1500:]}")
        return client, server, step

    def _wait(self, client, server, timeout):
        """Until the client ends: whether its server had left it behind, and what went on if it reached its time limit.

        Where the ACK of perftest's last message is lost and no box stands in for it, the server, which has all it waits
        for, ends, and the client asks a QP that is gone: for ever, since Soft-RoCE takes 7 retries for no limit
        (rxe_comp.c). It has its figures by then, and is ended.
        """
        limit = time.monotonic() + timeout - stall.BEFORE_LIMIT_SECONDS
        while not client.ended(POLL_SECONDS):
            now = time.monotonic()
            if (self.conditions.policy == "off" and not server.running and server.rc == 0
                    and now - server.ended_at > RETRY_SECONDS and perftest.has_result(client.output)):
                client.kill()
                self._progress(f"{client}: had all its completions but the last; its server was gone")
                return True, ""
            if now >= limit:
                return False, stall.watch(client, (self.client, self.server), self.path)
        return False, ""

    def begin(self, traffic, count, timeout=300, server_extra=(), client_extra=()):
        """Starts a transfer of lab.traffic and returns it (see Transfer)."""
        return Transfer(self, traffic, count, timeout, server_extra, client_extra)

    def transfer(self, traffic, count, **options):
        """A transfer of lab.traffic, to its end: its Outcome."""
        return self.begin(traffic, count, **options).finish()

    def perftest(self, tool, size, count, *, timeout=300, cm=True, **options):
        """One perftest; the Figures that its client printed, or None if it did not know the processor's clock.

        That is no failure: all messages were sent. Who needs the figures asks again (see speed.measure).
        """
        server = perftest.command(tool, size, count, cm=cm, **options)
        client = perftest.command(tool, size, count, cm=cm, server=self.server.ip, **options)
        listening = perftest.cm_listening if cm else perftest.tcp_listening
        done, _, step = self._client_server(server, client, listening, timeout)
        step["clock_known"] = perftest.knows_clock(done.output)
        if not step["clock_known"]:
            self._progress(f"{tool} {size} B, {self.conditions}: no figures, perftest did not know the processor's clock")
            return None
        figures = perftest.parse(done.output)
        step["figures"] = {k: v for k, v in dataclasses.asdict(figures).items() if v is not None}
        self._progress(f"{tool} {size} B, {self.conditions}: " + (
            f"{figures.messages_per_second:.0f} messages/s, {figures.gbit_per_second:.3f} Gbit/s"
            if figures.messages_per_second is not None else f"{figures.typical_latency_us} µs"))
        return figures

    def rping(self, address, count, size=1024, timeout=300):
        """rping with its own data check (-V): SEND, READ and WRITE on one connection."""
        common = ["-v", "-V", "-C", count, "-S", size]
        client, _, _ = self._client_server(["rping", "-s", "-a", address] + common,
                                           ["rping", "-c", "-a", address] + common, perftest.cm_listening, timeout)
        pings = client.output.count("ping data:")
        if pings != count:
            raise LabError(f"{client}: {pings} of {count} answers\n{client.output[-1000:]}")
        self._progress(f"rping {address}: {count} of {count} verified")

    def tcp(self, megabytes, port=5201, timeout=180):
        """A TCP transfer, compared by digest."""
        self._client_server([GUEST_TCP, "serve", port], [GUEST_TCP, "send", self.server.ip, port, megabytes],
                            lambda host: perftest.tcp_listening(host, port), timeout)
        self._progress(f"TCP: {megabytes} MiB identical")

    @contextlib.contextmanager
    def load(self, mbps):
        """Sends UDP from the client to the server while the block runs. LabError when it ends before the block does."""
        udp = self.client.start([GUEST_UDP, self.server.ip, DISCARD_PORT, mbps, LOAD_SECONDS], LOAD_SECONDS + 60)
        began = time.monotonic()
        try:
            yield
            if not udp.running:
                raise LabError(f"{udp}: exit code {udp.rc}, before the traffic beside it was over\n{udp.output}")
        finally:
            udp.kill()
            sent = (udp.output.splitlines() or ["less than a second"])[-1]
            self.steps.append({"command": str(udp), "seconds": time.monotonic() - began, "sent": sent})
            self._progress(f"beside UDP: {sent}")

    def run(self, host, argv, timeout=180, check=True):
        """Any other command, in the record as well."""
        done = host.start(argv, timeout).wait()
        step = {"command": str(done), "rc": done.rc, "seconds": done.seconds}
        self.steps.append(step)
        if done.rc:
            step["output"] = done.output
        if check and done.rc:
            raise LabError(f"{done}: exit code {done.rc}\n{done.output[-2000:]}")
        return done

    def nvme_fio(self, megabytes, timeout=600):
        """Kernel NVMe over RDMA: the server exports a RAM disk, the client writes it and verifies what it reads."""
        nvme.export(self)
        nvme.connect(self)
        try:
            nvme.fio(self, megabytes, timeout)
        finally:
            nvme.disconnect(self)
        self._progress(f"fio over nvme-rdma: {megabytes} MiB written and verified")
