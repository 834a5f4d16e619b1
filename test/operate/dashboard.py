# SPDX-License-Identifier: BSD-3-Clause
"""The Grafana dashboard without Grafana: its form, and each of its queries against a real Prometheus."""
import json
import re
import subprocess
import time

from lab.process import LabError
from lab.tools import REPOSITORY

FILE = REPOSITORY / "config" / "grafana" / "longhaul.json"
WIDTH = 24  # columns of Grafana's grid


def load():
    return json.loads(FILE.read_text(encoding="ascii"))


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(dashboard):
    """(panel's title, expression) of each query, those of variables and annotations too."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable.get("definition", ""))
        if match:
            yield f"variable {variable['name']}", f"count by ({match.group(2)}) ({match.group(1)})"


def check_form(program):
    """Places, units and names."""
    dashboard = load()
    page = subprocess.run([program, "metrics"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"^\| `(\w+)` \|", page, re.M)) | {"up"}
    taken, numbers = set(), set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        if cells & taken or place["x"] + place["w"] > WIDTH or panel["id"] in numbers:
            raise LabError(f"{panel['title']}: lies over another panel, outside the grid, or has another's number")
        taken |= cells
        numbers.add(panel["id"])
        if panel["type"] != "row" and not (panel["targets"] and panel["fieldConfig"]["defaults"]["unit"]):
            raise LabError(f"{panel['title']}: no query or no unit")
    for title, expression in expressions(dashboard):
        names = {re.sub(r"_(bucket|sum|count)$", "", name) if "_seconds_" in name else name
                 for name in re.findall(r"\b(longhaul_\w+|process_\w+|up)\b(?=[{\[]|\))", expression)}
        if not names or not names <= known:
            raise LabError(f"{title}: no such metric: {names - known or expression}")


def check_queries(prometheus, pair, say):
    """Each query, as Grafana would ask it, has an answer that is not empty."""
    now = time.time()
    count = 0
    for title, expression in expressions(load()):
        for variable, value in (("$__rate_interval", "10s"), ("$pair", pair), ("$instance", ".+")):
            expression = expression.replace(variable, value)
        if "$" in expression:
            raise LabError(f"{title}: a variable that nobody sets: {expression}")
        data = prometheus.api("query_range", query=expression, start=now - 30, end=now, step=5)
        if not data["result"]:
            raise LabError(f"{title}: no answer to {expression}")
        count += 1
    say(f"{count} queries of the dashboard answered")
