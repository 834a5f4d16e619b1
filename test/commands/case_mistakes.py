# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes: what was typed, with which status the program ends, and what it says."""
import pathlib
import re
import tempfile

from commands import tree
from plan_program import expect

PORTS = """ports:
  host: {vdev: "net_af_packet0,iface=lh0"}
  wan: {vdev: "net_af_packet1,iface=lh1"}
"""

# Configurations of a box, by the name of their file; FILE is its path.
FILES = {
    "twice.yaml": PORTS.replace("lh1", "lh0"),
    "vdev.yaml": PORTS.replace("net_af_packet1", "net_afpacket1"),
    "interface.yaml": PORTS.replace('net_af_packet1,iface=lh1', "lo"),
    "argument.yaml": PORTS.replace("iface=lh1", "iface=lh1,framsz=4096"),
    "no-iface.yaml": PORTS.replace(",iface=lh1", ""),
    "gone.yaml": PORTS.replace("lh0", "l0"),
    "queues.yaml": PORTS + "cores: [0, 1]\n",
    "tab.yaml": PORTS.replace("  wan", "\twan"),
    "tab-deep.yaml": PORTS.replace("  host", "\thost"),
    "brace.yaml": PORTS.replace("}", ""),
    "key.yaml": PORTS + "custdy: {}\n",
    "choice.yaml": PORTS + "policy: {default: ful}\n",
    "unit.yaml": PORTS + "wan_rate: 100\n",
    "peers.yaml": PORTS + "peers: {address: 192.0.2.1, boxes: []}\n",
    "key-file.yaml": PORTS + "peers: {address: 192.0.2.1/24,\n  boxes: [{name: far, address: 192.0.2.2, key_file: /no/such.key}]}\n",
    "empty.yaml": "",
}

# What was typed; exit status; what standard error says, in this order. Standard output stays empty.
TABLE = (
    # Commands.
    ("", 2, ("longhaul: ", "a command is missing: run, ctl, doctor, link, replay, plan, metrics, schema or key", "`longhaul --help`")),
    ("rnu", 2, ('unknown command "rnu"', 'did you mean "run"?')),
    ("plan", 2, ("longhaul plan: ", "a command is missing: throughput, ", "`longhaul plan --help`")),
    ("plan thruput", 2, ('unknown command "thruput"', 'did you mean "throughput"?')),
    ("key", 2, ("longhaul key: ", "a command is missing: new or ids", "`longhaul key --help`")),
    ("key nwe", 2, ('unknown command "nwe"', 'did you mean "new"?')),
    ("ctl polcy", 2, ('unknown command "polcy"', 'did you mean "policy"?')),
    ("status", 2, ('unknown command "status"', "did you mean `longhaul ctl status`?")),
    ("help", 2, ('did you mean "--help"?',)),
    ("version", 2, ('did you mean "--version"?',)),
    ("frobnicate", 2, ('unknown command "frobnicate"', "commands here: run, ctl, ")),
    # Options.
    ("--versoin", 2, ("unknown option --versoin", 'did you mean "--version"?')),
    ("run --confg box.yaml", 2, ("longhaul run: ", "unknown option --confg", 'did you mean "--config"?', "`longhaul run --help`")),
    ("plan throughput --distnace 100km", 2, ("unknown option --distnace", 'did you mean "--distance"?')),
    ("plan throughput --distnace=100km", 2, ("unknown option --distnace;", 'did you mean "--distance"?')),
    ("plan throughput -distance 100km", 2, ("unknown option -distance", 'did you mean "--distance"?')),
    ("plan throughput distance 100km", 2, ('unexpected "distance"', 'did you mean "--distance"?')),
    ("plan throughput 100km", 2, ('unexpected argument "100km"',)),
    ("--config box.yaml run", 2, ("--config is an option of `longhaul run`", "write it after `run`")),
    ("--json", 2, ("unknown option --json", "it may belong behind a command: run, ")),
    ("ctl flow --watch 5 7", 2, ("unknown option --watch",)),
    ("run", 2, ("missing --config FILE", "configuration of the box")),
    ("run --config", 2, ("a value is missing: --config FILE",)),
    ("key ids", 2, ("missing FILE", "a file of keys")),
    ("key new --fiel far.key", 2, ("unknown option --fiel", 'did you mean "--file"?')),
    ("ctl flow", 2, ("missing ID", "as shown by `flows`")),
    ("plan throughput --distance 1km --rtt 1ms", 2, ("give either --distance or --rtt, not both",)),
    ("run --config box.yaml --json", 2, ("--json has no effect without --check",)),
    ("ctl bypass on --yes", 2, ("--yes has no effect without --now",)),
    ("plan depth --distance 1km --rate 1Gbps --rate 2Gbps", 2, ("--rate is given 2 times",)),
    # Values.
    ("plan throughput --distance 100km --operation wriet", 2, ('--operation: expected write, send or read, got "wriet"', '"write"?')),
    ("plan nic - --distance 1km --operation rd", 2, ("--operation: expected write, send or read",)),
    ("plan simulate --distance 1km --ways pari", 2, ("--ways: expected standard, deep, alone or pair", 'did you mean "pair"?')),
    ("replay a.pcap --near 10.0.0.0/8 --policy ful", 2, ("--policy: expected off, window or full", 'did you mean "full"?')),
    ("replay a.pcap --near 10.0.0.0/8 --confirm yes", 2, ("--confirm: expected answer or cm",)),
    ("ctl policy set 10.0.0.0/8 ful", 2, ("policy: expected off, window or full", 'did you mean "full"?')),
    ("ctl policy default fast", 2, ("policy: expected off, window or full",)),
    ("ctl flows --sort rrt", 2, ("--sort: expected custody, unconfirmed, idle, rtt or bytes", 'did you mean "rtt"?')),
    ("ctl flows --state open", 2, ("--state: expected unconfirmed, confirmed, plain, ",)),
    ("ctl flows --watch often", 2, ('--watch: expected a number from 0.1 to 3600, got "often"',)),
    ("ctl flow seven", 2, ('expected a whole number of at least 0, got "seven"',)),
    ("plan throughput --distance 100km --mtu 1500", 2, ("--mtu: expected 256, 512, 1024, 2048 or 4096",)),
    ("plan throughput --distance 100km --qps 0", 2, ('--qps: expected a whole number from 1 to 16777216, got "0"',)),
    ("plan throughput --distance 100km --qps many", 2, ('--qps: expected a whole number from 1 to 16777216, got "many"',)),
    ("plan throughput --distance 100", 2, ("--distance: expected a distance such as 1000km", "the unit is missing")),
    ("plan throughput --distance 100miles", 2, ("--distance: expected a distance such as 1000km",)),
    ("plan throughput --distance 100km --plot a.gif", 2, ("--plot: expected the name of a picture", ".svg or .png")),
    ("plan workload retail-wbe", 2, ('did you mean "retail-web"?', "known workloads: additive-manufacturing, ")),
    ("doctor --root /no/such", 2, ("--root: expected a directory that exists",)),
    # Files.
    ("key ids /no/such.key", 1, ("cannot read the keys in /no/such.key: No such file",)),
    ("key ids /", 1, ("/ is not a file of keys",)),
    ("key new --file /no/such/directory/far.key", 1, ("/no/such/directory/far.key: No such file",)),
    # Configurations.
    ("run --config /no/such.yaml", 2, ("/no/such.yaml: cannot be read: No such file",)),
    ("run --config /", 2, ("/: cannot be read",)),
    ("run --check --config twice.yaml", 2, ("FILE:3:15: ports.wan.vdev", "interface lh0 already belongs to the other port")),
    ("link --check --config twice-link.yaml", 2, ("FILE:3:13: ports.b.vdev", "interface lh0 already belongs to the other port")),
    ("ctl config check twice.yaml", 2, ("FILE:3:15: ports.wan.vdev", "interface lh0 already belongs to the other port")),
    ("run --check --config vdev.yaml", 2, ("FILE:3:15: ports.wan.vdev", 'called "net_afpacket1"', '"net_af_packet1"?')),
    ("run --config vdev.yaml", 2, ("FILE:3:15: ports.wan.vdev", 'did you mean "net_af_packet1"?')),
    ("doctor --config vdev.yaml", 2, ("FILE:3:15: ports.wan.vdev", 'did you mean "net_af_packet1"?')),
    ("run --check --config interface.yaml", 2, ('"lo" is a network interface', "write net_af_packet0,iface=lo")),
    ("run --check --config argument.yaml", 2, ('no argument "framsz"', 'did you mean "framesz"?')),
    ("run --check --config no-iface.yaml", 2, ("FILE:3:15: ports.wan.vdev", "needs iface=NAME")),
    ("run --config gone.yaml", 2, ("FILE:2:16: ports.host.vdev", "network interface of this machine", '"l0"', 'did you mean "lo"?')),
    ("run --check --config queues.yaml", 2, ("FILE:2:16: ports.host.vdev", "need qpairs=2")),
    ("run --check --config tab.yaml", 2, ("FILE:3:1: a tab in the indentation", "spaces")),
    ("run --check --config tab-deep.yaml", 2, ("FILE:2:1: a tab in the indentation", "spaces")),
    ("run --check --config brace.yaml", 2, ("FILE:",)),
    ("run --check --config key.yaml", 2, ("FILE:4:1: custdy: unknown key", 'did you mean "custody"?')),
    ("run --check --config choice.yaml", 2, ("FILE:4:19: policy.default: expected off, window or full", 'did you mean "full"?')),
    ("run --check --config unit.yaml", 2, ("FILE:4:11: wan_rate: expected a rate such as 100Gbps", "the unit is missing")),
    ("run --check --config peers.yaml", 2, ("FILE:4:18: peers.address: ", "length of its network's prefix", "192.0.2.1/24")),
    ("run --check --config key-file.yaml", 2, ("FILE:5:", "peers.boxes[0].key_file: cannot read the keys in /no/such.key",)),
    ("run --check --config empty.yaml", 2, ("FILE: is empty",)),
)

# CLI11's own words for types and lists, and those of C++.
JARGON = re.compile(r"ENUM|UINT|\bINT\b|FLOAT|\bTEXT\b|\{\w+,\w|not in \{|->|in \[\d")


def files(directory):
    """Writes them, and tells how the words of a command line name them."""
    texts = dict(FILES)
    texts["twice-link.yaml"] = FILES["twice.yaml"].replace("host", "a").replace("wan", "b")
    for name, text in texts.items():
        pathlib.Path(directory, name).write_text(text, encoding="utf-8")
    return lambda word: f"{directory}/{word}" if word in texts else word


def mistakes(program):
    """each mistake ends with its status and says what is wrong, where, and what was probably meant"""
    errors = []
    with tempfile.TemporaryDirectory(prefix="longhaul-commands-") as directory:
        path = files(directory)
        for line, status, words in TABLE:
            typed = [path(word) for word in line.split()]
            done = program.run(*typed)
            said = done.stderr
            if done.returncode != status:
                errors.append(f"{line}: status {done.returncode} instead of {status}: {said}")
            if done.stdout:
                errors.append(f"{line}: prints {done.stdout[:100]!r}")
            if JARGON.search(said):
                errors.append(f"{line}: {JARGON.search(said)[0]!r} in {said!r}")
            file = next((word for word in typed if word.startswith(directory)), "")
            at = 0
            for word in words:
                found = said.find(word.replace("FILE:", f"{file}:"), at)
                if found < 0:
                    errors.append(f"{line}: nothing about {word!r} in {said!r}")
                at = max(at, found)
    return errors


def misspelled(program):
    """each command and option with a letter missing: the right one is suggested"""
    errors = []
    for path, (_, names, options) in tree(program).items():
        for word in [*names, *options]:
            if len(word) < 5:
                continue
            typed = word[:-2] + word[-1]
            done = program.run(*path, typed)
            # Another may be as close: --rate or --rtt for --rte.
            if done.returncode != 2 or typed not in done.stderr or "did you mean" not in done.stderr:
                if typed not in names and typed not in options:
                    errors.append(f"{' '.join(path)} {typed}: {done.returncode}, {done.stderr!r}")
    return errors


def plain_help(program):
    """no help speaks of C++ types or shows lists in braces"""
    for path, (text, _, options) in tree(program).items():
        expect(not JARGON.search(text), f"{' '.join(path)} --help: {JARGON.search(text)}")
        expect("--help" in options, f"{' '.join(path)} --help does not list itself")


CASES = {
    "mistakes-table": mistakes,
    "mistakes-spelling": misspelled,
    "mistakes-help": plain_help,
}
