# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces and the cables between them.

Every namespace is called `lh-<pid of the harness>-<role>`, so that runs beside each other do not meet and what a
killed run left behind can be told from what is in use.
"""
import os
import re
import signal

from .process import LabError, run

PREFIX = "lh"
MTU = 9000

# One burst of 64 KiB messages must fit into a raw socket, or go-back-N eats the throughput.
MACHINE_SETTINGS = {
    "net.core.rmem_default": 64 << 20,
    "net.core.rmem_max": 128 << 20,
    "net.core.netdev_max_backlog": 20000,
}


def _setting_path(name):
    return "/proc/sys/" + name.replace(".", "/")


class Settings:
    """Kernel settings of the machine, raised where they are lower than needed and put back by restore()."""

    def __init__(self, wanted):
        self._before = {}
        for name, value in wanted.items():
            path = _setting_path(name)
            with open(path, encoding="ascii") as file:
                before = int(file.read())
            if before < value:
                self._write(path, value)
                self._before[path] = before

    def restore(self):
        while self._before:
            self._write(*self._before.popitem())

    @staticmethod
    def _write(path, value):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(value))


def _alive(pid):
    return os.path.exists(f"/proc/{pid}")


def remove_leftovers():
    """Removes namespaces of runs that were killed, and ends what still runs inside them. Returns their names."""
    removed = []
    for line in run("ip", "netns", "list").splitlines():
        match = re.match(rf"({PREFIX}-(\d+)-[a-z-]+)\b", line)
        if match and not _alive(match.group(2)):
            _remove_namespace(match.group(1))
            removed.append(match.group(1))
    return removed


def _remove_namespace(name):
    for pid in run("ip", "netns", "pids", name, check=False).split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    run("ip", "netns", "delete", name, check=False)


class Network:
    """Namespaces and veth pairs of one run."""

    def __init__(self):
        self._names = {}

    def namespace(self, role):
        """The namespace of a role, made on first use."""
        if role not in self._names:
            name = f"{PREFIX}-{os.getpid()}-{role}"
            run("ip", "netns", "add", name)
            self._names[role] = name
            # The owner of an interface here (a user-mode kernel, DPDK) brings its own addresses. The machine's stack keeps quiet:
            # its neighbour discovery would enter the boxes. "default" is what the cables made later begin with; -e: a machine
            # without IPv6 has no such setting.
            for scope in ("all", "default"):
                run("ip", "netns", "exec", name, "sysctl", "-eqw", f"net.ipv6.conf.{scope}.disable_ipv6=1")
            run("ip", "-n", name, "link", "set", "lo", "up")
        return self._names[role]

    def cable(self, end_a, end_b):
        """A veth pair; each end is (role, interface name). No offloads: frames must look as they do on a wire."""
        (role_a, name_a), (role_b, name_b) = end_a, end_b
        space_a, space_b = self.namespace(role_a), self.namespace(role_b)
        run("ip", "link", "add", name_a, "netns", space_a, "type", "veth", "peer", "name", name_b, "netns", space_b)
        for space, name in ((space_a, name_a), (space_b, name_b)):
            run("ip", "netns", "exec", space, "ethtool", "-K", name,
                "tx", "off", "rx", "off", "gso", "off", "tso", "off", "gro", "off")
            run("ip", "-n", space, "link", "set", "dev", name, "mtu", MTU, "txqueuelen", 20000, "up")

    def remove(self):
        while self._names:
            _, name = self._names.popitem()
            _remove_namespace(name)


def require_root():
    if os.geteuid() != 0:
        raise LabError("network namespaces and raw sockets need root")
