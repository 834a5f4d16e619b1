# SPDX-License-Identifier: BSD-3-Clause
"""Linux's own NVMe over RDMA, target on one host and initiator on the other."""
from .process import wait_until

NQN = "nqn.2024-01.test.longhaul:disk"
HOST_NQN = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000002"
HOST_ID = "00000000-0000-0000-0000-000000000002"
PORT = 4420
DISK = "/dev/nvme0n1"


def export(session, family="ipv4"):
    """The server's RAM disk as a namespace, through configfs."""
    address = session.server.ip6 if family == "ipv6" else session.server.ip
    session.run(session.server, f"""set -e
cd /sys/kernel/config/nvmet
mkdir subsystems/{NQN} && echo 1 > subsystems/{NQN}/attr_allow_any_host
mkdir subsystems/{NQN}/namespaces/1
echo -n /dev/ram0 > subsystems/{NQN}/namespaces/1/device_path
echo 1 > subsystems/{NQN}/namespaces/1/enable
mkdir ports/1 && cd ports/1
echo rdma > addr_trtype; echo {family} > addr_adrfam; echo {address} > addr_traddr; echo {PORT} > addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/{NQN} subsystems/{NQN}""")


def connect(session, family="ipv4", extra=()):
    address = session.server.ip6 if family == "ipv6" else session.server.ip
    session.run(session.client, ["nvme", "connect", "-t", "rdma", "-a", address, "-s", PORT, "-n", NQN,
                                 "-i", 1, "-Q", 32, "--hostnqn", HOST_NQN, "--hostid", HOST_ID, *extra])
    wait_until(lambda: not session.client.run(["test", "-b", DISK], check=False).rc, 10, f"{DISK} to appear")


def fio_command(megabytes):
    """Small writes travel inside the command, larger ones are fetched with READ: the range has both."""
    return ["fio", "--name=verify", f"--filename={DISK}", "--rw=randwrite", "--bsrange=4k-64k",
            f"--size={megabytes}M", "--ioengine=libaio", "--iodepth=8", "--direct=1",
            "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--randrepeat=1"]


def fio(session, megabytes, timeout):
    session.run(session.client, fio_command(megabytes), timeout)


def disconnect(session):
    session.run(session.client, ["nvme", "disconnect", "-n", NQN], check=False)
    session.run(session.server, f"rm /sys/kernel/config/nvmet/ports/1/subsystems/{NQN}", check=False)
