# SPDX-License-Identifier: BSD-3-Clause
"""The systemd unit as systemd itself judges it, and what the program writes when standard error is the journal."""
import os
import pathlib
import re
import subprocess
import tempfile

TIMEOUT = 300  # seconds
UNIT = "config/systemd/longhaul@.service"
EMPTY_CAPTURE = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000")
MOST_EXPOSED = 28  # tenths, as systemd-analyze security counts: 100 is no protection at all


class Place:
    """A directory with the unit as it would be installed, but for this build's program."""

    def __init__(self, program, directory):
        self.program = pathlib.Path(program).resolve()
        self.directory = pathlib.Path(directory)
        built = (self.program.parent.parent / UNIT).read_text(encoding="utf-8")
        self.text, replaced = re.subn(r"(?m)^(Exec\w+=)\S*/longhaul ", rf"\g<1>{self.program} ", built)
        if replaced < 2:
            raise ValueError(f"{UNIT}: no ExecStart and ExecStartPre with the program")

    def unit(self, text):
        path = self.directory / "longhaul@.service"
        path.write_text(text, encoding="utf-8")
        return path

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", "--man=no", *map(str, arguments)], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False, env=dict(os.environ, SYSTEMD_COLORS="0"))


def unit_is_valid(place):
    done = place.analyze("verify", place.unit(place.text))
    if done.returncode or done.stdout or done.stderr:
        yield f"exit {done.returncode}: {done.stdout}{done.stderr}"


def mistakes_in_units_are_seen(place):
    """Or the test above would say nothing."""
    for old, new in (("KillMode=", "KilMode="), ("Restart=on-failure", "Restart=sometimes"),
                     (f"ExecStart={place.program}", "ExecStart=/nonexistent/longhaul")):
        if old not in place.text:
            yield f"no {old} in the unit"
        done = place.analyze("verify", place.unit(place.text.replace(old, new)))
        if not done.returncode and not done.stderr:
            yield f"{new} was not seen"


def unit_is_hardened(place):
    done = place.analyze("security", "--offline=yes", f"--threshold={MOST_EXPOSED}", place.unit(place.text))
    if done.returncode:
        yield f"exposed more than {MOST_EXPOSED / 10}: {done.stdout[-300:]}{done.stderr}"


def run_with_stderr(place, journal):
    """Standard error of a start that a mistake in the configuration ends, through a pipe that is the journal or not."""
    config = place.directory / "near.yaml"
    config.write_text("prots: {}\n", encoding="utf-8")
    reading, writing = os.pipe()
    stream = os.fstat(writing)
    environment = {key: value for key, value in os.environ.items() if key != "JOURNAL_STREAM"}
    environment["JOURNAL_STREAM"] = f"{stream.st_dev}:{stream.st_ino if journal else stream.st_ino + 1}"
    with os.fdopen(reading, encoding="utf-8") as text:
        try:
            code = subprocess.run([place.program, "run", "--config", config], stdin=subprocess.DEVNULL, stderr=writing,
                                  stdout=subprocess.DEVNULL, env=environment, timeout=TIMEOUT, check=False).returncode
        finally:
            os.close(writing)
        return code, text.read()


def journal_gets_priorities(place):
    for journal, start in ((True, "<3>longhaul run: "), (False, "longhaul run: ")):
        code, text = run_with_stderr(place, journal)
        if code != 2 or not text.startswith(start) or "near.yaml:1:1" not in text:
            yield f"journal {journal}: exit {code}, {text!r}"


def log_lines(place, journal):
    """Of a box between two empty captures, which warns that it keeps no restart record, and ends at once by SIGTERM."""
    for side in ("host", "wan"):
        (place.directory / f"{side}.pcap").write_bytes(EMPTY_CAPTURE)
    ports = "\n".join(f'  {side}: {{vdev: "net_pcap{i},rx_pcap={place.directory}/{side}.pcap,'
                      f'tx_pcap={place.directory}/{side}-out.pcap"}}' for i, side in enumerate(("host", "wan")))
    config = place.directory / "box.yaml"
    config.write_text(f"ports:\n{ports}\nhugepages: false\nidle: sleep\nmtu: 1500\nconnections: 16\n"
                      "custody: {mbufs: 1024, small_mbufs: 1024}\n", encoding="utf-8")
    reading, writing = os.pipe()
    stream = os.fstat(writing)
    environment = dict(os.environ, JOURNAL_STREAM=f"{stream.st_dev}:{stream.st_ino}" if journal else "")
    with os.fdopen(reading, encoding="utf-8") as text, subprocess.Popen(
            [place.program, "run", "--config", config], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=writing, env=environment) as box:
        os.close(writing)
        box.stdout.readline()  # "ready"
        box.terminate()
        box.stdout.read()
        box.wait(TIMEOUT)
        return text.read().splitlines()


def journal_lines_have_no_time(place):
    lines = log_lines(place, journal=True)
    if not lines or not any(line.startswith("<4>warning: no restart_record") for line in lines) or \
            not all(re.match(r"<[0-7]>(info|warning|error): ", line) for line in lines):
        yield f"to the journal: {lines}"
    lines = log_lines(place, journal=False)
    dated = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} longhaul warning: no restart_record")
    if not any(dated.match(line) for line in lines):
        yield f"elsewhere: {lines}"


def cases(program):
    """(name, function that says what is wrong)."""
    def in_directory(run):
        def case():
            with tempfile.TemporaryDirectory(prefix="longhaul-service-") as directory:
                return list(run(Place(program, directory)))
        return case

    for function in (unit_is_valid, mistakes_in_units_are_seen, unit_is_hardened, journal_gets_priorities,
                     journal_lines_have_no_time):
        yield f"service.{function.__name__}", in_directory(function)
