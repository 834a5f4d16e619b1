# SPDX-License-Identifier: BSD-3-Clause
"""Messages of docs/peer-protocol.md, sections 3 and 5: from fields to bytes and back.

Cookies, tokens, nonces and epochs are bytes, everything else numbers.
"""
import struct
from typing import NamedTuple

import keys

HANDSHAKE_VERSION = 1
LAST_HANDSHAKE_TYPE = 15
LARGEST = 1200
MOST_WORKERS = 64
MOST_INIT = 512

_HEADER = struct.Struct(">BBHI8s")
SMALLEST = _HEADER.size + keys.TAG_BYTES


class Malformed(Exception):
    """Its text is the name of the check that failed."""


class Header(NamedTuple):
    version: int
    type: int
    worker: int
    sequence: int
    cookie: bytes


class Init(NamedTuple):
    token: bytes
    nonce: bytes
    epoch: bytes
    lowest: int
    highest: int
    workers: int
    features: int


class Response(NamedTuple):
    nonce: bytes
    counter: int
    epoch: bytes
    version: int
    zero: int
    workers: int
    features: int


class Confirm(NamedTuple):
    key_id: bytes
    init_body: bytes
    response_body: bytes  # to the end of the datagram: the responder knows how long its own was


class Refuse(NamedTuple):
    lowest: int
    highest: int


class Keepalive(NamedTuple):
    clock: int
    echo: int
    held: int


class Bye(NamedTuple):
    reason: int


_FORMATS = {
    Init: struct.Struct(">8s32s8sBBHI"),
    Response: struct.Struct(">32sQ8sBBHI"),
    Refuse: struct.Struct(">BB"),
    Keepalive: struct.Struct(">QQI"),
    Bye: struct.Struct(">B"),
}
_CONFIRM = struct.Struct(">8sH")
INIT_BODY = _FORMATS[Init].size
RESPONSE_BODY = _FORMATS[Response].size

INIT, RESPONSE, CONFIRM, REFUSE, KEEPALIVE, BYE = 1, 2, 3, 4, 16, 17
KINDS = {INIT: Init, RESPONSE: Response, CONFIRM: Confirm, REFUSE: Refuse, KEEPALIVE: Keepalive, BYE: Bye}
NAMES = {number: kind.__name__.upper() for number, kind in KINDS.items()}


def encode_body(message):
    if isinstance(message, Confirm):
        return _CONFIRM.pack(message.key_id, len(message.init_body)) + message.init_body + message.response_body
    return _FORMATS[type(message)].pack(*message)


def encode(header, body, key, source, destination):
    """A whole datagram, with its tag."""
    datagram = _HEADER.pack(*header) + body
    return datagram + keys.tag(key, source, destination, datagram)


def decode_body(kind, body):
    """What is longer than the kind says is accepted, and the surplus ignored."""
    if kind is Confirm:
        if len(body) < _CONFIRM.size:
            raise Malformed("length")
        key_id, init_length = _CONFIRM.unpack_from(body)
        rest = body[_CONFIRM.size:]
        if init_length < INIT_BODY or len(rest) < init_length + RESPONSE_BODY:
            raise Malformed("length")
        return Confirm(key_id, rest[:init_length], rest[init_length:])
    if len(body) < _FORMATS[kind].size:
        raise Malformed("length")
    return kind(*_FORMATS[kind].unpack_from(body))


def decode(datagram):
    """(header, message, body) of a datagram whose tag nobody has looked at yet."""
    if not SMALLEST <= len(datagram) <= LARGEST:
        raise Malformed("length")
    header = Header(*_HEADER.unpack_from(datagram))
    if header.type not in KINDS:
        raise Malformed("type")
    body = datagram[_HEADER.size:-keys.TAG_BYTES]
    return header, decode_body(KINDS[header.type], body), body


def tag_is_right(datagram, key, source, destination):
    untagged, found = datagram[:-keys.TAG_BYTES], datagram[-keys.TAG_BYTES:]
    return keys.tag(key, source, destination, untagged) == found  # a test program: nobody measures how long this takes
