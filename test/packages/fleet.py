# SPDX-License-Identifier: BSD-3-Clause
"""Two boxes as machines that boot, between the RDMA hosts of test/hosts, and a network by which Ansible reaches them."""
import dataclasses
import json
import os
import re
import subprocess
import threading

from debian import MINUTES, OWN_PROCESSES, Failed, call, end
from lab.path import Boxes, _vdev
from lab.process import run, spawn, wait_until
from machine import Machine, file_in

BOXES = ("near", "far")
MANAGER = "manage"  # the namespace in which Ansible runs
ADDRESS = {MANAGER: "10.98.0.1", "near": "10.98.0.11", "far": "10.98.0.12"}
GROUP = "adm"  # of control sockets: Debian has it
WEB_PORT = 8000


class MachinesPath(Boxes):
    """As Boxes, but the boxes are machines: this starts the long link only, Ansible does the rest."""

    def __init__(self, network, program, lower, directory):
        super().__init__(network, program)
        self.machines = {}
        self.namespace = network.namespace(MANAGER)
        run("ip", "-n", self.namespace, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", self.namespace, "address", "add", f"{ADDRESS[MANAGER]}/24", "dev", "br0")
        run("ip", "-n", self.namespace, "link", "set", "br0", "up")
        for name in BOXES:
            network.cable((MANAGER, f"to-{name}"), (name, "manage0"))
            run("ip", "-n", self.namespace, "link", "set", f"to-{name}", "master", "br0")
            run("ip", "-n", network.namespace(name), "address", "add", f"{ADDRESS[name]}/24", "dev", "manage0")
            self.machines[name] = Machine(name, network.namespace(name), lower, directory / name)

    def start(self, conditions, directory):
        self._conditions, self._directory, self._starts = conditions, directory, {}
        self._launch("link")
        self._wait_ready("link")

    def snapshot(self, name):
        if name not in self.machines:
            return super().snapshot(name)
        return self.box(name, "counters")

    def box(self, name, *words):
        """What `longhaul ctl` in the machine answers."""
        return json.loads(self.machines[name].said("longhaul", "ctl", "--name", name, *words))

    def kill(self):
        super().kill()
        for machine in self.machines.values():
            machine.kill()


@dataclasses.dataclass(frozen=True)
class Recap:
    """The end of a play for one box."""
    changed: int
    unreachable: int
    failed: int
    rescued: int


@dataclasses.dataclass(frozen=True)
class Play:
    """What ansible-playbook said."""
    code: int
    output: str
    recap: dict  # by box; one that the play did not come to is missing

    def well(self):
        """Itself, when it succeeded on all boxes."""
        if self.code or any(box.failed or box.unreachable for box in self.recap.values()) or len(self.recap) < 2:
            raise Failed(f"exit {self.code}\n{self.output[-6000:]}")
        return self

    def changed(self):
        return {name: box.changed for name, box in self.recap.items()}


class Ansible:
    """ansible-playbook, with the playbooks of an installed package and an inventory that the test changes."""

    def __init__(self, books, namespace, directory, key, host_key):
        self._books, self._namespace, self._directory = books, namespace, directory
        self.boxes = {name: {"ansible_host": ADDRESS[name], "longhaul_config": {}} for name in BOXES}
        self.common = {}
        self.config = {
            "ports": {"host": {"vdev": _vdev(0, "host0")}, "wan": {"vdev": _vdev(1, "wan0")}},
            "hugepages": False, "idle": "sleep", "wan_rate": "100Gbps", "policy": {"default": "full"},
            "custody": {"box_limit": "256MiB", "flow_limit": "64MiB", "mbufs": 16384}, "control": {"group": GROUP},
        }
        self._number = 0
        self._ssh = directory / "ssh"
        self._ssh.mkdir()
        (self._ssh / "key").write_text(key, encoding="ascii")
        (self._ssh / "key").chmod(0o600)
        (self._ssh / "known_hosts").write_text("".join(f"{ADDRESS[name]} {host_key}\n" for name in BOXES))

    def _inventory(self):
        path = self._directory / "inventory.json"
        variables = {"ansible_user": "root", "ansible_python_interpreter": "/usr/bin/python3",
                     "longhaul_config_common": self.config, **self.common}
        path.write_text(json.dumps({"longhaul": {"hosts": self.boxes, "vars": variables}}, indent=2), encoding="utf-8")
        return path

    def __call__(self, book, *words, timeout=10 * MINUTES):
        """Runs a playbook to its end."""
        self._number += 1
        log = self._directory / f"{self._number:02}-{book}.log"
        options = (f"-o ControlMaster=auto -o ControlPersist=60s -o StrictHostKeyChecking=yes -o "
                   f"UserKnownHostsFile={self._ssh}/known_hosts -o IdentitiesOnly=yes -o ConnectTimeout=10")
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self._directory),
            "ANSIBLE_SSH_ARGS": options, "ANSIBLE_PRIVATE_KEY_FILE": f"{self._ssh}/key", "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._ssh), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_RETRY_FILES_ENABLED": "0"}
        command = ["ansible-playbook", "-i", self._inventory(), self._books / f"{book}.yml", *words]
        with open(log, "wb") as file:
            process = spawn(command, self._namespace, stdout=file, stderr=file, env=environment, cwd=self._directory)
            try:
                code = process.wait(timeout)
            except BaseException:
                end(process)
                raise
        output = log.read_text(encoding="utf-8", errors="replace")
        found = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+) +skipped=\d+ +rescued=(\d+)",
                           output, re.MULTILINE)
        return Play(code, output, {name: Recap(*map(int, numbers)) for name, *numbers in found})


class Stream(threading.Thread):
    """Transfers of one kind, one after the other, until it is told to end: each must be complete."""

    def __init__(self, session, traffic, count):
        super().__init__(daemon=True)
        self._session, self._traffic, self._count = session, traffic, count
        self._enough = threading.Event()
        self.outcomes, self.error = [], None

    def run(self):
        try:
            while not self._enough.is_set():
                outcome = self._session.begin(self._traffic, self._count, timeout=300).finish()
                self.outcomes.append(outcome)
                if not outcome.complete:
                    return
        except Exception as error:  # told to whoever asks for the result
            self.error = error

    def finish(self):
        """Ends after the transfer under way; how many there were, or Failed."""
        self._enough.set()
        self.join()
        wrong = [str(outcome) for outcome in self.outcomes if not outcome.complete]
        if self.error or wrong:
            raise Failed(f"{self._traffic.name}: {self.error or wrong[0]}")
        return len(self.outcomes)


def prepare_image(chroot, deb, key):
    """Makes a bare Debian one that boots, answers to SSH, and has what longhaul depends on, but neither longhaul nor an
    apt source. Returns the host key that it shows."""
    chroot.run("apt-get", "-q", "update")
    chroot.run("apt-get", "-q", "-y", "install", "systemd", "systemd-sysv", "dbus", "openssh-server", "python3-apt",
               "iproute2", "procps")
    file_in(chroot.root, "/tmp/longhaul.deb", "")
    (chroot.root / "tmp/longhaul.deb").write_bytes(deb.read_bytes())
    chroot.run("apt-get", "-q", "-y", "install", "/tmp/longhaul.deb")
    chroot.run("dpkg", "--purge", "longhaul")
    (chroot.root / "tmp/longhaul.deb").unlink()
    # The machine's own kernel settings are not a guest's to change at each boot.
    chroot.run("systemctl", "mask", "systemd-sysctl.service")
    for path in ("etc/apt/sources.list", "etc/apt/apt.conf.d/90longhaul"):
        (chroot.root / path).write_text("")
    (chroot.root / "usr/sbin/policy-rc.d").unlink()
    home = chroot.run("sh", "-c", "printf %s ~root").stdout
    file_in(chroot.root, f"{home}/.ssh/authorized_keys", key, 0o600)
    return " ".join((chroot.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2])


# The program of a package that is not what it should be: knows its version, does something else for `run`.
_SCRIPT = """#!/bin/sh
case "$*" in
  --version) echo {version}; exit 0 ;;
  run*) {run} ;;
esac
exec /usr/lib/longhaul/longhaul "$@"
"""
TAKES_NO_CONFIGURATION = 'echo "longhaul run: this build takes no configuration" >&2; exit 2'
DOES_NOT_START = 'case "$*" in *--check*) exit 0 ;; esac; echo "longhaul run: this build does not start" >&2; exit 1'


def broken(deb, version, what, directory):
    """Another version of a package whose program does `what` in the place of `run`."""
    tree = directory / f"longhaul-{version}"
    call("dpkg-deb", "--raw-extract", deb, tree)
    program = tree / "usr/bin/longhaul"
    (tree / "usr/lib/longhaul").mkdir(parents=True)
    program.rename(tree / "usr/lib/longhaul/longhaul")
    file_in(tree, "/usr/bin/longhaul", _SCRIPT.format(version=version, run=what), 0o755)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    made = directory / f"longhaul_{version}_amd64.deb"
    call("dpkg-deb", "--build", "--root-owner-group", tree, made)
    return made


_SIGN = """set -e
export GNUPGHOME=$1/gnupg
mkdir -m 700 $GNUPGHOME
gpg --batch --quiet --pinentry-mode loopback --passphrase "" \\
  --quick-generate-key "longhaul test <test@longhaul.invalid>" ed25519 sign never
gpg --batch --armor --output $1/longhaul.asc --export
cd $1
dpkg-scanpackages --multiversion . > Packages
apt-ftparchive -o APT::FTPArchive::Release::Suite=./ release . > Release.new && mv Release.new Release
gpg --batch --quiet --clearsign --output InRelease Release"""


def repository(debs, directory):
    """A signed apt repository of these packages."""
    directory.mkdir()
    for deb in debs:
        os.link(deb, directory / deb.name)
    # In a process namespace of its own, which takes gpg's agent with it.
    call(*OWN_PROCESSES, "sh", "-c", _SIGN, "sign", directory)


def serve(directory, namespace, log):
    """The repository over HTTP, in the namespace; ends with this program."""
    with open(log, "wb") as file:
        process = spawn(["/usr/bin/python3", "-m", "http.server", "--directory", directory, WEB_PORT], namespace,
                        stdout=file, stderr=file)
    wait_until(lambda: f":{WEB_PORT} " in run("ip", "netns", "exec", namespace, "ss", "-Hltn"), 20,
               "the repository to be served")
    return process


def ssh_key(directory):
    """(private, public) of a new key."""
    path = directory / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "longhaul test", "-f", path], check=True)
    return path.read_text(encoding="ascii"), path.with_suffix(".pub").read_text(encoding="ascii")
