# SPDX-License-Identifier: BSD-3-Clause
"""A running box without traffic, on devices that are none, for what needs only its HTTP server; and ways to ask it."""
import http.client
import socket

from lab.process import LabError, spawn, stop, wait_until

CONFIG = """\
name: alone
ports:
  host: {{vdev: "net_null0,no-rx=1"}}
  wan: {{vdev: "net_null1,no-rx=1"}}
hugepages: false
idle: sleep
connections: 256
custody: {{box_limit: 16MiB, flow_limit: 8MiB, mbufs: 2048, small_mbufs: 2048}}
metrics: {{listen: "{listen}"}}
"""


def free_port(family=socket.AF_INET):
    """A port of loopback that nobody has now."""
    with socket.socket(family) as probe:
        probe.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        return probe.getsockname()[1]


class Box:
    """A context. `address` is where it shows its metrics."""

    def __init__(self, program, directory, address="127.0.0.1"):
        directory.mkdir(parents=True, exist_ok=True)
        self.host = address
        self.port = free_port(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.listen = f"[{address}]:{self.port}" if ":" in address else f"{address}:{self.port}"
        self.config = directory / "box.yaml"
        self.config.write_text(CONFIG.format(listen=self.listen), encoding="ascii")
        self.log = directory / "box.log"
        self._program = program

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = spawn([self._program, "run", "--config", self.config], stdout=log, stderr=log)
        try:
            wait_until(self._answers, 120, f"the box to show its metrics (log: {self.log})")
        except BaseException:
            stop(self.process)
            raise
        return self

    def __exit__(self, *_):
        stop(self.process)

    def _answers(self):
        if self.process.poll() is not None:
            raise LabError(f"the box ended: {self.log.read_text()[-1000:]}")
        try:
            return get(self.host, self.port, "/healthz")[0] == 200
        except OSError:
            return False


def get(host, port, path, method="GET", timeout=120):
    """Status, headers and body of one request."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()
