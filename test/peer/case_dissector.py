# SPDX-License-Identifier: BSD-3-Clause
"""config/wireshark/longhaul.lua, judged by what tshark shows of captures with the vectors in them."""
import json
import pathlib
import random
import tempfile

import dissected
import frames
import messages as m
import repeat
from case_vectors import stored
from verdict import Skipped, expect, expect_equal

COLUMNS = ["_ws.col.Protocol", "_ws.col.Info", "_ws.expert.message"]
HEXADECIMAL = {"token", "epoch", "features", "cookie", "key_id"}
WIDTHS = {"features": 8}


def needs_tshark():
    if not dissected.TSHARK:
        raise Skipped("tshark is absent")


def ends(pair, message):
    pair = [pair["given"]["initiator"], pair["given"]["responder"]]
    return pair if message["from"] == "initiator" else pair[::-1]


def vectors():
    """(name of the pair, name, message, source, destination)"""
    for pair in stored():
        for name, message in pair["messages"].items():
            yield pair["name"], name, message, *ends(pair, message)


def as_shown(name, value):
    """A field's value as tshark -T fields writes it."""
    if name in HEXADECIMAL:
        return f"0x{value}" if isinstance(value, str) else f"0x{value:0{WIDTHS[name]}x}"
    return str(value)


def wanted_fields(pair_by_name, name, message):
    """{field: text} of one datagram, from the values that vectors.json has beside it."""
    wanted = {f"longhaul.{field}": as_shown(field, value) for field, value in message["header"].items()}
    kind = name.partition("_")[0]
    parts = {kind: message["fields"]}
    if kind == "confirm":
        parts = {"init": pair_by_name["messages"]["init"]["fields"], "response": pair_by_name["messages"]["response"]["fields"]}
        wanted["longhaul.confirm.key_id"] = as_shown("key_id", message["fields"]["key_id"])
        wanted["longhaul.confirm.init_length"] = str(len(message["fields"]["init_body"]) // 2)
        wanted["longhaul.confirm.init"] = message["fields"]["init_body"]
        wanted["longhaul.confirm.response"] = message["fields"]["response_body"]
    for part, values in parts.items():
        wanted |= {f"longhaul.{part}.{field}": as_shown(field, value) for field, value in values.items()}
    if kind in ("init", "confirm") and pair_by_name["given"]["surplus"]:
        wanted["longhaul.surplus"] = pair_by_name["given"]["surplus"]
    return wanted | {"longhaul.tag": message["datagram"][-32:]}


def shows_all_fields():
    """each field of each vector, over IPv4 and IPv6, with and without a VLAN tag; and nothing else"""
    needs_tshark()
    pairs = {pair["name"]: pair for pair in stored()}
    listed, wanted = [], []
    for pair, name, message, source, destination in vectors():
        for vlan in (None, 42):
            listed.append(frames.frame(source, destination, bytes.fromhex(message["datagram"]), vlan=vlan))
            wanted.append((f"{pair}: {name}, VLAN {vlan}", wanted_fields(pairs[pair], name, message), vlan))
    names = sorted({field for _, fields, _ in wanted for field in fields})
    checks = ["udp.checksum.status", "ip.checksum.status", "vlan.id", "ip.dsfield.dscp", "ipv6.tclass.dscp"]
    found = dissected.fields(listed, COLUMNS + names + checks, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    expect_equal(len(found), len(wanted), "frames")
    for row, (what, fields, vlan) in zip(found, wanted):
        expect_equal({name: row[name] for name in names if row[name]}, fields, what)
        expect_equal((row["_ws.col.Protocol"], row["_ws.expert.message"]), ("longhaul", ""), f"{what}: protocol, complaints")
        expect_equal((row["vlan.id"], row["udp.checksum.status"]), ("" if vlan is None else "42", "1"), f"{what}: our frame")


def as_json():
    """tshark -T json has the same fields, in a tree"""
    needs_tshark()
    pair = stored()[1]
    message = pair["messages"]["init"]
    with tempfile.TemporaryDirectory(prefix="longhaul-dissector-") as directory:
        capture = pathlib.Path(directory) / "init.pcap"
        frames.write_pcap(capture, [frames.frame(*ends(pair, message), bytes.fromhex(message["datagram"]))])
        layers = json.loads(dissected.tshark(capture, "-T", "json"))[0]["_source"]["layers"]
    expect_equal(layers["longhaul"]["longhaul.init.epoch"], "0x" + message["fields"]["epoch"], "epoch")
    expect_equal(layers["longhaul"]["longhaul.type"], "1", "type")


def reads_well():
    """the info column says what happened in words"""
    needs_tshark()
    texts = {
        "init": "INIT versions 1-1, epoch 6061626364656667, 8 workers",
        "response": "RESPONSE version 1, epoch 7071727374757677, 6 workers, counter 1",
        "refuse": "REFUSE speaks versions 200-255",
        "confirm": "CONFIRM sequence 1, version 1, epochs 6061626364656667 to 7071727374757677, counter 1",
        "keepalive_first": "KEEPALIVE worker 0, sequence 1, nothing to echo",
        "keepalive_responder_worker_5": "KEEPALIVE worker 5, sequence 4294967295, echo held 555.885 ms",
        "bye_responder_worker_0": "BYE: the process ends",
        "bye_initiator_worker_5": "BYE: the peer was taken out of the configuration",
    }
    pair = stored()[0]
    chosen = [pair["messages"][name] for name in texts]
    listed = [frames.frame(*ends(pair, message), bytes.fromhex(message["datagram"])) for message in chosen]
    one_worker = bytearray.fromhex(pair["messages"]["init"]["datagram"])
    one_worker[66:68] = b"\0\1"
    listed.append(frames.frame(*ends(pair, chosen[0]), bytes(one_worker)))
    found = [row["_ws.col.Info"] for row in dissected.fields(listed, COLUMNS)]
    expect_equal(found, [*texts.values(), "INIT versions 1-1, epoch 6061626364656667, 1 worker"], "info")


def cut_short():
    """each vector at each length: named, never an accident, and a complaint exactly if something is missing"""
    needs_tshark()
    listed, wanted = [], []
    for pair in stored()[2:]:  # the one with a surplus
        for name in ("init", "response", "confirm", "refuse", "keepalive_first", "bye_responder_worker_0"):
            message = pair["messages"][name]
            whole = bytes.fromhex(message["datagram"])
            surplus = len(pair["given"]["surplus"]) // 2 if name == "init" else 0
            for size in range(1, len(whole) + 1):
                listed.append(frames.frame(*ends(pair, message), whole[:size]))
                wanted.append((f"{pair['name']}: {name} of {size} bytes", size < len(whole) - surplus, size))
    for row, (what, short, size) in zip(dissected.fields(listed, COLUMNS), wanted, strict=True):
        expect_equal((row["_ws.col.Protocol"], bool(row["_ws.expert.message"])), ("longhaul", short), f"{what}, {row}")
        if short and size < 32:
            expect("too short" in row["_ws.col.Info"], f"{what}: {row}")


def unknown_types():
    """each of the 256 types, with the bytes of each vector: unknown ones are called so"""
    needs_tshark()
    listed, kinds = [], []
    pair = stored()[0]
    for name in ("init", "confirm", "bye_responder_worker_0"):
        message = pair["messages"][name]
        for kind in range(256):
            whole = bytearray.fromhex(message["datagram"])
            whole[1] = kind
            listed.append(frames.frame(*ends(pair, message), bytes(whole)))
            kinds.append(kind)
    for row, kind in zip(dissected.fields(listed, COLUMNS + ["longhaul.body"]), kinds, strict=True):
        info = row["_ws.col.Info"]
        if kind in m.NAMES or kind in repeat.NAMES:
            expect(info.startswith((m.NAMES | repeat.NAMES)[kind]), f"type {kind}: {info}")
        else:
            expect(info.startswith(f"unknown type {kind},") and f"Unknown type {kind}" in row["_ws.expert.message"] and
                   row["longhaul.body"], f"type {kind}: {row}")


def garbled():
    """random bytes, vectors with random bytes in them, and captures that keep a part of each frame: never an accident"""
    needs_tshark()
    draw = random.Random(7)
    listed = []
    known = list(vectors())
    for number in range(500):
        _, _, message, source, destination = draw.choice(known)
        datagram = bytearray.fromhex(message["datagram"])
        if number % 4 == 0:
            datagram = bytearray(draw.randbytes(draw.randrange(1, 1400)))
            datagram[1:2] = bytes([draw.choice([*m.KINDS, *repeat.KINDS])])
        for _ in range(draw.randrange(4)):
            datagram[draw.randrange(len(datagram))] = draw.randrange(256)
        listed.append(frames.frame(source, destination, bytes(datagram), vlan=draw.choice((None, 7))))
    for most in (65535, 51, 67, 133):
        found = dissected.fields(listed, COLUMNS, most=most)
        expect_equal(len(found), len(listed), "frames")
        if most == 65535:
            expect(all(row["_ws.col.Protocol"] == "longhaul" for row in found), "a datagram of another protocol")


def complaints():
    """what cannot be is complained of: versions, workers, sequence 0, lengths in CONFIRM, more than 1,200 bytes"""
    needs_tshark()
    pair = stored()[0]

    def with_bytes(name, offset, new):
        whole = bytearray.fromhex(pair["messages"][name]["datagram"])
        whole[offset:offset + len(new)] = new
        return whole
    wrong = {
        "Version 2 in a handshake": with_bytes("init", 0, b"\2"),
        "A box has 1 to 64 workers, not 0": with_bytes("init", 66, b"\0\0"),
        "A box has 1 to 64 workers, not 65": with_bytes("response", 66, b"\0\x41"),
        "The lowest version is above the highest": with_bytes("init", 64, b"\7\2"),
        "A box has 64 workers at most, this is number 64": with_bytes("keepalive_first", 2, b"\0\x40"),
        "Sequence numbers begin with 1": with_bytes("keepalive_first", 4, bytes(4)),
        "There is no room for an INIT's body of 57 bytes": with_bytes("confirm", 24, b"\0\x39"),
        "There is no room for an INIT's body of 55 bytes": with_bytes("confirm", 24, b"\0\x37"),
        "There is no room for an INIT's body of 65535 bytes": with_bytes("confirm", 24, b"\xff\xff"),
        "1201 bytes, not 1200 at most": with_bytes("init", 88, bytes(1201 - 88)),
        "31 bytes, not the 32 of header and tag": with_bytes("bye_responder_worker_0", 0, b"")[:31],
        "INIT has a body of 56 bytes at least, not 55": with_bytes("init", 0, b"")[:87],
    }
    source, destination = pair["given"]["initiator"], pair["given"]["responder"]
    listed = [frames.frame(source, destination, bytes(datagram)) for datagram in wrong.values()]
    for text, row in zip(wrong, dissected.fields(listed, COLUMNS), strict=True):
        expect(text in row["_ws.expert.message"], f"{text}: {row}")


def other_port():
    """another port by the preference; then the usual one is not ours"""
    needs_tshark()
    pair = stored()[0]
    message = pair["messages"]["init"]
    listed = [frames.frame(*ends(pair, message), bytes.fromhex(message["datagram"]), port=port) for port in (5000, 47910)]
    found = [row["_ws.col.Protocol"] for row in dissected.fields(listed, COLUMNS, "-o", "longhaul.port:5000")]
    expect_equal(found, ["longhaul", "UDP"], "protocols")


CASES = {"dissector-fields": shows_all_fields, "dissector-json": as_json, "dissector-info": reads_well,
         "dissector-cut-short": cut_short, "dissector-unknown-types": unknown_types, "dissector-garbled": garbled,
         "dissector-complaints": complaints, "dissector-other-port": other_port}
