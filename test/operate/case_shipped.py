# SPDX-License-Identifier: BSD-3-Clause
"""What is shipped for Prometheus, Grafana and Compose, judged by their own programs, classes and schemas."""
import copy
import json
import re
import subprocess
import sys

import jsonschema
import yaml

import dashboard
from bench import expect
from lab.process import LabError
from lab.tools import REPOSITORY
from prometheus import promtool

DOCKER = REPOSITORY / "docker"
COMPOSE = DOCKER / "compose.yaml"
MOUNTED = "/etc/longhaul/config"  # config/ in the container of Prometheus


def _schemas():
    done = subprocess.run([REPOSITORY / "tools" / "schemas"], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise LabError(f"tools/schemas: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


def _yaml(file):
    return yaml.safe_load(file.read_text(encoding="ascii"))


def _lost(ours, theirs, path=""):
    """Where `theirs` lacks something of `ours`, or has another value."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            yield from _lost(value, theirs[key], f"{path}.{key}") if key in theirs else [f"{path}.{key}"]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (mine, other) in enumerate(zip(ours, theirs)):
            yield from _lost(mine, other, f"{path}[{number}]")
    elif ours != theirs:
        yield path


# Grafana's schema leaves annotations and variables open for what their data source keeps there. Grafana 10 has these.
OPEN = re.compile(r"\.annotations\.list\[\d+\]\.(title|text)Format|\.templating\.list\[\d+\]\.definition")


def grafana_knows_all(bench):
    """Grafana's own classes for dashboards find a place for each key of ours, and notice one that is misspelt."""
    sys.path.insert(0, _schemas())
    try:
        from grafana_foundation_sdk.cog import encoder, plugins  # pylint: disable=import-outside-toplevel,import-error
        from grafana_foundation_sdk.models.dashboard import Dashboard  # pylint: disable=import-outside-toplevel,import-error
    finally:
        sys.path.pop(0)
    plugins.register_default_plugins()

    def lost(document):
        read = Dashboard.from_json(copy.deepcopy(document))
        again = json.loads(json.dumps(read, cls=encoder.JSONEncoder))
        return [path for path in _lost(document, again) if not OPEN.fullmatch(path)]
    ours = dashboard.load()
    expect(not lost(ours), f"Grafana has no place for {lost(ours)}")
    panel = next(panel for panel in dashboard.panels(ours) if panel["type"] == "timeseries")
    for place, key in ((panel, "title"), (panel["targets"][0], "expr"), (panel["fieldConfig"]["defaults"]["custom"],
                                                                         "lineWidth")):
        value = place.pop(key)
        place[key + "s"] = value
        expect(len(lost(ours)) == 1, f"a misspelt {key} was not noticed: {lost(ours)}")
        del place[key + "s"]
        place[key] = value
    bench.say(f"{len(dashboard.panels(ours))} panels read and written by grafana-foundation-sdk")


def compose_is_valid(_):
    """docker/compose.yaml is Compose, and each file that it mounts is in the repository."""
    with open(_schemas() + "/compose/compose_spec.json", encoding="utf-8") as file:
        schema = json.load(file)
    document = _yaml(COMPOSE)
    errors = [f"{list(error.path)}: {error.message}" for error in jsonschema.Draft7Validator(schema).iter_errors(document)]
    expect(not errors, "; ".join(errors))
    for name, service in document["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                expect((DOCKER / source).exists(), f"{name} mounts {source}, which does not exist")
            else:
                expect(source in document["volumes"], f"{name} uses a volume {source} that is not declared")
        for network in service.get("networks", []):
            expect(network in document["networks"], f"{name} is in a network {network} that is not declared")
            # A service that another one asks must be in a network with it.
        for other in service.get("depends_on", []):
            shared = set(service["networks"]) & set(document["services"][other]["networks"])
            expect(shared, f"{name} cannot reach {other}")


def compose_prometheus(bench):
    """promtool accepts Compose's prometheus.yml; it scrapes where the boxes listen, with the labels that the dashboard
    asks for."""
    ours = DOCKER / "prometheus.yml"
    text = ours.read_text(encoding="ascii").replace(MOUNTED, str(REPOSITORY / "config"))
    here = bench.directory / "prometheus.yml"
    here.write_text(text, encoding="ascii")
    code, said = promtool("check", "config", here)
    expect(code == 0 and "1 rule files found" in said, said)
    targets = {}
    for job in _yaml(ours)["scrape_configs"]:
        expect(job["job_name"] == "longhaul", "rules ask for the job longhaul")
        for group in job["static_configs"]:
            targets.update({target: group.get("labels", {}) for target in group["targets"]})
    expected = {name: _yaml(DOCKER / f"{name}.yaml")["metrics"]["listen"].rpartition(":")[2] for name in ("near", "far")}
    expect(set(targets) == {f"{name}:{port}" for name, port in expected.items()}, f"{targets} but {expected}")
    asked = {variable["name"] for variable in dashboard.load()["templating"]["list"]} - {"datasource", "instance"}
    for target, labels in targets.items():
        expect(asked | {"site"} == set(labels), f"{target} has {labels}, the dashboard asks for {asked}")
    expect(len({labels["pair"] for labels in targets.values()}) == 1, "the two boxes are not one pair")
    expect(len({labels["site"] for labels in targets.values()}) == 2, "both boxes are at one site")


def compose_grafana(_):
    """Compose's Grafana finds its data source and its dashboard where they are mounted, and Prometheus where it listens."""
    document = _yaml(COMPOSE)
    grafana = document["services"]["grafana"]
    mounted = {volume.split(":")[1]: DOCKER / volume.split(":")[0] for volume in grafana["volumes"]}
    sources = [_yaml(file)["datasources"] for place, file in mounted.items() if "/provisioning/datasources/" in place]
    source, = [one for group in sources for one in group]
    host, port = re.fullmatch(r"http://([\w-]+):(\d+)", source["url"]).groups()
    ports = [entry.split(":")[-1] for entry in document["services"][host]["ports"]]
    expect(port in ports and source["type"] == "prometheus" and source["isDefault"], f"{source}, {host} has {ports}")
    providers = [_yaml(file)["providers"] for place, file in mounted.items() if "/provisioning/dashboards/" in place]
    provider, = [one for group in providers for one in group]
    board = provider["options"]["path"] + "/longhaul.json"
    expect(mounted[board].resolve() == dashboard.FILE, f"no dashboard at {board}: {list(mounted)}")
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    expect(home == board, f"{home} is not mounted")
    # With a data source variable whose choice is empty, Grafana takes the default one of that type.
    variable = next(one for one in dashboard.load()["templating"]["list"] if one["name"] == "datasource")
    expect(variable["type"] == "datasource" and variable["query"] == source["type"], f"{variable}")


CASES = {"shipped-dashboard": grafana_knows_all, "shipped-compose": compose_is_valid,
         "shipped-compose-prometheus": compose_prometheus, "shipped-compose-grafana": compose_grafana}
