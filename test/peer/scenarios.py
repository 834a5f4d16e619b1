# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios of selective repeat for the models far_order.py and near_loss.py, and how they run.

A step is (microseconds, what, its arguments by name). `chosen` says what a scenario shows that the page leaves open.
"""
from fractions import Fraction

import near_loss
import psn as psns
import repeat
from far_order import ORDERING, FarOrder, Packet

MICROSECOND = 1000
LAST = psns.COUNT - 1


def come(at, *listed, span=1, packet=None, **more):
    return [(at, "arrive", {"psn": psn, "span": span, "packet": packet or str(psn), **more}) for psn in listed]


def clock(at, lowest, end, top):
    return [(at, "clock", {"lowest": lowest, "end": end, "top": top})]


def step(at, what, **more):
    return [(at, what, more)]


def tick(at):
    return step(at, "tick")


def report(*times):
    return [(at, "report", {}) for at in times]


def order(name, *parts, psn=100, round_trip=10_000, chosen=None, **more):
    return {"name": name, "chosen": chosen, "given": {"psn": psn, "round_trip": round_trip * MICROSECOND, **more},
            "steps": [one for part in parts for one in part]}


ORDER = [
    order("in order: all go on at once", come(0, 100, 101, 102), report(50)),
    order("one is lost and repaired", come(0, 100), come(10, 102, 103), report(100), come(10_200, 101), report(10_300)),
    order("two gaps, the later one mended first", come(0, 100, 103, 104, 107), report(50), come(60, 105, 106, 102),
          report(70), come(80, 101), report(90)),
    order("one repair splits a gap", come(0, 105), report(10), come(20, 102), report(30), come(40, 100), report(50),
          come(60, 104, 103, 101), report(70)),
    order("in order around the end of the numbers", come(0, LAST - 1, LAST, 0, 1), report(10), psn=LAST - 1),
    order("a gap around the end of the numbers", come(0, LAST - 3), come(10, 2, 3), report(20), come(30, LAST - 1, 0),
          report(40), come(50, 1, LAST, LAST - 2), report(60), psn=LAST - 3),
    order("duplicates: of a held one dropped, of one that went on handed on", come(0, 100, 102), come(10, 102),
          come(20, 100), come(30, 101), come(40, 101, 102), report(50)),
    order("a READ takes 8 PSNs: it is lost, and its repair fills the gap", come(0, 100), come(10, 109), report(20),
          come(10_000, 101, span=8), report(10_100)),
    order("a READ is held, and what is behind it goes on with it",
          come(0, 101, span=16), come(10, 117, 119), report(20),
          come(30, 100), report(40), come(50, 118)),
    order("a READ around the end of the numbers", come(0, LAST - 4, span=10), come(10, 5, 7), report(20), come(30, 6),
          psn=LAST - 4),
    order("a READ again from its middle, after it went on", come(0, 100, span=8), come(10, 104, span=4, packet="again"),
          come(20, 108)),
    order("a READ from before `next` that reaches beyond it",
          come(0, 100), come(10, 107), come(20, 98, span=5, packet="read"),
          report(30),
          chosen="`next` is the first PSN not handed on: it moves behind the READ, and 101 and 102 are not missing"),
    order("given up after 3 round trips",
          come(0, 100, 103, 104), tick(29_900), report(29_950), tick(30_100), report(30_200),
          come(31_000, 105), come(32_000, 101, 102)),
    order("given up after 20 ms, where 3 round trips are less", come(0, 100, 103), tick(19_900), tick(20_100),
          come(20_200, 104), round_trip=2_000),
    order("each gap has its own time", come(0, 102), come(10_000, 105), come(20_000, 108), report(20_100), tick(30_100),
          report(30_200), come(35_000, 103), tick(40_100), come(45_000, 106, 107), report(45_100)),
    order("a repair of a part does not make the rest younger",
          come(0, 104), come(29_000, 101), tick(29_900), tick(30_100)),
    order("what comes after it was given up goes on, and is no repeat", come(0, 102), tick(30_100), come(31_000, 100),
          come(32_000, 100)),
    order("CLOCK: what is before custody's lowest never comes", come(0, 100, 103, 107), report(50),
          clock(100, 103, 108, 108), report(150), come(200, 104, 105, 106)),
    order("CLOCK: the first part of a gap never comes", come(0, 110), clock(10, 104, 111, 111), report(20),
          come(10_000, 104, 105, 106, 107, 108, 109), report(10_100)),
    order("CLOCK: what is behind custody's end never comes; a gap before it is waited for", come(0, 102, 104, 105, 108),
          clock(10, 100, 104, 109), report(20), come(10_000, 103), come(10_010, 100, 101), report(10_100)),
    order("CLOCK: the tail is lost",
          come(0, 100, 101), clock(60, 100, 105, 105), report(60), come(10_100, 102, 103, 104),
          report(10_200)),
    order("CLOCK: the tail is lost, and never comes",
          come(0, 100, 101), clock(60, 100, 102, 105), report(70), come(80, 105)),
    order("CLOCK: the tail is lost around the end of the numbers", clock(60, LAST - 2, 3, 3), report(60), come(100, 1),
          report(110), come(10_000, LAST - 2, LAST - 1, LAST, 0, 2), report(10_100), psn=LAST - 2),
    order("CLOCK overtakes packets: they are missing for a moment", clock(0, 100, 103, 103), report(0),
          come(20, 100, 101, 102), report(100), clock(110, 100, 103, 103), report(110)),
    order("CLOCK that is old, or cannot be: nothing changes", come(0, 100, 101, 102, 104), clock(10, 90, 95, 95),
          clock(20, 106, 104, 105), clock(30, 100, 106, 105), clock(40, 100, 105, 100 + (1 << 21)), report(50),
          chosen="an entry without lowest <= end <= top, or more than 2^20 from `next`, is ignored"),
    order("reports: a gap three times, then each quarter of a round trip; mended three times", come(0, 101),
          report(100, 200, 300, 400, 2_400, 2_600, 2_700), come(2_800, 103),
          report(2_900, 3_000, 3_100, 3_200, 5_000, 5_200), come(5_300, 100, 102), report(5_400, 5_500, 5_600, 5_700),
          chosen="the first full report is due a quarter of a round trip after something was missing at all; a report "
                 "that is not full does not name the older gaps, so what a STATE does not name need not be there"),
    order("reports: the answer to BIND three times, and with the first gap",
          report(10, 20), come(30, 102), report(40, 50)),
    order("UNBIND, keep: what is held goes on", come(0, 100, 102, 105), step(10, "unbind", keep=1), come(20, 101),
          report(30, 40, 50, 60)),
    order("UNBIND, not keep: what is held is dropped",
          come(0, 100, 102, 105), step(10, "unbind", keep=0), come(20, 101),
          report(30)),
    order("UNBIND and a new BIND of the flow", come(0, 102), step(10, "unbind", keep=0), report(20),
          step(30, "bind", psn=5000, newer=1), come(40, 5001, 5000), report(50),
          chosen="a new binding's BIND ends the reports of the former's end: a model of one binding at a time"),
    order("BIND again: the order stays",
          come(0, 100, 102), step(10, "bind", psn=103, newer=0), report(20), come(30, 103, 101),
          chosen="a BIND with the binding that the flow has is answered again, and its PSN is not looked at"),
    order("a newer binding takes its place",
          come(0, 100, 102), step(10, "bind", psn=103, newer=1), come(20, 103, 101, 105),
          report(30), chosen="what the former binding held is dropped (rule D)"),
    order("another life: other bytes at the PSN of a held request", come(0, 102, 103), come(10, 102, packet="other"),
          come(20, 100), report(30, 40, 50, 60)),
    order("another life: more than 2^20 behind `next`", come(0, 101), come(10, 100 + (1 << 20)), report(20),
          come(30, 101 + (1 << 20)), report(40)),
    order("another life: more than 2^20 before `next`", come(0, 101), come(10, (100 - (1 << 20)) % psns.COUNT),
          come(20, (99 - (1 << 20)) % psns.COUNT), report(30)),
    order("another life: RDMA-CM for the two QPs", come(0, 101), step(10, "rdma_cm"), come(20, 100, 101), report(30)),
    order("the peer is gone", come(0, 101, 103), step(10, "peer_gone"), come(20, 100), report(30),
          chosen="what is held goes on, as after giving up"),
    order("a request with a bad ICRC",
          come(0, 100, 102), come(10, 101, packet="bad", good=0), report(20), come(30, 101),
          chosen="it passes, and changes nothing"),
    order("no room: a request behind a gap is dropped as if lost",
          come(0, 101, 102, 104), come(10, 103, 105), report(20),
          come(30, 100), come(40, 103), report(50), room=3),
    order("no room: what is missing is reported, and given up in time",
          come(0, 100, 102), come(10, 104), report(20), tick(30_100), come(30_200, 104, 105), come(30_300, 103),
          room=1),
    order("1,024 gaps: what would make one more is dropped, what mends one is held",
          step(0, "series", first=101, count=1024, step=2), come(10, 2151), come(20, 2148), come(30, 2100),
          come(40, 2149)),
    order("1,024 gaps: a request in the middle of a gap would make one more", come(0, 103),
          step(10, "series", first=105, count=1023, step=2), come(20, 101), come(30, 100), come(40, 101)),
    order("packets overtake the BIND", come(0, 103), report(10), tick(30_100), come(30_200, 104),
          chosen="100 to 102 passed before the BIND came: the far box cannot know, and waits until they are repaired "
                 "or given up"),
]


def run_order(scenario):
    """The scenario as the file has it: with what follows each step."""
    far = FarOrder(scenario["given"]["psn"], scenario["given"]["round_trip"], scenario["given"].get("room"))
    steps = []
    for at, what, more in scenario["steps"]:
        now, seen = at * MICROSECOND, {}
        if what == "arrive":
            handed = far.arrive(now, Packet(more["psn"], more["span"], more["packet"]), bool(more.get("good", 1)))
        elif what == "series":
            listed = [psns.after(more["first"], more["step"] * index) for index in range(more["count"])]
            handed = [packet for psn in listed for packet in far.arrive(now, Packet(psn, 1, str(psn)))]
        elif what == "clock":
            handed = far.clock(now, repeat.ClockEntry(1, 1, **more))
        elif what == "report":
            handed, flags, psn, ranges = far.report(now)
            seen["report"] = None if flags is None else {"flags": flags, "psn": psn, "missing": ranges}
        else:
            more = {name: bool(value) if name in ("keep", "newer") else value for name, value in more.items()}
            handed = getattr(far, what)(now, **more)
        shown = {name: int(value) if isinstance(value, bool) else value for name, value in more.items()}
        after = {"handed": [packet.bytes for packet in handed], "state": far.state,
                 "next": far.next % psns.COUNT if far.state == ORDERING else None, "repeats": far.repeats,
                 "held": far.held(), "missing": far.missing(), **seen}
        if len(far.held()) > 100:  # long lists say no more than their lengths
            after = {name: value for name, value in after.items() if name not in ("held", "missing")}
            after |= {"held_count": len(far.held()), "gaps": len(far.missing())}
        steps.append({"at": now, "do": what, **shown, "after": after})
    chosen = {"chosen": scenario["chosen"]} if scenario["chosen"] else {}
    given = {name: value for name, value in scenario["given"].items() if name != "psn"}
    return {"name": scenario["name"], **chosen, "psn": scenario["given"]["psn"], **given, "steps": steps}


def send(at, *listed, span=1, custody=1):
    return [(at, "sent", {"psn": psn, "span": span, "custody": custody}) for psn in listed]


def heard(at, echo, *missing):
    return [(at, "report", {"echo": echo * MICROSECOND, "missing": [list(one) for one in missing]})]


def loss(name, *parts, lowest=100, least=10_000, window=100, chosen=None):
    return {"name": name, "chosen": chosen, "steps": [one for part in parts for one in part],
            "given": {"lowest": lowest, "least_round_trip": least * MICROSECOND, "window": window * MICROSECOND}}


LOSS = [  # times from 1 ms on: a clock is never 0
    loss("sent a window before the echo: lost", send(1_000, 100, 101, 102), heard(11_200, 1_150, (101, 1))),
    loss("sent less than a window before the echo: perhaps overtaken", send(1_000, 100, 101, 102),
         heard(11_100, 1_050, (101, 1)), heard(11_300, 1_099, (101, 1)), heard(11_400, 1_100, (101, 1))),
    loss("sent after the echo", send(1_000, 100), send(1_200, 101), heard(11_300, 1_150, (100, 2))),
    loss("a wider window",
         send(1_000, 100, 101), heard(11_300, 1_300, (100, 1)), heard(11_500, 1_500, (100, 1)), window=400),
    loss("a part of a range is lost", send(1_000, 100), send(1_050, 101), send(1_100, 102), send(1_150, 103),
         heard(11_300, 1_200, (100, 4))),
    loss("a repair that is lost", send(1_000, 100, 101), heard(11_200, 1_150, (100, 1)), send(11_210, 100),
         heard(11_300, 1_250, (100, 1)), heard(21_400, 11_300, (100, 1)), heard(21_500, 11_350, (100, 1))),
    loss("copies of a repair: the last one counts", send(1_000, 100, 101), heard(11_200, 1_150, (100, 1)),
         send(11_210, 100), send(11_260, 100), heard(21_400, 11_350, (100, 1)), heard(21_500, 11_360, (100, 1))),
    loss("the tail of a flow", send(1_000, 100, 101, 102), heard(11_300, 1_250, (101, 2))),
    loss("a report sooner than the least round trip: nothing changes", send(1_000, 100, 101),
         heard(10_900, 1_500, (100, 1)), heard(11_000, 1_500, (100, 1))),
    loss("a lie with a clock of the future", send(1_000, 100, 101), heard(1_100, 99_000, (100, 1)),
         heard(11_100, 99_000, (100, 1)), chosen="an echo that the near box has not sent yet counts as any"),
    loss("no echo yet",
         send(1_000, 100, 101), heard(11_200, 0, (100, 1)), chosen="echo 0: nothing is lost by that report"),
    loss("around the end of the numbers", send(1_000, LAST - 1, LAST, 0, 1), heard(11_200, 1_150, (LAST - 1, 3)),
         lowest=LAST - 1),
    loss("missing and not in custody: the next CLOCK says so",
         send(1_000, 100, 101, 102), send(1_010, 103, 104, custody=0),
         heard(11_300, 1_200, (102, 3)), heard(11_400, 1_300, (104, 1))),
    loss("missing and released long since: the next CLOCK says so", send(1_000, 100, 101, 102, 103),
         [(11_500, "released", {"lowest": 102})], heard(11_600, 1_200, (100, 1)), heard(11_700, 1_300, (101, 2))),
    loss("a READ of 8 PSNs is one packet", send(1_000, 100), send(1_000, 101, span=8), send(1_000, 109),
         heard(11_200, 1_150, (101, 8)), heard(11_300, 1_200, (104, 3)),
         chosen="a packet is named by its first PSN: a range inside a READ names none, and is in custody all the same"),
]


def run_loss(scenario):
    near = near_loss.NearLoss(**scenario["given"])
    steps = []
    for at, what, more in scenario["steps"]:
        now, after = at * MICROSECOND, {}
        if what == "report":
            lost, tell = near.report(now, more["echo"], more["missing"])
            after = {"after": {"lost": lost, "tell": tell}}
        elif what == "sent":
            near.sent(now, more["psn"], more["span"], bool(more["custody"]))
        else:
            near.released(**more)
        steps.append({"at": now, "do": what, **more, **after})
    chosen = {"chosen": scenario["chosen"]} if scenario["chosen"] else {}
    return {"name": scenario["name"], **chosen, **scenario["given"], "steps": steps}


COPIES = [(0, "0"), (1, "0.001"), (100, "0"), (100, "0.005"), (100, "0.02"), (100, "0.04"), (100, "0.05"), (100, "0.9"),
          (1000, "0.0005"), (1000, "0.002"), (1000, "0.004"), (1000, "0.02"), (1000, "0.03"), (50000, "0.0001"),
          (50000, "0.0004"), (50000, "0.0005"), (50000, "0.005"), (50000, "0.006"), (50000, "1"), (3, "0.05"),
          (3, "0.06")]


def run_copies(packets, part):
    return {"packets": packets, "part": float(part), "copies": near_loss.copies(packets, Fraction(part))}


_QUIET = [(0, 0)]
WINDOW = [
    {"name": "doubled, up to half a round trip", "round_trip": 1_000_000, "rounds": [(4, 3)] * 4},
    {"name": "not for 3 repairs, nor for half of them", "round_trip": 10_000_000,
     "rounds": [(3, 3), (4, 2), (5, 3), (100, 50), (100, 51)]},
    {"name": "halved after 16 quiet round trips, and again", "round_trip": 10_000_000, "rounds":
        [(4, 4)] * 3 + [(10, 0)] * 16 + _QUIET * 15 + [(9, 1)] + _QUIET * 17},
    {"name": "never less than 100 us", "round_trip": 10_000_000, "rounds": [(4, 4)] + _QUIET * 40},
    {"name": "half a round trip is less than 100 us", "round_trip": 150_000, "rounds": [(4, 4)] * 2,
     "chosen": "then the window stays 100 us"},
    {"name": "half a round trip is no power of two", "round_trip": 500_000, "rounds": [(4, 4)] * 3 + _QUIET * 32,
     "chosen": "250 us, then 125 us, then 100 us; a round trip without repairs counts as one without needless ones"},
]


def run_window(scenario):
    window = near_loss.Window(scenario["round_trip"])
    rounds = [{"repairs": repairs, "needless": needless, "window": window.round(repairs, needless)}
              for repairs, needless in scenario["rounds"]]
    return {**scenario, "rounds": rounds}
