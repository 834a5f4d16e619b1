# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios of the far host's side for the model far_host.py, and how they run.

A step is (microseconds, what, its arguments by name). `chosen` says what a scenario shows that the page leaves open.
Most begin with one request that the host acknowledges after 10 us with MSN 1: that is its round trip from then on.
The box looks for silence and age once a millisecond: no step is between what is due and a millisecond later.
"""
import psn as psns
from far_host import MSNS, FarHost

MICROSECOND = 1000
LAST = psns.COUNT - 1


def come(at, *listed, asks="last", ends=1, packet=None):
    """Requests of one PSN. `asks`: which have AckReq: "last", "all" or "none"."""
    return [(at, "arrive", {"psn": psn, "span": 1, "packet": packet or str(psn), "ends": ends,
                            "asks": int(asks == "all" or asks == "last" and psn == listed[-1])}) for psn in listed]


def row(at, first, count, **more):
    return come(at, *(psns.after(first, index) for index in range(count)), **more)


def read(at, psn, span, packet=None):
    return [(at, "arrive", {"psn": psn, "span": span, "packet": packet or f"read {psn}", "asks": 1, "ends": 1})]


def answer(kind):
    return lambda at, psn, msn: [(at, "answer", {"kind": kind, "psn": psn, "msn": msn})]


ack, nak, rnr, other, response = map(answer, ("ack", "psn_nak", "rnr_nak", "other_nak", "response"))


def tick(*times):
    return [(at, "tick", {}) for at in times]


def unbind(at, keep):
    return [(at, "unbind", {"keep": keep})]


BEGUN = come(0, 100) + ack(10, 100, 1)


def scenario(name, *parts, psn=100, round_trip=10_000, chosen=None, **more):
    return {"name": name, **({"chosen": chosen} if chosen else {}), "psn": psn, "round_trip": round_trip * MICROSECOND,
            **more, "steps": [one for part in parts for one in part]}


COPIES = [
    scenario("kept until an ACK covers them, one by one and several",
             come(0, 100), come(1, 101, 102, 103), ack(10, 100, 1), ack(11, 102, 3), ack(11, 103, 4)),
    scenario("requests that do not ask are kept, too, and covered by an ACK of a later one",
             come(0, 100, 101, 102, asks="none"), come(1, 103), ack(11, 103, 4)),
    scenario("old ACKs, and the newest one again: nothing changes",
             come(0, 100, 101, 102), ack(10, 102, 3), come(20, 103), ack(21, 100, 1), ack(22, 101, 3), ack(23, 102, 3),
             nak(24, 103, 3), chosen="the MSN of an ACK from before the newest one is not looked at"),
    scenario("an ACK beyond what was handed on: all copies are dropped",
             BEGUN, come(20, 101, 102), ack(21, 103, 4), come(22, 103), nak(40, 102, 2)),
    scenario("an ACK far before the binding is none of its",
             come(0, 100, 101), ack(1, 98, 7), nak(40, 100, 9),
             chosen="how many messages ended between is not known, so it is as no ACK"),
    scenario("an ACK of the last one before the binding is the first to count from",
             come(0, 100, 101), ack(1, 99, 7), nak(40, 100, 7), ack(60, 101, 9)),
    scenario("the host's MSN may begin anywhere",
             come(0, 100, 101), ack(10, 101, 5000), come(20, 102, 103), nak(40, 103, 5001)),
    scenario("an ACK of another MSN: all copies are dropped, and the count begins anew with it",
             BEGUN, come(20, 101, 102, 103), ack(30, 101, 7), come(40, 104, 105), nak(60, 104, 9), ack(80, 105, 11),
             chosen="of what is under way without a copy the messages count, too"),
    scenario("the newest ACK again with another MSN: all copies are dropped",
             BEGUN, come(20, 101, 102), ack(21, 100, 2), come(30, 103), nak(50, 101, 2),
             chosen="an ACK that covers nothing new is looked at, if it is the newest"),
    scenario("an MSN counts messages, not requests: ends of messages amid requests",
             BEGUN, come(20, 101, 102, asks="none", ends=0), come(20, 103), come(20, 104, 105, ends=0), ack(21, 102, 1),
             ack(22, 104, 2), nak(40, 105, 2)),
    scenario("an ACK that counts the message that it is amid: all copies are dropped",
             BEGUN, come(20, 101, 102, asks="none", ends=0), come(20, 103), ack(22, 102, 2)),
    scenario("MSNs around 2^24", come(0, 100), ack(10, 100, MSNS - 2), come(20, 101, 102, 103, 104),
             ack(21, 101, MSNS - 1), nak(40, 103, 0), ack(60, 104, 2)),
    scenario("a NAK's MSN behind 2^24",
             come(0, 100), ack(10, 100, MSNS - 1), come(20, 101, 102, 103), nak(40, 101, MSNS - 1),
             nak(70, 103, 1), nak(100, 103, MSNS - 1)),
    scenario("PSNs around 2^24: kept, covered, again",
             come(0, LAST - 1), ack(10, LAST - 1, 1), come(20, LAST, 0, 1, 2), nak(40, LAST, 1), ack(60, 0, 3),
             nak(80, 1, 3), ack(100, 2, 5), psn=LAST - 1),
    scenario("an ACK of PSN 2^24 - 1, and an old one from before",
             come(0, LAST, 0), ack(1, LAST, 1), ack(2, LAST - 5, 1), nak(40, 0, 1), psn=LAST),
    scenario("an ACK beyond what was handed on, behind 2^24",
             come(0, LAST), ack(10, LAST, 1), come(20, 0, 1), ack(21, 2, 4), psn=LAST),
    scenario("copies of requests of before `next` are not made; they go on",
             BEGUN, come(20, 101, 102), come(21, 100, packet="100 again"), come(22, 101, packet="101"),
             ack(30, 102, 3), come(50, 102), nak(60, 103, 3)),
    scenario("the binding ends: nothing is kept, all passes",
             BEGUN, come(20, 101, 102, 103), unbind(21, 0), nak(22, 101, 1), come(30, 104), ack(40, 104, 5),
             tick(3_000)),
    scenario("room for three: the oldest is dropped first",
             BEGUN, come(20, 101, 102, 103, 104, 105), come(21, 106), ack(30, 104, 5), room=3),
    scenario("room for three: a NAK of what was dropped passes",
             BEGUN, come(20, 101, 102, 103, 104, 105), nak(30, 102, 2), room=3),
    scenario("room for three: a NAK of what is kept counts the messages of what was dropped",
             BEGUN, come(20, 101, 102, 103, 104, 105), nak(30, 104, 4), room=3,
             chosen="all messages that ended are counted, with a copy or without"),
    scenario("room for one: silence, and a NAK",
             BEGUN, come(20, 101, 102, 103), tick(2_500), nak(2_600, 103, 3), ack(2_620, 103, 4), room=1,
             chosen="all messages that ended are counted, with a copy or without"),
]

AGE = [
    scenario("dropped after 20 ms and 1.5 round trips, where 4 round trips are more",
             come(0, 100, asks="none"), come(2_000, 101, asks="none"), tick(34_900, 36_000), tick(36_900, 38_000)),
    scenario("dropped after 4 round trips", come(0, 100, asks="none"), come(2_000, 101, asks="none"),
             tick(23_900, 25_000), tick(25_900, 27_000), round_trip=6_000),
    scenario("dropped after 20 ms, where 4 round trips are less", come(0, 100, asks="none"),
             come(2_000, 101, asks="none"), tick(19_900, 21_000), tick(21_900, 23_000), round_trip=2_000),
    scenario("gone again, a copy is no younger",
             come(0, 100), ack(10, 100, 1), come(100, 101, 102, asks="none"), nak(15_000, 101, 1), tick(19_900, 21_200),
             round_trip=1_000),
    scenario("counted from when it was first handed on, not from when it came",
             come(0, 100), ack(900, 100, 1), come(1_000, 101, 102, 103, 104), nak(1_900, 101, 1), row(2_000, 105, 12),
             row(2_000, 117, 3, asks="none"), ack(4_400, 101, 2), ack(6_800, 102, 3), ack(9_200, 103, 4),
             ack(9_300, 117, 18), tick(41_700), tick(42_900), tick(44_100), tick(45_300),
             chosen="what waits for the window is not handed on yet"),
    scenario("a NAK of what was too old passes; what is younger is dropped with it",
             BEGUN, come(100, 101, asks="none"), come(15_000, 102, asks="none"), tick(21_200), nak(21_300, 101, 1),
             round_trip=1_000),
    scenario("a NAK of what is younger than the oldest: it fits still",
             BEGUN, come(100, 101, asks="none"), come(15_000, 102, asks="none"), tick(21_200), nak(21_300, 102, 2),
             round_trip=1_000, chosen="all messages that ended are counted, with a copy or without"),
]

READS = [
    scenario("a READ is kept until its last response",
             BEGUN, come(20, 101), read(20, 102, 3), come(20, 105, asks="none"), response(30, 102, 3),
             response(30, 103, 3), response(30, 104, 3), ack(33, 105, 4)),
    scenario("a response covers what is before its READ",
             BEGUN, come(20, 101, 102, asks="none"), read(20, 103, 2), come(20, 105), response(30, 103, 4)),
    scenario("an ACK of a READ's middle covers what is before the READ, and counts no READ",
             BEGUN, come(20, 101, asks="none"), read(20, 102, 4), come(20, 106), ack(30, 103, 2), nak(50, 102, 2)),
    scenario("an ACK of a READ's middle that counts the READ: all copies are dropped",
             BEGUN, come(20, 101, asks="none"), read(20, 102, 4), ack(30, 103, 3),
             chosen="a READ ends its message with its last PSN"),
    scenario("an ACK behind a READ covers it",
             BEGUN, read(20, 101, 3), come(20, 104, 105, asks="all"), ack(30, 104, 3),
             chosen="its responses may have been lost, but the host has it"),
    scenario("a READ is one message, however many PSNs it has",
             BEGUN, read(20, 101, 8), come(20, 109, 110), nak(30, 109, 2)),
    scenario("a NAK behind a READ: the READ is covered",
             BEGUN, come(20, 101), read(20, 102, 4), come(20, 106, 107), nak(40, 106, 3), response(50, 104, 3),
             ack(51, 107, 5)),
    scenario("a NAK of a READ: it goes again with what is behind it",
             BEGUN, come(20, 101), read(20, 102, 4), come(20, 106), nak(40, 102, 2), response(60, 105, 3),
             ack(61, 106, 4)),
    scenario("a NAK of before a READ: it goes again",
             BEGUN, come(20, 101), read(20, 102, 4), read(20, 106, 2), come(20, 108), nak(40, 101, 1)),
    scenario("a NAK within a READ does not fit: it passes, and the copies are dropped",
             BEGUN, come(20, 101), read(20, 102, 4), come(20, 106), nak(40, 104, 2),
             chosen="there is no request with that PSN, so no copy of it"),
    scenario("responses before any ACK: a NAK does not fit",
             read(0, 100, 2), come(0, 102, 103), response(10, 101, 1), nak(20, 102, 1),
             chosen="an ACK must have come, and a response is none"),
    scenario("a response's MSN may run ahead: it is not looked at",
             BEGUN, read(20, 101, 2), come(20, 103), response(30, 101, 3), response(30, 102, 3), nak(50, 103, 2)),
    scenario("an old response: nothing changes",
             BEGUN, read(20, 101, 2), response(30, 102, 2), come(40, 103), response(41, 101, 2), nak(60, 103, 2)),
    scenario("a response beyond what was handed on: all copies are dropped",
             BEGUN, come(20, 101), read(20, 102, 2), response(30, 104, 3)),
    scenario("a READ around 2^24, and its responses",
             come(0, LAST - 2), ack(10, LAST - 2, 1), read(20, LAST - 1, 4), come(20, 2, 3), response(30, LAST, 2),
             response(30, 0, 2), response(30, 1, 2), nak(50, 2, 2), psn=LAST - 2),
    scenario("a READ around 2^24, and a NAK behind it",
             come(0, LAST - 2), ack(10, LAST - 2, 1), read(20, LAST - 1, 4), come(20, 2, 3), response(30, 0, 2),
             nak(50, 2, 2), psn=LAST - 2),
    scenario("a READ of before `next` from its middle goes on, and is not kept",
             BEGUN, read(20, 101, 4), response(30, 101, 2), read(30, 102, 3), response(30, 104, 2)),
]

NAKS = [
    scenario("a NAK of the first one that is not answered: all go again, before what is newer",
             BEGUN, come(20, 101, 102, 103), nak(40, 101, 1), come(50, 104), ack(60, 104, 5)),
    scenario("a NAK in the middle: what is before it is covered",
             BEGUN, come(20, 101, 102, 103, 104), nak(40, 103, 3), ack(60, 104, 5)),
    scenario("a NAK of the newest one", BEGUN, come(20, 101, 102), nak(40, 102, 2)),
    scenario("a NAK before any ACK passes, and the copies are dropped", come(0, 100, 101, 102), nak(20, 101, 1)),
    scenario("a NAK whose MSN is one less passes, and the copies are dropped",
             BEGUN, come(20, 101, 102, 103), nak(40, 102, 1)),
    scenario("a NAK whose MSN is one more passes, and the copies are dropped",
             BEGUN, come(20, 101, 102, 103), nak(40, 102, 3), come(50, 104), nak(60, 104, 4),
             chosen="what is handed on after it is kept, and messages count on"),
    scenario("an old NAK does not fit", BEGUN, come(20, 101, 102), ack(30, 101, 2), nak(40, 101, 1),
             chosen="it is another NAK: it passes, and the copies are dropped"),
    scenario("a NAK of the next PSN, which nobody has sent, does not fit", BEGUN, come(20, 101, 102), nak(40, 103, 3)),
    scenario("a NAK of what the host was not given", BEGUN, come(20, 101, 102), nak(40, 106, 3), nak(41, 101, 1)),
    scenario("four NAKs in a row: the fourth one passes, and those behind it",
             BEGUN, come(20, 101, 102), nak(40, 101, 1), nak(60, 101, 1), nak(80, 101, 1), nak(100, 101, 1),
             nak(120, 101, 1), chosen="the copies stay: they fit"),
    scenario("after the fourth one the near box repairs; a NAK further on is the first again",
             BEGUN, come(20, 101, 102, 103), nak(40, 101, 1), nak(60, 101, 1), nak(80, 101, 1), nak(100, 101, 1),
             come(500, 101, 102, 103), nak(520, 102, 2), nak(540, 102, 2), nak(560, 102, 2), nak(580, 102, 2)),
    scenario("four NAKs, each further on: none passes",
             BEGUN, come(20, 101, 102, 103, 104), nak(40, 101, 1), nak(60, 102, 2), nak(80, 103, 3), nak(100, 104, 4),
             ack(120, 104, 5)),
    scenario("NAKs, and an ACK between: they are not in a row",
             BEGUN, come(20, 101, 102, 103), nak(40, 101, 1), nak(60, 101, 1), nak(80, 101, 1), ack(90, 101, 2),
             nak(100, 102, 2), nak(120, 102, 2), nak(140, 102, 2), nak(160, 102, 2)),
    scenario("a NAK repeated at once is dropped, and one after a round trip is not",
             BEGUN, come(20, 101, 102), nak(40, 101, 1), nak(42, 101, 1), nak(43, 101, 1), nak(44, 101, 1),
             nak(60, 101, 1), nak(62, 101, 1)),
    scenario("a NAK repeated at once does not count as one in a row",
             BEGUN, come(20, 101, 102), nak(40, 101, 1), nak(41, 101, 1), nak(60, 101, 1), nak(61, 101, 1),
             nak(80, 101, 1), nak(81, 101, 1), nak(100, 101, 1)),
    scenario("a NAK repeated at once, with another MSN, does not fit",
             BEGUN, come(20, 101, 102), nak(40, 101, 1), nak(42, 101, 2)),
    scenario("a NAK further on at once: what is before it is covered, and nothing goes again",
             BEGUN, come(20, 101, 102, 103), nak(40, 101, 1), nak(42, 102, 2),
             chosen="its p went again with the others, and it fits"),
    scenario("a NAK again after a round trip of 400 us: half of that counts",
             come(0, 100), ack(400, 100, 1), come(500, 101, 102, asks="none"), nak(900, 101, 1), nak(1_050, 101, 1),
             nak(1_150, 101, 1)),
    scenario("an RNR NAK passes, and a PSN NAK for the same request, too",
             BEGUN, come(20, 101, 102), rnr(40, 101, 1), nak(41, 101, 1), nak(60, 101, 1), ack(2_900, 101, 2),
             nak(2_920, 102, 2),
             chosen="that PSN NAK fits: its copies stay, and it passes, since nothing goes again for it"),
    scenario("an RNR NAK acknowledges what is before it",
             BEGUN, come(20, 101, 102, 103), rnr(40, 102, 2),
             chosen="as a PSN NAK, if it has the MSN that was counted"),
    scenario("an RNR NAK of another MSN passes, and acknowledges nothing",
             BEGUN, come(20, 101, 102, 103), rnr(40, 102, 5), chosen="the copies stay: it is no ACK"),
    scenario("after an RNR NAK new requests go on, and nothing again",
             BEGUN, come(20, 101, 102), rnr(40, 101, 1), come(50, 103), tick(2_500, 6_000), come(6_010, 101, 102, 103),
             ack(6_030, 103, 4), come(6_040, 104, 105), nak(6_060, 104, 4)),
    scenario("an RNR NAK after a PSN NAK: silence sends nothing",
             BEGUN, come(20, 101, 102, 103), nak(40, 101, 1), rnr(60, 101, 1), tick(2_500, 5_500)),
    scenario("an RNR NAK, and then a PSN NAK further on: it fits, and is obeyed",
             BEGUN, come(20, 101, 102, 103), rnr(40, 101, 1), nak(60, 102, 2)),
    scenario("an RNR NAK, then an old ACK, then silence: nothing goes again; but after progress",
             BEGUN, come(20, 101, 102), rnr(40, 101, 1), ack(50, 100, 1), tick(2_500), ack(2_600, 101, 2),
             tick(4_700)),
    scenario("another NAK passes, and the copies are dropped; what comes later is kept",
             BEGUN, come(20, 101, 102), other(40, 101, 1), come(50, 103), nak(60, 102, 2), come(70, 104, 105),
             nak(90, 104, 4), chosen="messages count on"),
    scenario("another NAK, after a PSN NAK: silence sends nothing",
             BEGUN, come(20, 101, 102), nak(40, 101, 1), other(60, 101, 1), tick(2_500)),
]

SILENCE = [
    scenario("silence: the newest one with AckReq, three times",
             BEGUN, come(20, 101, 102), come(21, 103, asks="none"), tick(500), tick(2_100), tick(2_900), tick(5_200),
             tick(6_900), tick(10_500), tick(14_800), tick(25_000)),
    scenario("silence before any answer", come(0, 100, 101), tick(900), tick(2_100)),
    scenario("nobody asks for an answer: no silence", BEGUN, come(20, 101, 102, asks="none"), tick(2_500, 6_000)),
    scenario("a READ alone does not go again", BEGUN, read(20, 101, 2), tick(2_500), tick(5_500)),
    scenario("a READ behind one with AckReq: that one goes again",
             BEGUN, come(20, 101, 102), read(20, 103, 2), tick(2_500),
             chosen="the newest with AckReq that is no READ"),
    scenario("silence counts from the first one that asks",
             BEGUN, come(20, 101, asks="none"), come(3_000, 102), come(3_900, 103), tick(3_950), tick(5_100),
             chosen="a later one that asks does not put it off"),
    scenario("after progress it begins anew",
             BEGUN, come(20, 101, 102), tick(2_100), tick(5_200), ack(5_300, 101, 2), tick(6_200), tick(7_400),
             chosen="an ACK with a request that asks still under way: from that ACK on"),
    scenario("an ACK after three times: it begins anew",
             BEGUN, come(20, 101, 102, 103), tick(2_100), tick(5_200), tick(10_500), ack(10_600, 102, 3), tick(12_700)),
    scenario("an old ACK is an answer, too",
             BEGUN, come(20, 101, 102), tick(2_100), tick(5_200), tick(10_500), ack(10_600, 100, 1), tick(11_500),
             tick(12_700), chosen="any answer of the host's ends its silence"),
    scenario("all is answered, and then something asks again",
             BEGUN, come(20, 101), tick(2_100), ack(2_200, 101, 2), tick(5_000), come(6_000, 102), tick(6_900),
             tick(9_100)),
    scenario("silence of a slower host: four of its round trips",
             come(0, 100), ack(600, 100, 1), come(700, 101, 102), tick(3_000), tick(4_200)),
    scenario("silence after a NAK: all copies, READs, too",
             BEGUN, come(20, 101, 102), read(20, 103, 2), come(20, 105), nak(40, 101, 1), tick(2_100), tick(5_200),
             tick(10_500), tick(25_000)),
    scenario("silence after a NAK and progress: one",
             BEGUN, come(20, 101, 102, 103), nak(40, 101, 1), ack(60, 101, 2), tick(2_100)),
    scenario("silence after a NAK that acknowledged something: all from there on",
             BEGUN, come(20, 101, 102, 103), nak(40, 102, 2), tick(2_100), ack(2_200, 103, 4)),
    scenario("silence; then a NAK for what went again, and a NAK at once",
             BEGUN, come(20, 101, 102), tick(2_100), nak(2_110, 101, 1), nak(2_112, 101, 1), ack(2_130, 102, 3)),
    scenario("silence after an ACK of another MSN: there is no copy",
             BEGUN, come(20, 101, 102, 103), ack(30, 101, 9), tick(2_100), come(2_200, 104), ack(2_210, 104, 12)),
    scenario("the binding ends amid silence", BEGUN, come(20, 101), tick(2_100), unbind(2_200, 1), tick(5_300)),
]

NAKKED = [*BEGUN, *come(20, 101, 102, 103, 104), *nak(40, 101, 1)]  # four under way, then a window of 16

WINDOW = [
    scenario("without a NAK there is no window", BEGUN, row(20, 101, 24), ack(30, 124, 25)),
    scenario("after a NAK no more than 16 are under way, and what is beyond waits",
             NAKKED, row(50, 105, 16), ack(60, 101, 2), ack(61, 102, 3), ack(70, 116, 17), ack(80, 120, 21),
             chosen="16 with the first one that is not answered"),
    scenario("an answer opens the window for as many as it answers",
             NAKKED, row(50, 105, 20, asks="all"), ack(60, 105, 6), ack(60, 106, 7), ack(70, 122, 23),
             ack(80, 124, 25)),
    scenario("no answer is under way: nothing waits, up to one that asks",
             BEGUN, come(20, 101, 102, asks="none"), nak(40, 101, 1), row(50, 103, 20, asks="none"), come(51, 123),
             come(52, 124), ack(61, 123, 24)),
    scenario("the only answer under way has come: what waits goes on, up to the next one that asks",
             NAKKED, row(50, 105, 14, asks="none"), row(51, 119, 20, asks="none"), come(52, 139), come(53, 140),
             ack(60, 104, 5), ack(70, 139, 40)),
    scenario("copies that ask for no answer: all go, up to one that asks",
             BEGUN, row(20, 101, 20), nak(40, 101, 1), come(50, 121), ack(60, 104, 5), ack(61, 105, 6),
             chosen="the window is full only while an answer is under way"),
    scenario("the window counts requests: a READ is one",
             BEGUN, come(20, 101), read(20, 102, 8), nak(40, 101, 1), read(50, 110, 30), row(51, 140, 15),
             ack(60, 101, 2), response(70, 139, 4), chosen="requests, not PSNs"),
    scenario("the window is half of what was under way, and holds for the copies, too",
             BEGUN, row(20, 101, 36, asks="all"), nak(40, 101, 1), come(41, 137), ack(60, 110, 11), ack(70, 126, 27),
             ack(80, 136, 37),
             chosen="the host gets no more than a window, new or again; the other copies go as it answers, and what is "
                    "newer behind them"),
    scenario("what waits while copies go again: in order, behind the last copy",
             BEGUN, row(20, 101, 20, asks="all"), nak(40, 101, 1), row(50, 121, 4), ack(60, 102, 3), ack(61, 104, 5),
             ack(62, 106, 7), ack(70, 120, 21), chosen="the window holds for the copies, too"),
    scenario("halved from what the NAK leaves under way",
             BEGUN, row(20, 101, 39, asks="all"), nak(40, 105, 5), row(50, 140, 2),
             chosen="what a NAK acknowledges is not under way any more: 35 are, and the window is 17"),
    scenario("halved twice, to 16 at least",
             BEGUN, row(20, 101, 36, asks="all"), nak(40, 101, 1), nak(60, 101, 1), ack(80, 104, 5),
             chosen="at the second NAK 18 are under way, which went again"),
    scenario("a NAK of what has not gone again yet",
             BEGUN, row(20, 101, 24, asks="all"), nak(40, 101, 1), nak(60, 119, 19), ack(80, 124, 25),
             chosen="a responder that places out of order may ask so; it is obeyed"),
    scenario("an ACK of what has not gone again yet",
             BEGUN, row(20, 101, 19, asks="all"), come(20, 120, asks="none"), row(20, 121, 4, asks="all"),
             nak(40, 101, 1), ack(60, 120, 21), come(61, 125), ack(71, 125, 26),
             chosen="the window holds for the copies, too"),
    scenario("16 answered: the window is 19; 19 more: 22",
             NAKKED, row(50, 105, 36, asks="all"), ack(60, 115, 16), ack(60, 116, 17), ack(70, 117, 18),
             ack(70, 134, 35), ack(70, 135, 36), ack(80, 140, 41)),
    scenario("one ACK answers more than the window: it grows, and what is over counts on",
             BEGUN, come(20, 101, 102, asks="none"), nak(40, 101, 1), row(50, 103, 40, asks="none"), come(51, 143),
             row(52, 144, 28, asks="all"), ack(61, 143, 44), ack(71, 157, 58), ack(71, 158, 59),
             chosen="43 answered with a window of 16: it grows to 19 and to 22, and 8 count on"),
    scenario("a NAK after growth halves again",
             NAKKED, row(50, 105, 33, asks="all"), ack(60, 116, 17), nak(80, 117, 17), ack(100, 132, 33),
             chosen="half of 19 is less than 16"),
    scenario("the third silence ends the window",
             NAKKED, row(50, 105, 20), tick(2_100), tick(5_200), tick(10_500), come(10_600, 125), tick(25_000)),
    scenario("two silences do not end it",
             NAKKED, row(50, 105, 16), tick(2_100), tick(5_200), ack(5_300, 101, 2), ack(5_310, 116, 17)),
    scenario("the third silence while copies go again: all of them, then what waits",
             BEGUN, row(20, 101, 20, asks="all"), nak(40, 101, 1), come(50, 121, 122), tick(2_100), tick(5_200),
             tick(10_500), chosen="before that the window holds for the copies, too"),
    scenario("silence while copies go again, after progress: one of those that went",
             BEGUN, row(20, 101, 24, asks="all"), nak(40, 101, 1), ack(60, 103, 4), tick(2_100),
             chosen="the newest with AckReq that is under way: what has not gone again yet must not overtake"),
    scenario("what waits has no copy: a NAK of it is of what the host was not given",
             NAKKED, row(50, 105, 14), nak(60, 117, 17), chosen="the window stays"),
    scenario("an ACK of what waits is of what the host was not given",
             NAKKED, row(50, 105, 14), ack(60, 117, 18), chosen="it answers nothing, and the window stays"),
    scenario("a request that waits comes again: it is dropped",
             NAKKED, row(50, 105, 14), come(60, 117, asks="none"), ack(70, 102, 3)),
    scenario("other bytes at the PSN of a request that waits: another life",
             NAKKED, row(50, 105, 14), come(60, 117, packet="other"), come(61, 118), nak(70, 101, 1),
             chosen="as in 9.4: what waits is dropped, the binding ends, and the request passes"),
    scenario("a request of before `next` does not wait", NAKKED, row(50, 105, 14), come(60, 101, 102)),
    scenario("an RNR NAK with a window: what waits goes on as the host answers",
             NAKKED, row(50, 105, 14), rnr(60, 103, 3), ack(2_060, 103, 4),
             chosen="an RNR NAK acknowledges what is before it"),
    scenario("an RNR NAK while copies go again: the others do not go",
             BEGUN, row(20, 101, 20, asks="all"), nak(40, 101, 1), rnr(60, 101, 1), come(61, 121), ack(2_060, 105, 6),
             chosen="the near box sends all again after it; all 20 are under way meanwhile"),
    scenario("another NAK with a window: what waits goes on as the host answers",
             NAKKED, row(50, 105, 14), other(60, 101, 1), ack(70, 102, 3),
             chosen="the window is of requests that are not answered, with a copy or without"),
    scenario("an ACK of another MSN with a window",
             NAKKED, row(50, 105, 14), ack(60, 101, 7), ack(70, 102, 8),
             chosen="the window stays; so it is opened by two"),
    scenario("the fourth NAK does not halve, and does not end the window",
             NAKKED, row(50, 105, 14), nak(60, 101, 1), nak(80, 101, 1), nak(100, 101, 1), ack(120, 102, 3),
             chosen="the copies stay"),
    scenario("UNBIND, keep, amid copies that go again: what waits goes on",
             BEGUN, row(20, 101, 20, asks="all"), nak(40, 101, 1), come(50, 121, 122), unbind(51, 1), come(52, 123),
             nak(60, 101, 1), tick(3_000), chosen="as what is held in 9.1"),
    scenario("UNBIND, not keep, amid copies that go again: what waits is dropped",
             BEGUN, row(20, 101, 20, asks="all"), nak(40, 101, 1), come(50, 121, 122), unbind(51, 0), come(52, 123),
             ack(60, 123, 24), tick(3_000), chosen="as what is held in 9.1"),
    scenario("the window around 2^24",
             come(0, LAST - 4), ack(10, LAST - 4, MSNS - 5), row(20, LAST - 3, 4), nak(40, LAST - 3, MSNS - 5),
             row(50, 0, 16), ack(60, LAST - 1, MSNS - 2), ack(70, 10, 10), psn=LAST - 4),
    scenario("nothing waits for longer than a gap is waited for",
             come(0, 100), ack(900, 100, 1), come(1_000, 101, 102, 103, 104), nak(1_900, 101, 1),
             row(2_000, 105, 12), row(2_000, 117, 20, asks="none"),
             *(ack(4_400 + 2_400 * n, 101 + n, 2 + n) for n in range(12)),
             tick(31_900), tick(33_100), ack(33_200, 113, 14),
             chosen="as in 9.4: after max(3 round trips, 20 ms), at most 20 ms + 1.5 round trips, it goes on"),
]

HOST = [*COPIES, *AGE, *READS, *NAKS, *SILENCE, *WINDOW]


def run_host(given, kind=FarHost):
    """The scenario as the file has it: with what follows each step."""
    box = kind(given["psn"], given["round_trip"], **({"room": given["room"]} if "room" in given else {}))
    steps = []
    for at, what, more in given["steps"]:
        now, after = at * MICROSECOND, {}
        if what == "answer":
            after["handed"], passed = box.answer(now, **more)
            after["passed"] = int(passed)
        else:
            after["handed"] = getattr(box, what)(now, **more)
        steps.append({"at": now, "do": what, **more, "after": after | {"kept": box.kept(), "waiting": box.waiting()}})
    return given | {"steps": steps}
