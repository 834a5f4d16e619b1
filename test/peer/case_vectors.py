# SPDX-License-Identifier: BSD-3-Clause
"""The stored vectors, and what others say about them."""
import json
import pathlib
import shutil
import subprocess
import tempfile

import keys
import messages
import vectors
from verdict import Skipped, expect, expect_equal

SIZES = {"init": 88, "response": 88, "confirm": 154, "refuse": 34, "keepalive": 52, "bye": 33}


def stored():
    return json.loads(vectors.FILE.read_text())["pairs"]


def shown(pair):
    """(name, message, source, destination) of each, addresses as bytes."""
    for name, message in pair["messages"].items():
        ends = [bytes.fromhex(pair["initiator_address"]), bytes.fromhex(pair["responder_address"])]
        yield name, message, *(ends if message["from"] == "initiator" else ends[::-1])


def current():
    """vectors.json is what vectors.py would write"""
    expect(vectors.FILE.read_text() == vectors.text(), "run test/peer/vectors.py, and look at what changed")


def sizes():
    """the datagrams are as long as the page's tables say"""
    for pair in stored():
        surplus = len(pair["given"]["surplus"]) // 2
        for name, message in pair["messages"].items():
            kind = name.partition("_")[0]
            longer = surplus if kind in ("init", "confirm") else 0
            expect_equal(len(message["datagram"]) // 2, SIZES[kind] + longer, f"{pair['name']}: bytes of {name}")


def by_openssl():
    """OpenSSL's BLAKE2b makes the same keys, cookies and tags"""
    if not shutil.which("openssl"):
        raise Skipped("openssl is absent")

    def blake(size, key, text):
        with tempfile.TemporaryDirectory(prefix="longhaul-blake-") as directory:
            file = pathlib.Path(directory) / "text"
            file.write_bytes(text)
            run = subprocess.run(["openssl", "mac", "-macopt", f"hexkey:{key}", "-macopt", f"size:{size}", "-in", file,
                                  "BLAKE2BMAC"], capture_output=True, text=True)
        if run.returncode:
            raise Skipped(f"this openssl has no BLAKE2BMAC: {run.stderr.strip()[:100]}")
        return run.stdout.strip().lower()

    for pair in stored()[:2]:
        def same(size, key, text, wanted, what):
            expect_equal(blake(size, key, text), wanted, f"{pair['name']}: {what}")
        psk, body = pair["given"]["psk"], bytes.fromhex
        same(8, psk, b"longhaul/peer/id", pair["key_id"], "key ID")
        same(32, psk, b"longhaul/peer/hello", pair["hello_key"], "hello key")
        whole = b"".join(body(pair[name]) for name in ("init_body", "response_body", "initiator_address", "responder_address"))
        same(32, psk, b"longhaul/peer/session" + whole, pair["secret"], "secret")
        for role, name in enumerate(("initiator", "responder")):
            same(8, pair["secret"], b"longhaul/peer/cookie" + bytes([role]), pair["cookies"][f"to_{name}"], "cookie")
            for worker, key in pair["sending_keys"][name].items():
                same(32, pair["secret"], b"longhaul/peer/send" + bytes([role, 0, int(worker)]), key, "sending key")
        for name, message, source, destination in shown(pair):
            sender = pair["sending_keys"][message["from"]].get(str(message["header"]["worker"]))
            key = pair["hello_key"] if name in ("init", "response", "refuse") else sender
            datagram = body(message["datagram"])
            same(16, key, source + destination + datagram[:-16], datagram[-16:].hex(), f"tag of {name}")


def decoded():
    """each datagram decodes to the fields that are beside it"""
    for pair in stored():
        for name, message, *_ in shown(pair):
            header, fields, _ = messages.decode(bytes.fromhex(message["datagram"]))
            expect_equal(vectors.plain(header), message["header"], f"{pair['name']}: header of {name}")
            expect_equal(vectors.plain(fields), message["fields"], f"{pair['name']}: fields of {name}")


def malformed():
    """every datagram cut short is refused, every longer one accepted, and no bytes at all are an accident"""
    for pair in stored():
        for name, message, *_ in shown(pair):
            whole = bytes.fromhex(message["datagram"])
            surplus = len(pair["given"]["surplus"]) // 2 if name == "init" else 0  # may be missing
            for size in range(len(whole) - surplus):
                expect(reason(whole[:size]) == "length", f"{name} of {size} bytes: {reason(whole[:size])}")
            for more in (1, 7, messages.LARGEST - len(whole)):
                expect(reason(whole + bytes(more)) is None, f"{name} with {more} bytes more: {reason(whole + bytes(more))}")
            expect(reason(whole + bytes(messages.LARGEST - len(whole) + 1)) == "length", f"{name} of 1201 bytes was accepted")
            for kind in range(256):
                changed = whole[:1] + bytes([kind]) + whole[2:]
                expect(reason(changed) in (None, "length", "type"), f"{name} as type {kind}: {reason(changed)}")
                expect((reason(changed) == "type") == (kind not in messages.KINDS), f"{name} as type {kind}: {reason(changed)}")


def reason(datagram):
    try:
        messages.decode(datagram)
        return None
    except messages.Malformed as malformed_as:
        return str(malformed_as)


def key_files():
    """a key file is read, and a mistake in one is told without the key"""
    good = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG="  # base64 of 32 bytes
    expect_equal(len(keys.read_keys(f"# the pair\n\n {good}  # since May\n")), 1, "keys")
    for text, wanted in {"": "0 keys", "# none\n": "0 keys", f"{good}\n{good}\n": "line 2", "AAAA\n": "line 1 has 3 bytes",
                         "not base64!\n": "line 1 is not base64", good[:-1] + "\n": "line 1 is not base64"}.items():
        try:
            keys.read_keys(text)
            expect(False, f"{text!r} was accepted")
        except ValueError as error:
            expect(wanted in str(error), f"{text!r}: {error}, not {wanted}")
            expect(good not in str(error), "the text has the key")


CASES = {"vectors-current": current, "vectors-sizes": sizes, "vectors-by-openssl": by_openssl, "vectors-decoded": decoded,
         "datagrams-malformed": malformed, "key-files": key_files}
