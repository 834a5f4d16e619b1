# SPDX-License-Identifier: BSD-3-Clause
"""One scenario being run: its checks, and the record that it leaves."""
import dataclasses
import json
import time

from .path import Conditions
from .process import LabError


class Trial:
    """What a scenario function works with (see scenarios.py)."""

    def __init__(self, name, laboratory, through):
        self.name = name
        self.has_boxes = through == "boxes"
        self.checks = []
        self.row = {}
        self.rows = []
        self._laboratory, self._through = laboratory, through
        self._started = time.monotonic()

    def under(self, may_lose=False, **conditions):
        """A with block during which the boxes and the link run under these Conditions."""
        return self._laboratory.session(Conditions(**conditions), may_lose)

    def check(self, passed, what):
        """Notes a check; the scenario goes on, so that the record shows all that is wrong."""
        self.checks.append({"passed": bool(passed), "what": what})

    def judge(self):
        """LabError naming the failed checks, if any."""
        failed = [check["what"] for check in self.checks if not check["passed"]]
        if failed:
            raise LabError("; ".join(failed))

    def write_record(self, error):
        """record.json: commands, conditions, figures and counters, readable by machine."""
        record = {
            "scenario": self.name,
            "passed": error is None,
            "error": error,
            "seconds": round(time.monotonic() - self._started, 3),
            "through": self._through,
            "row": self.row,
            "rows": self.rows,
            "checks": self.checks,
            "sessions": [{"conditions": dataclasses.asdict(session.conditions), "steps": session.steps,
                          "counters": session.counters} for session in self._laboratory.sessions],
        }
        with open(self._laboratory.directory / "record.json", "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)
            file.write("\n")
