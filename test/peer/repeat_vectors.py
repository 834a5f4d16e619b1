#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the vectors of selective repeat (docs/peer-protocol.md, sections 9 to 11), the same at each run.

repeat-bodies.json: bodies of the types 32 to 37 and what they mean, also with `to` before them.
repeat-scenarios.json: what a far box holds, hands on and reports; what a near box takes for lost; which answers a far
box keeps and sends again; how a near box puts them in order, and what it misses; which requests a far box keeps for its
host, and which go again or wait.
Where the page leaves something open, "chosen" says what was assumed.

  repeat_vectors.py           writes the files
  repeat_vectors.py --check   exit code 1 if a file is not what it would write
"""
import argparse
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import answer_scenarios  # noqa: E402
import host_scenarios  # noqa: E402
import keys  # noqa: E402
import messages  # noqa: E402
import psn as psns  # noqa: E402
import repeat as r  # noqa: E402
import scenarios  # noqa: E402
from vectors import plain  # noqa: E402

BODIES, SCENARIOS = HERE / "repeat-bodies.json", HERE / "repeat-scenarios.json"
LAST = psns.COUNT - 1


def address(text):
    return keys.address_bytes(text)


V4 = r.BindEntry(1, 7, 0, 0, address("192.0.2.10"), address("198.51.100.20"), 0x000101, 0x00abcd, 4096,
                 0x000202)
V6 = r.BindEntry(2, 8, 0, 0, address("2001:db8:1::10"), address("2001:db8:2::20"), 0xfffffe, LAST, 1024, 0xffffff)
TAGGED = V4._replace(handle=3, binding=9, outer_vlan=42)
TWICE = V6._replace(handle=0xffffffff, binding=0xfffffffe, outer_vlan=4094, inner_vlan=1, path_mtu=0, requester_qpn=0)


def state(handle, binding, flags, psn, *missing):
    (entry,) = r.state_entries(handle, binding, flags, psn, missing)
    return entry


def answer_state(echo, repeats, *flows, flags=r.IS_NEXT):
    """Of flows (handle, binding, PSN, missing ranges...)."""
    return r.AnswerState(echo, repeats, tuple(state(handle, binding, flags, psn, *missing)
                                              for handle, binding, psn, *missing in flows))


def every(first, count, step, width=1):
    return [(psns.after(first, index * step), width) for index in range(count)]


MANY = [*r.state_entries(7, 1, r.BOUND, 100, every(101, 300, 3)), state(8, 2, 0, 5, (5, 1))]
MANY_ANSWERS = [*r.state_entries(7, 1, r.IS_NEXT | r.ALL_NAMED, 100, every(101, 300, 3)),
                state(8, 2, r.IS_NEXT, 5, (5, 1))]

# Whole messages: the encoder makes exactly this body of it
MESSAGES = [
    ("BIND without entries", r.Bind(())),
    ("BIND over IPv4", r.Bind((V4,))),
    ("BIND over IPv6", r.Bind((V6,))),
    ("BIND with a VLAN tag", r.Bind((TAGGED,))),
    ("BIND with two VLAN tags, path MTU unknown", r.Bind((TWICE,))),
    ("BIND of four flows", r.Bind((V4, V6, TAGGED, TWICE))),
    ("BIND, as many as fit", r.Bind(tuple(V4._replace(handle=n, binding=n + 100, qpn=n + 1, requester_qpn=n + 2)
                                          for n in range(19)))),
    ("UNBIND without entries", r.Unbind(())),
    ("UNBIND, keep", r.Unbind((r.UnbindEntry(1, 7, 1),))),
    ("UNBIND, keep and not", r.Unbind((r.UnbindEntry(1, 7, 1), r.UnbindEntry(0xffffffff, 0x80000000, 0)))),
    ("UNBIND, as many as fit", r.Unbind(tuple(r.UnbindEntry(n, n * n, n % 2) for n in range(129)))),
    ("CLOCK without entries", r.Clock(0x0102030405060708, ())),
    ("CLOCK of one flow", r.Clock(1, (r.ClockEntry(1, 7, 100, 103, 110),))),
    ("CLOCK of two flows, one around the end of the numbers", r.Clock(2**64 - 1, (
        r.ClockEntry(1, 7, 0, 0, 0), r.ClockEntry(2, 8, LAST - 1, 1, 2)))),
    ("CLOCK, as many as fit", r.Clock(5, tuple(r.ClockEntry(n, n, n, n + 1, n + 2) for n in range(58)))),
    ("STATE without entries, before any CLOCK", r.State(0, 0, ())),
    ("STATE without entries", r.State(0x1112131415161718, 2**32 - 1, ())),
    ("STATE: bound", r.State(5, 6, (state(1, 7, r.BOUND, 100),))),
    ("STATE: no such binding", r.State(5, 6, (state(1, 7, r.UNKNOWN, 0),))),
    ("STATE: nothing is missing any more", r.State(5, 6, (state(1, 7, r.MENDED, 108),))),
    ("STATE: bound, and nothing is missing any more", r.State(5, 6, (state(1, 7, r.BOUND | r.MENDED, 108),))),
    ("STATE: one is missing", r.State(5, 6, (state(1, 7, 0, 101, (101, 1)),))),
    ("STATE: three ranges, the first behind the entry's PSN", r.State(5, 6, (
        state(1, 7, 0, 100, (102, 1), (104, 4), (120, 127)),))),
    ("STATE: numbers of two bytes", r.State(5, 6, (state(1, 7, 0, 0, (128, 128), (1000, 16383)),))),
    ("STATE: numbers of three and four bytes", r.State(5, 6, (state(1, 7, 0, 0, (16384, 16384), (40000, 2**21)),))),
    ("STATE: all but one is missing, in numbers of four bytes", r.State(5, 6, (state(1, 7, 0, 9, (10, LAST)),))),
    ("STATE: a range around the end of the numbers", r.State(5, 6, (state(1, 7, 0, LAST - 2, (LAST - 1, 5)),))),
    ("STATE: ranges before and behind the end of the numbers", r.State(5, 6, (
        state(1, 7, 0, LAST - 9, (LAST - 9, 3), (LAST, 1), (1, 2)),))),
    ("STATE: a range up to the end of the numbers, and one behind", r.State(5, 6, (
        state(1, 7, 0, LAST - 1, (LAST - 1, 2), (300, 1)),))),
    ("STATE of four flows", r.State(5, 6, (state(1, 7, r.BOUND, 3), state(2, 8, 0, 100, (100, 3), (200, 9)),
                                            state(3, 9, r.UNKNOWN, 0), state(4, 10, r.MENDED, LAST)))),
    ("STATE: 255 ranges", r.State(5, 6, (state(7, 1, 0, 100, *every(100, 255, 2)),))),
    ("STATE: 300 ranges in two entries, the second from behind the last range; then another flow",
     r.State(5, 6, tuple(MANY))),
    ("STATE: ranges that touch each other", r.State(5, 6, (r.StateEntry(1, 7, 0, 100, ((0, 2), (0, 3))),))),
    ("STATE: all flags of a later version", r.State(5, 6, (state(1, 7, 0xf8, 100),))),
    ("ANSWER_CLOCK without entries", r.AnswerClock(0x2122232425262728, ())),
    ("ANSWER_CLOCK of one flow", r.AnswerClock(1, (r.AnswerClockEntry(1, 7, 104),))),
    ("ANSWER_CLOCK of three flows", r.AnswerClock(2**64 - 1, (
        r.AnswerClockEntry(1, 7, 0), r.AnswerClockEntry(2, 8, LAST), r.AnswerClockEntry(0xffffffff, 0xfffffffe, 1)))),
    ("ANSWER_CLOCK, as many as fit", r.AnswerClock(5, tuple(r.AnswerClockEntry(n, n * n, n + 1) for n in range(96)))),
    ("ANSWER_STATE without entries, before any ANSWER_CLOCK", answer_state(0, 0)),
    ("ANSWER_STATE without entries", answer_state(0x3132333435363738, 2**32 - 1)),
    ("ANSWER_STATE: one is missing", answer_state(5, 6, (1, 7, 101, (101, 1)))),
    ("ANSWER_STATE: all before 108 have come, and nothing is missing", answer_state(5, 6, (1, 7, 108))),
    ("ANSWER_STATE: three ranges, the first at `next`",
     answer_state(5, 6, (1, 7, 100, (100, 1), (104, 4), (120, 127)))),
    ("ANSWER_STATE: numbers of two to four bytes", answer_state(5, 6, (1, 7, 0, (0, 128), (20000, 2**21)))),
    ("ANSWER_STATE: all but one is missing", answer_state(5, 6, (1, 7, 10, (10, LAST)))),
    ("ANSWER_STATE: ranges before, around and behind the end of the numbers",
     answer_state(5, 6, (1, 7, LAST - 9, (LAST - 9, 3), (LAST, 2), (3, 1)))),
    ("ANSWER_STATE of four flows", answer_state(5, 6, (1, 7, 3), (2, 8, 100, (100, 3), (200, 9)), (3, 9, 0, (0, 1)),
                                                (4, 10, LAST))),
    ("ANSWER_STATE, as many as fit", answer_state(5, 6, *((n, n * n, n) for n in range(82)))),
    ("ANSWER_STATE: 255 ranges", answer_state(5, 6, (7, 1, 101, *every(101, 255, 2)))),
    ("ANSWER_STATE: all that is missing up to a PSN; of the last range nothing is missing",
     answer_state(5, 6, (1, 7, 100, (100, 2), (104, 1), (120, 0)), flags=r.IS_NEXT | r.ALL_NAMED)),
    ("ANSWER_STATE: all that is missing up to a PSN, around the end of the numbers",
     answer_state(5, 6, (1, 7, LAST - 1, (LAST - 1, 1), (3, 0)), flags=r.IS_NEXT | r.ALL_NAMED)),
    ("ANSWER_STATE: a list that goes on", r.AnswerState(5, 6, (
        state(1, 7, r.ALL_NAMED, 300, (301, 2), (310, 1)), state(2, 8, 0, 90, (95, 1)))),),
]

# Where the page says nothing of what a receiver makes of it
ODD_MESSAGES = [
    ("STATE: a pair with nothing missing", r.State(5, 6, (r.StateEntry(1, 7, 0, 100, ((4, 0), (5, 1))),)),
     "it names nothing, and the next pair counts from behind it"),
    ("STATE: an entry without flags and ranges", r.State(5, 6, (r.StateEntry(1, 7, 0, 100, ()),)), "it says nothing"),
    ("ANSWER_STATE: 300 ranges in two entries; then another flow", r.AnswerState(5, 6, tuple(MANY_ANSWERS)),
     "the second entry begins behind the last range, and has flag 8, too"),
    ("ANSWER_STATE: a pair with nothing missing", r.AnswerState(5, 6, (r.StateEntry(1, 7, 0, 100, ((4, 0), (5, 1))),)),
     "as in STATE"),
    ("ANSWER_STATE: flags of STATE and of a later version", answer_state(5, 6, (1, 7, 100, (100, 1)), flags=0xff),
     "the flags are kept; what they mean is open"),
    ("UNBIND, keep 2", r.Unbind((r.UnbindEntry(1, 7, 2),)), "the number is kept; what it means is open"),
]


def _cut(message, *sizes):
    """Bodies that end too soon."""
    whole = r.encode_body(message)
    return [whole[:size] for size in sizes]


HEAD = r.encode_body(r.State(5, 6, ()))
ENTRY = bytes.fromhex("0000000100000007")  # handle 1, binding 7


def odd_bodies():
    """(name, type, body, what was chosen or None)"""
    two = r.Bind((V4, V6))
    yield from (("BIND: the second entry is cut off", r.BIND, body, None) for body in _cut(two, 61, 116, 119))
    yield from (("BIND: the only entry is cut off", r.BIND, body, None) for body in _cut(two, 1, 56, 59))
    ends = r.Unbind((r.UnbindEntry(1, 7, 1), r.UnbindEntry(2, 8, 0)))
    yield from (("UNBIND: an entry is cut off", r.UNBIND, body, None) for body in _cut(ends, 8, 10, 17))
    clock = r.Clock(5, (r.ClockEntry(1, 7, 1, 2, 3), r.ClockEntry(2, 8, 4, 5, 6)))
    yield from (("CLOCK: an entry is cut off", r.CLOCK, body, None) for body in _cut(clock, 9, 27, 29, 47))
    yield from (("CLOCK: the clock is cut off", r.CLOCK, body, None) for body in _cut(clock, 0, 7))
    told = r.State(5, 6, (state(1, 7, 0, 100, (101, 300)), state(2, 8, 0, 5, (6, 1000), (2000, 1))))
    yield from (("STATE: an entry is cut off, with its ranges or before", r.STATE, body, None)
                for body in _cut(told, 13, 25, 26, 27, 28, 30, 42, 43, 44, 45, 46, 47))
    yield from (("STATE: echo and repeats are cut off", r.STATE, body, None) for body in _cut(told, 0, 11))
    yield ("STATE: numbers with more bytes than they need", r.STATE,
           HEAD + ENTRY + bytes.fromhex("00 01 00000064 8100 83808000"), "up to four bytes they are accepted")
    yield ("STATE: a number of five bytes", r.STATE, r.encode_body(r.State(5, 6, (state(2, 8, 1, 5),))) + ENTRY +
           bytes.fromhex("00 01 00000064 8180808000 01"), "more than four bytes are as an entry cut off")
    yield ("STATE: a number of 2^24", r.STATE, HEAD + ENTRY + bytes.fromhex("00 01 00000064 00 80808008"),
           "2^24 and beyond is as an entry cut off: there are not so many PSNs")
    yield ("STATE: a PSN whose first byte is not 0", r.STATE, HEAD + ENTRY + bytes.fromhex("00 01 ff000064 00 01"),
           "the first byte is not looked at")
    yield ("CLOCK: PSNs whose first bytes are not 0", r.CLOCK, bytes(7) + b"\5" + ENTRY +
           bytes.fromhex("01000001 02000002 ff000003"), "the first byte is not looked at")
    yield from _odd_answers()


def _odd_answers():
    clock = r.AnswerClock(5, (r.AnswerClockEntry(1, 7, 1), r.AnswerClockEntry(2, 8, 4)))
    yield from (("ANSWER_CLOCK: an entry is cut off", r.ANSWER_CLOCK, body, None)
                for body in _cut(clock, 9, 19, 21, 31))
    yield from (("ANSWER_CLOCK: the clock is cut off", r.ANSWER_CLOCK, body, None) for body in _cut(clock, 0, 7))
    told = answer_state(5, 6, (1, 7, 100, (101, 300)), (2, 8, 5, (6, 1000), (2000, 1)))
    yield from (("ANSWER_STATE: an entry is cut off, with its ranges or before", r.ANSWER_STATE, body, None)
                for body in _cut(told, 13, 25, 26, 27, 28, 30, 42, 43, 46, 47))
    yield from (("ANSWER_STATE: echo and repeats are cut off", r.ANSWER_STATE, body, None)
                for body in _cut(told, 0, 11))
    yield ("ANSWER_STATE: a number of five bytes", r.ANSWER_STATE, HEAD + ENTRY +
           bytes.fromhex("00 01 00000064 8180808000 01"), "more than four bytes are as an entry cut off")
    yield ("ANSWER_STATE: a PSN whose first byte is not 0", r.ANSWER_STATE, HEAD + ENTRY +
           bytes.fromhex("00 01 ff000064 00 01"), "the first byte is not looked at")
    yield ("ANSWER_CLOCK: a PSN whose first byte is not 0", r.ANSWER_CLOCK, bytes(7) + b"\5" + ENTRY +
           bytes.fromhex("ff000003"), "the first byte is not looked at")


def by_chance(count=36):
    """Messages of all kinds with random numbers."""
    draw = random.Random(9)
    word = [lambda: draw.getrandbits(32), lambda: draw.getrandbits(24), lambda: draw.randbytes(16)]

    def entry(number):
        if number == r.BIND:
            return r.BindEntry(word[0](), word[0](), draw.randrange(4096), draw.randrange(4096), word[2](), word[2](),
                               word[1](), word[1](), draw.choice((0, 256, 512, 1024, 2048, 4096)), word[1]())
        if number == r.UNBIND:
            return r.UnbindEntry(word[0](), word[0](), draw.randrange(2))
        if number == r.CLOCK:
            lowest = word[1]()
            end = psns.after(lowest, draw.randrange(1 << 16))
            return r.ClockEntry(word[0](), word[0](), lowest, end, psns.after(end, draw.randrange(1 << 10)))
        if number == r.ANSWER_CLOCK:
            return r.AnswerClockEntry(word[0](), word[0](), word[1]())
        pairs = tuple((draw.getrandbits(draw.randrange(1, 18)), draw.getrandbits(draw.randrange(1, 18)) + 1)
                      for _ in range(draw.randrange(6)))
        flags = draw.choice((0, 0, 1, 2, 4, 5) if number == r.STATE else (0, 8, 16, 24))
        return r.StateEntry(word[0](), word[0](), flags, word[1](), pairs)
    for index in range(count):
        number = r.BIND + index % len(r.KINDS)
        entries = tuple(entry(number) for _ in range(draw.randrange(1, 5)))
        head = [draw.getrandbits(64), word[0]()][:len(r.KINDS[number]._fields) - 1]
        yield f"{r.NAMES[number]} by chance, {index // len(r.KINDS) + 1}", r.KINDS[number](*head, entries)


def decoded(message):
    shown = plain(message)
    if isinstance(message, r.STATES):
        for entry, named in zip(message.entries, shown["entries"]):
            named["missing"] = plain(r.missing_of(entry))
    return shown


def body_vector(name, number, body, chosen=None):
    shown = {"name": name, "type": number} | ({"chosen": chosen} if chosen else {}) | {"body": body.hex()}
    try:
        message, unread = r.decode_body(r.KINDS[number], body)
    except messages.Malformed:
        return shown | {"decoded": None}
    return shown | {"decoded": decoded(message), "unread": unread, "encodes": r.encode_body(message) == body}


def body_vectors():
    known = [(name, message, None) for name, message in [*MESSAGES, *by_chance()]]
    for name, message, chosen in known + ODD_MESSAGES:
        yield body_vector(name, r.TYPES[type(message)], r.encode_body(message), chosen)
    for name, number, body, chosen in odd_bodies():
        yield body_vector(f"{name}: {len(body)} bytes" if chosen is None else name, number, body, chosen)


WORKERS = 4  # of the box that reads what begins with `to`

# What is for workers that are there
FOR_WORKERS = {"BIND over IPv4": (r.ALL_WORKERS, 0), "BIND without entries": (r.ALL_WORKERS,),
               "UNBIND, keep and not": (r.ALL_WORKERS, 3), "CLOCK without entries": (r.ALL_WORKERS, 2),
               "CLOCK of two flows, one around the end of the numbers": (r.ALL_WORKERS, 1),
               "STATE without entries, before any CLOCK": (2,), "STATE of four flows": (0,), "STATE: 255 ranges": (3,),
               "ANSWER_CLOCK of three flows": (2,), "ANSWER_STATE: three ranges, the first at `next`": (3,)}


def bodies_with_to():
    """(name, type, whole body)"""
    for name, message in MESSAGES:
        for to in FOR_WORKERS.get(name, ()):
            yield name, r.TYPES[type(message)], r.encode_to(to, r.encode_body(message))
    one_entry = {type(message): message for _, message in reversed(MESSAGES) if len(message.entries) == 1}
    for number, kind in r.KINDS.items():
        name, whole = r.NAMES[number], r.encode_to(1, r.encode_body(one_entry[kind]))
        yield from ((f"{name}: `to` is cut off", number, whole[:size]) for size in range(r.TO_BYTES))
        yield f"{name}: nothing behind `to`", number, whole[:r.TO_BYTES]
        yield f"{name}: the last byte is missing", number, whole[:-1]
        nobody = [WORKERS, messages.MOST_WORKERS, 0xff00, 0xfffe] + [r.ALL_WORKERS] * (number not in r.FOR_ALL)
        yield from ((f"{name}: for nobody", number, r.encode_to(to, whole[r.TO_BYTES:])) for to in nobody)


def to_vector(name, number, whole):
    shown = {"name": name, "type": number, "body": whole.hex()}
    try:
        to, body = r.decode_to(whole)
        message, unread = r.decode_body(r.KINDS[number], body)
    except messages.Malformed:
        return shown | {"readers": [], "decoded": None}
    shown |= {"to": to, "readers": r.readers(number, to, WORKERS)}
    if number in (r.BIND, r.UNBIND) and len(shown["readers"]) == 1:
        shown["chosen"] = "what the page has for all may be for one"
    return shown | ({"decoded": decoded(message), "unread": unread} if shown["readers"] else {"decoded": None})


def _listed(values):
    return "[\n" + ",\n".join("  " + json.dumps(value) for value in values) + "\n ]"


def _scenarios(values):
    """Each step on a line."""
    out = []
    for value in values:
        steps = ",\n".join("    " + json.dumps(step) for step in value["steps"])
        head = json.dumps({name: field for name, field in value.items() if name != "steps"})
        out.append(f"  {head[:-1]}, \"steps\": [\n{steps}\n  ]}}")
    return "[\n" + ",\n".join(out) + "\n ]"


def _file(about, **parts):
    parts = [f' "about": {json.dumps(about)}'] + [f' "{name}": {text}' for name, text in parts.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def bodies_text():
    about = ("Written by repeat_vectors.py from docs/peer-protocol.md, 9.1 and 10.1. Bytes are hexadecimal. decoded: "
             "null where the datagram is dropped. ranges: there, missing. missing: first PSN, count. unread: bytes at "
             "the end that are an entry cut off. encodes: what is decoded makes this body again. several: bodies that "
             f"begin with `to` (9.6), as a box of {WORKERS} workers reads them; readers: the workers that do.")
    return _file(about, bodies=_listed(body_vectors()), several=_listed(to_vector(*one) for one in bodies_with_to()))


def scenarios_text():
    about = ("Written by repeat_vectors.py from docs/peer-protocol.md, 9.2 to 9.4, 10.2, 10.3, 11. Times are "
             "nanoseconds. missing: first PSN, count. after: what follows the step. Packets with one name have the "
             "same bytes. report: what the next STATE says of the flow, null if nothing. tell: the next CLOCK has an "
             "entry. answers: a far box's copies of the answers of one flow; sent_again: in their order; kept: "
             "responses by PSN. answer_order: a near box; passed: what goes on to the requester, in its order; "
             "waits: by PSN; full: ranges of a full report. host: a far box's copies of the requests of one flow; "
             "handed: all that goes to the host, what goes again, too; passed: whether an answer does; kept: copies, "
             "the oldest first; waiting: for the window. A tick that looks for silence or age comes a millisecond "
             "later than it is due, or more.")
    return _file(about, order=_scenarios(map(scenarios.run_order, scenarios.ORDER)),
                 loss=_scenarios(map(scenarios.run_loss, scenarios.LOSS)),
                 copies=_listed(scenarios.run_copies(*one) for one in scenarios.COPIES),
                 window=_listed(map(scenarios.run_window, scenarios.WINDOW)),
                 answers=_scenarios(map(answer_scenarios.run_answers, answer_scenarios.ANSWERS)),
                 answer_order=_scenarios(map(answer_scenarios.run_answer_order, answer_scenarios.ANSWER_ORDER)),
                 host=_scenarios(map(host_scenarios.run_host, host_scenarios.HOST)))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, say whether the files are current")
    check = parser.parse_args(arguments).check
    old = []
    for file, text in ((BODIES, bodies_text()), (SCENARIOS, scenarios_text())):
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            old.append(file.name)
    if old:
        print(f"{' and '.join(old)}: run test/peer/repeat_vectors.py, and look at what changed")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
