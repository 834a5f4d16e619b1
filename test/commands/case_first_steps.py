# SPDX-License-Identifier: BSD-3-Clause
"""First steps, as somebody takes them who has just installed the program: what was typed, with which status it ends, and
what comes back."""
import json
import pathlib
import re
import subprocess

from plan_program import expect

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# What was typed, with files of the repository by their paths there; exit status; what comes back, in this order. With
# status 0 it is standard output, and standard error is empty; otherwise standard error, unless the table says "out".
TABLE = (
    # What is there?
    ("--help", 0, ("Usage: longhaul", "run", "ctl", "doctor", "link", "replay", "plan", "metrics", "schema", "key")),
    ("--version", 0, ("0.",)),
    ("run --help", 0, ("--config", "--check")),
    ("ctl --help", 0, ("status", "pairs", "peers", "top", "drain", "reload")),
    ("plan --help", 0, ("Start with your own link", "throughput", "simulate")),
    ("replay --help", 0, ("--near", "--expect", "--junit")),
    # Does it help me?
    ("plan throughput --distance 100km --message 4KiB", 0, ("100 Gbit/s, round trip 1 ms", "The pair would help")),
    ("plan throughput --distance 1000km", 0, ("Limited by: line", "TCP: window / RTT", "the pair would help")),
    ("plan throughput --preset 400G --distance 100km", 0, ("400 Gbit/s",)),
    ("plan depth --distance 1000km", 0, ("bandwidth-delay product: 119 MiB each way", "Messages of one frame")),
    ("plan buffer --distance 1000km", 0, ("in custody, MiB", "nothing lost", "hugepages to reserve")),
    ("plan simulate --distance 10km --message 4KiB --messages 200", 0,
     ("round trip 100 us", "every byte was compared", "Payload (simulated)", "deviation")),
    ("plan workload --list", 0, ("database", "retail-web", "vm-migration")),
    ("plan workload retail-web --distance 100km", 0, ("round trip 1 ms",)),
    # Is what I wrote right, and is my machine?
    ("run --check --config config/box-100g.yaml", 0,
     ("is valid", "hugepages to reserve", "4.00 GiB", "custody: limit 256 MiB, 128 MiB a pair of hosts, 64.0 MiB a connection")),
    ("run --check --config config/box-lab.yaml", 0, ("is valid", "ordinary memory that must be free", "MiB")),
    ("ctl config check config/box-100g.yaml", 0, ("is valid",)),
    ("link --check --config config/link-1000km.yaml", 0, ("is valid",)),
    ("key --help", 0, ("new", "ids", "To change keys: ")),
    ("key new", 0, ("=\n",)),
    ("schema", 0, ("json-schema.org/draft-07", "The configuration of a box")),
    ("schema link", 0, ("json-schema.org/draft-07", "link")),
    ("metrics", 0, ("# Metrics", "`longhaul_not_accelerated_requests_total`", "## Labels that say why")),
    # What would it do with my traffic?
    ("replay test/pcaps/write_bw_r_4k.pcap --near 10.9.0.2/32", 0, ("flows learned", "pseudo-ACKs", "matched", "flows\n")),
    ("replay test/pcaps/rping_v4.pcap --near 10.0.0.0/8", 3,
     ("out", "nothing was compared", "give --near the hosts on the box's own side")),
    # Nothing runs yet.
    ("ctl status", 1, ("no box listens in /run/longhaul", "Is one running", "control: {socket: ")),
    ("ctl peers", 1, ("no box listens in /run/longhaul",)),
    ("ctl --name none pairs", 1, ("/run/longhaul/none.sock: no such socket", "control: {socket: ...}")),
    ("ctl --socket /no/such.sock top --once", 1, ("/no/such.sock: no such socket",)),
    ("plan throughput", 2, ("give a distance", "100km")),
    # What may follow? (The shell asks.)
    ("__complete pl", 0, ("plan\t",)),
    ("__complete plan simu", 0, ("simulate\t",)),
    ("__complete plan workload re", 0, ("retail-web",)),
    ("__complete run --config ", 0, (":files",)),
)

# JSON of the same steps; a key that a program looks for, and its type.
JSON = (
    ("plan throughput --distance 100km --json", "rows", list),
    ("plan simulate --distance 10km --message 4KiB --messages 200 --json", "rows", list),
    ("plan depth --distance 1000km --json", "messages", list),
    ("run --check --config config/box-100g.yaml --json", "reserve_bytes", int),
    ("replay test/pcaps/write_bw_r_4k.pcap --near 10.9.0.2/32 --json", "verdict", str),
    ("doctor --json", "findings", list),
)


def _typed(line):
    """The words; an empty one where the line ends with a space. Files are absolute, so that it does not matter where."""
    return [str(REPOSITORY / word) if (REPOSITORY / word).is_file() and "/" in word else word for word in line.split(" ")]


def first_steps(program):
    """each first step ends with its status and says what one wanted to know"""
    errors = []
    for line, status, words in TABLE:
        done = program.run(*_typed(line))
        if done.returncode != status:
            errors.append(f"{line}: status {done.returncode} instead of {status}: {done.stderr or done.stdout[-300:]}")
            continue
        out = status == 0 or words[0] == "out"
        said, other = (done.stdout, done.stderr) if out else (done.stderr, done.stdout)
        if other:
            errors.append(f"{line}: says {other[:200]!r}, too")
        at = 0
        for word in words[words[0] == "out":]:
            found = said.find(word, at)
            if found < 0:
                errors.append(f"{line}: nothing about {word!r} in {said[-600:]!r}")
            at = max(at, found)
        if re.search(r"\b\d{4,}(\.\d+)? (KiB|MiB|GiB)\b|\d [kMG]B\b", said):
            errors.append(f"{line}: a size in the wrong unit: {re.search('.*[0-9] ([KMG]i|[kMG])B.*', said)[0]!r}")
    return errors


def for_programs(program):
    """the same steps with --json are JSON, whatever their status"""
    for line, key, kind in JSON:
        done = program.run(*_typed(line))
        expect(done.returncode in (0, 1), f"{line}: {done.returncode}, {done.stderr}")
        expect(isinstance(json.loads(done.stdout).get(key), kind), f"{line}: {key} is no {kind.__name__}")


def examine_machine(program):
    """doctor without a configuration looks at this machine, says what it found, and its status says whether errors are
    among it"""
    done = program.run("doctor")
    levels = re.findall(r"^(ok|info|warning|error) +\S", done.stdout, re.M)
    expect(len(levels) > 3 and not done.stderr, f"{done.stdout}, {done.stderr}")
    expect(done.returncode == (1 if "error" in levels else 0), f"status {done.returncode} for {levels}")
    for fault in re.findall(r"^(?:warning|error) .*(?:\n .*)*", done.stdout, re.M):
        expect("fix:" in fault, f"no word on what to do: {fault}")


def pipes(program):
    """a reader that has seen enough ends a long answer without a complaint"""
    with subprocess.Popen([program.program, "metrics"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read()
    expect(not said, f"{said}")


CASES = {
    "first-steps": first_steps,
    "first-steps-json": for_programs,
    "first-steps-doctor": examine_machine,
    "first-steps-pipe": pipes,
}
