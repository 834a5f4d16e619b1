# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of traffic between two hosts, as data: the command lines of both ends, and what they prove about the bytes.

Two exchanges: "cm" (RDMA-CM, which boxes follow) and "tcp" (QPNs and PSNs over a TCP connection of their own, so that
boxes must learn from the traffic). perftest connects by RDMA-CM over IPv4 only; over IPv6 rping, rstream and NVMe do.
"""
import dataclasses
import re
from typing import Callable

from . import perftest

FAMILIES = ("ipv4", "ipv6")
# GIDs of rxe0: 0 is made from the MAC, then the host's addresses in the order in which guest_init sets them.
GID_INDEX = {"ipv4": 1, "ipv6": 2}
PINGPONG_PORT, RSTREAM_PORT = 18515, 7471
UNACCELERATED = ("read", "atomic")  # answered by the responder only
COUNTED = "completions counted, bytes not compared"
# What any of the tools says when bytes are not what was sent.
WRONG_DATA = re.compile("mismatch|verification failed|verify failed|invalid data|verify: bad|got pattern", re.I)


@dataclasses.dataclass(frozen=True)
class Traffic:
    """One kind, exchange and family. `brief` and `long` are how many messages (nvme: MiB) a transfer has."""
    operation: str
    exchange: str
    family: str
    brief: int
    long: int
    verified: str
    commands: Callable  # (traffic, server's address, count, extra words for both) -> (server's words, client's words)
    listening: Callable  # host -> bool

    @property
    def name(self):
        return f"{self.operation}-{self.exchange}-{self.family}"

    def address(self, host):
        return host.ip6 if self.family == "ipv6" else host.ip


def _perftest(tool, size):
    def commands(traffic, server, count, extra):
        cm = traffic.exchange == "cm"
        words = ["-x", GID_INDEX[traffic.family]] if not cm else []
        if traffic.family == "ipv6":
            words.append("--ipv6")
        words += extra
        # The exchange over TCP is IPv4's in either case; the RDMA traffic is the GID's.
        return tuple(perftest.command(tool, size, count, cm=cm, extra=words, server=end) for end in (None, server.ip))
    return commands


def _rping(traffic, server, count, extra):
    address = traffic.address(server)
    common = ["-a", address, "-v", "-V", "-C", count, "-S", 16384] + list(extra)
    return ["rping", "-s"] + common, ["rping", "-c"] + common


def _rstream(traffic, server, count, extra):
    common = ["rstream", "-T", "v", "-S", 65536, "-C", count, "-I", 1, "-p", RSTREAM_PORT] + list(extra)
    if traffic.family == "ipv6":
        common += ["-f", "ipv6"]
    address = traffic.address(server)
    return common + ["-b", address], common + ["-s", address]


def _pingpong(traffic, server, count, extra):
    common = ["ibv_rc_pingpong", "-d", perftest.DEVICE, "-g", GID_INDEX[traffic.family], "-c", "-s", 16384, "-m", 4096,
              "-n", count, "-p", PINGPONG_PORT] + list(extra)
    return common, common + [server.ip]


def _tcp_listening(port):
    return lambda host: perftest.tcp_listening(host, port)


# operation: commands, brief, long, verified, {exchange: families}
_KINDS = {
    "write": (_perftest("ib_write_bw", 16384), 800, 4000, COUNTED, {"cm": ("ipv4",), "tcp": FAMILIES}),
    "send": (_perftest("ib_send_bw", 16384), 800, 4000, COUNTED, {"cm": ("ipv4",), "tcp": FAMILIES}),
    "read": (_perftest("ib_read_bw", 16384), 400, 2000, COUNTED, {"cm": ("ipv4",), "tcp": FAMILIES}),
    "atomic": (_perftest("ib_atomic_bw", 8), 1000, 4000, COUNTED, {"cm": ("ipv4",), "tcp": FAMILIES}),
    # SEND, READ and WRITE on one connection; the client compares each ping's bytes.
    "rping": (_rping, 100, 250, "every byte, rping -V", {"cm": FAMILIES}),
    # WRITE with immediate, both ways.
    "rstream": (_rstream, 50, 400, "every byte, rstream -T v", {"cm": FAMILIES}),
    "pingpong": (_pingpong, 200, 500, "each page, ibv_rc_pingpong -c", {"tcp": FAMILIES}),
    # SEND with invalidate, in-capsule data, READ and WRITE from the target, several QPs (see nvme.py).
    "nvme": (None, 4, 16, "every block, fio verify=crc32c", {"cm": FAMILIES}),
}


def _listening(operation, exchange):
    if exchange == "cm":
        return perftest.cm_listening
    return _tcp_listening(PINGPONG_PORT if operation == "pingpong" else perftest.CM_PORT)


TRAFFIC = {}
for _operation, (_commands, _brief, _long, _verified, _exchanges) in _KINDS.items():
    for _exchange, _families in _exchanges.items():
        for _family in _families:
            _traffic = Traffic(_operation, _exchange, _family, _brief, _long, _verified, _commands,
                               _listening(_operation, _exchange))
            TRAFFIC[_traffic.name] = _traffic
