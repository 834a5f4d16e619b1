# SPDX-License-Identifier: BSD-3-Clause
"""Selective repeat (docs/peer-protocol.md, section 9, and bodies of 10): bodies, models and their vectors."""
import json
import random

import far_order
import messages
import near_loss
import psn as psns
import repeat as r
import repeat_vectors
import scenarios
from far_order import FarOrder, Packet
from timers import MILLISECOND
from verdict import expect, expect_equal

# Of the head, of an entry without ranges.
SIZES = {r.BIND: (0, 60), r.UNBIND: (0, 9), r.CLOCK: (8, 20), r.STATE: (12, 14), r.ANSWER_CLOCK: (8, 12),
         r.ANSWER_STATE: (12, 14)}
MICROSECOND = 1000


def current():
    """repeat-bodies.json and repeat-scenarios.json are what repeat_vectors.py would write"""
    for file, text in ((repeat_vectors.BODIES, repeat_vectors.bodies_text()),
                       (repeat_vectors.SCENARIOS, repeat_vectors.scenarios_text())):
        expect(file.read_text() == text, f"{file.name}: run test/peer/repeat_vectors.py, and look at what changed")
        json.loads(text)


def numbers():
    """numbers of 7 bits a byte, as the DWARF standard's examples have them; what is cut off or too large is none"""
    for number, wanted in {0: "00", 2: "02", 127: "7f", 128: "8001", 129: "8101", 12857: "b964", 16383: "ff7f",
                           16384: "808001", 2**21 - 1: "ffff7f", 2**21: "80808001", 2**24 - 1: "ffffff07"}.items():
        expect_equal(r.encode_number(number).hex(), wanted, f"bytes of {number}")
        whole = bytes.fromhex(wanted)
        expect_equal(r.decode_number(b"\xff" + whole + b"\xff", 1), (number, 1 + len(whole)), f"{wanted} read")
        for size in range(len(whole)):
            expect_equal(r.decode_number(whole[:size], 0), None, f"{wanted} cut to {size} bytes")
    for text in ("80808008", "ffffff7f", "8080808000"):
        expect_equal(r.decode_number(bytes.fromhex(text), 0), None, text)


def by_hand():
    """bodies written by hand from the page's table"""
    bodies = {
        "00000001 00000002 002a 0007 00000000000000000000ffffc0000201 00000000000000000000ffffc0000202"
        "00000011 00ffffff 00001000 00fffffe":
            r.Bind((r.BindEntry(1, 2, 42, 7, bytes(10) + b"\xff\xff\xc0\0\2\1", bytes(10) + b"\xff\xff\xc0\0\2\2", 17,
                                psns.COUNT - 1, 4096, 0xfffffe),)),
        "00000001 00000002 01  00000003 00000004 00": r.Unbind((r.UnbindEntry(1, 2, 1), r.UnbindEntry(3, 4, 0))),
        "0000000000000009  00000001 00000002 00fffffe 00000001 00000003":
            r.Clock(9, (r.ClockEntry(1, 2, psns.COUNT - 2, 1, 3),)),
        "0000000000000009 00000004  00000001 00000002 05 00 00000064  00000003 00000004 00 02 00fffffe 0103 8101 7f":
            r.State(9, 4, (r.StateEntry(1, 2, 5, 100, ()),
                           r.StateEntry(3, 4, 0, psns.COUNT - 2, ((1, 3), (129, 127))))),
        "0000000000000009  00000001 00000002 00ffffff  00000003 00000004 00000000":
            r.AnswerClock(9, (r.AnswerClockEntry(1, 2, psns.COUNT - 1), r.AnswerClockEntry(3, 4, 0))),
        "0000000000000009 00000004  00000001 00000002 10 00 00000064  00000003 00000004 18 02 00fffffe 0003 8101 00":
            r.AnswerState(9, 4, (r.StateEntry(1, 2, 16, 100, ()),
                                 r.StateEntry(3, 4, 24, psns.COUNT - 2, ((0, 3), (129, 0))))),
    }
    for text, message in bodies.items():
        expect_equal(r.encode_body(message).hex(), text.replace(" ", ""), f"body of {message}")
        expect_equal(r.decode_body(type(message), bytes.fromhex(text)), (message, 0), text)
    found = [r.missing_of(message.entries[1]) for message in bodies.values() if type(message) in r.STATES]
    expect_equal(found, [[(psns.COUNT - 1, 3), (131, 127)], [(psns.COUNT - 2, 3)]], "missing")


def cut_off():
    """each vector at each length: the entries before the cut are read, and nothing else"""
    for name, message in repeat_vectors.MESSAGES:
        kind, body = type(message), r.encode_body(message)
        head, _ = SIZES[r.TYPES[kind]]
        ends = [head]
        for entry in message.entries:
            ends.append(ends[-1] + len(r.encode_entry(kind, entry)))
        for size in range(len(body) + 1):
            if size < head:
                try:
                    r.decode_body(kind, body[:size])
                    expect(False, f"{name}: {size} bytes were accepted")
                except messages.Malformed as malformed:
                    expect_equal(str(malformed), "length", f"{name}: {size} bytes")
                continue
            found, unread = r.decode_body(kind, body[:size])
            whole = sum(1 for end in ends[1:] if end <= size)
            wanted = message.entries[:whole], size - ends[whole]
            expect_equal((found.entries, unread), wanted, f"{name}: {size} bytes")


def sizes():
    """entries are as long as the page's table says, and as many as fit go into a datagram of 1,200 bytes"""
    examples = {r.BIND: repeat_vectors.V4, r.UNBIND: r.UnbindEntry(1, 2, 1), r.CLOCK: r.ClockEntry(1, 2, 3, 4, 5),
                r.STATE: r.StateEntry(1, 2, 1, 3, ()), r.ANSWER_CLOCK: r.AnswerClockEntry(1, 2, 3),
                r.ANSWER_STATE: r.StateEntry(1, 2, 0, 3, ())}
    for number, (head, size) in SIZES.items():
        kind, entry = r.KINDS[number], examples[number]
        expect_equal(len(r.encode_entry(kind, entry)), size, f"bytes of an entry of {r.NAMES[number]}")
        most = (1200 - 32 - head) // size
        message = kind(*(0,) * (len(kind._fields) - 1), (entry,) * (2 * most + 1))
        lengths = [len(body) for body in r.bodies(message)]
        expect_equal(lengths, [head + most * size] * 2 + [head + size], r.NAMES[number])
    expect_equal(r.bodies(r.Clock(5, ())), [bytes(7) + b"\5"], "a CLOCK without entries")


def for_workers():
    """whether bodies begin with `to`, who reads them then, and how much fits behind it, told by hand from the page"""
    one, both, several = 1, 3, 2  # features; the pairs are INIT's and RESPONSE's
    with_to = {(several, several), (both, several), (several, both), (0x80000006, 0xa)}
    without = {(one, one), (both, both), (one, both), (both, one), (0, 0), (one, several), (several, one), (several, 0),
               (0, both), (0xfffffffc, several), (7, 0xb)}
    for pairs, wanted in ((with_to, True), (without, False)):
        for pair in pairs:
            expect_equal(r.begins_with_to(*pair), wanted, f"features {pair}")
    expect_equal(r.encode_to(0x0102, b"abc"), b"\1\2abc", "before a body")
    expect_equal(r.decode_to(b"\xff\xffabc"), (r.ALL_WORKERS, b"abc"), "for all")
    for number in r.KINDS:
        everyone = [0, 1, 2] if r.NAMES[number] in ("BIND", "UNBIND", "CLOCK") else []
        found = [r.readers(number, to, 3) for to in (0, 2, 3, 63, 64, 0xfffe, 0xffff)]
        expect_equal(found, [[0], [2], [], [], [], [], everyone], f"who reads {r.NAMES[number]}")
    clock = r.Clock(1, (r.ClockEntry(1, 2, 3, 4, 5),) * 58)
    expect_equal([len(body) for body in r.bodies(clock)], [1168], "58 entries fit into a datagram")
    expect_equal([len(body) for body in r.bodies_to(3, clock)], [2 + 8 + 57 * 20, 2 + 8 + 20], "57 behind `to`")
    for size in (0, 1):
        try:
            r.decode_to(bytes(size))
            expect(False, f"{size} bytes were accepted")
        except messages.Malformed as malformed:
            expect_equal(str(malformed), "length", f"{size} bytes")


def long_lists():
    """any list of ranges, cut into entries and datagrams, names the same PSNs, and each body is read whole"""
    draw = random.Random(5)
    for turn in range(100):
        kind, flows = r.STATES[turn % 2], []
        for handle in range(draw.randrange(1, 5)):
            psn = place = draw.randrange(psns.COUNT)
            missing = []
            for _ in range(draw.choice((0, 1, 5, 254, 255, 256, 600, 1024))):
                first = psns.after(place, draw.randrange(1, 1 << draw.choice((1, 4, 9))))
                missing.append((first, draw.randrange(1, 1 << draw.choice((1, 4, 9)))))
                place = psns.after(*missing[-1])
            flows.append((handle, turn, draw.randrange(8) * (1 if kind is r.State else 8), psn, missing))
        message = kind(1, 2, tuple(entry for flow in flows for entry in r.state_entries(*flow)))
        found = {flow[0]: [] for flow in flows}
        flags = {}
        for body in r.bodies(message):
            expect(len(body) <= r.MOST_BODY, f"{len(body)} bytes")
            read, unread = r.decode_body(kind, body)
            expect_equal((read.echo, read.repeats, unread), (1, 2, 0), "head, unread")
            for entry in read.entries:
                expect(entry.ranges or entry.handle not in flags, f"an empty entry goes on: {entry}")
                expect_equal(entry.flags, flags[entry.handle] & r.ALL_NAMED if entry.handle in flags else
                             flags.setdefault(entry.handle, entry.flags), "flags")
                found[entry.handle] += r.missing_of(entry)
        for handle, _, said, _, missing in flows:
            expect_equal((found[handle], flags[handle]), (missing, said), f"flow {handle}")


def garbage():
    """random bytes: never an accident, and what is read is what it says when it is written again"""
    draw = random.Random(6)
    for _ in range(20000):
        kind = draw.choice(list(r.TYPES))
        body = bytearray(draw.randbytes(draw.randrange(80)))
        for index in range(len(body)):
            if draw.random() < 0.5:
                body[index] = draw.choice((0, 1, 2, 127))
        try:
            message, unread = r.decode_body(kind, bytes(body))
        except messages.Malformed:
            expect(len(body) < SIZES[r.TYPES[kind]][0], f"{body.hex()} was dropped")
            continue
        expect_equal(r.decode_body(kind, r.encode_body(message)), (message, 0), body.hex())
        if kind not in r.STATES:
            expect_equal(len(r.encode_body(message)) + unread, len(body), body.hex())


def story():
    """what the scenarios must tell, whatever the models say: nothing is lost, doubled or made up, and order is kept"""
    for scenario in map(scenarios.run_order, scenarios.ORDER):
        come, handed = [], []
        for step in scenario["steps"]:
            if step["do"] == "series":
                come += [str(psns.after(step["first"], step["step"] * index)) for index in range(step["count"])]
            elif step["do"] == "arrive":
                come.append(step["packet"])
            handed += step["after"]["handed"]
            if step["after"]["state"] == far_order.PASSING:
                expect(not step["after"]["missing"] and not step["after"]["held"], f"{scenario['name']}: {step}")
        for packet in set(handed):
            expect(handed.count(packet) <= come.count(packet), f"{scenario['name']}: {packet} was handed on too often")
    expect(len(scenarios.ORDER) >= 20, "scenarios")


def told():
    """some scenarios, told by hand from the page: what is handed on at each step, and what is missing at last"""
    hand = {
        "one is lost and repaired": ("100 | | | | 101 102 103 |", []),
        "a READ takes 8 PSNs: it is lost, and its repair fills the gap": ("100 | | | 101 109 |", []),
        "a READ is held, and what is behind it goes on with it": (" | | | | 100 101 117 | | 118 119", []),
        "given up after 3 round trips": ("100 | | | | | 103 104 | | 105 | 101 | 102", []),
        "given up after 20 ms, where 3 round trips are less": ("100 | | | 103 | 104", []),
        "each gap has its own time": (" | | | | 102 | | 103 | 105 | 106 | 107 108 |", []),
        "CLOCK: what is before custody's lowest never comes": ("100 | | | | 103 | | 104 | 105 | 106 107", []),
        "CLOCK: what is behind custody's end never comes; a gap before it is waited for":
            (" | | | | | | | 100 | 101 102 103 104 105 108 |", []),
        "UNBIND, keep: what is held goes on": ("100 | | | 102 105 | 101 | | | |", []),
        "UNBIND, not keep: what is held is dropped": ("100 | | | | 101 |", []),
        "another life: other bytes at the PSN of a held request": (" | | other | 100 | | | |", []),
        "another life: more than 2^20 behind `next`": (" | | | 1048677 |", []),
        "another life: more than 2^20 before `next`": (" | 15728740 | 15728739 |", []),
        "no room: a request behind a gap is dropped as if lost": (" | | | | | | 100 101 102 | 103 104 |", []),
        "packets overtake the BIND": (" | | 103 | 104", []),
    }
    found = {scenario["name"]: scenarios.run_order(scenario)["steps"] for scenario in scenarios.ORDER}
    for name, (handed, missing) in hand.items():
        wanted = [step.split() for step in handed.split("|")]
        expect_equal([step["after"]["handed"] for step in found[name]], wanted, name)
        expect_equal(found[name][-1]["after"]["missing"], missing, f"{name}: missing")


def lost():
    """what a near box takes for lost, how often it repairs, and its window, told by hand from the page"""
    near = near_loss.NearLoss(100, 10 * MILLISECOND)
    for index in range(10):
        near.sent(MILLISECOND + index * 50 * MICROSECOND, 100 + index)
    reports = [(11_500, 1_250, 4), (11_500, 1_249, 3), (11_500, 1_100, 1), (11_500, 1_099, 0), (11_500, 0, 0),
               (11_000, 1_900, 1), (11_100, 1_900, 3), (10_999, 1_900, 0)]  # time, echo, how many of the ten are lost
    for now, echo, count in reports:
        found = near.report(now * MICROSECOND, echo * MICROSECOND, [(100, 10)])
        expect_equal(found, (list(range(100, 100 + count)), False), f"a report at {now} us with echo {echo} us")
    near.sent(11_600 * MICROSECOND, 100)
    for echo, wanted in ((11_650, [101]), (11_699, [101]), (11_700, [100, 101])):
        found = near.report(21_700 * MICROSECOND, echo * MICROSECOND, [(100, 2)])
        expect_equal(found, (wanted, False), f"after a repair, echo {echo} us")
    near.released(105)
    expect_equal(near.report(21_800 * MICROSECOND, 2_000 * MICROSECOND, [(104, 2)]), ([105], True), "not in custody")
    for packets, part, wanted in ((100, 0.009, 1), (100, 0.011, 2), (100, 0.046, 2), (100, 0.047, 3), (100, 1, 3),
                                  (1, 0, 1)):
        expect_equal(near_loss.copies(packets, part), wanted, f"copies for {packets} packets, {part} lost")
    window = near_loss.Window(MILLISECOND)
    rounds = [(4, 4), (3, 3), (8, 4), (8, 5), (8, 8)] + [(8, 0)] * 16
    found = [window.round(*one) // MICROSECOND for one in rounds]
    expect_equal(found, [200, 200, 200, 400, 500] + [500] * 15 + [250], "windows")


def any_order():
    """any loss, any order, repairs in time: all packets are handed on once, in order, and nothing else is asked for"""
    draw = random.Random(3)
    for turn in range(120):
        start, far, place = draw.randrange(psns.COUNT), None, 0
        packets = []
        while place < 300:
            packets.append(Packet(psns.after(start, place), draw.choice((1, 1, 1, 5)), str(place)))
            place += packets[-1].span
        far = FarOrder(start, 10 * MILLISECOND)
        lost = {packet for packet in packets if draw.random() < 0.1}
        moved = sorted((packet for packet in packets if packet not in lost),
                       key=lambda packet: psns.distance(start, packet.psn) + draw.randrange(turn % 20 + 1))
        handed = []
        for number, packet in enumerate(moved):
            handed += far.arrive(number * MICROSECOND, packet)
        handed += far.clock(MILLISECOND, r.ClockEntry(1, 1, start, psns.after(start, place), psns.after(start, place)))
        named = [psns.after(first, index) for first, count in far.missing() for index in range(count)]
        wanted = [psns.after(packet.psn, index) for packet in packets if packet in lost for index in range(packet.span)]
        expect_equal(named, wanted, "missing")
        copies = [draw.randrange(1, 3) for _ in lost]
        for packet, count in zip(draw.sample(sorted(lost), len(lost)), copies):
            for _ in range(count):
                handed += far.arrive(11 * MILLISECOND, packet)
        expect_equal(list(dict.fromkeys(handed)), packets, f"turn {turn}: what was handed on")
        expect_equal((far.missing(), far.held(), far.repeats), ([], [], sum(copies) - len(lost)), "at the end")


def never_stuck():
    """any losses, READs and CLOCKs without repair: in the end nothing is held, and nothing held was lost"""
    draw = random.Random(4)
    for _ in range(300):
        start = draw.randrange(psns.COUNT)
        far, now, place = FarOrder(start, 10 * MILLISECOND, draw.choice((None, 5))), 0, 0
        came, handed, top = [], [], 0
        while place < 100:
            packet = Packet(psns.after(start, place), draw.choice((1, 1, 4)), str(place))
            place += packet.span
            now += draw.randrange(2 * MILLISECOND)
            if draw.random() < 0.7:
                came.append(packet)
                handed += far.arrive(now, packet)
            if draw.random() < 0.1:
                lowest = draw.randrange(place + 1)
                end, top = draw.randrange(lowest, place + 1), place
                handed += far.clock(now, r.ClockEntry(1, 1, *(psns.after(start, x) for x in (lowest, end, top))))
            before = [packet.psn for packet in handed]
            expect_equal(before, sorted(before, key=lambda psn: psns.distance(start, psn)), "order")
        handed += far.tick(now + 31 * MILLISECOND)
        expect_equal((far.held(), far.missing(), far.state), ([], [], far_order.ORDERING), "at the end")
        expect(set(handed) <= set(came) and len(handed) == len(set(handed)), "handed on: what did not come, or twice")
        if far.room is None:
            expect_equal(len(handed), len(came), "handed on")


def spans():
    """how many PSNs a READ takes"""
    for length, mtu, wanted in ((0, 1024, 1), (1, 1024, 1), (1024, 1024, 1), (1025, 1024, 2), (2**31, 256, 2**23)):
        expect_equal(psns.span(length, mtu), wanted, f"PSNs of {length} bytes")


CASES = {"repeat-current": current, "repeat-numbers": numbers, "repeat-by-hand": by_hand, "repeat-cut-off": cut_off,
         "repeat-sizes": sizes, "repeat-for-workers": for_workers, "repeat-long-lists": long_lists,
         "repeat-garbage": garbage, "repeat-scenarios": story, "repeat-told-by-hand": told, "repeat-lost": lost,
         "repeat-any-order": any_order, "repeat-never-stuck": never_stuck, "repeat-spans": spans}
