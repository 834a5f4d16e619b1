# SPDX-License-Identifier: BSD-3-Clause
"""Running `longhaul plan`, and complaining about what it says."""
import csv
import io
import json
import subprocess

TIMEOUT = 300  # seconds; an answer takes a few milliseconds, a plot a second


class Failed(AssertionError):
    """What is not as it should be."""


class Skipped(Exception):
    """What this machine lacks for a case."""


def expect(condition, message):
    if not condition:
        raise Failed(message)


def close(what, got, wanted, tolerance):
    """Within a share of what is wanted."""
    expect(got is not None and abs(got - wanted) <= tolerance * abs(wanted),
           f"{what}: {got} instead of {wanted}, more than {tolerance * 100:g} % off")


class Plan:
    """The program under test."""

    def __init__(self, program, environment=None):
        self.program = program
        self.environment = environment

    def run(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False, env=self.environment)

    def raw(self, *arguments, command="plan"):
        return self.run(command, *arguments)

    def text(self, *arguments, command="plan"):
        done = self.raw(*arguments, command=command)
        expect(done.returncode == 0, f"{' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr.strip()}")
        expect(not done.stderr, f"{arguments}: said on standard error: {done.stderr}")
        return done.stdout

    def json(self, *arguments, command="plan"):
        return json.loads(self.text(*arguments, "--json", command=command))

    def csv(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.text(*arguments, "--csv"), newline="")))

    def refused(self, *arguments, words=()):
        """Exit code 2, nothing on standard output, a message that has these words."""
        done = self.raw(*arguments)
        line = " ".join(map(str, arguments))
        expect(done.returncode == 2, f"{line}: exit code {done.returncode} instead of 2")
        expect(not done.stdout, f"{line}: printed {done.stdout[:80]!r} although it is refused")
        for word in words:
            expect(word in done.stderr, f"{line}: nothing about {word!r} in {done.stderr.strip()!r}")
