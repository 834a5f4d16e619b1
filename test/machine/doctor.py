# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul doctor` on planted machines: a healthy one, each single fault, and the machine that the test runs on."""
import json
import pathlib
import subprocess
import tempfile

import tree
from faults import CONFIGS, FAULTS, LAB, NICS

TIMEOUT = 300  # seconds; it takes milliseconds


class Doctor:
    def __init__(self, program, directory):
        self._program = program
        self._directory = pathlib.Path(directory)

    def run(self, *arguments):
        return subprocess.run([self._program, "doctor", *map(str, arguments)], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def config(self, text):
        path = self._directory / "box.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def examine(self, root, config, *more):
        arguments = ["--root", root] if root else []
        if config is not None:
            arguments += ["--config", self.config(config)]
        return self.run(*arguments, *more)


def judge(done, found, mend):
    """What is wrong with a report that should have found just that."""
    if done.returncode not in (0, 1):
        yield f"exit {done.returncode}: {done.stderr.strip()}"
        return
    report = json.loads(done.stdout)
    bad = [finding for finding in report["findings"] if finding["level"] != "ok"]
    told = {}
    for finding in bad:
        if told.get(finding["check"]) != "error":
            told[finding["check"]] = finding["level"]
    if told != found:
        yield f"found {told}, expected {found}: {[finding['seen'] for finding in bad]}"
    for finding in bad:
        if not finding["why"] or not finding["mend"] or not finding["seen"]:
            yield f"not all of seen, why and mend: {finding}"
    if mend and not any(mend in finding["mend"] for finding in bad):
        yield f"no remedy has \"{mend}\": {[finding['mend'] for finding in bad]}"
    for level, key in (("error", "errors"), ("warning", "warnings")):
        if report[key] != sum(finding["level"] == level for finding in bad):
            yield f"{key}: {report[key]}, of {bad}"
    if done.returncode != int(report["errors"] > 0):
        yield f"exit {done.returncode} with {report['errors']} errors"


def planted(doctor, plant, config, found, mend):
    with tempfile.TemporaryDirectory(prefix="longhaul-machine-") as root:
        plant(tree.plant(root))
        yield from judge(doctor.examine(root, config, "--json"), found, mend)


def a_healthy_machine(doctor):
    """Nothing is found, in each configuration, and the text says so too."""
    for name, config in CONFIGS.items():
        for error in planted(doctor, lambda _: None, config, {}, ""):
            yield f"{name}: {error}"
    with tempfile.TemporaryDirectory(prefix="longhaul-machine-") as root:
        tree.plant(root)
        done = doctor.examine(root, NICS)
        if done.returncode or not done.stdout.endswith("longhaul doctor: 0 errors, 0 warnings\n"):
            yield f"exit {done.returncode}: {done.stdout}"


def text_tells_what_json_does(doctor):
    with tempfile.TemporaryDirectory(prefix="longhaul-machine-") as root:
        tree.plant(root).write("proc/mounts", "")
        report = json.loads(doctor.examine(root, None, "--json").stdout)
        text = doctor.examine(root, None).stdout
    for finding in report["findings"]:
        parts = [f"{finding['check']}: {finding['seen']}"]
        if finding["level"] != "ok":
            parts += [finding["why"], *finding["mend"].splitlines()]
        for part in parts:
            if part not in text:
                yield f"not in the text: {part}"


def every_check_has_a_fault(doctor):
    """A check that no fault of the table makes speak would be one that no test knows."""
    names = set()
    with tempfile.TemporaryDirectory(prefix="longhaul-machine-") as root:
        tree.plant(root)
        for config in CONFIGS.values():
            report = json.loads(doctor.examine(root, config, "--json").stdout)
            names |= {finding["check"] for finding in report["findings"]}
    for name in sorted(names - {check for fault in FAULTS for check in fault.found}):
        yield f"{name}: no fault in the table"


# Model in PCI, and the tool by which a person sees what doctor cannot.
BY_HAND = (("0x15b3", "0x101d", "mlxconfig -d {} query"), ("0x8086", "0x159b", "fw-lldp-agent"),
           ("0x8086", "0x1572", "disable-fw-lldp"), ("0x14e4", "0x1750", "niccli"))
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/operate/nics.md"


def says_what_it_cannot_see(doctor):
    """Of each NIC with a firmware that may answer LLDP: it is no fault, and the tool to look with is named, as in the page."""
    for vendor, device, tool in BY_HAND:
        for physical_function in (True, False):
            with tempfile.TemporaryDirectory(prefix="longhaul-machine-") as root:
                planted_tree = tree.plant(root)
                planted_tree.write("lib/firmware/intel/ice/ddp/ice.pkg", "")
                planted_tree.write(f"{tree.PCI}/devices/{tree.HOST}/vendor", vendor)
                planted_tree.write(f"{tree.PCI}/devices/{tree.HOST}/device", device)
                if not physical_function:
                    planted_tree.link(f"{tree.PCI}/devices/{tree.HOST}/physfn", "../0000:82:00.0")
                report = json.loads(doctor.examine(root, NICS, "--json").stdout)
            told = [finding for finding in report["findings"] if "cannot be seen" in finding["seen"]]
            if [finding["level"] for finding in told] != ["ok"] * physical_function:
                yield f"{vendor}:{device}: {told}"
            if physical_function and tool.format(tree.HOST) not in told[0]["seen"]:
                yield f"{vendor}:{device}: no {tool} in {told[0]['seen']}"
        if tool.split(" ")[0] not in PAGE.read_text(encoding="utf-8"):
            yield f"nics.md does not name {tool}"


def wrong_usage(doctor):
    """Exit code 2, and a message that names the place."""
    cases = (
        (["--root", "/nonexistent"], "/nonexistent"),
        (["--config", "/nonexistent.yaml"], "/nonexistent.yaml"),
        (["--no-such-option"], "--no-such-option"),
        (["--config", doctor.config(LAB.replace("idle", "idel"))], "box.yaml:7:1"),
    )
    for arguments, text in cases:
        done = doctor.run(*arguments)
        if done.returncode != 2 or text not in done.stderr + done.stdout:
            yield f"{arguments}: exit {done.returncode}, {done.stderr.strip()}"


def this_machine(doctor):
    """Whatever it is: a whole report."""
    done = doctor.run("--json")
    if done.returncode not in (0, 1):
        yield f"exit {done.returncode}: {done.stderr.strip()}"
    elif len(json.loads(done.stdout)["findings"]) < 10:
        yield f"hardly anything was looked at: {done.stdout}"


def cases(program):
    """(name, function that yields what is wrong), each with a directory of its own."""
    def in_directory(run):
        def case():
            with tempfile.TemporaryDirectory(prefix="longhaul-doctor-") as directory:
                return list(run(Doctor(program, directory)))
        return case

    for function in (a_healthy_machine, text_tells_what_json_does, every_check_has_a_fault,
                     says_what_it_cannot_see, wrong_usage, this_machine):
        yield f"doctor.{function.__name__}", in_directory(function)
    for fault in FAULTS:
        for name in fault.configs.split():
            yield f"doctor.{fault.name}.{name}", in_directory(
                lambda doctor, fault=fault, name=name: planted(doctor, fault.plant, CONFIGS[name], fault.found,
                                                               fault.mend))
