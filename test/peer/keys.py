# SPDX-License-Identifier: BSD-3-Clause
"""Keys, tags and cookies of docs/peer-protocol.md, sections 3 and 4. All are functions of their arguments alone."""
import base64
import binascii
import hashlib
import ipaddress

INITIATOR, RESPONDER = 0, 1
KEY_BYTES = 32
MOST_KEYS = 4
TAG_BYTES = 16


def h(size, key, text):
    """BLAKE2b with a key and a digest of `size` bytes (which is not a longer digest cut off)."""
    return hashlib.blake2b(text, digest_size=size, key=key).digest()


def address_bytes(text):
    """The 16 bytes of an address; an IPv4 address as ::ffff:a.b.c.d."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed


def address_text(address):
    """The inverse of address_bytes."""
    whole = ipaddress.IPv6Address(address)
    return str(whole.ipv4_mapped or whole)


def key_id(psk):
    return h(8, psk, b"longhaul/peer/id")


def hello_key(psk):
    return h(32, psk, b"longhaul/peer/hello")


def secret(psk, init_body, response_body, initiator, responder):
    return h(32, psk, b"longhaul/peer/session" + init_body + response_body + initiator + responder)


def sending_key(session_secret, role, worker):
    """Of the box that sends, in its role in the handshake."""
    return h(32, session_secret, b"longhaul/peer/send" + bytes([role]) + worker.to_bytes(2, "big"))


def cookie(session_secret, role):
    """In datagrams to the box in this role."""
    return h(8, session_secret, b"longhaul/peer/cookie" + bytes([role]))


def tag(key, source, destination, datagram):
    """Of a datagram that has none yet."""
    return h(TAG_BYTES, key, source + destination + datagram)


def responder_nonce(own_secret, counter, init_body, initiator):
    return h(32, own_secret, counter.to_bytes(8, "big") + init_body + initiator)


def read_keys(text):
    """The keys of a key file; ValueError says what is wrong with it, and never what is in it."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        try:
            key = base64.b64decode(line, validate=True)
        except binascii.Error:
            raise ValueError(f"line {number} is not base64") from None
        if len(key) != KEY_BYTES:
            raise ValueError(f"line {number} has {len(key)} bytes, not {KEY_BYTES}")
        if key in found:
            raise ValueError(f"line {number} is a key that the file has already")
        found.append(key)
    if not 1 <= len(found) <= MOST_KEYS:
        raise ValueError(f"{len(found)} keys, not one to {MOST_KEYS}")
    return found
