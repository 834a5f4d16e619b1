# SPDX-License-Identifier: BSD-3-Clause
"""Bodies of selective repeat (docs/peer-protocol.md, 9.1 and 10.1): types 32 to 37, from fields to bytes and back.

Addresses are 16 bytes, everything else numbers. messages.encode makes a datagram of a body. Where a box has several
workers (9.6), the same bodies stand behind `to`.
"""
import struct
from typing import NamedTuple

import messages
import psn as psns

BIND, UNBIND, CLOCK, STATE, ANSWER_CLOCK, ANSWER_STATE = range(32, 38)
NAMES = {BIND: "BIND", UNBIND: "UNBIND", CLOCK: "CLOCK", STATE: "STATE", ANSWER_CLOCK: "ANSWER_CLOCK",
         ANSWER_STATE: "ANSWER_STATE"}
MOST_BODY = messages.LARGEST - messages.SMALLEST
MOST_RANGES = 255

ONE_WORKER, SEVERAL_WORKERS = 1, 2  # features
FOR_ALL = (BIND, UNBIND, CLOCK)  # types that may be for all workers
ALL_WORKERS = 0xffff
TO_BYTES = 2

BOUND, UNKNOWN, MENDED = 1, 2, 4  # flags of a STATE's entry
ALL_NAMED, IS_NEXT = 8, 16  # flags of an ANSWER_STATE's entry

PSN_MASK = psns.COUNT - 1
MOST_NUMBER_BYTES = 4  # a count of PSNs has 24 bits; the page names no limit


class BindEntry(NamedTuple):
    handle: int
    binding: int
    outer_vlan: int  # 0 without a tag
    inner_vlan: int
    requester: bytes
    responder: bytes
    qpn: int
    psn: int
    path_mtu: int
    requester_qpn: int


class UnbindEntry(NamedTuple):
    handle: int
    binding: int
    keep: int


class ClockEntry(NamedTuple):
    handle: int
    binding: int
    lowest: int
    end: int
    top: int


class AnswerClockEntry(NamedTuple):
    handle: int
    binding: int
    top: int


class StateEntry(NamedTuple):
    """Also an ANSWER_STATE's."""
    handle: int
    binding: int
    flags: int
    psn: int
    ranges: tuple  # of pairs: how many PSNs are there, then how many are missing


class Bind(NamedTuple):
    entries: tuple


class Unbind(NamedTuple):
    entries: tuple


class Clock(NamedTuple):
    clock: int
    entries: tuple


class State(NamedTuple):
    echo: int
    repeats: int
    entries: tuple


class AnswerClock(NamedTuple):
    clock: int
    entries: tuple


class AnswerState(NamedTuple):
    echo: int
    repeats: int
    entries: tuple


KINDS = {BIND: Bind, UNBIND: Unbind, CLOCK: Clock, STATE: State, ANSWER_CLOCK: AnswerClock, ANSWER_STATE: AnswerState}
TYPES = {kind: number for number, kind in KINDS.items()}
STATES = (State, AnswerState)  # kinds with ranges
_HEADS = {Bind: struct.Struct(">"), Unbind: struct.Struct(">"), Clock: struct.Struct(">Q"), State: struct.Struct(">QI"),
          AnswerClock: struct.Struct(">Q"), AnswerState: struct.Struct(">QI")}
_ENTRIES = {Bind: (BindEntry, struct.Struct(">IIHH16s16sIIII")), Unbind: (UnbindEntry, struct.Struct(">IIB")),
            Clock: (ClockEntry, struct.Struct(">IIIII")), AnswerClock: (AnswerClockEntry, struct.Struct(">III"))}
_STATE_ENTRY = struct.Struct(">IIBBI")
_PSNS = {"psn", "lowest", "end", "top"}


# Numbers of 7 bits a byte

def encode_number(number):
    out = bytearray()
    while number >> 7:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def decode_number(body, offset):
    """(number, offset behind it); None if it is cut off, or is no count of PSNs."""
    number = 0
    for index in range(MOST_NUMBER_BYTES):
        if offset + index >= len(body):
            return None
        number |= (body[offset + index] & 127) << 7 * index
        if body[offset + index] < 128:
            return (number, offset + index + 1) if number < psns.COUNT else None
    return None


# Ranges

def ranges_of(psn, missing):
    """Pairs for missing PSNs, which are (first, count) in their order, none before `psn`."""
    pairs = []
    for first, count in missing:
        pairs.append(((first - psn) % psns.COUNT, count))
        psn = psns.after(first, count)
    return tuple(pairs)


def missing_of(entry):
    """[(first, count)] that an entry names. A pair with nothing missing names nothing."""
    found, psn = [], entry.psn
    for there, count in entry.ranges:
        first = psns.after(psn, there)
        psn = psns.after(first, count)
        if count:
            found.append((first, count))
    return found


# Bodies

def encode_entry(kind, entry):
    if kind not in STATES:
        return _ENTRIES[kind][1].pack(*entry)
    numbers = b"".join(encode_number(number) for pair in entry.ranges for number in pair)
    return _STATE_ENTRY.pack(entry.handle, entry.binding, entry.flags, len(entry.ranges), entry.psn) + numbers


def encode_body(message):
    kind = type(message)
    return _HEADS[kind].pack(*message[:-1]) + b"".join(encode_entry(kind, entry) for entry in message.entries)


def decode_body(kind, body):
    """(message, how many bytes at the end are an entry cut off). messages.Malformed if the head is cut off."""
    head = _HEADS[kind]
    if len(body) < head.size:
        raise messages.Malformed("length")
    entries, offset = [], head.size
    while (found := _decode_entry(kind, body, offset)) is not None:
        entry, offset = found
        entries.append(entry)
    return kind(*head.unpack_from(body), tuple(entries)), len(body) - offset


def _decode_entry(kind, body, offset):
    if kind in STATES:
        return _decode_state_entry(body, offset)
    shape, layout = _ENTRIES[kind]
    if offset + layout.size > len(body):
        return None
    entry = shape(*layout.unpack_from(body, offset))
    # The page says that a PSN's first byte is 0, not what another one means: it is not looked at.
    return entry._replace(**{name: value & PSN_MASK for name, value in entry._asdict().items() if name in _PSNS}), \
        offset + layout.size


def _decode_state_entry(body, offset):
    if offset + _STATE_ENTRY.size > len(body):
        return None
    handle, binding, flags, count, psn = _STATE_ENTRY.unpack_from(body, offset)
    offset += _STATE_ENTRY.size
    numbers = []
    for _ in range(2 * count):
        found = decode_number(body, offset)
        if found is None:
            return None
        number, offset = found
        numbers.append(number)
    return StateEntry(handle, binding, flags, psn & PSN_MASK, tuple(zip(numbers[::2], numbers[1::2]))), offset


# Many entries

def state_entries(handle, binding, flags, psn, missing):
    """As many entries as the ranges need. One that goes on begins behind the last range, and has no flag but ALL_NAMED,
    which is true of it as well."""
    entries, missing = [], list(missing)
    while missing or not entries:
        part, missing = missing[:MOST_RANGES], missing[MOST_RANGES:]
        entries.append(StateEntry(handle, binding, flags, psn, ranges_of(psn, part)))
        if part:
            psn, flags = psns.after(*part[-1]), flags & ALL_NAMED
    return entries


def _cut_to(entry, room):
    """An entry with the ranges that fit into so many bytes, or None, and one with the others. Not all fit."""
    count, size, psn = 0, _STATE_ENTRY.size, entry.psn
    for there, missing in entry.ranges:
        size += len(encode_number(there)) + len(encode_number(missing))
        if size > room:
            break
        count, psn = count + 1, psns.after(psn, there + missing)
    if count == 0:
        return None, entry
    others = entry._replace(flags=entry.flags & ALL_NAMED, psn=psn, ranges=entry.ranges[count:])
    return entry._replace(ranges=entry.ranges[:count]), others


def bodies(message, most=MOST_BODY):
    """As many bodies as the entries need, none longer than a datagram has room for."""
    kind, head = type(message), encode_body(message._replace(entries=()))
    found, body, waiting = [], head, list(message.entries)
    while waiting:
        entry = waiting.pop(0)
        whole = encode_entry(kind, entry)
        if len(body) + len(whole) <= most:
            body += whole
            continue
        first, others = _cut_to(entry, most - len(body)) if kind in STATES else (None, entry)
        if first is None and body == head:
            raise ValueError(f"no room for an entry in {most} bytes")
        found.append(body + (encode_entry(kind, first) if first else b""))
        body = head
        waiting.insert(0, others)
    return found + [body] if body != head or not found else found


# Several workers

def begins_with_to(init_features, response_features):
    """Whether the bodies of a session begin with `to`."""
    both = init_features & response_features
    return both & (ONE_WORKER | SEVERAL_WORKERS) == SEVERAL_WORKERS


def encode_to(to, body):
    return to.to_bytes(TO_BYTES, "big") + body


def decode_to(whole):
    """(to, the body behind it). messages.Malformed if it is cut off."""
    if len(whole) < TO_BYTES:
        raise messages.Malformed("length")
    return int.from_bytes(whole[:TO_BYTES], "big"), whole[TO_BYTES:]


def readers(number, to, workers):
    """Which of a box's workers a message of this type is for: none if it is dropped."""
    if to == ALL_WORKERS:
        return list(range(workers)) if number in FOR_ALL else []
    return [to] if to < workers else []


def bodies_to(to, message, most=MOST_BODY):
    return [encode_to(to, body) for body in bodies(message, most - TO_BYTES)]
