# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages and shell completion say what the program says."""
import pathlib
import re
import shutil
import subprocess

from bench import PATIENCE, expect
from lab.process import LabError

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MANUALS = REPOSITORY / "docs" / "man"
COMPLETION = REPOSITORY / "config" / "completion"
COMMON = {"--help"}


def _help(program, path):
    """The subcommands and the long options of a command, as its help lists them."""
    done = subprocess.run([program, *path, "--help"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    expect(done.returncode == 0, f"{' '.join(path)} --help: {done.stderr}")
    subcommands = re.search(r"^Subcommands:\n((?:  .*\n|\n)*)", done.stdout, re.M)
    names = re.findall(r"^  ([a-z]+)\b", subcommands.group(1), re.M) if subcommands else []
    return names, set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", done.stdout, re.M))


def _tree(program, path=()):
    """{"ctl flows": {words}}, everything below `path`."""
    names, options = _help(program, path)
    tree = {" ".join(path): set(names) | options}
    for name in names:
        tree.update(_tree(program, (*path, name)))
    return tree


def _compare(what, table, tree, skip=()):
    for path, words in tree.items():
        if path in skip:
            continue
        expect(path in table, f"{what} does not know `{path}`")
        expect(table[path] == words, f"{what}, `{path}`: missing {sorted(words - table[path])}, "
                                     f"too much {sorted(table[path] - words)}")
    expect(set(table) <= set(tree), f"{what} knows what is not there: {sorted(set(table) - set(tree))}")


def completion(bench):
    """bash and zsh complete just the subcommands and options that the program has"""
    tree = _tree(bench.program)
    bash = dict(re.findall(r"^  \['([^-'][^']*)'\]='(.*)'$", (COMPLETION / "longhaul.bash").read_text(), re.M))
    bash[""] = bash.pop("longhaul")
    _compare("longhaul.bash", {path: set(words.split()) for path, words in bash.items()}, tree)
    zsh = dict(re.findall(r"^  '([^-'][^']*)' '(.*)'$", (COMPLETION / "_longhaul").read_text(), re.M))
    zsh[""] = zsh.pop("longhaul")
    _compare("_longhaul", {path: set(words.split()) for path, words in zsh.items()}, tree)

    def complete(line):
        words = line.split(" ")
        script = (f". {COMPLETION / 'longhaul.bash'}; COMP_WORDS=({' '.join(map(repr, words))}); "
                  f"COMP_CWORD={len(words) - 1}; _longhaul; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False)
        expect(not done.stderr, done.stderr)
        return set(done.stdout.split())
    for line, words in (("longhaul c", {"ctl"}), ("longhaul ctl --name near fl", {"flows", "flow"}),
                        ("longhaul ctl flows --so", {"--sort"}), ("longhaul ctl flows --sort u", {"unconfirmed"}),
                        ("longhaul ctl policy default w", {"window"}), ("longhaul ctl bypass o", {"on", "off"})):
        expect(complete(line) == words, f"{line}: {complete(line)} instead of {words}")


def manuals(bench):
    """each command has a page without warnings, with all of its options; the file's page has all keys"""
    if not shutil.which("mandoc"):
        raise LabError("mandoc is not installed (run tools/setup)")
    for page in sorted(MANUALS.glob("*.[15]")):
        done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        expect(done.returncode == 0 and not done.stdout, done.stdout + done.stderr)
    tree = _tree(bench.program)
    for path, words in tree.items():
        command = path.split(" ")[0]
        page = MANUALS / ("longhaul.1" if not path else f"longhaul-{command}.1")
        expect(page.is_file(), f"{command} has no page")
        text = page.read_text().replace(r"\-", "-")
        for word in words - COMMON:
            named = f"Fl -{word[2:]}" in text or word in text if word.startswith("--") else re.search(rf"\b{word}\b", text)
            expect(named, f"{page.name} says nothing of {path} {word}")
    keys = set(re.findall(r"\{\"([a-z_.]+)\", k(?:Live|Fixed)", (REPOSITORY / "lib/config/box_keys.cpp").read_text()))
    page = (MANUALS / "longhaul.yaml.5").read_text()
    for key in keys - {""}:
        expect(f".It Cm {key}" in page, f"longhaul.yaml.5 says nothing of {key}")


CASES = {
    "docs-completion": completion,
    "docs-manuals": manuals,
}
