# SPDX-License-Identifier: BSD-3-Clause
"""What lies between the two hosts: box, long link, box; or, for reference, a plain bridge."""
import dataclasses
import json

from .network import MTU
from .process import LabError, run, spawn, stop, wait_until

HOST_INTERFACE = "uml0"
START_SECONDS = 30
# Draining waits for answers of the other end, at worst for a connection to be given up (60 s by default).
STOP_SECONDS = 90


@dataclasses.dataclass(frozen=True)
class Conditions:
    """One way to run the same traffic: how long and how bad the link is, and what the boxes do."""
    distance: str = "0km"
    loss: str = "0%"
    policy: str = "off"
    seed: int = 1

    @property
    def rtt(self):
        """Seconds that the link alone adds to a round trip: light in fibre needs 5 µs per km and direction."""
        return float(self.distance.removesuffix("km")) * 10e-6

    @property
    def loss_fraction(self):
        return float(self.loss.removesuffix("%")) / 100

    def __str__(self):
        loss = f", {self.loss} loss" if self.loss_fraction else ""
        return f"{self.distance}{loss}, policy {self.policy}"


def _vdev(number, interface):
    return f"net_af_packet{number},iface={interface},framesz=16384,blocksz=1048576,framecnt=1024"


def _box_config(name, conditions):
    return f"""\
name: {name}
ports:
  host: {{vdev: "{_vdev(0, 'host0')}"}}
  wan:  {{vdev: "{_vdev(1, 'wan0')}"}}
hugepages: false
idle: sleep
wan_rate: 100Gbps
policy: {{default: {conditions.policy}, rules: []}}
custody: {{box_limit: 256MiB, flow_limit: 64MiB, mbufs: 16384}}
"""


def _link_config(conditions):
    return f"""\
ports:
  a: {{vdev: "{_vdev(0, 'a0')}"}}
  b: {{vdev: "{_vdev(1, 'b0')}"}}
hugepages: false
idle: sleep
seed: {conditions.seed}
both: {{distance: {conditions.distance}, rate: 100Gbps, queue: 64MiB, loss: {conditions.loss}}}
events: []
"""


class Boxes:
    """host A - near box - link - far box - host B; the cables stay, the three processes come and go."""

    # Where a capture says most: what each host sees, and what is on the long link.
    capture_points = (("host-a", HOST_INTERFACE), ("near", "wan0"), ("far", "wan0"), ("host-b", HOST_INTERFACE))

    def __init__(self, network, program):
        self._network, self._program = network, program
        self._processes = {}
        self._stats = {}
        network.cable(("host-a", HOST_INTERFACE), ("near", "host0"))
        network.cable(("near", "wan0"), ("link", "a0"))
        network.cable(("link", "b0"), ("far", "wan0"))
        network.cable(("far", "host0"), ("host-b", HOST_INTERFACE))

    def start(self, conditions, directory):
        """Starts the three processes and waits until all forward."""
        for name, subcommand, config in (("near", "run", _box_config("near", conditions)),
                                         ("link", "link", _link_config(conditions)),
                                         ("far", "run", _box_config("far", conditions))):
            file = directory / f"{name}.yaml"
            file.write_text(config, encoding="ascii")
            self._stats[name] = directory / f"{name}.stats.json"
            with open(directory / f"{name}.log", "wb") as log:
                self._processes[name] = (spawn(
                    [self._program, subcommand, "--config", file, "--stats", self._stats[name]],
                    namespace=self._network.namespace(name), stdout=log, stderr=log), directory / f"{name}.log")
        for name, (process, log) in self._processes.items():
            def up(process=process, log=log, name=name):
                if process.poll() is not None:
                    raise LabError(f"{name} ended at start with exit code {process.returncode}:\n{log.read_text()[-2000:]}")
                return b"ready" in log.read_bytes()
            wait_until(up, START_SECONDS, f"{name} to say that it is ready (log: {log})")

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
                counters[name] = json.loads(self._stats[name].read_text())
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
