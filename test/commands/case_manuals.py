# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages say what the program says."""
import pathlib
import re
import shutil
import subprocess

from commands import tree
from plan_program import TIMEOUT, Skipped, expect

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MANUALS = REPOSITORY / "docs" / "man"


def lint(program):
    """no page has a warning of mandoc"""
    if not shutil.which("mandoc"):
        raise Skipped("mandoc is not installed (run tools/setup)")
    for page in sorted(MANUALS.glob("*.[15]")):
        done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)
        expect(done.returncode == 0 and not done.stdout, done.stdout + done.stderr)


def manuals(program):
    """each command has a page with all of its options; the file's page has all keys"""
    for path, (_, names, options) in tree(program).items():
        command = path[0] if path else ""
        page = MANUALS / (f"longhaul-{command}.1" if command else "longhaul.1")
        expect(page.is_file(), f"{command} has no page")
        text = page.read_text(encoding="utf-8").replace(r"\-", "-")
        for word in {*names, *options} - {"--help"}:
            named = f"Fl -{word[2:]}" in text or word in text if word.startswith("--") else re.search(rf"\b{word}\b", text)
            expect(named, f"{page.name} says nothing of {' '.join(path)} {word}")
    keys = set(re.findall(r"\{\"([a-z_.]+)\", k(?:Live|Fixed)", (REPOSITORY / "lib/config/box_keys.cpp").read_text()))
    expect(len(keys) > 30, f"{len(keys)} keys in lib/config/box_keys.cpp")
    page = (MANUALS / "longhaul.yaml.5").read_text()
    for key in keys:
        expect(f".It Cm {key}" in page, f"longhaul.yaml.5 says nothing of {key}")


CASES = {
    "manuals-lint": lint,
    "manuals-complete": manuals,
}
