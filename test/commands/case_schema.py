# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of configurations: judged by python3-jsonschema, held against what the program itself takes and refuses."""
import ast
import json
import pathlib
import re
import tempfile

import jsonschema
import yaml

from plan_program import Failed, expect

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("box", "link")
PORTS = {"box": "ports: {host: {vdev: net_null0}, wan: {vdev: net_null1}}\n",
         "link": "ports: {a: {vdev: net_null0}, b: {vdev: net_null1}}\n"}
COMMANDS = {"box": "run", "link": "link"}
NONSENSE = "zzzzzzzzzzzz"

# Mistakes that depend on several values at once or on the range of a quantity, and duplicate keys, which editors see
# without a schema: by the reader's message.
ONLY_THE_READER = (
    "exceed", "promise", "has no effect without", "needs a rate", "duplicate key", "rto_min", "watchdog.stall: ",
    "flow_limit", "10.9.0.0/99", "policy.rules[0].match: ", "is already the host port", "an address and a port")


class Loader(yaml.SafeLoader):
    """YAML's core schema, as editors read it: `off` is a word. PyYAML has that of YAML 1.1."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
        ("bool", r"^(?:true|false)$", "tf"), ("int", r"^(?:[-+]?[0-9]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
        ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"), ("null", r"^(?:null|~|)$", ["n", "~", ""])):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


def load(text):
    return yaml.load(text, Loader)  # noqa: S506: a SafeLoader


def schema_of(program, name):
    schema = json.loads(program.text(name, command="schema"))
    jsonschema.Draft7Validator.check_schema(schema)
    return schema


def mistakes(schema, text):
    """What the judge says; empty if all is well. What is not YAML is refused as well."""
    try:
        document = load(text)
    except yaml.YAMLError as error:
        return [str(error)]
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(document)]


def refused(program, name, text):
    """The program's own message; empty if it takes the file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = program.run(COMMANDS[name], "--check", "--config", file.name)
        expect(done.returncode in (0, 2), f"{text!r}: exit code {done.returncode}: {done.stderr}")
        return done.stderr.replace(file.name, "FILE")


def current(program):
    """config/*.schema.json and docs/operate/keys.md are what the program prints"""
    for name in NAMES:
        file = REPOSITORY / "config" / f"{name}.schema.json"
        expect(file.read_text(encoding="utf-8") == program.text(name, command="schema"),
               f"{file.name} is old: build/app/longhaul schema {name} >config/{file.name}")
    page = REPOSITORY / "docs/operate/keys.md"
    expect(page.read_text(encoding="utf-8") == program.text("--markdown", command="schema"),
           f"{page.name} is old: build/app/longhaul schema --markdown >docs/operate/{page.name}")


def examples_of(program):
    """(name, where, text) of all configurations in the repository."""
    for file in sorted([*REPOSITORY.glob("config/*.yaml"), *REPOSITORY.glob("docker/*.yaml")]):
        text = file.read_text(encoding="utf-8")
        ports = (load(text) or {}).get("ports") or {}
        if set(ports) in ({"host", "wan"}, {"a", "b"}):
            yield ("box" if "wan" in ports else "link"), file.name, text
    for file in sorted(REPOSITORY.glob("docs/**/*.md")):
        for block in re.findall(r"^```yaml\n(.*?)^```", file.read_text(encoding="utf-8"), re.M | re.S):
            document = load(block)
            if isinstance(document, dict) and isinstance(document.get("ports"), dict) and "wan" in document["ports"]:
                yield "box", file.name, block
    page = (REPOSITORY / "docs/man/longhaul.yaml.5").read_text(encoding="utf-8")
    for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", page, re.M | re.S):
        if "ports:" in block:
            yield "box", "longhaul.yaml.5", block
    for arguments in (("--distance", "100km"), ("--distance", "1000km", "--loss", "1e-6", "--burst", "50ms")):
        yield "box", f"plan buffer {arguments}", program.text("buffer", *arguments, "--config")


def examples(program):
    """every example is valid, for the judge and for the program; those in config/ name their schema"""
    found = list(examples_of(program))
    expect(len([one for one in found if one[0] == "box"]) >= 6 and len(found) >= 8, f"{[one[1] for one in found]}")
    for name, where, text in found:
        said = mistakes(schema_of(program, name), text)
        expect(not said, f"{where}: {said}")
        expect(not (own := refused(program, name, text)), f"{where}: {own}")
        if (REPOSITORY / "config" / where).exists():
            expect(f"# yaml-language-server: $schema=/usr/share/longhaul/{name}.schema.json\n" in text, f"{where} names no schema")


def planted():
    """(name, text) of the mistakes in the unit tests of the reader."""
    for name in NAMES:
        source = (REPOSITORY / f"test/unit/config/{name}_config_test.cpp").read_text(encoding="utf-8")
        for table in re.findall(r"const Row rows\[\] = \{\n(.*?)\n  \};", source, re.S):
            for row in re.findall(r'^      \{((?:\s*"(?:[^"\\]|\\.)*")+),', table, re.M):
                yield name, PORTS[name] + "".join(ast.literal_eval(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', row)) + "\n"


# Whole files and further lines that both refuse.
WRONG = (
    ("box", "name: x"), ("box", "ports: {host: {vdev: net_null0}}"), ("box", "ports: {host: {vdev: net_null0}, wan: {}}"),
    ("box", "ports: {host: {vdev: net_null0}, wan: {pci: '01:00.0'}}"),
    ("box", "ports: {host: {vdev: net_null0}, wan: {pci: '0000:01:00.0', devargs: 'a=1, b=2'}}"),
    ("box", "ports: {host: {vdev: net_null0, devargs: a=1}, wan: {vdev: net_null1}}"),
    ("box", "ports: {host: {vdev: net_null0}, wan: {pci: '0000:01:00.0', vdev: net_null1}}"),
    ("box", PORTS["box"] + "peers: {address: 192.0.2.1/24}"), ("box", PORTS["box"] + "peers: {boxes: []}"),
    ("box", PORTS["box"] + "peers: {address: 192.0.2.1, boxes: [{name: far, address: 192.0.2.2, key_file: /far.key}]}"),
    ("box", PORTS["box"] + "peers: {address: 192.0.2.1/24, boxes: [{name: far, address: 192.0.2.2, key_file: far.key}]}"),
    ("box", PORTS["box"] + "peers: {address: 192.0.2.1/24, vlan: 4095, boxes: []}"),
    ("box", PORTS["box"] + "control: {mode: '0600'}"), ("box", PORTS["box"] + "metrics: {host_pairs: 5}"),
    *(("link", PORTS["link"] + row) for row in (
        "both: {distance: 1km, delay: 5ms}", "both: {loss: 2}", "both: {lss: 1%}", "both: {rate: 5}", "both: {reorder: {extra: 1ms}}",
        "events: [{direction: a_to_b, nth: 1, action: drpo}]", "events: [{nth: 1, action: drop}]",
        "events: [{direction: a_to_b, nth: 1, psn: 2, action: drop}]", "frames: 5", "cores: [1]", "idle: rest")),
)


def wrong_ones(program):
    """what the reader refuses the schema refuses, too, unless it depends on more than one value"""
    schemas = {name: schema_of(program, name) for name in NAMES}
    rows = list(planted())
    expect(len(rows) > 40, f"only {len(rows)} mistakes were found in the unit tests")
    caught, errors = 0, []
    for name, text in rows:
        said, own = mistakes(schemas[name], text), refused(program, name, text)
        if said and not own:
            errors.append(f"the schema refuses what the program takes: {text!r}: {said}")
        if not own and not said:
            errors.append(f"nobody refuses {text!r}")
        if own and not said and not any(words in own for words in ONLY_THE_READER):
            errors.append(f"the schema takes {text!r}: {own.strip()}")
        caught += bool(said)
    expect(caught >= 25, f"the schema caught only {caught} of {len(rows)}")
    for name, text in WRONG:
        if not mistakes(schemas[name], text):
            errors.append(f"the schema takes {text!r}")
        if not refused(program, name, text):
            errors.append(f"the program takes {text!r}")
    return errors


# Values beside the examples': all of them are taken.
RIGHT = {
    "box": ("name: 5", "memory: 0.5GiB", "memory: 64 MiB", "wan_rate: unlimited", "wan_rate: 2.5Gbps", "wan_rate: 0", "pair_share: 0.5",
            "pair_share: 50%", "pair_share: 1e-1", "policy: {default: off}", 'policy: {default: "off"}', "mtu: 0x5dc", "cores: [0]",
            "control: {socket: /run/a.sock, mode: 0660, group: 5}", 'control: {socket: /run/a.sock, mode: "0600"}',
            "timers: {dreq_hold: 0, drain: 0s}", "metrics: {listen: '[::1]:9464', host_pairs: 0}", "watchdog: {stall: 200ms}"),
    "link": ("both: {distance: 1000km, jitter: 0, loss: 1%}", "both: {delay: 5ms, rate: 1Gbps}", "seed: 7",
             "events: [{direction: a_to_b, qpn: 0x11, nth: 100, action: drop}]", "both: {reorder: {fraction: 0.1%, extra: 1ms}}",
             "events: [{direction: b_to_a, psn: 5, action: delay, delay: 20ms}]"),
}


def right_ones(program):
    """other spellings that the program takes, the schema takes, too"""
    for name, rows in RIGHT.items():
        schema = schema_of(program, name)
        for row in rows:
            text = PORTS[name] + row + "\n"
            expect(not (own := refused(program, name, text)), f"{row}: the program refuses it: {own}")
            expect(not (said := mistakes(schema, text)), f"{row}: the schema refuses it: {said}")


def objects(schema, path=()):
    """The path and the keys of each mapping."""
    if schema.get("type") == "object":
        yield path, set(schema["properties"])
        for key, value in schema["properties"].items():
            yield from objects(value, (*path, key))
    elif schema.get("type") == "array" and schema["items"].get("type") == "object":
        yield from objects(schema["items"], (*path, None))


def complete(program):
    """each mapping of the schema has just the keys that the program says are allowed there"""
    for name in NAMES:
        seen = 0
        for path, keys in objects(schema_of(program, name)):
            inner = f"{{{NONSENSE}: 1}}"
            for step in reversed(path):
                inner = f"[{inner}]" if step is None else f"{{{step}: {inner}}}"
            document = load(inner)
            if path == ("peers", "boxes", None):  # the box's own address has to be there
                document["peers"]["address"] = "192.0.2.1/24"
            if path[:1] != ("ports",):
                document = {**load(PORTS[name]), **document}
            elif len(path) > 1:  # the other port has to be there
                document = {"ports": {**load(PORTS[name])["ports"], **document["ports"]}}
            said = refused(program, name, json.dumps(document))
            allowed = re.search(rf"{NONSENSE}: unknown key \(keys allowed here: ([^)]*)\)", said)
            if not allowed:
                raise Failed(f"{name}, {path}: {said!r}")
            expect(set(allowed[1].split(", ")) == keys, f"{name}, {path}: the program knows {allowed[1]}, the schema {sorted(keys)}")
            seen += 1
        expect(seen > 5, f"{name}: only {seen} mappings")


CASES = {
    "schema-current": current,
    "schema-examples": examples,
    "schema-wrong-ones": wrong_ones,
    "schema-right-ones": right_ones,
    "schema-complete": complete,
}
