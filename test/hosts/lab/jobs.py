# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a row over QPs that come back without RDMA-CM: running rc_jobs on both hosts, and reading what it says."""
import dataclasses
import json
import statistics

from . import perftest
from .process import wait_until
from .tools import RC_JOBS

PORT = 18600
# rxe hands out QPNs in rising order; a device that is made anew begins again.
ANEW = f"rdma link delete {perftest.DEVICE}; rdma link add {perftest.DEVICE} type rxe netdev vec0"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What rc_jobs is asked for; its --help explains each."""
    jobs: int
    kind: str = "write"
    messages: int = 400
    other_qpn: bool = False
    vary: bool = False
    leave_every: int = 0
    job_seconds: int = 30

    def words(self):
        words = ["--jobs", self.jobs, "--kind", self.kind, "--messages", self.messages,
                 "--job-timeout", self.job_seconds]
        words += ["--other-qpn"] * self.other_qpn + ["--vary"] * self.vary
        return words + (["--leave-every", self.leave_every] if self.leave_every else [])


@dataclasses.dataclass(frozen=True)
class Row:
    """Jobs that ran one after the other, as the client tells of them; the server's lines are for a closer look."""
    rc: int
    server_rc: int
    jobs: list
    server_jobs: list
    seconds: float
    said: str

    def count(self, *verdicts):
        """How many jobs ended so."""
        return sum(job["verdict"] in verdicts for job in self.jobs)

    @property
    def compared(self):
        """Bytes that were compared, over all jobs."""
        return sum(job["compared"] for job in self.jobs)

    @property
    def wrong(self):
        """Bytes that differed, wherever that was found."""
        return sum(job["wrong"] for job in self.jobs)

    @property
    def job_seconds(self):
        """Seconds of each whole job, from both ends' being ready to the verdict.

        Without the comparison: 50 to 250 ms of the guest's own processor, while nothing is on the wire.
        """
        return [job["seconds"] - job["comparing"] for job in self.jobs if job["verdict"] == "equal"]

    @property
    def median(self):
        """Seconds of a median job; None without one."""
        return statistics.median(self.job_seconds) if self.job_seconds else None

    @property
    def first_bad(self):
        """The first job that was not as it should be, in words, or None."""
        for job in self.jobs:
            if job["verdict"] not in ("equal", "left"):
                differ = f"{job['wrong']} of {job['compared']} bytes differ, {job['missing']} are missing"
                why = job.get("why") or differ
                return f"job {job['job']} {job['verdict']}: {why}"
        return None

    def qpns(self, end):
        """The QPNs that this end ("client", "server") had."""
        return {job["qpn" if end == "client" else "peer_qpn"] for job in self.jobs}


def parse(text):
    """The lines of JSON among what rc_jobs printed."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def run(session, plan, timeout=300):
    """All jobs of a plan between the session's hosts: a Row. Also a step of the session's record."""
    common = [RC_JOBS, "--port", PORT, "--between", ANEW, "--timeout", timeout]
    server = session.server.start(common, timeout + 10)
    wait_until(lambda: perftest.tcp_listening(session.server, PORT) or not server.running, 15, f"{server} to listen")
    client = session.client.start(common + plan.words() + [session.server.ip], timeout + 10).wait()
    if client.rc:
        server.ended(3)
        server.kill()
    server.wait()
    said = "\n".join(line for output in (client.output, server.output) for line in output.splitlines()
                     if not line.startswith("{"))
    step = {}
    if client.rc or server.rc:  # what the devices counted tells a host that stands still from one that is not heard
        for host in (session.client, session.server):
            step[f"{host.name}_rdma_statistic"] = host.run(["rdma", "statistic", "show"], check=False).output
    row = Row(client.rc, server.rc, parse(client.output), parse(server.output), client.seconds, said)
    session.steps.append(step | {"command": str(client), "server_command": str(server), "rc": row.rc,
                          "server_rc": row.server_rc, "seconds": row.seconds, "said": said,
                          "median_seconds": row.median, "jobs": row.jobs, "server_jobs": row.server_jobs})
    return row
