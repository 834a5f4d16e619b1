# SPDX-License-Identifier: BSD-3-Clause
"""Answers (docs/peer-protocol.md, section 10): the models of both boxes, their scenarios, and both over a link."""
import heapq
import random

import answer_scenarios
import psn as psns
import repeat
from answer_copies import AnswerCopies
from answer_order import ACK, RESPONSE, AnswerOrder
from timers import MILLISECOND
from verdict import expect, expect_equal

MICROSECOND = 1000


def story():
    """what the scenarios must tell, whatever the models say: nothing made up, nothing too early, nothing too old"""
    for scenario in map(answer_scenarios.run_answers, answer_scenarios.ANSWERS):
        oldest = min(max(4 * scenario["round_trip"], 20 * MILLISECOND), 20 * MILLISECOND + 3 * scenario["round_trip"] // 2)
        came, sent = {}, {}
        for step in scenario["steps"]:
            what = f"{scenario['name']}: {step}"
            after, now = step["after"], step["at"]
            if "packet" in step:
                came[step["packet"]] = sent[step["packet"]] = now
            for packet in after["sent_again"]:
                expect(step["kind"] == "state" and step["echo"] <= now and step["missing"], what)
                expect(step["echo"] - sent[packet] >= 100 * MICROSECOND, what)
                expect(now - sent[packet] >= scenario["round_trip"], what)
                expect(packet in (*after["kept"], after["ack"]), what)
                sent[packet] = now
            for packet in [*after["kept"], *([after["ack"]] if after["ack"] else [])]:
                expect(now - came[packet] < oldest, what)
    for scenario in map(answer_scenarios.run_answer_order, answer_scenarios.ANSWER_ORDER):
        came, passed = [], []
        for step in scenario["steps"]:
            came += [step["packet"]] if "packet" in step else []
            passed += step["after"]["passed"]
            for packet in passed:
                expect(passed.count(packet) <= came.count(packet), f"{scenario['name']}: {step}")
            expect_equal([one for one in step["after"]["full"] if one[1]], step["after"]["missing"], scenario["name"])
            for first, count in step["after"]["missing"]:
                expect(0 <= psns.distance(step["after"]["next"], first) and count > 0, f"{scenario['name']}: {step}")
    expect(len(answer_scenarios.ANSWERS) >= 30 and len(answer_scenarios.ANSWER_ORDER) >= 15, "scenarios")


def told():
    """some scenarios, told by hand from the page: what goes again at each step, and what is kept at last"""
    hand = {
        "released by a PSN behind them, the ACK too": (" | | | | | | | |", "", None),
        "dropped 4 round trips after they came": (" | | | | | |", "", None),
        "sent again, a copy is no younger": (" | | 100 | |", "", None),
        "replaced by a response with the same PSN: READ again from its middle, other bytes":
            (" | | | | | | | 100,101 | 102 new,103 new", "100,101,102 new,103 new,104", None),
        "replaced, a copy's time begins anew": (" | | | | |", "", None),
        "a full report: what it does not name, up to its end, has come":
            (" | | | | | | | | |", "100,103,104,106,107", "ack 108"),
        "a list that goes on in another entry: its PSN is not `next`, and what is before it is kept":
            (" | | | | | | | | | | |", "100,102,105,108,109", None),
        "an entry without flags: nothing is released, what is missing goes again":
            (" | | | | | | 104", "100,101,102,103,104,105", None),
        "the binding ends: nothing is kept any more, nor sent again": (" | | | | | |", "", None),
        "missing, but sent less than a window before the echo: perhaps overtaken": (" | | | | 100", "100,101", None),
        "sent again and lost again: once a round trip, and with an echo of after that":
            (" | | 100 | | | 100 | | 100", "100,101", None),
        "the ACK is lost, again and again: it goes once a round trip":
            (" | ack 104 | | ack 104 | ack 104", "", "ack 104"),
        "lost around the end of the numbers":
            (" | | | | | | 16777214,16777215,0,ack 2", "16777214,16777215,0,1", "ack 2"),
        "a lie: a PSN far ahead drops all": (" | | | | | 103", "103", None),
        "a lie: ranges that nobody has": (" | | | |", "100,101", "ack 102"),
        "a lie: all PSNs that there are, again and again: each copy once a round trip":
            (" | | | 100,101,ack 102 | | | 100,101,ack 102 |", "100,101", "ack 102"),
        "a lie: an echo of the future: the report changes nothing": (" | | | | | | 102,ack 103", "102", "ack 103"),
    }
    found = {given["name"]: answer_scenarios.run_answers(given)["steps"] for given in answer_scenarios.ANSWERS}
    for name, (again, kept, ack) in hand.items():
        wanted = [step.strip() for step in again.split("|")]
        expect_equal([",".join(step["after"]["sent_again"]) for step in found[name]], wanted, name)
        last = found[name][-1]["after"]
        expect_equal((",".join(last["kept"]), last["ack"]), (kept, ack), f"{name}: kept")


class Haul:
    """Both boxes of one flow over a link that loses: a host that answers once, a requester that never asks again."""

    def __init__(self, seed, losses):
        self.draw, self.losses = random.Random(seed), losses
        self.start = psns.after(-50, self.draw.randrange(100))
        self.round_trip = 2 * MILLISECOND
        self.far = AnswerCopies(self.round_trip)
        self.near = AnswerOrder(self.start, self.round_trip)
        self.now, self.echo, self.top = 0, 0, self.start
        self.answers, self.passed = [], []
        self._events, self._number = [], 0

    def at(self, when, what, *arguments):
        self._number += 1
        heapq.heappush(self._events, (when, self._number, what, arguments))

    def send(self, what, *arguments):
        """Over the link, in one direction or the other."""
        if self.draw.random() >= self.losses:
            self.at(self.now + self.round_trip // 2 + self.draw.randrange(50 * MICROSECOND), what, *arguments)

    def plan(self, length):
        """READs and WRITEs; the host's answers to them begin 2 ms later. The last one's answer is a response."""
        place, when = 0, 2 * MILLISECOND
        while place < length:
            is_read = place + 8 >= length or self.draw.random() < 0.5
            span = self.draw.randrange(1, 9) if is_read else 1
            psn = psns.after(self.start, place)
            if is_read:
                self.at(MILLISECOND, self.near.read, MILLISECOND, psn, span)
            for index in range(span):
                when += 10 * MICROSECOND
                self.at(when, self.answer, RESPONSE if is_read else ACK, psns.after(psn, index))
            place += span
        for index in range(100):
            self.at(2 * MILLISECOND + index * 200 * MICROSECOND, self.clock)

    def answer(self, kind, psn):
        keep = self.far.respond if kind == RESPONSE else self.far.acknowledge
        packet = f"{kind} {psn}"
        keep(self.now, psn, packet)
        self.answers.append(packet)
        self.top = psns.after(psn, 1)
        self.send(self.arrive, packet)

    def arrive(self, packet):
        kind, psn = packet.split()
        self.passed += self.near.arrive(self.now, kind, int(psn), packet)

    def clock(self):
        self.send(self.report, self.now, self.top)

    def report(self, clock, top):
        self.echo = max(self.echo, clock)
        self.passed += self.near.clock(self.now, top)
        full = self.draw.random() < 0.3
        self.send(self.heard, self.echo, repeat.IS_NEXT | repeat.ALL_NAMED if full else repeat.IS_NEXT,
                  self.near.next % psns.COUNT, self.near.full_report() if full else self.near.missing())

    def heard(self, *state):
        for packet in self.far.state(self.now, *state):
            self.send(self.arrive, packet)

    def run(self):
        while self._events:
            self.now, _, what, arguments = heapq.heappop(self._events)
            what(*arguments)


def over_a_link():
    """any losses, repairs in time: all responses go on once and in order, no ACK before them, and no copy is left"""
    for seed in range(100):
        haul = Haul(seed, losses=seed % 4 * 0.05)
        haul.plan(300)
        haul.run()
        order = list(dict.fromkeys(haul.passed))
        expect(set(order) <= set(haul.answers), f"{seed}: made up")
        expect_equal([one for one in order if one.startswith(RESPONSE)],
                     [one for one in haul.answers if one.startswith(RESPONSE)], f"{seed}: responses")
        places = [psns.distance(haul.start, int(one.split()[1])) for one in order]
        for index, one in enumerate(order):
            later = [psn for psn, other in zip(places[index:], order[index:]) if other.startswith(RESPONSE)]
            expect(all(psn >= places[index] for psn in later), f"{seed}: {one} overtook a response")
        expect_equal((haul.near.waits(), haul.near.missing(), haul.far.kept()), ([], [], []), f"{seed}: at the end")


CASES = {"answers-scenarios": story, "answers-told-by-hand": told, "answers-over-a-link": over_a_link}
