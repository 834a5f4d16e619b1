# SPDX-License-Identifier: BSD-3-Clause
"""What lies between the two hosts: box, long link, box; or, for reference, a plain bridge."""
import base64
import dataclasses
import json
import os
import signal

from .network import MTU
from .process import LabError, run, spawn, stop, wait_until

HOST_INTERFACE = "uml0"
START_SECONDS = 120
# Draining waits for answers of the other end, at worst for a connection to be given up (60 s by default).
STOP_SECONDS = 180
REORDER_EXTRA = "1ms"
UNSET = "unset"
PEERS = {"near": "198.51.100.1", "far": "198.51.100.2"}  # the boxes' own addresses on the long link, RFC 5737


@dataclasses.dataclass(frozen=True)
class Conditions:
    """One way to run the same traffic: how long and how bad the link is, and what the boxes do."""
    distance: str = "0km"
    loss: str = "0%"
    policy: str = "off"
    seed: int = 1
    duplicate: str = "0%"
    reorder: str = "0%"  # share of the frames that arrive REORDER_EXTRA later
    record: bool = False  # boxes keep a restart record
    workers: int = 1  # of each box
    metrics: str = ""  # where each box shows its metrics, such as 0.0.0.0:9464
    control: bool = False  # boxes listen for `longhaul ctl`
    peers: bool = False  # boxes watch each other
    rate: str = "100Gbps"  # of the link
    wan_rate: str = ""  # of the boxes; by default the link's rate, and UNSET is what a box does by itself
    queue: str = "64MiB"  # of the link
    give_up: str = ""  # how long boxes wait for an answer; by default as long as they do by themselves

    @property
    def rtt(self):
        """Seconds that the link alone adds to a round trip: light in fibre needs 5 µs per km and direction."""
        return float(self.distance.removesuffix("km")) * 10e-6

    @property
    def loss_fraction(self):
        return float(self.loss.removesuffix("%")) / 100

    def __str__(self):
        harm = "".join(f", {value} {what}" for value, what in (
            (self.loss, "loss"), (self.duplicate, "duplicated"), (self.reorder, "reordered")) if value != "0%")
        return f"{self.distance}{harm}, policy {self.policy}"


def _vdev(number, interface, workers=1):
    pairs = f",qpairs={workers}" if workers > 1 else ""
    return f"net_af_packet{number},iface={interface},framesz=16384,blocksz=1048576,framecnt=1024{pairs}"


def _peers(name, directory):
    """Of one of the two boxes; the key that both have is made when it is first asked for."""
    keys = directory / "boxes.keys"
    if not keys.exists():
        keys.touch(mode=0o600)
        keys.write_text(base64.b64encode(os.urandom(32)).decode() + "\n", encoding="ascii")
    other, = PEERS.keys() - {name}
    return (f"peers: {{address: {PEERS[name]}/24, boxes: [{{name: {other}, address: {PEERS[other]}, "
            f"key_file: {keys}}}]}}\n")


def _box_config(name, conditions, directory):
    workers = conditions.workers
    cores = sorted(os.sched_getaffinity(0))
    if workers > len(cores):
        raise LabError(f"{workers} workers need as many processors, and there are {len(cores)}")
    cores = f"cores: {cores[:workers]}\n" if workers > 1 else ""
    record = f"restart_record: {directory / name}.record\n" if conditions.record else ""
    metrics = f"metrics: {{listen: \"{conditions.metrics}\"}}\n" if conditions.metrics else ""
    control = f"control: {{socket: {directory / name}.sock}}\n" if conditions.control else ""
    peers = _peers(name, directory) if conditions.peers else ""
    wan_rate = "" if conditions.wan_rate == UNSET else f"wan_rate: {conditions.wan_rate or conditions.rate}\n"
    timers = f"timers: {{give_up: {conditions.give_up}}}\n" if conditions.give_up else ""
    return f"""\
name: {name}
ports:
  host: {{vdev: "{_vdev(0, 'host0', workers)}"}}
  wan:  {{vdev: "{_vdev(1, 'wan0', workers)}"}}
hugepages: false
idle: sleep
policy: {{default: {conditions.policy}, rules: []}}
custody: {{box_limit: 256MiB, flow_limit: 64MiB, mbufs: 16384}}
{wan_rate}{record}{control}{cores}{metrics}{peers}{timers}"""


def _link_config(conditions):
    harm = f"loss: {conditions.loss}, duplicate: {conditions.duplicate}"
    if conditions.reorder != "0%":
        harm += f", reorder: {{fraction: {conditions.reorder}, extra: {REORDER_EXTRA}}}"
    return f"""\
ports:
  a: {{vdev: "{_vdev(0, 'a0')}"}}
  b: {{vdev: "{_vdev(1, 'b0')}"}}
hugepages: false
idle: sleep
seed: {conditions.seed}
both: {{distance: {conditions.distance}, rate: {conditions.rate}, queue: {conditions.queue}, {harm}}}
events: []
"""


class Boxes:
    """host A - near box - link - far box - host B; the cables stay, the three processes come and go."""

    # Those that snapshot() can be asked about while they run.
    boxes = ("near", "far")
    # Where a capture says most: what each host sees, and what is on the long link.
    capture_points = (("host-a", HOST_INTERFACE), ("near", "wan0"), ("far", "wan0"), ("host-b", HOST_INTERFACE))

    def __init__(self, network, program):
        self._network, self._program = network, program
        self._processes = {}
        self._conditions = self._directory = None
        self._starts = {}
        network.cable(("host-a", HOST_INTERFACE), ("near", "host0"))
        network.cable(("near", "wan0"), ("link", "a0"))
        network.cable(("link", "b0"), ("far", "wan0"))
        network.cable(("far", "host0"), ("host-b", HOST_INTERFACE))

    def start(self, conditions, directory):
        """Starts the three processes and waits until all forward."""
        self._conditions, self._directory, self._starts = conditions, directory, {}
        for name in ("near", "link", "far"):
            self._launch(name)
        for name in ("near", "link", "far"):
            self._wait_ready(name)

    def _launch(self, name, program=None):
        subcommand, config = (("link", _link_config(self._conditions)) if name == "link" else
                              ("run", _box_config(name, self._conditions, self._directory)))
        file = self._directory / f"{name}.yaml"
        file.write_text(config, encoding="ascii")
        # A process that was ended on purpose and started again does not write over what its predecessor said.
        number = self._starts[name] = self._starts.get(name, 0) + 1
        log = self._directory / (f"{name}.log" if number == 1 else f"{name}-{number}.log")
        with open(log, "wb") as output:
            self._processes[name] = (spawn(
                [program or self._program, subcommand, "--config", file, "--stats", self._stats(name)],
                namespace=self._network.namespace(name), stdout=output, stderr=output), log)

    def _wait_ready(self, name):
        process, log = self._processes[name]

        def up():
            if process.poll() is not None:
                raise LabError(f"{name} ended at start with exit code {process.returncode}:\n{log.read_text()[-2000:]}")
            return b"ready" in log.read_bytes()
        wait_until(up, START_SECONDS, f"{name} to say that it is ready (log: {log})")

    def _stats(self, name):
        return self._directory / f"{name}.stats.json"

    def snapshot(self, name):
        """The counters of a running process, as of now."""
        file = self._stats(name)
        file.unlink(missing_ok=True)
        self._processes[name][0].send_signal(signal.SIGUSR1)
        wait_until(file.exists, 60, f"{name} to write its counters")
        return json.loads(file.read_text())

    def log(self, name):
        """What a running process has said since its start."""
        return self._processes[name][1].read_text(errors="replace")

    def kill_one(self, name):
        """kill -9, as a failure would."""
        process, _ = self._processes.pop(name)
        stop(process, sig=signal.SIGKILL)
        self._stats(name).unlink(missing_ok=True)

    def end_one(self, name):
        """Stops one of the processes in order: its exit code and what it counted."""
        process, _ = self._processes.pop(name)
        code = stop(process, STOP_SECONDS)
        return code, json.loads(self._stats(name).read_text())

    def signal(self, name, number):
        """A signal to a running process."""
        self._processes[name][0].send_signal(number)

    def config(self, name):
        """The file of a box's configuration."""
        return self._directory / f"{name}.yaml"

    def socket(self, name):
        """Where a box listens, if the conditions have `control`."""
        return self._directory / f"{name}.sock"

    def start_again(self, name, program=None):
        """A new process for one that was ended, with the same configuration (and restart record); of another program,
        if one is given."""
        self._launch(name, program)
        self._wait_ready(name)

    def cut(self):
        """From now on nothing comes through the long link, and what was under way is lost."""
        process, _ = self._processes.pop("link")
        stop(process)

    def mend(self):
        """The long link is as it was before cut()."""
        self.start_again("link")

    def stop(self, grace=STOP_SECONDS):
        """Stops the boxes first, so that what they drain still finds a link.

        Returns the counters of each process by name, and what went wrong, in words.
        """
        counters, wrong = {}, []
        for name in ("near", "far", "link"):
            if name not in self._processes:
                continue
            process, log = self._processes.pop(name)
            code = stop(process, grace)
            try:
                counters[name] = json.loads(self._stats(name).read_text())
            except (OSError, ValueError) as error:
                wrong.append(f"{name} left no counters ({error})")
            if code:
                wrong.append(f"{name} ended with exit code {code}:\n{log.read_text(errors='replace')[-2000:]}")
        return counters, wrong

    def kill(self):
        """Ends what is left, without waiting for anything to drain."""
        for process, _ in self._processes.values():
            stop(process, grace=0)
        self._processes.clear()


class Bridge:
    """The reference: the same hosts on a plain Linux bridge. Distance, loss and policy do not apply."""

    boxes = ()
    capture_points = (("host-a", HOST_INTERFACE), ("host-b", HOST_INTERFACE))

    def __init__(self, network):
        network.cable(("host-a", HOST_INTERFACE), ("wire", "bridge-a"))
        network.cable(("host-b", HOST_INTERFACE), ("wire", "bridge-b"))
        space = network.namespace("wire")
        run("ip", "-n", space, "link", "add", "br0", "mtu", MTU, "type", "bridge", "mcast_snooping", 0)
        for port in ("bridge-a", "bridge-b"):
            run("ip", "-n", space, "link", "set", "dev", port, "master", "br0")
        run("ip", "-n", space, "link", "set", "dev", "br0", "up")

    def start(self, conditions, directory):
        """A bridge has no process to start."""

    def stop(self, grace=0):
        return {}, []

    def kill(self):
        """Nor one to end."""
