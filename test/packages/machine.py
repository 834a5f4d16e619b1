# SPDX-License-Identifier: BSD-3-Clause
"""A Debian that boots: systemd as its first process (systemd-nspawn), in a network namespace that is there already.

Its file system is an overlay over a directory that others share; mounts, processes and control group are its own and end
with it, however this program ends.
"""
import contextlib
import ctypes
import pathlib
import signal
import subprocess
import time

from lab.process import LabError, wait_until

BOOT_SECONDS = 60
STOP_SECONDS = 30
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

# A control group tree of version 2 whatever the machine has, /sys of the right network, no traces in the machine's /run.
# Kernel settings and /sys are to be writable: a box's machine is set up with them.
_BOOT = """set -e
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/$2
echo $$ > /sys/fs/cgroup/$2/cgroup.procs
mount -t tmpfs tmpfs /run/systemd
mount -t overlay -o lowerdir=$1,upperdir=$3/upper,workdir=$3/work overlay $3/root
exec env SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes systemd-nspawn --quiet --directory=$3/root --machine=$2 --hostname=$2 \
  --register=no --keep-unit --capability=all --resolv-conf=off --timezone=off --link-journal=no --console=pipe --boot"""

_REMOVE = """mount -t cgroup2 cgroup2 /sys/fs/cgroup
test ! -d /sys/fs/cgroup/$1 || find /sys/fs/cgroup/$1 -depth -type d -exec rmdir {} +"""


def _killed_with_parent():
    # unshare blocks SIGTERM while it waits.
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _children(pid):
    done = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [(int(line.split()[0]), line.split()[1]) for line in done.stdout.splitlines()]


class Machine:
    """`lower` is a whole Debian; what this one writes goes to `directory`."""

    def __init__(self, name, namespace, lower, directory):
        self.name, self._namespace, self._lower, self._directory = name, namespace, lower, directory
        self.root = directory / "root"
        self.log = directory / "console.log"
        for part in ("upper", "work", "root"):
            (directory / part).mkdir(parents=True)
        self.upper = directory / "upper"  # to write into before it boots
        self._process = self._init = None

    def boot(self):
        """Starts it and waits until systemd has started all that it starts."""
        command = ["nsenter", f"--net=/run/netns/{self._namespace}", "unshare", "--mount", "--propagation", "private",
                   "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", _BOOT, "boot", str(self._lower),
                   self._namespace, str(self._directory)]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             start_new_session=True, preexec_fn=_killed_with_parent)
        wait_until(self._booted, BOOT_SECONDS, f"{self.name} to boot (log: {self.log})", step=0.2)

    def _booted(self):
        if self._process.poll() is not None:
            raise LabError(f"{self.name} ended at boot:\n{self.log.read_text(errors='replace')[-2000:]}")
        nspawn = self._nspawn()
        inits = [pid for pid, comm in _children(nspawn) if comm == "systemd"] if nspawn else []
        if not inits:
            return False
        self._init = inits[0]
        return self.run("systemctl", "is-system-running", check=False).stdout.strip() == "running"

    def _nspawn(self):
        found = [pid for pid, comm in _children(self._process.pid) if comm == "systemd-nspawn"]
        return found[0] if found else None

    def run(self, *command, check=True, timeout=60):
        """A command inside; the finished process, standard error in .stdout too."""
        done = subprocess.run(["nsenter", "--target", str(self._init), "--all", "env", "-i", "LC_ALL=C.UTF-8",
                               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *map(str, command)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        if check and done.returncode:
            raise LabError(f"{self.name}$ {' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}")
        return done

    def said(self, *command, **options):
        """What a command prints, without the space around it."""
        return self.run(*command, **options).stdout.strip()

    def shut_down(self):
        """As a machine that is switched off in order."""
        if self._process is None:
            return
        nspawn = self._nspawn()
        if nspawn:
            with contextlib.suppress(ProcessLookupError):
                subprocess.run(["kill", "-TERM", str(nspawn)], check=False)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self):
        """At once, with all that is in it; removes its control group."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.kill()  # the process namespace ends with it
        self._process.wait()
        self._process = None
        for _ in range(50):  # processes that were killed take a moment to leave their group
            done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", _REMOVE, "remove",
                                   self._namespace], capture_output=True, check=False)
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise LabError(f"{self.name}: its control group stays: {done.stderr.decode(errors='replace')[-300:]}")


def file_in(tree: pathlib.Path, path, text, mode=0o644):
    """Writes a file below a tree, with its directories."""
    place = tree / str(path).lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    place.chmod(mode)
