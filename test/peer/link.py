# SPDX-License-Identifier: BSD-3-Clause
"""Boxes and a long haul between them, in memory: losses, doubles and reorderings, each from a seed; time passes at once."""
import heapq
import itertools
import random

import keys
from box import Box
from timers import MILLISECOND, SECOND

START = 10 * SECOND  # no clock is 0


class Link:
    def __init__(self, seed=1, delay=10 * MILLISECOND, jitter=0, loss=0.0, twice=0.0):
        """`jitter` reorders: a datagram is late by that much at most."""
        self.random = random.Random(seed)
        self.delay, self.jitter, self.loss, self.twice = delay, jitter, loss, twice
        self.now = START
        self.boxes = {}
        self.ever = []  # (source, destination, datagram): all that was ever sent
        self.blocks = lambda source, destination, datagram: False
        self._flying, self._number = [], itertools.count()

    def box(self, address, **options):
        """A box at this address, in place of one that was there: a restart."""
        address = keys.address_bytes(address)
        self.boxes[address] = Box(address, random=random.Random(self.random.random()), **options)
        return self.boxes[address]

    def inject(self, source, destination, datagram, delay=0):
        heapq.heappush(self._flying, (self.now + delay, next(self._number), source, destination, datagram))

    def run(self, duration, until=lambda: False):
        """Lets this much time pass, or less: `until` is asked after each step. Whether it came true."""
        end = self.now + int(duration)
        since, steps = self.now, 0
        while True:
            self._collect()
            since, steps = (since, steps + 1) if since == self.now else (self.now, 0)
            if steps > 100_000:
                raise RuntimeError("time does not pass: a box wants to be called again at once, for ever")
            if until():
                return True
            due = min((due for box in self.boxes.values() if (due := box.due(self.now)) is not None), default=end)
            arrival = self._flying[0][0] if self._flying else end
            if min(due, arrival) >= end:
                self.now = end
                return until()
            self.now = max(self.now, min(due, arrival))
            if arrival <= due:
                _, _, source, destination, datagram = heapq.heappop(self._flying)
                if destination in self.boxes:
                    self.boxes[destination].receive(self.now, source, datagram)
            else:
                for box in self.boxes.values():
                    box.tick(self.now)

    def states(self, box):
        """[(time since the start, state)] of a box with one peer."""
        return [((now - START) / SECOND, details["state"]) for now, _, name, details in box.events if name == "state"]

    def _collect(self):
        for source, box in self.boxes.items():
            for destination, datagram in box.outbox:
                self.ever.append((source, destination, datagram))
                if self.blocks(source, destination, datagram):
                    continue
                for _ in range(2 if self.random.random() < self.twice else 1):
                    if self.random.random() >= self.loss:
                        self.inject(source, destination, datagram, self.delay + int(self.random.random() * self.jitter))
            box.outbox.clear()
