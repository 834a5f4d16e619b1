# SPDX-License-Identifier: BSD-3-Clause
"""UCX's own benchmark of its transports, ucx_perftest: RC queue pairs that it connects over TCP, all from PSN 0 on."""
import re

from . import perftest
from .process import LabError, wait_until

FIRST_PORT = 13337
# The transport itself (UCT): UCX's upper layer would set up its connections by UD, and gives up on Soft-RoCE's.
TRANSPORT = ("-x", "rc_verbs", "-d", f"{perftest.DEVICE}:1", "-D", "zcopy")
FINAL = re.compile(r"^Final:", re.MULTILINE)


def command(number, size, count, server=None):
    """The command line of one end of pair `number`; the client's names the server."""
    words = ["ucx_perftest", *TRANSPORT, "-p", FIRST_PORT + number, "-t", "put_bw", "-s", size, "-n", count, "-w", 10]
    return words + [server] * bool(server)


def run_pairs(session, count, size, messages, timeout=300):
    """`count` pairs side by side, each with `messages` WRITEs of `size` bytes. LabError when one fails."""
    servers = [session.server.start(command(number, size, messages), timeout) for number in range(count)]
    for number, server in enumerate(servers):
        wait_until(lambda: perftest.tcp_listening(session.server, FIRST_PORT + number) or not server.running, 60,
                   f"{server} to listen")
    clients = [session.client.start(command(number, size, messages, session.server.ip), timeout)
               for number in range(count)]
    for client, server in zip(clients, servers):
        client.wait()
        server.wait()
        session.steps.append({"command": str(client), "server_command": str(server), "rc": client.rc,
                              "server_rc": server.rc, "seconds": client.seconds, "output": client.output})
        if client.rc or server.rc or not FINAL.search(client.output):
            raise LabError(f"{client}: exit code {client.rc}, server's {server.rc}\n{client.output[-2000:]}\n"
                           f"server said:\n{server.output[-2000:]}")
