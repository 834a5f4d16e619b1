# SPDX-License-Identifier: BSD-3-Clause
"""bash and zsh offer what the program has. The shells themselves run config/completion."""
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import tempfile

from commands import tree
from plan_program import TIMEOUT, Skipped, expect

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
COMPLETION = REPOSITORY / "config" / "completion"
WORKLOADS = {file.stem for file in (REPOSITORY / "config/workloads").glob("*.yaml")}

# As readline fills them, except for the words: the case splits at blanks, = and : itself.
BASH = """
. {script}
COMP_LINE={line} COMP_POINT={point} COMP_WORDS=({words}) COMP_CWORD={last}
_longhaul
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

# _describe and _files belong to zsh's completion system, which needs a terminal.
ZSH = """
_describe() {{ local one; for one in ${{(P)2}}; do one=${{one//\\\\:/@COLON@}}; print -r -- ${{${{one%%:*}}//@COLON@/:}}; done }}
_files() {{ print -r -- FILES $@ }}
words=({words}) CURRENT={current} PREFIX={prefix}
complete_here() {{ . {script} }}
complete_here
"""


def run(*command):
    """What a command prints, in a directory without files."""
    with tempfile.TemporaryDirectory(prefix="longhaul-commands-") as empty:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=empty)
    expect(done.returncode == 0 and not done.stderr, f"{command}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def split(line):
    """As bash splits it, with COMP_WORDBREAKS: = and : are words of their own."""
    words = [""]
    for char in line:
        if char == " ":
            words.append("")
        elif char in "=:":
            words += [char, ""]
        else:
            words[-1] += char
    # Behind = and :, bash has no empty word.
    return words[:-1] if len(words) > 1 and not words[-1] and words[-2] in "=:" else words


def bash(program, line):
    """What bash offers in place of the last word."""
    words = split(line)
    line = line.replace("longhaul", program.program, 1)
    words[0] = program.program
    script = BASH.format(script=shlex.quote(str(COMPLETION / "longhaul.bash")), line=shlex.quote(line), point=len(line),
                         words=" ".join(map(shlex.quote, words)), last=len(words) - 1)
    return set(filter(None, run("bash", "--norc", "-c", script).splitlines()))


def zsh(program, line):
    """The words that zsh offers."""
    words = [program.program, *line.split(" ")[1:]]
    script = ZSH.format(script=shlex.quote(str(COMPLETION / "_longhaul")), words=" ".join(map(shlex.quote, words)),
                        current=len(words), prefix=shlex.quote(words[-1]))
    return set(filter(None, run("zsh", "-f", "-c", script).splitlines()))


# What was typed, what is offered.
TABLE = (
    ("longhaul c", {"ctl"}),
    ("longhaul ctl fl", {"flows", "flow"}),
    ("longhaul ctl --name near fl", {"flows", "flow"}),
    ("longhaul ctl --name=near fl", {"flows", "flow"}),
    ("longhaul ctl flows --so", {"--sort"}),
    ("longhaul ctl flows --sort u", {"unconfirmed"}),
    ("longhaul ctl flows --sort custody --so", set()),
    ("longhaul ctl flows --state ", {"unconfirmed", "confirmed", "plain", "rejoining", "failed", "ended"}),
    ("longhaul ctl policy default w", {"window"}),
    ("longhaul ctl policy set 10.0.0.0/8 ", {"off", "window", "full"}),
    ("longhaul ctl policy set ", set()),
    ("longhaul ctl bypass o", {"on", "off"}),
    ("longhaul plan simulate --ways standard p", {"pair"}),
    ("longhaul plan simulate --ways standard --qp", {"--qps"}),
    ("longhaul plan depth --operation ", {"write", "send", "read"}),
    ("longhaul plan depth --distance 100km --operation r", {"read"}),
    ("longhaul plan throughput --mtu 1", {"1024"}),
    ("longhaul plan throughput --distance ", set()),
    ("longhaul plan workload retail", {"retail-web"}),
    ("longhaul plan workload ", WORKLOADS),
    ("longhaul plan workload --distance 100km v", {"vdi", "vm-migration"}),
    ("longhaul replay --policy f", {"full"}),
)


def offered_by_bash(program):
    """bash offers what fits: commands, options, the values of options, workloads, files"""
    with tempfile.TemporaryDirectory(prefix="longhaul-commands-") as directory:
        pathlib.Path(directory, "box.yaml").touch()
        os.mkdir(pathlib.Path(directory, "sub"))
        table = TABLE + (
            (f"longhaul run --config {directory}/", {f"{directory}/box.yaml", f"{directory}/sub"}),
            (f"longhaul run --config={directory}/b", {f"{directory}/box.yaml"}),
            (f"longhaul doctor --root {directory}/", {f"{directory}/sub"}),
            (f"longhaul plan workload {directory}/b", {f"{directory}/box.yaml"}),
            ("longhaul ctl flows --sort=u", {"unconfirmed"}),
            ("longhaul ctl flows --sort=", {"custody", "unconfirmed", "idle", "rtt", "bytes"}),
        )
        for line, words in table:
            got = bash(program, line)
            expect(got == words, f"{line}: {sorted(got)} instead of {sorted(words)}")


def offered_by_zsh(program):
    """zsh offers the same"""
    if not shutil.which("zsh"):
        raise Skipped("zsh is not installed (run tools/setup)")
    for line, words in TABLE + (("longhaul ctl flows --sort=u", {"--sort=unconfirmed"}),
                                ("longhaul run --config ", {"FILES"}), ("longhaul doctor --root ", {"FILES -/"})):
        got = zsh(program, line)
        if "workload" in line:
            expect("FILES" in got, f"{line}: no files")
            got.discard("FILES")
        expect(got == words, f"{line}: {sorted(got)} instead of {sorted(words)}")


def everything(program):
    """each command and each option of the help is offered, and nothing else"""
    for path, (_, names, options) in tree(program).items():
        line = " ".join(("longhaul", *path))
        if names:
            got = bash(program, f"{line} ")
            expect(got == set(names), f"{line}: {sorted(got)} instead of {sorted(names)}")
        got = bash(program, f"{line} --")
        expect(got == set(options), f"{line} --: missing {sorted(set(options) - got)}, too much {sorted(got - set(options))}")


def boxes(program):
    """the boxes that run are offered by name and by socket"""
    if os.geteuid() != 0:
        raise Skipped("a /run of its own needs root")
    with tempfile.TemporaryDirectory(prefix="longhaul-commands-") as directory:
        for name in ("near", "north", "far"):
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(f"{directory}/{name}.sock")
            listening.close()
        ask = shlex.join([program.program, "__complete", "ctl"])
        script = (f"mkdir -p /run && mount -t tmpfs tmpfs /run && mkdir /run/longhaul && cp -a {directory}/. /run/longhaul && "
                  f"{ask} --name n && {ask} --socket ''")
        # cp -a keeps sockets.
        got = [line.split("\t")[0] for line in run("unshare", "--mount", "sh", "-c", script).splitlines()]
        wanted = ["near", "north", ":", *(f"/run/longhaul/{name}.sock" for name in ("far", "near", "north")), ":files"]
        expect(got == wanted, f"{got} instead of {wanted}")


CASES = {
    "completion-bash": offered_by_bash,
    "completion-zsh": offered_by_zsh,
    "completion-everything": everything,
    "completion-boxes": boxes,
}
