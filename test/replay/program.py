# SPDX-License-Identifier: BSD-3-Clause
"""Running `longhaul replay` and collecting what it says and writes."""
import json
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass

import capture

CAPTURES = pathlib.Path(__file__).parent.parent / "pcaps"
TIMEOUT = 300  # seconds; a replay takes less than one


@dataclass
class Run:
    exit_code: int
    text: str  # standard output
    stderr: str
    out: dict  # side: [Captured]

    @property
    def report(self):
        return json.loads(self.text)


class Longhaul:
    def __init__(self, path):
        self.path = path

    def raw(self, *arguments, cwd=None, **more):
        return subprocess.run([pathlib.Path(self.path).absolute(), "replay", *map(str, arguments)], capture_output=True, text=True,
                              timeout=TIMEOUT, cwd=cwd, check=False, **more)

    def replay(self, path, near, *more):
        with tempfile.TemporaryDirectory(prefix="longhaul-replay-") as directory:
            files = {side: pathlib.Path(directory) / f"{side}.pcap" for side in ("host", "wan")}
            arguments = [path, "--json", "--host-out", files["host"], "--wan-out", files["wan"], *more]
            for prefix in near:
                arguments += ["--near", prefix]
            done = self.raw(*arguments)
            out = {side: capture.read_pcap(file) if file.exists() else [] for side, file in files.items()}
        return Run(done.returncode, done.stdout, done.stderr, out)
