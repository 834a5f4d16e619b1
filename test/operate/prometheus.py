# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Prometheus as a judge: promtool on files, and a server of our own that scrapes boxes."""
import json
import pathlib
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from lab.process import LabError, spawn, stop, wait_until
from lab.tools import REPOSITORY

CONFIG = REPOSITORY / "config" / "prometheus"


def programs():
    """The directory of prometheus and promtool."""
    done = subprocess.run([REPOSITORY / "tools" / "prometheus"], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise LabError(f"tools/prometheus: {done.stderr.strip()[-500:]}")
    return pathlib.Path(done.stdout.strip())


def promtool(*words, stdin=None):
    """Its exit code and what it said."""
    done = subprocess.run([programs() / "promtool", *map(str, words)], input=stdin, capture_output=True, text=True,
                          check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr


def parse_series(text):
    """A sample's line to its value: {"name{label=\"value\"}": float} of an exposition."""
    out = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            if name in out:
                raise LabError(f"{name} twice in one scrape")
            out[name] = float(value)
    return out


class Server:
    """A running Prometheus inside a namespace, with the product's rules; a context."""

    ADDRESS = "127.0.0.1:9090"

    def __init__(self, inside, namespace, directory, targets):
        """`targets`: {address: {label: value}}."""
        self._inside = inside
        directory.mkdir()
        shutil.copy(CONFIG / "rules.yml", directory)
        # The product's own file, with the test's targets and pace.
        config = (CONFIG / "prometheus.yml").read_text(encoding="ascii")
        listed = "".join(f"      - targets: [\"{address}\"]\n        labels: {json.dumps(labels)}\n"
                         for address, labels in targets.items())
        config, found = re.subn(r"(    static_configs:\n)(?:      .*\n)+", r"\g<1>" + listed, config, count=1)
        config, paced = re.subn(r"(scrape|evaluation)_interval: \S+", r"\1_interval: 1s", config)
        if found != 1 or paced != 2:
            raise LabError("config/prometheus/prometheus.yml no longer has the form that this test adapts")
        (directory / "prometheus.yml").write_text(config, encoding="ascii")
        self._log = directory / "prometheus.log"
        with open(self._log, "wb") as log:
            self._process = spawn(
                [programs() / "prometheus", f"--config.file={directory / 'prometheus.yml'}",
                 f"--storage.tsdb.path={directory / 'data'}", f"--web.listen-address={self.ADDRESS}"],
                namespace=namespace, stdout=log, stderr=log)
        self._data = directory / "data"

    def __enter__(self):
        wait_until(self._ready, 180, f"prometheus to be ready (log: {self._log})", step=0.1)
        return self

    def __exit__(self, *_):
        stop(self._process)
        shutil.rmtree(self._data, ignore_errors=True)

    def _ready(self):
        if self._process.poll() is not None:
            raise LabError(f"prometheus ended: {self._log.read_text()[-1000:]}")
        try:
            return self._inside.do(self._get, "/-/ready") is not None
        except OSError:
            return False

    def _get(self, path, **parameters):
        url = f"http://{self.ADDRESS}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if path.startswith("/api"):
                raise LabError(f"{parameters}: {error.read().decode()}") from error
            raise

    def api(self, path, **parameters):
        """The `data` of an answer of the HTTP API. LabError when it is an error."""
        answer = json.loads(self._inside.do(self._get, "/api/v1/" + path, **parameters))
        if answer["status"] != "success" or answer.get("warnings"):
            raise LabError(f"{parameters}: {answer}")
        return answer["data"]

    def query(self, expression):
        """An instant vector: [({label: value}, float)]."""
        return [(row["metric"], float(row["value"][1])) for row in self.api("query", query=expression)["result"]]

    def value(self, expression):
        """The value of the one series that the expression yields; None when it yields none."""
        rows = self.query(expression)
        if len(rows) > 1:
            raise LabError(f"{expression}: {len(rows)} series instead of one")
        return rows[0][1] if rows else None
