# SPDX-License-Identifier: BSD-3-Clause
"""The sample job for CI and the commands of its page, run as they stand there."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess

import yaml

import annotated
import capture
import junit
from command_lines import differing
from compressed import zstd
from edges import edge
from program import CAPTURES, TIMEOUT

PAGE = pathlib.Path(__file__).parents[2] / "docs/operate/replay-in-ci.md"
JOB = PAGE.with_suffix(".yml")
INSTALL = "Install longhaul"  # the program is there


class Checkout:
    """A user's repository with captures, and the program in the PATH."""

    def __init__(self, longhaul, directory):
        self.path = pathlib.Path(directory) / "repository"
        captures = self.path / "captures"
        captures.mkdir(parents=True)
        shutil.copy(CAPTURES / "write_bw_r_4k.pcap", captures)
        (captures / "send_rnr.pcap.gz").write_bytes(gzip.compress((CAPTURES / "send_rnr.pcap").read_bytes()))
        (captures / "nvmeof_fio.pcap.zst").write_bytes(zstd((CAPTURES / "nvmeof_fio.pcap").read_bytes()))
        shutil.copy(CAPTURES / "write_bw_uc.pcap", captures)
        programs = pathlib.Path(directory) / "bin"
        programs.mkdir()
        (programs / "longhaul").symlink_to(pathlib.Path(longhaul.path).absolute())
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def shell(self, command, **environment):
        # As GitHub Actions runs a step.
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command], capture_output=True, text=True,
                              cwd=self.path, env={**self._environment, **environment}, timeout=TIMEOUT, check=False)

    def run_job(self, **changed):
        """The exit status of the first step that fails, or 0, and what was printed."""
        job = yaml.safe_load(JOB.read_text())["jobs"]["replay"]
        printed = ""
        for step in job["steps"]:
            if "run" not in step or step.get("name") == INSTALL:
                continue
            done = self.shell(step["run"], **{**job["env"], **changed})
            printed += done.stdout + done.stderr
            if done.returncode != 0:
                return done.returncode, printed
        return 0, printed


def commands():
    return re.findall(r"^    (longhaul replay .*)$", PAGE.read_text(), re.M)


@edge
def sample_job(longhaul, directory):
    """The page's first steps, then its job: it passes, and its files are what others read."""
    checkout = Checkout(longhaul, directory)
    statuses = [checkout.shell(command).returncode for command in commands()]
    if statuses != [3, 3, 0]:  # one capture has nothing to compare: it is told, then written down
        yield f"the page's commands: exit {statuses}"
    status, printed = checkout.run_job()
    if status != 0:
        yield f"the job: exit {status}: {printed}"
    yield from junit.schema_errors(checkout.path / "replay.xml")
    found = junit.cases(checkout.path / "replay.xml")
    if {kind for kind, _ in found.values()} != {"passed"} or len({suite for suite, _ in found}) != 4:
        yield f"JUnit: {found}"
    for name in ("write_bw_r_4k", "send_rnr", "nvmeof_fio", "write_bw_uc"):
        events = annotated.read(checkout.path / "annotated" / f"{name}.pcapng")
        comments = [event.comment for event in events if event.comment.startswith("pseudo-ACK for frame")]
        if bool(comments) == (name == "write_bw_uc"):
            yield f"{name}: {len(comments)} comments about pseudo-ACKs"


@edge
def sample_job_fails(longhaul, directory):
    """A wrong --near, a capture that differs, a capture that is damaged or new: each fails the job, and says so."""
    checkout = Checkout(longhaul, directory)
    for command in commands():
        checkout.shell(command)
    captures = checkout.path / "captures"

    def damaged():
        path = captures / "send_rnr.pcap.gz"
        path.write_bytes(path.read_bytes()[:-100])

    def changed():
        capture.write_pcap(captures / "write_bw_r_4k.pcap", differing())

    def added():
        shutil.copy(CAPTURES / "rping_v4.pcap", captures)

    def without_expectations():
        expect = json.loads((captures / "expect.json").read_text())
        expect["captures"] = {}
        (captures / "expect.json").write_text(json.dumps(expect))

    for what, change, near, status, words in (
            ("a wrong --near", None, "192.0.2.1", 1, "near_fits_nobody"),
            ("a --near for everybody", None, "10.9.0.0/24", 1, "near_fits_everybody"),
            ("two prefixes", None, "10.9.0.2 192.0.2.1", 0, "all .* agreed"),
            ("a new capture", added, None, 1, r"has no capture rping_v4\.pcap"),
            ("a difference", changed, None, 1, "real ACKs differ from the pseudo-ACKs"),
            ("a damaged capture", damaged, None, 2, "gzip: the file ends inside the compressed data"),
            ("no expectations", without_expectations, None, 2, "write it again with --write-expect")):
        if change:
            change()
        got, printed = checkout.run_job(**({"NEAR": near} if near else {}))
        if got != status or not re.search(words, printed):
            yield f"{what}: exit {got}, not {status}, or no {words!r} in {printed}"
        failed = [kind for kind, _ in junit.cases(checkout.path / "replay.xml").values() if kind != "passed"]
        if bool(failed) != bool(status):
            yield f"{what}: exit {status}, in the JUnit file {failed}"
