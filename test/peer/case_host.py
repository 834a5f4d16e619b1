# SPDX-License-Identifier: BSD-3-Clause
"""The far host's side (docs/peer-protocol.md, section 11): the model, its scenarios, and the model before a host."""
import json
import random

import far_host
import host_scenarios
import psn as psns
import repeat_vectors
from far_host import ACK, KINDS, MSNS, PSN_NAK, RESPONSE, FarHost
from timers import MILLISECOND
from verdict import expect, expect_equal

MICROSECOND = 1000


class Late(FarHost):
    """It sees silence and age almost a millisecond too late."""

    def _noticed(self, due, now):
        return due + MILLISECOND - 1


class AtStep(FarHost):
    """It sees them when something happens."""

    def _noticed(self, due, now):
        return max(due, now)


def judged():
    """the scenarios in repeat-scenarios.json, step by step, against the model; and they are as many as were promised"""
    listed = json.loads(repeat_vectors.SCENARIOS.read_text())["host"]
    expect_equal([one["name"] for one in listed], [one["name"] for one in host_scenarios.HOST], "names")
    expect(len(listed) >= 45 and len({one["name"] for one in listed}) == len(listed), "scenarios")
    for one in listed:
        box = FarHost(one["psn"], one["round_trip"], one.get("room", far_host.MOST_COPIES))
        for step in one["steps"]:
            more = {name: value for name, value in step.items() if name not in ("at", "do", "after")}
            found = getattr(box, step["do"])(step["at"], **more)
            handed, passed = found if step["do"] == "answer" else (found, None)
            after = {"handed": handed, **({} if passed is None else {"passed": int(passed)}), "kept": box.kept(),
                     "waiting": box.waiting()}
            expect_equal(after, step["after"], f"{one['name']}: {step}")


def promises():
    """the scenarios ask for no more than an implementation promises: when it looks for what is due"""
    for given in host_scenarios.HOST:
        steps = host_scenarios.run_host(given)["steps"]
        for kind in (Late, AtStep):
            for step, other in zip(steps, host_scenarios.run_host(given, kind)["steps"]):
                expect_equal(other, step, f"{given['name']}, {kind.__name__}")
        place = given["psn"]
        times = [at for at, _, _ in given["steps"]]
        expect_equal(times, sorted(times), f"{given['name']}: times")
        for _, what, more in given["steps"]:
            if what == "arrive":
                ahead = psns.distance(place, more["psn"])
                expect(ahead <= 0, f"{given['name']}: a gap before {more['psn']}")
                place = psns.after(more["psn"], more["span"]) if ahead == 0 else place
                expect(more["span"] == 1 or more["asks"] and more["ends"], f"{given['name']}: a READ")


class Watched:
    """A model, and what must be true of it whatever comes."""

    def __init__(self, what, psn, round_trip, room=far_host.MOST_COPIES):
        self.what, self.box, self.room = what, FarHost(psn, round_trip, room), room
        self.came, self.order, self.handed = [], [], set()  # names; `order`: those that went on, the first time of each

    def step(self, now, do, *arguments):
        if do == "arrive" and arguments[2] not in self.came:
            self.came.append(arguments[2])
        found = getattr(self.box, do)(now, *arguments)
        handed, passed = found if do == "answer" else (found, True)
        for packet in handed:
            expect(packet in self.came, f"{self.what}: {packet} has not come")
            if packet not in self.handed:
                self.order.append(packet)
                self.handed.add(packet)
        expect_equal(self.order, self.came[:len(self.order)], f"{self.what}: a gap, or another order")
        kept, waiting = self.box.kept(), self.box.waiting()
        at = self.order.index(kept[0]) if kept else 0
        expect_equal(kept, self.order[at:at + len(kept)], f"{self.what}: kept")
        expect(len(kept) <= self.room, f"{self.what}: room")
        expect(not self.box.bound or self.order + waiting == self.came, f"{self.what}: what waits")
        expect(not waiting or self.box.window is not None, f"{self.what}: waits without a window")
        expect(self.box.bound or not kept and not waiting, f"{self.what}: kept after the binding's end")
        if do == "answer" and not passed:
            expect(arguments[0] == PSN_NAK, f"{self.what}: {arguments} does not pass")
            expect(kept, f"{self.what}: a NAK does not pass, and nothing is kept")
        return handed, passed


def any_answers():
    """any requests, and any answers that a host or a liar may give: no gap, nothing made up, kept is one piece"""
    for seed in range(250):
        draw = random.Random(seed)
        start, round_trip = draw.randrange(psns.COUNT), draw.choice((1, 6, 10)) * MILLISECOND
        if seed % 3 == 0:
            start = psns.after(0, -draw.randrange(1, 60))
        watched = Watched(f"seed {seed}", start, round_trip, draw.choice((1, 3, 30, far_host.MOST_COPIES)))
        now, place, msns = 0, start, {}
        msn = msns[psns.after(start, -1)] = draw.choice((0, MSNS - 20, draw.randrange(MSNS)))
        for _ in range(400):
            now += draw.choice((0, 1, 10, 10, 300, 2_000, 9_000) if seed % 2 else (0, 1, 10)) * MICROSECOND
            what = draw.random()
            if what < 0.5:
                span = draw.choice((1, 1, 1, 4))
                ends = int(span > 1 or draw.random() < 0.7)
                msn = (msn + ends) % MSNS
                watched.step(now, "arrive", place, span, f"{place} {now}", int(span > 1 or draw.random() < 0.4), ends)
                place = psns.after(place, span)
                msns[psns.after(place, -1)] = msn
            elif what < 0.9:
                last = draw.choice([*msns][-20:])
                kind = draw.choice((ACK, ACK, ACK, PSN_NAK, PSN_NAK, PSN_NAK, RESPONSE, *KINDS))
                told = (msns[last] + (draw.random() < 0.03)) % MSNS
                psn = psns.after(last, int(kind.endswith("nak")) + (draw.random() < 0.03))
                watched.step(now, "answer", kind, psn, told)
            else:
                watched.step(now, "tick")
        if seed % 4 == 0:
            watched.step(now, "unbind", draw.randrange(2))
            expect_equal((watched.box.kept(), watched.box.waiting()), ([], []), "after the binding's end")


class Host:
    """It takes requests in order and loses some, not the first. It asks once for each gap."""

    def __init__(self, seed, start, losses):
        self.draw, self.losses = random.Random(seed), losses
        self.next, self.msn, self.took, self._has_asked = start, 7, [], False

    def take(self, psn, span, packet, asks, ends):
        """Its answers (kind, PSN, MSN), perhaps none."""
        if self.took and self.draw.random() < self.losses:
            return []
        ahead = psns.distance(self.next, psn)
        if ahead > 0:
            asked, self._has_asked = self._has_asked, True
            return [] if asked else [(PSN_NAK, self.next, self.msn)]
        if ahead < 0:
            return [(ACK, psns.after(self.next, -1), self.msn)] if asks else []
        self._has_asked = False
        self.took.append(packet)
        self.next, self.msn = psns.after(psn, span), (self.msn + ends) % MSNS
        if span > 1:
            return [(RESPONSE, psns.after(psn, index), self.msn) for index in range(span)]
        return [(ACK, psn, self.msn)] if asks else []


def before_a_host():
    """a host that loses requests gets all of them, once and in order, without the near box but for NAKs that passed"""
    helps, mended = [], 0
    for seed in range(80):
        draw = random.Random(seed)
        start = psns.after(0, draw.randrange(-200, 50))
        host = Host(seed, start, losses=(0, 0.02, 0.1, 0.3)[seed % 4])
        watched = Watched(f"seed {seed}", start, 10 * MILLISECOND)
        place, requests, answers, events = start, {}, [], []  # answers: (when, answer), in their order
        for index in range(300):
            span = 4 if index and draw.random() < 0.05 else 1
            packet = f"{index}"
            requests[packet] = (place, span, packet, int(span > 1 or index % 8 == 0 or index > 290), 1)
            events.append(((index and index + 50) * MICROSECOND, packet))
            place = psns.after(place, span)
        now, idle, helped = 0, 0, 0
        while len(host.took) < 300 and idle < 3000:
            if events and (not answers or events[0][0] <= answers[0][0]):
                when, packet = events.pop(0)
                now = max(now, when)
                handed, _ = watched.step(now, "arrive", *requests[packet])
            elif answers:
                now, (kind, psn, msn) = answers.pop(0)
                handed, passed = watched.step(now, "answer", kind, psn, msn)
                idle = 0
                if kind == PSN_NAK and passed:  # the near box sends all again, from there on
                    helped += 1
                    events = [(now + 10 * MILLISECOND, one) for one in watched.came[len(host.took):]] + [
                        (max(when, now + 10 * MILLISECOND), one) for when, one in events if one not in watched.came]
                mended += kind == PSN_NAK and not passed
            else:
                now, idle = now + MILLISECOND, idle + 1
                handed, _ = watched.step(now, "tick")
                if idle % 100 == 0:  # the near box's own timer
                    helped += 1
                    events = [(now, one) for one in watched.came[len(host.took):]]
            for one in handed:
                answers += [(now + 10 * MICROSECOND, answer) for answer in host.take(*requests[one])]
        expect_equal(host.took, [*requests], f"seed {seed}: taken")
        expect(host.losses or not helped, f"seed {seed}: nothing was lost, and the near box helped")
        helps.append(helped if host.losses < 0.2 else 0)
    expect(mended > 10 * sum(helps), f"{mended} NAKs mended, {sum(helps)} times the near box")


def to_no_limit():
    """a window grows by an eighth and one until it is 4,096, and is none then"""
    box, place = FarHost(0, 10 * MILLISECOND), 1
    box.arrive(0, 0, 1, "0", 1, 1)
    box.answer(10 * MICROSECOND, ACK, 0, 1)
    for psn in (1, 2):
        box.arrive(20 * MICROSECOND, psn, 1, f"{psn}", 1, 1)
    expect_equal(box.answer(40 * MICROSECOND, PSN_NAK, 1, 1), (["1", "2"], False), "a NAK")
    sizes, wanted = [box.window], [16]
    for place in range(1, 40_000):
        if place > 2:
            box.arrive(50 * MICROSECOND, place, 1, f"{place}", 1, 1)
        box.answer(50 * MICROSECOND, ACK, place, place + 1)
        if box.window != sizes[-1]:
            sizes.append(box.window)
    while wanted[-1] < 4096:
        wanted.append(wanted[-1] + wanted[-1] // 8 + 1)
    expect_equal(sizes, [*wanted[:-1], None], "windows")


def told():
    """some scenarios, told by hand from the page: what goes to the host at each step but the first two; kept at last"""
    hand = {
        "a NAK of the first one that is not answered: all go again, before what is newer":
            ("101 | 102 | 103 | 101 102 103 | 104 |", ""),
        "a NAK in the middle: what is before it is covered": ("101 | 102 | 103 | 104 | 103 104 |", ""),
        "a NAK whose MSN is one less passes, and the copies are dropped": ("101 | 102 | 103 |", ""),
        "four NAKs in a row: the fourth one passes, and those behind it":
            ("101 | 102 | 101 102 | 101 102 | 101 102 | |", "101 102"),
        "four NAKs, each further on: none passes":
            ("101 | 102 | 103 | 104 | 101 102 103 104 | 102 103 104 | 103 104 | 104 |", ""),
        "a NAK repeated at once is dropped, and one after a round trip is not":
            ("101 | 102 | 101 102 | | | | 101 102 |", "101 102"),
        "a NAK behind a READ: the READ is covered": ("101 | read 102 | 106 | 107 | 106 107 | |", ""),
        "a NAK of a READ: it goes again with what is behind it":
            ("101 | read 102 | 106 | read 102 106 | |", ""),
        "silence: the newest one with AckReq, three times":
            ("101 | 102 | 103 | | 102 | | 102 | | 102 | |", "101 102 103"),
        "a READ alone does not go again": ("read 101 | |", "read 101"),
        "silence after a NAK: all copies, READs, too":
            ("101 | 102 | read 103 | 105 | 101 102 read 103 105 | 101 102 read 103 105 | 101 102 read 103 105 | "
             "101 102 read 103 105 |", "101 102 read 103 105"),
        "silence after a NAK and progress: one": ("101 | 102 | 103 | 101 102 103 | | 103", "102 103"),
        "silence of a slower host: four of its round trips": ("101 | 102 | | 102", "101 102"),
        "dropped after 4 round trips": ("| | |", ""),
    }
    found = {given["name"]: host_scenarios.run_host(given)["steps"] for given in host_scenarios.HOST}
    for name, (handed, kept) in hand.items():
        wanted = [step.strip() for step in handed.split("|")]
        expect_equal([" ".join(step["after"]["handed"]) for step in found[name][2:]], wanted, name)
        expect_equal(" ".join(found[name][-1]["after"]["kept"]), kept, f"{name}: kept")


CASES = {"host-scenarios": judged, "host-promises": promises, "host-told-by-hand": told,
         "host-any-answers": any_answers, "host-before-a-host": before_a_host, "host-to-no-limit": to_no_limit}
