# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of packages share: the package itself, a Debian to put it into, and how steps are told.

Everything comes from the mirror that apt uses on this machine. The bare Debian (debootstrap) is cached as a tarball
beside the kernel of the host tests (tools/common.sh).
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

REPO = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(REPO / "test/hosts"))

from lab.process import LabError  # noqa: E402
from lab.tools import exit_on_signals  # noqa: E402

MINUTES = 60
PATIENCE = 30  # seconds for what was killed to be gone
# Processes and mounts of a command in a chroot end with it, whatever becomes of this program.
ISOLATED = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
OWN_PROCESSES = [*ISOLATED, "--mount-proc"]


class Failed(Exception):
    """Says what was done and what came of it."""


def say(text):
    print(f"[{pathlib.Path(sys.argv[0]).name}] {text}", file=sys.stderr, flush=True)


def call(*command, timeout=10 * MINUTES, cwd=None, env=None, check=True):
    """Runs a command; its output and exit code. Raises Failed unless it ends well, or `check` is off. Whatever ends this
    program, or the time, ends the command and all that it has started, before anything is removed from under it."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", cwd=cwd, env=env, start_new_session=True) as running:
        try:
            output, _ = running.communicate(timeout=timeout)
        except BaseException:
            end(running)
            raise
    done = subprocess.CompletedProcess(words, running.returncode, output)
    if check and done.returncode:
        raise Failed(f"{shlex.join(words)}: exit {done.returncode}\n{done.stdout[-4000:]}")
    return done


def end(running):
    """Ends a process and its session, and waits until nobody writes to its output any more: namespaces take a moment."""
    try:
        os.killpg(running.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        running.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pass


@contextlib.contextmanager
def scratch(name):
    """A directory below /tmp that goes, however this ends; what was killed may still write for a moment."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"longhaul-{name}-"))
    try:
        yield directory
    finally:
        last = time.monotonic() + PATIENCE
        while directory.exists():
            shutil.rmtree(directory, ignore_errors=time.monotonic() < last)
            time.sleep(0.05)


def set_up():
    """The packages that packaging needs, by tools/setup; from here on a signal ends the test in order."""
    exit_on_signals()
    subprocess.run([REPO / "tools/setup", "--packages", "--packaging"], check=True)


def cache():
    base = os.environ.get("LONGHAUL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "longhaul")
    path = pathlib.Path(base)
    path.mkdir(parents=True, exist_ok=True)
    return path


def sources():
    """(URI, suite, component) of Debian's own, as apt is configured here, the release itself first."""
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    listed = call("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages",
                  "Origin: Debian").stdout
    found = {tuple(line.split()) for line in listed.splitlines()}
    found = sorted(found, key=lambda source: (source[1] != codename, source))
    if not found or found[0][1] != codename:
        raise Failed(f"apt knows no source of Debian's {codename} here: apt-get update, or see apt-get indextargets")
    return found


def base_tarball():
    """A bare Debian of this machine's release, made once."""
    (uri, suite, _), *_ = sources()
    version = call("dpkg-query", "-W", "-f", "${Version}", "debootstrap").stdout
    key = hashlib.sha256(f"{uri} {suite} {version}".encode()).hexdigest()[:16]
    tarball = cache() / f"debian-{suite}-{key}.tar"
    with open(cache() / "debian.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if tarball.exists():
            return tarball
        say(f"debootstrap {suite} (a minute or two, once)")
        with scratch("debootstrap") as directory:
            root = directory / "root"
            call(*ISOLATED, "debootstrap", "--variant=minbase", suite, root, uri, timeout=20 * MINUTES)
            shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
            call("tar", "-C", root, "-cf", f"{tarball}.new", "--one-file-system", ".")
        os.rename(f"{tarball}.new", tarball)  # one that is there is whole
    return tarball


def apt_configuration():
    """This machine's sources and proxies, for another one: {path: text}."""
    proxies = [line for line in call("apt-config", "dump").stdout.splitlines() if "::proxy" in line.lower()]
    return {
        "etc/apt/sources.list": "".join(f"deb {' '.join(source)}\n" for source in sources()),
        "etc/apt/apt.conf.d/90longhaul": "\n".join(
            [*proxies, 'APT::Install-Recommends "false";', 'Acquire::Languages "none";', ""]),
        "etc/resolv.conf": pathlib.Path("/etc/resolv.conf").read_text(encoding="utf-8"),
        # Nobody starts services in a chroot.
        "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
    }


class Chroot:
    """A fresh Debian in a directory, which goes with it. Commands see /proc and /sys, and leave no mounts."""

    def __enter__(self):
        self._directory = scratch("chroot")
        self.root = self._directory.__enter__()
        try:
            self._unpack()
        except BaseException:
            self._directory.__exit__(*sys.exc_info())
            raise
        return self

    def _unpack(self):
        call("tar", "-C", self.root, "-xf", base_tarball())
        for path, text in apt_configuration().items():
            (self.root / path).write_text(text, encoding="utf-8")
        (self.root / "usr/sbin/policy-rc.d").chmod(0o755)

    def __exit__(self, *error):
        self._directory.__exit__(*error)

    def command(self, *command):
        """The words that run a command in it, whatever ends them."""
        # Its root is a mount of its own: `ip netns exec` changes how that propagates.
        inside = ('mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -t sysfs -o ro sysfs "$0/sys" && '
                  'exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 '
                  'DEBIAN_FRONTEND=noninteractive "$@"')
        return [*ISOLATED, "sh", "-c", inside, self.root, *command]

    def run(self, *command, check=True, timeout=10 * MINUTES):
        return call(*self.command(*command), check=check, timeout=timeout)

    def paths(self):
        """All that lies in it, files with size."""
        found = {}
        for directory, names, files in os.walk(self.root):
            for name in names + files:
                path = pathlib.Path(directory) / name
                size = path.lstat().st_size if name in files else 0
                found["/" + str(path.relative_to(self.root))] = size
        return found


def export(directory):
    """What is committed, into this directory."""
    directory.mkdir(exist_ok=True)
    archive = subprocess.run(["git", "-C", REPO, "archive", "--format=tar", "HEAD"], stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-C", directory, "-x"], input=archive.stdout, check=True)


@contextlib.contextmanager
def package():
    """The Debian package of what is committed, built in a directory that goes afterwards: (its path, its .changes)."""
    with scratch("package") as directory:
        tree = directory / "longhaul"
        export(tree)
        say("dpkg-buildpackage of the last commit (two to four minutes)")
        yield build(tree)


def build(tree, again=False):
    """Builds the package in a tree: (its path, its .changes). `again`: what was compiled there before is kept."""
    for old in tree.parent.glob("longhaul_*"):
        old.unlink()
    if again:
        shutil.rmtree(tree / "debian/longhaul")
        shutil.rmtree(tree / "debian/.debhelper")
    call(*OWN_PROCESSES, "nice", "-n", "5", "dpkg-buildpackage", "-us", "-uc", "-b", *(["-nc"] if again else []), cwd=tree,
         timeout=30 * MINUTES)
    found = sorted(tree.parent.glob("longhaul_*.deb"))
    changes = sorted(tree.parent.glob("longhaul_*.changes"))
    if len(found) != 1 or len(changes) != 1:
        raise Failed(f"expected one package, got {[path.name for path in found + changes]}")
    return found[0], changes[0]


def set_version(tree, version):
    """Makes a tree that of another version, for the program and for the package."""
    for path, pattern, text in (("meson.build", r"(?m)^  version: '[^']+'", f"  version: '{version}'"),
                                ("debian/changelog", r"\A(\S+) \([^)]+\)", rf"\1 ({version})")):
        changed, times = re.subn(pattern, text, (tree / path).read_text(encoding="utf-8"), count=1)
        if times != 1:
            raise Failed(f"{path} has no version")
        (tree / path).write_text(changed, encoding="utf-8")


def run_steps(steps, needed=()):
    """Runs (name, function that yields what is wrong) in turn, tells of each, and returns the exit code. A failure of one
    that is `needed` ends it."""
    passed = failed = 0
    for name, step in steps:
        start = time.monotonic()
        try:
            errors = list(step() or [])
        except (Failed, LabError, subprocess.SubprocessError, OSError, ValueError) as error:
            errors = [f"{type(error).__name__}: {error}"]
        print(f"{'FAILED' if errors else 'ok    '} {name} ({time.monotonic() - start:.0f} s)", flush=True)
        for error in errors:
            print("         " + str(error).replace("\n", "\n         "))
        passed, failed = passed + (not errors), failed + bool(errors)
        if errors and name in needed:
            break
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
