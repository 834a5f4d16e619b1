# SPDX-License-Identifier: BSD-3-Clause
"""config/wireshark/longhaul.lua and selective repeat: captures with the bodies of repeat-bodies.json in datagrams."""
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import dissected
import frames
import keys
import messages
import psn as psns
import repeat as r
import repeat_vectors
from case_dissector import COLUMNS, needs_tshark
from verdict import Skipped, expect, expect_equal

NEAR, FAR = "192.0.2.1", "198.51.100.7"
NEAR6, FAR6 = "2001:db8:1::1", "2001:db8:2::7"
KEY = bytes(32)
COOKIE = bytes(range(8))
ADDRESSES = {"requester", "responder"}
HEXADECIMAL = {"qpn": 8, "requester_qpn": 8, "flags": 2}  # and how many digits
ENTRY_FIELDS = {r.BIND: r.BindEntry, r.UNBIND: r.UnbindEntry, r.CLOCK: r.ClockEntry, r.STATE: r.StateEntry,
                r.ANSWER_CLOCK: r.AnswerClockEntry, r.ANSWER_STATE: r.StateEntry}
FROM_FAR = (r.STATE, r.ANSWER_CLOCK)
STATES = (r.STATE, r.ANSWER_STATE)
SEVERAL = "\x1e"
SEVERAL_WORKERS = ("-o", "longhaul.to:always")
HANDSHAKE = (messages.INIT, messages.RESPONSE, messages.CONFIRM)


def sent(source, destination, number, body, worker=0, cookie=COOKIE, vlan=None):
    """A frame with a datagram."""
    header = messages.Header(1, number, worker, 7, cookie)
    datagram = messages.encode(header, body, KEY, keys.address_bytes(source), keys.address_bytes(destination))
    return frames.frame(source, destination, datagram, vlan=vlan)


def framed(number, body, ipv6=False, vlan=None, worker=0, cookie=COOKIE):
    """A frame from the near box, or from the far one."""
    ends = (NEAR6, FAR6) if ipv6 else (NEAR, FAR)
    return sent(*(ends[::-1] if number in FROM_FAR else ends), number, body, worker, cookie, vlan)


def vectors():
    for vector in json.loads(repeat_vectors.BODIES.read_text())["bodies"]:
        yield vector["name"], vector["type"], bytes.fromhex(vector["body"]), vector["decoded"], vector.get("unread", 0)


def vectors_with_to():
    """(name, type, whole body, to, what is behind it, bytes of an entry cut off); the last three are None where it is
    too short. What is for nobody has them, too: it is shown."""
    for vector in json.loads(repeat_vectors.BODIES.read_text())["several"]:
        name, number, whole = vector["name"], vector["type"], bytes.fromhex(vector["body"])
        if "to" not in vector:
            yield name, number, whole, None, None, None
            continue
        message, unread = r.decode_body(r.KINDS[number], whole[r.TO_BYTES:])
        yield name, number, whole, vector["to"], repeat_vectors.decoded(message), unread


def as_shown(field, value):
    """A field's value as tshark -T fields writes it."""
    if field in ADDRESSES:
        text = keys.address_text(bytes.fromhex(value))
        return text if ":" in text else f"::ffff:{text}"
    if field in HEXADECIMAL:
        return f"0x{value:0{HEXADECIMAL[field]}x}"
    return str(value)


def range_texts(entry):
    """What the dissector says of each pair."""
    psn = entry["psn"]
    for there, count in entry["ranges"]:
        first = psns.after(psn, there)
        psn = psns.after(first, count)
        last = psns.after(psn, psns.COUNT - 1)
        yield "nothing missing" if not count else f"missing {first}" if count == 1 else f"missing {first}..{last}"


def wanted_fields(number, body, decoded, unread):
    """{field: [texts]} of one datagram that is not dropped, from what the file has beside it."""
    prefix = f"longhaul.{r.NAMES[number].lower()}"
    wanted = {f"{prefix}.{name}": [str(value)] for name, value in decoded.items() if name != "entries"}
    for entry in decoded["entries"]:
        shown = {name: [as_shown(name, entry[name])] for name in ENTRY_FIELDS[number]._fields}
        if number == r.STATE:
            bits = {"bound": r.BOUND, "unknown": r.UNKNOWN, "mended": r.MENDED}
        if number == r.ANSWER_STATE:
            bits = {"all_named": r.ALL_NAMED, "is_next": r.IS_NEXT}
        if number in STATES:
            shown |= {f"flags.{name}": [str(int(entry["flags"] & bit > 0))] for name, bit in bits.items()}
            shown |= {"ranges": [str(len(entry["ranges"]))], "range": list(range_texts(entry)),
                      "there": [str(there) for there, _ in entry["ranges"]],
                      "missing": [str(count) for _, count in entry["ranges"]]}
        for name, values in shown.items():
            wanted[f"{prefix}.{name}"] = wanted.get(f"{prefix}.{name}", []) + values
    if unread:
        wanted["longhaul.cut_entry"] = [body[-unread:].hex()]
    return {name: values for name, values in wanted.items() if values}


def shows_all_fields():
    """each field of each body, over IPv4 and IPv6, with and without a VLAN tag; of an entry cut off a complaint"""
    needs_tshark()
    listed, wanted = [], []
    for name, number, body, decoded, unread in vectors():
        if decoded is None or "first byte" in name:
            continue
        for ipv6, vlan in ((False, None), (True, 42)):
            listed.append(framed(number, body, ipv6, vlan))
            wanted.append((name, wanted_fields(number, body, decoded, unread), unread))
    names = sorted({field for _, fields, _ in wanted for field in fields})
    columns = COLUMNS + names + ["longhaul.body", "longhaul.surplus"]
    found = dissected.fields(listed, columns, "-E", f"aggregator={SEVERAL}")
    expect_equal(len(found), len(wanted), "frames")
    for row, (what, fields, unread) in zip(found, wanted):
        expect_equal({name: row[name].split(SEVERAL) for name in names if row[name]}, fields, what)
        expect_equal(row["longhaul.body"] + row["longhaul.surplus"], "", f"{what}: body, surplus")
        complaints = [text for text in row["_ws.expert.message"].split(SEVERAL) if text and "keep is" not in text]
        expect_equal(complaints, [f"An entry is cut off: {unread} bytes"] if unread else [], f"{what}: complaints")


def reads_well():
    """the info column says it in words"""
    needs_tshark()
    v4, twice = repeat_vectors.V4, repeat_vectors.TWICE
    state = repeat_vectors.state
    last = psns.COUNT - 1
    texts = [
        (r.Bind((v4,)), "BIND handle 1 QPN 0x101 from 43981, answers to QPN 0x202"),
        (r.Bind((v4._replace(outer_vlan=42), twice)),
         "BIND handle 1 VLAN 42 QPN 0x101 from 43981, answers to QPN 0x202; handle 4294967295 VLAN 4094.1 QPN 0xfffffe "
         f"from {last}, answers to QPN 0x0"),
        (r.Bind(()), "BIND no entries"),
        (r.Unbind((r.UnbindEntry(1, 2, 1), r.UnbindEntry(3, 4, 0))), "UNBIND handle 1 keep; handle 3 drop"),
        (r.Unbind(tuple(r.UnbindEntry(n, n, 1) for n in range(9))),
         "UNBIND handle 0 keep; handle 1 keep; handle 2 keep; handle 3 keep; and 5 more"),
        (r.Clock(5, ()), "CLOCK clock 5, no entries"),
        (r.Clock(2**64 - 1, (r.ClockEntry(1, 2, 100, 103, 110), r.ClockEntry(2, 3, last - 1, 1, 1),
                             r.ClockEntry(3, 4, 8, 8, 9))),
         f"CLOCK clock {2**64 - 1}, handle 1 has 100..102, sent up to before 110; handle 2 has {last - 1}..0, sent up "
         "to before 1; handle 3 has nothing, sent up to before 9"),
        (r.State(0, 0, ()), "STATE nothing to echo, 0 repeats, no entries"),
        (r.State(5, 6, (state(1, 7, r.BOUND, 100), state(2, 8, r.UNKNOWN, 0), state(3, 9, r.MENDED, 5))),
         "STATE echo 5, 6 repeats, handle 1 bound; handle 2 no such binding; handle 3 nothing missing any more"),
        (r.State(5, 6, (state(1, 7, r.BOUND, 100, (102, 3), (110, 1)), state(2, 8, 0, last - 1, (last, 3)))),
         f"STATE echo 5, 6 repeats, handle 1 bound, missing 102..104, 110; handle 2 missing {last}..1"),
        (r.State(5, 6, (state(1, 7, 0, 0, *((n, 1) for n in range(0, 14, 2))),)),
         "STATE echo 5, 6 repeats, handle 1 missing 0, 2, 4, 6, and 3 more"),
        (r.State(5, 6, (state(1, 7, 0, 0),)), "STATE echo 5, 6 repeats, handle 1 says nothing"),
        (r.AnswerClock(5, ()), "ANSWER_CLOCK clock 5, no entries"),
        (r.AnswerClock(2**64 - 1, (r.AnswerClockEntry(1, 2, 104), r.AnswerClockEntry(2, 3, 0))),
         f"ANSWER_CLOCK clock {2**64 - 1}, handle 1 answered up to before 104; handle 2 answered up to before 0"),
        (r.AnswerState(0, 0, ()), "ANSWER_STATE nothing to echo, 0 repeats, no entries"),
        (r.AnswerState(5, 6, (state(1, 7, 16, 108), state(2, 8, 16, last - 1, (last - 1, 1), (1, 3)))),
         f"ANSWER_STATE echo 5, 6 repeats, handle 1 has all before 108; handle 2 has all before {last - 1}, missing "
         f"{last - 1}, 1..3"),
        (r.AnswerState(5, 6, (state(1, 7, 24, 101, (101, 1), (110, 0)), state(2, 8, 8, 101, (103, 2)),
                              state(3, 9, 24, 5), state(4, 10, 0, 5, (5, 1)))),
         "ANSWER_STATE echo 5, 6 repeats, handle 1 has all before 101, missing 101, nothing else before 110; handle 2 "
         "missing 103..104, nothing else before 105; handle 3 has all before 5; handle 4 missing 5"),
        (r.AnswerState(5, 6, (state(1, 7, 0, 5),)), "ANSWER_STATE echo 5, 6 repeats, handle 1 says nothing"),
    ]
    listed = [framed(r.TYPES[type(message)], r.encode_body(message)) for message, _ in texts]
    for (_, text), row in zip(texts, dissected.fields(listed, COLUMNS), strict=True):
        expect_equal((row["_ws.col.Info"], row["_ws.expert.message"]), (text, ""), "info, complaints")


def cut_short():
    """bodies at each length, and captures that keep a part: named, and a complaint exactly if something is missing"""
    needs_tshark()
    listed, wanted = [], []
    chosen = {"BIND of four flows", "UNBIND, keep and not", "CLOCK of two flows, one around the end of the numbers",
              "STATE of four flows", "STATE: numbers of three and four bytes", "ANSWER_CLOCK of three flows",
              "ANSWER_STATE of four flows"}
    for name, number, body, _, _ in vectors():
        for size in range(len(body) + 1) if name in chosen else ():
            listed.append(framed(number, body[:size]))
            try:
                short = r.decode_body(r.KINDS[number], body[:size])[1] > 0
            except messages.Malformed:
                short = True
            wanted.append((f"{name}, {size} bytes", r.NAMES[number], short))
    for row, (what, name, short) in zip(dissected.fields(listed, COLUMNS), wanted, strict=True):
        expect(row["_ws.col.Info"].split()[0].rstrip(",") == name, f"{what}: {row}")
        expect_equal(bool(row["_ws.expert.message"]), short, f"{what}: {row}")
    whole = [framed(number, body) for name, number, body, _, _ in vectors() if name in chosen]
    for most in range(43, max(map(len, whole)), 19):
        for frame, row in zip(whole, dissected.fields(whole, COLUMNS, most=most), strict=True):
            complaint = "The capture does not have all of it" in row["_ws.expert.message"]
            expect(complaint == (len(frame) > most) or most < 60, f"{most} bytes of {len(frame)}: {row}")
            expect("cut off" not in row["_ws.expert.message"], f"{most} bytes of {len(frame)}: {row}")


def complaints():
    """what cannot be is complained of: PSNs and QPNs beyond 24 bits, VLANs, keep, clock 0, custody, worker 3"""
    needs_tshark()
    v4 = repeat_vectors.V4
    entry = bytes.fromhex("0000000100000007")
    state = repeat_vectors.HEAD + entry

    def of(message, worker=0):
        return framed(r.TYPES[type(message)], r.encode_body(message), worker=worker)
    wrong = [
        ("psn is 16777216, which is no number of 24 bits", of(r.Bind((v4._replace(psn=1 << 24),)))),
        ("qpn is 16777216, which is no number of 24 bits", of(r.Bind((v4._replace(qpn=1 << 24),)))),
        ("requester_qpn is 16777216, which is no number of 24 bits",
         of(r.Bind((v4._replace(requester_qpn=1 << 24),)))),
        ("outer_vlan is 4096, which is no VLAN", of(r.Bind((v4._replace(outer_vlan=4096),)))),
        ("inner_vlan is 65535, which is no VLAN", of(r.Bind((v4._replace(inner_vlan=65535),)))),
        ("keep is 0 or 1, not 2", of(r.Unbind((r.UnbindEntry(1, 7, 2),)))),
        ("A clock is never 0", of(r.Clock(0, ()))),
        ("top is 4278190080, which is no number of 24 bits", of(r.Clock(1, (r.ClockEntry(1, 2, 0, 0, 0xff000000),)))),
        ("Custody ends behind what was sent", of(r.Clock(1, (r.ClockEntry(1, 2, 100, 105, 104),)))),
        ("psn is 16777316, which is no number of 24 bits", framed(r.STATE, state + bytes.fromhex("0000 01000064"))),
        ("An entry is cut off: 18 bytes", framed(r.STATE, state + bytes.fromhex("0001 00000064 00 80808008")[:10])),
        ("An entry is cut off: 20 bytes", framed(r.STATE, state + bytes.fromhex("0001 00000064 8080808000 01"))),
        ("Worker 0 says this, not 3", of(r.Clock(1, ()), worker=3)),
        ("CLOCK has a body of 8 bytes at least, not 7", framed(r.CLOCK, bytes(7))),
        ("STATE has a body of 12 bytes at least, not 0", framed(r.STATE, b"")),
        ("A clock is never 0", of(r.AnswerClock(0, ()))),
        ("top is 16777216, which is no number of 24 bits", of(r.AnswerClock(1, (r.AnswerClockEntry(1, 2, 1 << 24),)))),
        ("psn is 16777316, which is no number of 24 bits",
         framed(r.ANSWER_STATE, state + bytes.fromhex("0000 01000064"))),
        ("An entry is cut off: 20 bytes",
         framed(r.ANSWER_STATE, state + bytes.fromhex("0001 00000064 8080808000 01"))),
        ("Worker 0 says this, not 3", of(r.AnswerState(1, 0, ()), worker=3)),
        ("ANSWER_CLOCK has a body of 8 bytes at least, not 7", framed(r.ANSWER_CLOCK, bytes(7))),
        ("ANSWER_STATE has a body of 12 bytes at least, not 11", framed(r.ANSWER_STATE, bytes(11))),
    ]
    for (text, _), row in zip(wrong, dissected.fields([frame for _, frame in wrong], COLUMNS), strict=True):
        expect(text in row["_ws.expert.message"], f"{text}: {row}")


def garbled():
    """bodies with random bytes in them, and random bodies: never an accident; as many entries as the reference reads"""
    needs_tshark()
    draw = random.Random(8)
    known = [(number, body) for _, number, body, _, _ in vectors()]
    listed, wanted = [], []
    for index in range(800):
        number, body = draw.choice(known)
        body = bytearray(draw.randbytes(draw.randrange(200)) if index % 4 == 0 else body)
        for _ in range(draw.randrange(4) if body else 0):
            body[draw.randrange(len(body))] = draw.choice((0, 1, 127, 128, 255, draw.randrange(256)))
        listed.append(framed(number, bytes(body), vlan=draw.choice((None, 7))))
        try:
            message, unread = r.decode_body(r.KINDS[number], bytes(body))
            ranges = sum(len(entry.ranges) for entry in message.entries) if number in STATES else 0
            wanted.append((number, len(message.entries), unread > 0, ranges))
        except messages.Malformed:
            wanted.append((number, 0, False, 0))
    names = [f"longhaul.{name.lower()}.handle" for name in r.NAMES.values()]
    names += ["longhaul.state.there", "longhaul.answer_state.there", "longhaul.cut_entry"]
    found = dissected.fields(listed, COLUMNS + names, "-E", f"aggregator={SEVERAL}")
    for row, (number, entries, unread, ranges) in zip(found, wanted, strict=True):
        handles, there = (row.get(f"longhaul.{r.NAMES[number].lower()}.{field}") for field in ("handle", "there"))
        read = (len(handles.split(SEVERAL)) if handles else 0, bool(row["longhaul.cut_entry"]),
                len(there.split(SEVERAL)) if there else 0)
        expect_equal(read, (entries, unread, ranges), f"entries, cut off, ranges of {row}")
    for most in (75, 91, 151):
        expect_equal(len(dissected.fields(listed, COLUMNS, most=most)), len(listed), "frames")


def features():
    """INIT and RESPONSE: bits 0 and 1 of the features are selective repeat, by one worker and by several"""
    needs_tshark()
    listed, wanted = [], []
    for value in (0, 1, 2, 3, 0x80000005, 0xfffffffe):
        for message, number in ((messages.Init(bytes(8), bytes(32), COOKIE, 1, 1, 1, value), messages.INIT),
                                (messages.Response(bytes(32), 1, COOKIE, 1, 0, 1, value), messages.RESPONSE)):
            listed.append(sent(NEAR, FAR, number, messages.encode_body(message)))
            bits = [str(value & 1), str(value >> 1 & 1)]
            wanted.append(bits + ["", ""] if number == messages.INIT else ["", ""] + bits)
    names = [f"longhaul.{kind}.features.{bit}" for kind in ("init", "response") for bit in ("repeat", "several")]
    expect_equal([[row[name] for name in names] for row in dissected.fields(listed, names)], wanted, "bits 0 and 1")


# Several workers

def cookie_to(session, role):
    return bytes([session, role]) * 4


def handshake(ends, session, features, parts=HANDSHAKE):
    """Its datagrams. `ends`: initiator and responder; `features`: of both."""
    token = bytes([session]) * 8
    init = messages.encode_body(messages.Init(token, bytes(32), COOKIE, 1, 1, 4, features[0]))
    response = messages.encode_body(messages.Response(bytes(32), 1, COOKIE, 1, 0, 4, features[1]))
    confirm = messages.encode_body(messages.Confirm(COOKIE, init, response))
    frames_of = {messages.INIT: sent(*ends, messages.INIT, init),
                 messages.RESPONSE: sent(*ends[::-1], messages.RESPONSE, response, cookie=token),
                 messages.CONFIRM: sent(*ends, messages.CONFIRM, confirm, cookie=cookie_to(session, 1))}
    return [frames_of[part] for part in parts]


def clocks(ends, session, has_to):
    """A CLOCK in each direction: [(frame, what longhaul.to is)]"""
    body, found = r.encode_body(r.Clock(5, (r.ClockEntry(1, 7, 100, 103, 110),))), []
    for role, to in ((1, 3), (0, r.ALL_WORKERS)):
        whole = r.encode_to(to, body) if has_to else body
        frame = sent(*(ends if role else ends[::-1]), r.CLOCK, whole, cookie=cookie_to(session, role))
        found.append((frame, str(to) if has_to else ""))
    return found


def silent(listed):
    """Frames that have no `to`."""
    return [(frame, "") for frame in listed]


def expect_to(pairs, what, *options, **more):
    """`pairs`: frames, and what longhaul.to is; read in one pass, and in two."""
    for passes in ((), ("-2",)):
        listed = [frame for frame, _ in pairs]
        found = dissected.fields(listed, ["longhaul.to", "_ws.expert.message"], *passes, *options, **more)
        expect_equal([row["longhaul.to"] for row in found], [to for _, to in pairs], f"{what}, {passes}: to")
        complaints_of = {row["_ws.expert.message"] for row in found} - {"", "The capture does not have all of it"}
        expect_equal(complaints_of, set(), f"{what}, {passes}: complaints")


def complaint_of(number, whole, to, unread):
    """What the dissector complains of in one of vectors_with_to."""
    least = r.TO_BYTES + len(r.encode_body(r.KINDS[number](*[0] * (len(r.KINDS[number]._fields) - 1), ())))
    if to is None:
        return [f"{r.NAMES[number]} has a body of {least} bytes at least, not {len(whole)}"]
    if to == r.ALL_WORKERS:
        return [] if number in r.FOR_ALL else [f"{r.NAMES[number]} is for one worker, not for all"]
    if to >= messages.MOST_WORKERS:
        return [f"A box has 64 workers at most, this is for number {to}"]
    return [f"An entry is cut off: {unread} bytes"] if unread else []


def fields_with_to():
    """behind a CONFIRM of boxes of several workers: `to` and each field of each body, both ways, over IPv4 and IPv6"""
    needs_tshark()
    for ipv6, ends, vlan in ((False, (NEAR, FAR), None), (True, (FAR6, NEAR6), 42)):
        listed, wanted = handshake(ends, 1, (3, 2), (messages.CONFIRM,)), []
        for name, number, whole, to, behind, unread in vectors_with_to():
            role = int((number in FROM_FAR) == ipv6)  # the one it is for: over IPv6 the far box is the initiator
            listed.append(framed(number, whole, ipv6, vlan, worker=5, cookie=cookie_to(1, role)))
            fields = {} if to is None else {"longhaul.to": [str(to)]} | wanted_fields(number, whole, behind, unread)
            if to is None and whole:
                fields = {"longhaul.body": [whole.hex()]}
            wanted.append((f"{name}, IPv6 {ipv6}", fields, complaint_of(number, whole, to, unread)))
        names = sorted({field for _, fields, _ in wanted for field in fields} | {"longhaul.surplus"})
        found = dissected.fields(listed, COLUMNS + names, "-E", f"aggregator={SEVERAL}")
        for row, (what, fields, complained) in zip(found[1:], wanted, strict=True):
            expect_equal({name: row[name].split(SEVERAL) for name in names if row[name]}, fields, what)
            expect_equal([text for text in row["_ws.expert.message"].split(SEVERAL) if text], complained, what)


def handshakes_tell():
    """whether bodies begin with `to` is what the handshake of the two boxes says, whichever part of it was seen"""
    needs_tshark()
    said = {(2, 2): True, (3, 2): True, (2, 3): True, (0x80000006, 0xa): True, (3, 3): False, (1, 1): False,
            (1, 3): False, (1, 2): False, (0, 2): False, (0, 0): False}
    seen = (HANDSHAKE, (messages.CONFIRM,), (messages.INIT, messages.RESPONSE))
    begun, following = [], []
    for number, (parts, (features_of, has_to)) in enumerate(itertools.product(seen, said.items())):
        for ends in ((f"192.0.2.{number}", "198.51.100.7"), (FAR6, f"2001:db8:1::{number:x}")):
            begun.append(silent(handshake(ends, number, features_of, parts)))
            following.append(clocks(ends, number, has_to))
    expect_to([one for two in zip(begun, following) for part in two for one in part], "one pair of boxes after another")
    random.Random(10).shuffle(begun)
    expect_to(sum(begun + following, []), "all handshakes first")
    ends = (FAR, NEAR)
    for parts in ((), (messages.INIT,), (messages.RESPONSE,)):
        expect_to(silent(handshake(ends, 1, (2, 2), parts)) + clocks(ends, 1, False), f"only {parts} of a handshake")
    after = clocks(ends, 1, False) + silent(handshake(ends, 1, (2, 2), (messages.CONFIRM,))) + clocks(ends, 1, True)
    expect_to(after, "what is before the handshake is not known to have it")


def sessions_keep():
    """a session's bodies stay as they are when a newer one begins; a RESPONSE belongs to the INIT that it answers"""
    needs_tshark()
    ends, back = (NEAR, FAR), (FAR, NEAR)
    keepalive = messages.encode_body(messages.Keepalive(1, 0, 0))
    first = sent(*back, messages.KEEPALIVE, keepalive, cookie=cookie_to(1, 0))
    pairs = silent(handshake(ends, 1, (2, 2))) + [(first, "")]
    pairs += silent(handshake(ends, 2, (3, 3))) + clocks(ends, 2, False) + clocks(ends, 1, True)
    pairs += silent(handshake(back, 3, (2, 3), (messages.INIT, messages.RESPONSE)))
    pairs += clocks(back, 3, True) + clocks(ends, 2, False) + clocks(ends, 1, True)
    pairs += silent(handshake(back, 4, (1, 1), (messages.CONFIRM,)))
    pairs += clocks(back, 4, False) + clocks(back, 3, True) + clocks(ends, 2, False) + clocks(ends, 1, True)
    expect_to(pairs, "one session after another")
    begun = [*handshake(ends, 5, (2, 2), (messages.CONFIRM,)), *handshake(ends, 6, (3, 3), (messages.CONFIRM,))]
    expect_to(silent(begun) + clocks(ends, 5, True)[:1] + clocks(ends, 6, False), "two CONFIRMs before anything else")
    old, new = (handshake(ends, session, (features_of, 3)) for session, features_of in ((1, 3), (2, 2)))
    expect_to(silent([old[0], new[0], new[1]]) + clocks(ends, 2, True), "the newer INIT is answered")
    expect_to(silent([old[0], new[0], old[1]]) + clocks(ends, 1, False), "the older INIT is answered")
    unasked = handshake(ends, 3, (2, 2), (messages.RESPONSE,))
    expect_to(silent([*old, *unasked]) + clocks(ends, 4, False), "a RESPONSE to what was not seen")


def sharkd(directory, requests):
    """What it answers to (method, parameters), in one process: it looks at frames as Wireshark's window does."""
    plugins = pathlib.Path(directory) / ".local/lib/wireshark/plugins"
    plugins.mkdir(parents=True)
    shutil.copy(dissected.SCRIPT, plugins)
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
             for number, (method, parameters) in enumerate(requests, 1)]
    run = subprocess.run([shutil.which("sharkd"), "-"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                         timeout=60, env=os.environ | {"HOME": directory, "XDG_CONFIG_HOME": directory})
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    expect_equal([answer["id"] for answer in answers], list(range(1, len(lines) + 1)), f"answers\n{run.stderr}")
    return [json.dumps(answer) for answer in answers]


def any_order():
    """frames that are looked at again and again, in any order; another capture in the same process begins anew"""
    if not shutil.which("sharkd"):
        raise Skipped("sharkd is absent")
    ends = (NEAR, FAR)
    several = clocks(ends, 1, False) + silent(handshake(ends, 1, (2, 2))) + clocks(ends, 1, True)
    several += silent(handshake(ends, 2, (3, 3))) + clocks(ends, 2, False) + clocks(ends, 1, True)
    draw, requests, wanted = random.Random(11), [], []
    with tempfile.TemporaryDirectory(prefix="longhaul-sharkd-") as directory:
        for number, pairs in enumerate((several, clocks(ends, 1, False), several)):
            capture = f"{directory}/{number}.pcap"
            frames.write_pcap(capture, [frame for frame, _ in pairs])
            requests.append(("load", {"file": capture}))
            wanted.append("status")
            for index in draw.choices(range(len(pairs)), k=60):
                requests.append(("frame", {"frame": index + 1, "proto": True}))
                wanted.append(f'"longhaul.to == {pairs[index][1]}"' if pairs[index][1] else "")
        for request, answer, text in zip(requests, sharkd(directory, requests), wanted, strict=True):
            expect(text in answer and (text or "longhaul.to" not in answer), f"{request}: {text} is not in {answer}")
            expect(request[0] == "load" or "longhaul.cookie" in answer, f"{request}: the dissector is absent")


def handshake_cut_short():
    """a capture that keeps a part of each frame: a handshake counts if its features are there"""
    needs_tshark()
    ends = (NEAR, FAR)
    whole = 14 + 20 + 8 + 16 + 10 + messages.INIT_BODY + messages.RESPONSE_BODY  # CONFIRM up to its tag
    for most in range(110, whole + 17, 5):
        pairs = silent(handshake(ends, 1, (2, 2), (messages.CONFIRM,))) + clocks(ends, 1, most >= whole)
        expect_to(pairs, f"CONFIRM, {most} bytes", most=most)
    for most in (whole - 1, whole):
        pairs = silent(handshake(ends, 1, (2, 2), (messages.CONFIRM,))) + clocks(ends, 1, most >= whole)
        expect_to(pairs, f"CONFIRM, {most} bytes", most=most)
    malformed = messages.encode_body(messages.Confirm(COOKIE, bytes(55), bytes(57)))
    listed = [sent(*ends, messages.CONFIRM, malformed, cookie=cookie_to(1, 1)), *(frame for frame, _ in
                                                                                  clocks(ends, 1, False))]
    expect_equal([row["longhaul.to"] for row in dissected.fields(listed, ["longhaul.to"])], [""] * 3, "malformed")


def preference():
    """where no handshake was seen, a preference says whether bodies begin with `to`; never and always go before it"""
    needs_tshark()
    ends = (NEAR, FAR)
    with_to, without = silent(handshake(ends, 1, (2, 2))), silent(handshake(ends, 1, (3, 3)))
    expect_to(clocks(ends, 1, True), "always", *SEVERAL_WORKERS)
    expect_to(clocks(ends, 1, False), "never", "-o", "longhaul.to:never")
    expect_to(clocks(ends, 1, False), "as the handshake says", "-o", "longhaul.to:handshake")
    expect_to(without + clocks(ends, 1, True), "always, whatever the handshake says", *SEVERAL_WORKERS)
    expect_to(with_to + clocks(ends, 1, False), "never, whatever the handshake says", "-o", "longhaul.to:never")
    plain = "Worker 0 says this, not 3"
    hint = plain + ", unless bodies begin with `to`: there is a preference for that"
    listed = [framed(r.CLOCK, bytes(7) + b"\1", worker=3)]
    known = [frame for frame, _ in without] + listed
    for capture, choice, wanted in ((listed, "handshake", hint), (known, "handshake", plain), (listed, "never", plain)):
        row = dissected.fields(capture, COLUMNS, "-o", f"longhaul.to:{choice}")[-1]
        expect_equal(row["_ws.expert.message"], wanted, f"worker 3, {choice}")


def reads_well_with_to():
    """the info column says from which worker to which"""
    needs_tshark()
    clock = r.Clock(5, (r.ClockEntry(1, 2, 100, 103, 110),))
    texts = [
        (r.Bind((repeat_vectors.V4,)), 2, r.ALL_WORKERS,
         "BIND worker 2 to all, handle 1 QPN 0x101 from 43981, answers to QPN 0x202"),
        (r.Unbind((r.UnbindEntry(1, 2, 1),)), 0, r.ALL_WORKERS, "UNBIND worker 0 to all, handle 1 keep"),
        (clock, 63, 0, "CLOCK worker 63 to 0, clock 5, handle 1 has 100..102, sent up to before 110"),
        (r.State(0, 0, ()), 0, 63, "STATE worker 0 to 63, nothing to echo, 0 repeats, no entries"),
        (r.AnswerClock(5, ()), 1, 2, "ANSWER_CLOCK worker 1 to 2, clock 5, no entries"),
        (r.AnswerState(5, 6, ()), 2, 1, "ANSWER_STATE worker 2 to 1, echo 5, 6 repeats, no entries"),
    ]
    listed = [framed(r.TYPES[type(message)], r.encode_to(to, r.encode_body(message)), worker=worker)
              for message, worker, to, _ in texts]
    for (*_, text), row in zip(texts, dissected.fields(listed, COLUMNS, *SEVERAL_WORKERS), strict=True):
        expect_equal((row["_ws.col.Info"], row["_ws.expert.message"]), (text, ""), "info, complaints")


def cut_short_with_to():
    """bodies with `to` at each length, and captures that keep a part: never an accident, and no made up complaint"""
    needs_tshark()
    listed, wanted = [], []
    chosen = [vector for vector in vectors_with_to() if vector[3] in (0, 1, 2, 3) and len(vector[2]) < 100]
    for name, number, whole, *_ in chosen:
        for size in range(len(whole) + 1):
            listed.append(framed(number, whole[:size], worker=1))
            try:
                short = r.decode_body(r.KINDS[number], r.decode_to(whole[:size])[1])[1] > 0
            except messages.Malformed:
                short = True
            wanted.append((f"{name}, {size} bytes", r.NAMES[number], short))
    for row, (what, name, short) in zip(dissected.fields(listed, COLUMNS, *SEVERAL_WORKERS), wanted, strict=True):
        expect(row["_ws.col.Info"].split()[0].rstrip(",") == name, f"{what}: {row}")
        expect_equal(bool(row["_ws.expert.message"]), short, f"{what}: {row}")
    entire = [framed(number, whole, worker=1) for _, number, whole, *_, unread in chosen if not unread]
    for most in range(43, max(map(len, entire)), 3):
        for frame, row in zip(entire, dissected.fields(entire, COLUMNS, *SEVERAL_WORKERS, most=most), strict=True):
            if most >= 60:
                complained = "The capture does not have all of it" if len(frame) > most else ""
                expect_equal(row["_ws.expert.message"], complained, f"{most} bytes of {len(frame)}: {row}")


CASES = {"repeat-dissector-fields": shows_all_fields, "repeat-dissector-info": reads_well,
         "repeat-dissector-cut-short": cut_short, "repeat-dissector-complaints": complaints,
         "repeat-dissector-garbled": garbled, "repeat-dissector-features": features,
         "repeat-dissector-to-fields": fields_with_to, "repeat-dissector-to-handshakes": handshakes_tell,
         "repeat-dissector-to-sessions": sessions_keep, "repeat-dissector-to-any-order": any_order,
         "repeat-dissector-to-handshake-cut": handshake_cut_short,
         "repeat-dissector-to-preference": preference, "repeat-dissector-to-info": reads_well_with_to,
         "repeat-dissector-to-cut-short": cut_short_with_to}
