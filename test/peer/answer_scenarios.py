# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios of answers for the models answer_copies.py and answer_order.py, and how they run.

A step is (microseconds, what, its arguments by name). `chosen` says what a scenario shows that the page leaves open.
Responses are called by their PSN, unless they have other bytes; ACKs "ack" and their PSN.
"""
import psn as psns
from answer_copies import AnswerCopies
from answer_order import AnswerOrder
from repeat import ALL_NAMED, IS_NEXT

MICROSECOND = 1000
LAST = psns.COUNT - 1
FAR = 1 << 22
FULL = IS_NEXT | ALL_NAMED


def answered(at, *listed, life=""):
    """Responses; with another `life` they have other bytes."""
    return [(at, "response", {"psn": psn, "packet": f"{psn} {life}".strip()}) for psn in listed]


def ack(at, psn, packet=None):
    return [(at, "ack", {"psn": psn, "packet": packet or f"ack {psn}"})]


def nak(at, psn):
    return [(at, "nak", {"psn": psn, "packet": f"nak {psn}"})]


def step(at, kind, **more):
    return [(at, kind, more)]


def told(at, echo, psn, *missing, flags=IS_NEXT):
    """An ANSWER_STATE's entry."""
    return step(at, "state", echo=echo * MICROSECOND, flags=flags, psn=psn, missing=[list(one) for one in missing])


def scenario(name, *parts, round_trip=10_000, chosen=None, **more):
    return {"name": name, **({"chosen": chosen} if chosen else {}), "round_trip": round_trip * MICROSECOND, **more,
            "steps": [one for part in parts for one in part]}


ANSWERS = [  # times from 1 ms on: a clock is never 0
    # What is kept, and for how long
    scenario("kept: all responses, and the newest ACK",
             answered(1_000, 100, 101), ack(1_010, 102), ack(1_020, 103), answered(1_030, 104), ack(1_040, 105)),
    scenario("an ACK from before the kept one; then one with the PSN of the kept one",
             ack(1_000, 105), ack(1_010, 103), ack(1_020, 105, "ack 105 again"), ack(1_030, 106),
             chosen="of two ACKs with one PSN the later one is the newest"),
    scenario("released by a PSN behind them, the ACK too",
             answered(1_000, 100, 101, 102, 103), ack(1_010, 104), told(6_200, 1_150, 100), told(6_300, 1_250, 102),
             told(6_400, 1_350, 104), told(6_500, 1_450, 105)),
    scenario("a report that comes late, with an earlier PSN: nothing more is released",
             answered(1_000, 100, 101, 102, 103), told(6_300, 1_250, 102), told(6_310, 1_150, 101)),
    scenario("released at once, also by a report without an echo",
             answered(1_000, 100, 101), ack(1_010, 102), told(1_100, 0, 101)),
    scenario("dropped 4 round trips after they came", answered(1_000, 100), answered(2_000, 101), ack(3_000, 102),
             told(40_900, 2_000, 100), told(41_100, 2_000, 100), told(42_100, 2_000, 100), told(43_100, 2_000, 100)),
    scenario("dropped after 20 ms, where 4 round trips are less",
             answered(1_000, 100), ack(1_000, 101), told(20_900, 1_050, 100), answered(21_100, 102), round_trip=2_000),
    scenario("sent again, a copy is no younger",
             answered(1_000, 100, 101), told(31_000, 2_000, 100, (100, 1)), told(40_900, 2_000, 100),
             told(41_100, 41_000, 100, (100, 2))),
    scenario("replaced by a response with the same PSN: READ again from its middle, other bytes",
             answered(1_000, 100, 101, 102, 103), answered(5_000, 102, 103, life="new"), answered(5_010, 104),
             told(12_000, 1_200, 100, (100, 4)), told(15_200, 5_150, 100, (102, 2))),
    scenario("replaced, a copy's time begins anew", answered(1_000, 100, 101), answered(30_000, 100, life="new"),
             told(41_100, 2_000, 100), told(69_900, 2_000, 100), told(70_100, 2_000, 100)),
    scenario("replaced by the same bytes, a copy's time begins anew, too",
             answered(1_000, 100, 101), answered(11_000, 100), told(11_200, 1_150, 100, (100, 2)),
             told(21_200, 11_150, 100, (100, 1))),
    scenario("begun anew from before what was released",
             answered(1_000, 100, 101, 102, 103), told(6_200, 1_150, 102), answered(7_000, 100, 101, life="new"),
             answered(7_010, 102, 103, life="new"), told(17_200, 7_160, 100, (100, 1)), told(17_300, 7_260, 104)),
    scenario("the binding ends: nothing is kept any more, nor sent again", answered(1_000, 100, 101), ack(1_010, 102),
             step(5_000, "end"), told(11_200, 1_150, 100, (100, 3)), answered(12_000, 103), ack(12_010, 104)),

    # What waits in the near box need not be kept
    scenario("a full report: what it does not name, up to its end, has come",
             answered(1_000, *range(100, 108)), ack(1_010, 108),
             told(6_200, 1_150, 100, (100, 1), (103, 2), (106, 0), flags=FULL)),
    scenario("the same ranges in a report that is not full: what it does not name is kept",
             answered(1_000, *range(100, 108)), told(6_200, 1_150, 100, (100, 1), (103, 2), (106, 0))),
    scenario("a full report that ends with what is missing",
             answered(1_000, *range(100, 108)), told(6_200, 1_150, 101, (102, 1), (105, 2), flags=FULL)),
    scenario("a full report without ranges: only what is before its PSN has come",
             answered(1_000, 100, 101, 102), told(6_200, 1_150, 101, flags=FULL)),
    scenario("a full report drops and sends again",
             answered(1_000, *range(100, 106)), told(11_200, 1_150, 101, (101, 1), (104, 0), flags=FULL)),
    scenario("a list that goes on in another entry: its PSN is not `next`, and what is before it is kept",
             answered(1_000, *range(100, 110)), told(6_200, 1_150, 100, (100, 1), (102, 1), flags=FULL),
             told(6_200, 1_150, 103, (105, 1), (108, 0), flags=ALL_NAMED)),
    scenario("an entry without flags: nothing is released, what is missing goes again",
             answered(1_000, *range(100, 106)), told(11_200, 1_150, 103, (104, 1), flags=0)),
    scenario("a full report around the end of the numbers",
             answered(1_000, LAST - 2, LAST - 1, LAST, 0, 1, 2), ack(1_010, 3),
             told(6_200, 1_150, LAST - 1, (LAST - 1, 1), (0, 1), (2, 0), flags=FULL)),
    scenario("an ACK between what has come", answered(1_000, 100), ack(1_010, 101), answered(1_020, 102),
             told(6_200, 1_150, 100, (100, 1), (103, 0), flags=FULL),
             chosen="the ACK is dropped as any: the report says that its PSN has come"),
    scenario("a late full report does not name what was begun anew: it is dropped",
             answered(1_000, 100, 101, 102), answered(6_000, 101, life="new"),
             told(6_200, 1_150, 100, (100, 1), (103, 0), flags=FULL),
             chosen="the report may be of before; what is dropped is asked for no more"),

    # What is lost
    scenario("one is lost",
             answered(1_000, 100, 101, 102), told(11_200, 1_150, 101, (101, 1)), told(21_400, 11_350, 103)),
    scenario("missing, but sent less than a window before the echo: perhaps overtaken",
             answered(1_000, 100, 101), told(11_200, 1_050, 100, (100, 1)), told(11_210, 1_099, 100, (100, 1)),
             told(11_220, 1_100, 100, (100, 1))),
    scenario("missing, and sent less than a round trip ago: nothing changes yet",
             answered(1_000, 100, 101), told(10_900, 1_200, 100, (100, 1)), told(10_999, 1_200, 100, (100, 1)),
             told(11_000, 1_200, 100, (100, 1))),
    scenario("sent after the echo", answered(1_000, 100), answered(1_200, 101), told(11_300, 1_150, 100, (100, 2)),
             told(11_400, 1_250, 100, (101, 1)), told(11_500, 1_300, 100, (101, 1))),
    scenario("sent again and lost again: once a round trip, and with an echo of after that",
             answered(1_000, 100, 101), told(11_200, 1_150, 100, (100, 1)), told(11_300, 1_250, 100, (100, 1)),
             told(21_400, 11_299, 100, (100, 1)), told(21_500, 11_300, 100, (100, 1)),
             told(31_499, 21_700, 100, (100, 1)), told(31_500, 21_700, 100, (100, 1))),
    scenario("no echo yet: nothing is lost", answered(1_000, 100, 101), told(11_200, 0, 100, (100, 2))),
    scenario("several ranges, and the tail of a READ",
             answered(1_000, *range(100, 112)), told(11_200, 1_150, 101, (101, 1), (104, 2), (110, 2))),
    scenario("a range of which the host has answered a part: that goes, in the order of its PSNs",
             answered(1_000, 103, 101), told(11_200, 1_150, 100, (100, 5))),
    scenario("PSNs of requests that have no response: for those there is nothing",
             answered(1_000, 100), answered(1_000, 105), told(11_200, 1_150, 101, (101, 4)),
             told(11_300, 1_250, 101, (101, 5))),
    scenario("the ACK is lost, again and again: it goes once a round trip",
             ack(1_000, 104), told(11_200, 1_150, 101, (101, 4)), told(16_000, 11_310, 101, (101, 4)),
             told(21_400, 11_350, 101, (101, 4)), told(31_600, 21_550, 101, (101, 4))),
    scenario("an ACK that is not among the missing does not go again",
             answered(1_000, 100, 101), ack(1_010, 102), told(11_200, 1_150, 100, (100, 2)),
             told(11_300, 1_250, 100, (103, 5))),
    scenario("the window and the round trip hold for the ACK, too",
             ack(1_000, 104), told(10_900, 1_200, 101, (101, 4)), told(11_100, 1_050, 101, (101, 4)),
             told(11_200, 1_150, 101, (101, 4))),
    scenario("a newer ACK has its own time, and so has one that comes again",
             ack(1_000, 104), told(11_200, 1_150, 101, (101, 4)), ack(12_000, 106), told(21_400, 11_350, 101, (101, 6)),
             told(22_200, 12_150, 101, (101, 6)), ack(23_000, 106, "ack 106 again"),
             told(32_900, 22_700, 101, (101, 6)), told(33_200, 23_150, 101, (101, 6)),
             chosen="an ACK with the kept one's PSN is another ACK"),
    scenario("responses before and behind the ACK are lost, and the ACK",
             answered(1_000, 100, 101), ack(1_010, 102), answered(1_020, 103, 104), told(11_200, 1_150, 100, (100, 5)),
             chosen="all in the order of their PSNs"),

    # Around the end of the numbers
    scenario("kept and released around the end of the numbers", answered(1_000, LAST - 1, LAST, 0, 1), ack(1_010, 2),
             told(6_200, 1_150, LAST), told(6_300, 1_250, 0), told(6_400, 1_350, 2), told(6_500, 1_450, 3)),
    scenario("lost around the end of the numbers", answered(1_000, LAST - 2, LAST - 1, LAST, 0, 1), ack(1_010, 2),
             told(11_200, 1_150, LAST - 1, (LAST - 1, 3), (2, 1))),
    scenario("replaced around the end of the numbers",
             answered(1_000, LAST, 0, 1), answered(5_000, LAST, 0, life="new"), told(15_200, 5_150, LAST, (LAST, 2))),
    scenario("an ACK around the end of the numbers", ack(1_000, LAST), ack(1_010, 1),
             told(11_200, 1_150, LAST, (LAST, 3)), told(11_300, 1_250, 1), told(11_400, 1_350, 2)),

    # Lies, and what cannot be
    scenario("a lie: a PSN far ahead drops all", answered(1_000, 100, 101), ack(1_010, 102),
             told(6_200, 1_150, 100 + FAR), answered(7_000, 103), told(17_200, 7_150, 103, (100, 4))),
    scenario("a lie: a PSN far behind releases nothing",
             answered(1_000, 100, 101), ack(1_010, 102), told(6_200, 1_150, psns.after(100, -FAR)),
             told(11_200, 1_150, psns.after(100, -FAR), (100, 1))),
    scenario("a lie: ranges that nobody has", answered(1_000, 100, 101), ack(1_010, 102),
             told(11_200, 1_150, 50, (50, 3), (97, 3), (103, 1000)),
             told(11_300, 1_250, 100, (100 + FAR, FAR), (psns.after(100, -FAR), FAR))),
    scenario("a lie: all PSNs that there are, again and again: each copy once a round trip",
             answered(1_000, 100, 101), ack(1_010, 102), told(11_200, 1_150, 100, (100, LAST)),
             told(11_300, 11_300, 100, (100, LAST)), told(16_000, 16_000, 100, (100, LAST)),
             told(21_200, 21_200, 100, (100, LAST)), told(21_210, 21_210, 100, (100, LAST))),
    scenario("a lie: a PSN named twice in one report goes once",
             answered(1_000, 100, 101, 102), told(11_200, 1_150, 100, (100, 3), (101, 1), (100, 2))),
    scenario("a lie: missing, and before the report's PSN",
             answered(1_000, 100, 101, 102), told(11_200, 1_150, 102, (100, 3)),
             chosen="what the PSN releases is dropped before the ranges are looked at"),
    scenario("a lie: a full report far ahead drops what it does not name, and nothing before its PSN",
             answered(1_000, 100, 101, 102), ack(1_010, 103),
             told(6_200, 1_150, 101, (102, 1), (101 + FAR, 0), flags=ALL_NAMED)),
    scenario("a lie: an echo of the future: the report changes nothing",
             answered(1_000, 100, 101, 102), ack(1_010, 103), told(11_200, 11_201, 102, (102, 2)),
             told(11_300, 999_000, 102, (102, 2)), told(11_400, 11_400, 102, (102, 2)),
             chosen="a report whose echo is beyond now is ignored, its PSN too: the near box has not heard that clock"),
    scenario("a lie: an echo of the future; meanwhile a copy is too old",
             answered(1_000, 100), answered(2_000, 101), told(41_100, 50_000, 100, (101, 1)),
             chosen="age does not depend on the report"),
]


def run_answers(given):
    """The scenario as the file has it: with what follows each step."""
    copies = AnswerCopies(given["round_trip"])
    does = {"response": copies.respond, "ack": copies.acknowledge, "state": copies.state, "end": copies.end}
    steps = []
    for at, kind, more in given["steps"]:
        again = does[kind](at * MICROSECOND, **more)
        after = {"sent_again": again or [], "kept": copies.kept(), "ack": copies.ack()}
        steps.append({"at": at * MICROSECOND, "kind": kind, **more, "after": after})
    return given | {"steps": steps}


def read(at, psn, span=1):
    return step(at, "read", psn=psn, span=span)


def clock(at, top):
    return step(at, "clock", top=top)


ANSWER_ORDER = [
    scenario("in order: all go on at once", read(0, 100, 3), answered(10_000, 100, 101, 102), ack(10_010, 103),
             clock(10_100, 104), psn=100),
    scenario("one is lost: what is behind it waits, and follows it", read(0, 100, 4), answered(10_000, 100, 102, 103),
             answered(20_000, 101), psn=100),
    scenario("an ACK and a NAK wait behind a missing response",
             read(0, 100, 2), answered(10_000, 100), ack(10_010, 102), nak(10_020, 103), answered(20_000, 101),
             psn=100),
    scenario("a NAK at `next` does not wait", read(0, 100, 2), answered(10_000, 100), nak(10_010, 101), psn=100),
    scenario("`next` is that of the oldest READ; an ACK of before it goes on",
             read(0, 103, 2), read(0, 108, 2), ack(10_000, 102), answered(10_010, 104, 108), ack(10_020, 106),
             answered(20_000, 103), answered(20_010, 109), psn=100),
    scenario("the tail of a READ is lost: ANSWER_CLOCK tells", read(0, 100, 4), answered(10_000, 100, 101),
             clock(10_060, 104), answered(20_000, 103), answered(20_010, 102), psn=100),
    scenario("all of a READ is lost, and the ACK behind it waits",
             read(0, 100, 2), ack(10_000, 102), clock(10_060, 103), answered(20_000, 100, 101), psn=100,
             chosen="PSNs of what waits are missing, unless it is a response"),
    scenario("without a READ nothing waits; an ACK is lost", ack(10_000, 101), ack(10_010, 104), clock(12_600, 108),
             ack(20_000, 107), psn=100),
    scenario("between two responses that wait there are PSNs of other requests", read(0, 100), read(0, 104, 2),
             answered(10_000, 104, 105), clock(10_100, 106), answered(20_000, 100), psn=100),
    scenario("what waits already is dropped, what went on goes on: both came again", read(0, 100, 3),
             answered(10_000, 100, 102), answered(10_010, 102), answered(10_020, 100), answered(20_000, 101), psn=100),
    scenario("other bytes at the PSN of a response that waits",
             read(0, 100, 3), answered(10_000, 102), answered(10_010, 102, life="new"), answered(20_000, 100, 101),
             psn=100, chosen="they take its place, as in the far box"),
    scenario("what waited for 3 round trips goes on, each in its time", read(0, 100, 4), answered(10_000, 102),
             answered(12_000, 103), clock(39_900, 104), clock(40_100, 104), clock(42_100, 104), answered(43_000, 100),
             psn=100, chosen="`next` stays: the requester asks again, and what went on is missing once more"),
    scenario("what waited for 20 ms goes on, where 3 round trips are less", read(0, 100, 2), answered(10_000, 101),
             clock(29_900, 102), clock(30_100, 102), round_trip=2_000, psn=100),
    scenario("around the end of the numbers", read(0, LAST - 1, 4), answered(10_000, LAST - 1, 0), clock(10_100, 2),
             answered(20_000, LAST), answered(20_010, 1), psn=LAST - 1),
    scenario("ANSWER_CLOCK that is old or far away: nothing changes", read(0, 100, 4), answered(10_000, 100),
             clock(10_100, 103), clock(10_200, 102), clock(10_300, 90), clock(10_400, 101 + FAR),
             clock(10_500, psns.after(101, -FAR)), psn=100,
             chosen="a top before the last one says nothing, and one more than 2^20 from `next` is ignored"),
    scenario("in a doubt nothing waits, and nothing is asked for",
             read(0, 100, 4), answered(10_000, 102), step(10_100, "doubt"), answered(10_200, 103), clock(10_300, 104),
             psn=100, chosen="what waits when the doubt begins goes on, as it came"),
]


def run_answer_order(given):
    """The scenario as the file has it: with what follows each step."""
    near = AnswerOrder(given["psn"], given["round_trip"])
    steps = []
    for at, kind, more in given["steps"]:
        now = at * MICROSECOND
        if kind in ("response", "ack", "nak"):
            passed = near.arrive(now, kind, **more)
        else:
            passed = getattr(near, kind)(now, **more)
        after = {"passed": passed, "waits": near.waits(), "next": near.next % psns.COUNT, "repeats": near.repeats,
                 "missing": near.missing(), "full": near.full_report()}
        steps.append({"at": now, "kind": kind, **more, "after": after})
    return given | {"steps": steps}
