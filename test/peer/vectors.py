#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes vectors.json: keys and datagrams of docs/peer-protocol.md for fixed secrets, the same at each run.

Each pair in the file has what goes in ("given"), and every value and datagram that comes out. Bytes are hexadecimal.

  vectors.py           writes the file
  vectors.py --check   exit code 1 if the file is not what it would write
"""
import argparse
import difflib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import keys  # noqa: E402
import messages as m  # noqa: E402

FILE = pathlib.Path(__file__).resolve().parent / "vectors.json"
SURPLUS = bytes.fromhex("5375727068757321")


def count(first, size):
    """Bytes that are easy to find again: first, first + 1, ..."""
    return bytes((first + n) % 256 for n in range(size))


PAIRS = [
    {"name": "IPv4", "initiator": "192.0.2.1", "responder": "198.51.100.7", "psk": count(0x00, 32),
     "token": count(0x20, 8), "nonce": count(0x40, 32), "initiator_epoch": count(0x60, 8), "responder_epoch": count(0x70, 8),
     "responder_secret": count(0x80, 32), "counter": 1, "initiator_versions": (1, 1), "responder_versions": (1, 1),
     "initiator_workers": 8, "responder_workers": 6, "initiator_features": 0, "responder_features": 0, "surplus": b""},
    {"name": "IPv6", "initiator": "2001:db8:1::1", "responder": "2001:db8:2::7", "psk": count(0x01, 32),
     "token": count(0x21, 8), "nonce": count(0x41, 32), "initiator_epoch": count(0x61, 8), "responder_epoch": count(0x71, 8),
     "responder_secret": count(0x81, 32), "counter": 2**32 + 7, "initiator_versions": (1, 3), "responder_versions": (1, 2),
     "initiator_workers": 64, "responder_workers": 6, "initiator_features": 0x80000005, "responder_features": 6,
     "surplus": b""},
    {"name": "IPv4, a later version whose INIT has 8 bytes more", "initiator": "203.0.113.250", "responder": "192.0.2.1",
     "psk": count(0xe0, 32), "token": count(0x22, 8), "nonce": count(0x42, 32), "initiator_epoch": count(0x62, 8),
     "responder_epoch": count(0x72, 8), "responder_secret": count(0x82, 32), "counter": 3, "initiator_versions": (1, 9),
     "responder_versions": (1, 1), "initiator_workers": 6, "responder_workers": 6, "initiator_features": 0,
     "responder_features": 0, "surplus": SURPLUS},
]


def plain(value):
    """As JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(field) for name, field in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


class Pair:
    def __init__(self, given):
        self.given = given
        self.ends = [keys.address_bytes(given["initiator"]), keys.address_bytes(given["responder"])]
        self.hello_key = keys.hello_key(given["psk"])

    def hello(self, role, kind, cookie, message, surplus=b""):
        body = m.encode_body(message) + surplus
        header = m.Header(m.HANDSHAKE_VERSION, kind, 0, 0, cookie)
        return body, self.shown(role, header, message, body, self.hello_key)

    def on_session(self, role, version, kind, worker, sequence, message):
        header = m.Header(version, kind, worker, sequence, self.cookies[1 - role])
        key = keys.sending_key(self.secret, role, worker)
        return self.shown(role, header, message, m.encode_body(message), key)

    def shown(self, role, header, message, body, key):
        source, destination = self.ends[role], self.ends[1 - role]
        return {"from": "responder" if role else "initiator", "header": header, "fields": message,
                "datagram": m.encode(header, body, key, source, destination)}

    def vectors(self):
        given = self.given
        init = m.Init(given["token"], given["nonce"], given["initiator_epoch"], *given["initiator_versions"],
                      given["initiator_workers"], given["initiator_features"])
        key_id = keys.key_id(given["psk"])
        init_body, init_shown = self.hello(0, m.INIT, key_id, init, given["surplus"])
        nonce = keys.responder_nonce(given["responder_secret"], given["counter"], init_body, self.ends[0])
        version = min(given["initiator_versions"][1], given["responder_versions"][1])
        response = m.Response(nonce, given["counter"], given["responder_epoch"], version, 0, given["responder_workers"],
                              given["responder_features"])
        response_body, response_shown = self.hello(1, m.RESPONSE, given["token"], response)
        _, refuse_shown = self.hello(1, m.REFUSE, given["token"], m.Refuse(200, 255))
        self.secret = keys.secret(given["psk"], init_body, response_body, *self.ends)
        self.cookies = [keys.cookie(self.secret, role) for role in (0, 1)]
        confirm = m.Confirm(key_id, init_body, response_body)
        later = m.Keepalive(0x0102030405060708, 0x1112131415161718, 0x21222324)
        return {
            "name": given["name"], "given": {name: value for name, value in given.items() if name != "name"},
            "initiator_address": self.ends[0], "responder_address": self.ends[1],
            "key_id": key_id, "hello_key": self.hello_key, "init_body": init_body, "response_nonce": nonce,
            "response_body": response_body, "secret": self.secret,
            "sending_keys": {name: {str(worker): keys.sending_key(self.secret, role, worker) for worker in (0, 5)}
                             for role, name in enumerate(("initiator", "responder"))},
            "cookies": {"to_initiator": self.cookies[0], "to_responder": self.cookies[1]},
            "session_version": version,
            "messages": {
                "init": init_shown, "response": response_shown, "refuse": refuse_shown,
                "confirm": self.on_session(0, 1, m.CONFIRM, 0, 1, confirm),
                "confirm_again": self.on_session(0, 1, m.CONFIRM, 0, 2, confirm),
                "keepalive_first": self.on_session(1, version, m.KEEPALIVE, 0, 1, m.Keepalive(1, 0, 0)),
                "keepalive_initiator_worker_0": self.on_session(0, version, m.KEEPALIVE, 0, 3, later),
                "keepalive_responder_worker_5": self.on_session(1, version, m.KEEPALIVE, 5, 2**32 - 1, later),
                "bye_initiator_worker_5": self.on_session(0, version, m.BYE, 5, 1, m.Bye(1)),
                "bye_responder_worker_0": self.on_session(1, version, m.BYE, 0, 2, m.Bye(0)),
            },
        }


def text():
    about = "Written by vectors.py from docs/peer-protocol.md. Bytes are hexadecimal, versions are lowest and highest."
    return json.dumps({"about": about, "pairs": [plain(Pair(given).vectors()) for given in PAIRS]}, indent=1) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, say whether the file is current")
    if not parser.parse_args(arguments).check:
        FILE.write_text(text())
        return 0
    stored = FILE.read_text() if FILE.exists() else ""
    if stored == text():
        return 0
    lines = list(difflib.unified_diff(stored.splitlines(), text().splitlines(), "vectors.json", "as it would be", lineterm=""))
    print("\n".join(lines[:40]) + "\nrun test/peer/vectors.py, and look at what changed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
