# SPDX-License-Identifier: BSD-3-Clause
"""The near box of one bound flow (docs/peer-protocol.md, 10.3): which answers wait, and which are missing.

A model with room for all. When a report is a full one, and how often another names a gap, is as in far_order.py, and
not here. PSNs inside are not cut to 24 bits. Times are nanoseconds. What comes back from a call is the list of packets
that go on to the requester.
"""
from typing import NamedTuple

import psn as psns
from timers import MILLISECOND

WAIT = 20 * MILLISECOND
WAIT_ROUND_TRIPS = 3
FARTHEST = 1 << 20
RESPONSE, ACK, NAK = "response", "ack", "nak"


class Answer(NamedTuple):
    kind: str
    psn: int
    packet: str
    came: int


class AnswerOrder:
    def __init__(self, psn, round_trip):
        """`psn`: the first that the responder has not answered."""
        self.round_trip, self.repeats, self.doubted = round_trip, 0, False
        self._answered = self._top = psn
        self._reads = []  # [PSN of the next response, end] of each READ or atomic in custody
        self._waiting = []  # in the order in which they came

    # What can be seen

    @property
    def next(self):
        return self._reads[0][0] if self._reads else self._answered

    def waits(self):
        """Packets in the order of their PSNs."""
        return [answer.packet for answer in sorted(self._waiting, key=lambda answer: answer.psn)]

    def missing(self):
        """[(first, count)] with 24 bits."""
        if self.doubted:
            return []
        place, found = self.next, []
        for answer in sorted(answer for answer in self._waiting if answer.kind == RESPONSE):
            found.append((place, answer.psn))
            place = answer.psn + 1
        found.append((place, self._top))
        return [(first % psns.COUNT, end - first) for first, end in found if first < end]

    def full_report(self):
        """Ranges of an entry with flag 8, from `next` on: the last one ends where all that waits does, or behind it."""
        ranges = self.missing()
        end = max((answer.psn + 1 for answer in self._waiting if answer.kind == RESPONSE), default=self.next)
        last = sum(ranges[-1]) if ranges else self.next
        return ranges + [(end % psns.COUNT, 0)] if psns.distance(last % psns.COUNT, end % psns.COUNT) > 0 else ranges

    # What comes

    def tick(self, now):
        """Time passes. Each call below begins with this one."""
        limit = min(max(WAIT_ROUND_TRIPS * self.round_trip, WAIT), WAIT + 3 * self.round_trip // 2)
        return self._go([answer for answer in self._waiting if now - answer.came >= limit])

    def read(self, now, psn, span):
        """A READ or an atomic enters custody, behind all before it."""
        passed = self.tick(now)
        first = self._unwrap(psn)
        self._reads.append([first, first + span])
        return passed

    def arrive(self, now, kind, psn, packet):
        """An answer of the responder."""
        passed = self.tick(now)
        answer = Answer(kind, self._unwrap(psn), packet, now)
        waiting = [(one.kind, one.psn) for one in self._waiting]
        is_repeat = kind == RESPONSE and (answer.psn < self.next or (kind, answer.psn) in waiting)
        self.repeats += is_repeat
        if not self._must_wait(answer):
            return passed + self._go([answer]) + self._advance()
        if is_repeat:  # with other bytes it takes the other's place, and may wait no longer
            index = waiting.index((kind, answer.psn))
            self._waiting[index] = self._waiting[index]._replace(packet=packet)
        else:
            self._waiting.append(answer)
        return passed

    def clock(self, now, top):
        """An ANSWER_CLOCK's entry. One that is too far away is ignored."""
        passed = self.tick(now)
        end = self._unwrap(top)
        if abs(end - self.next) <= FARTHEST:
            self._top = max(self._top, end)
        return passed

    def doubt(self, now):
        """Perhaps another life of the queue pairs has begun (design 4.5): what waits goes on."""
        passed = self.tick(now)
        self.doubted = True
        return passed + self._go(self._waiting)

    # Inside

    def _unwrap(self, psn):
        return self.next + psns.distance(self.next % psns.COUNT, psn)

    def _must_wait(self, answer):
        return bool(self._reads) and not self.doubted and answer.psn > self.next

    def _go(self, answers):
        """They go on to the requester, whatever is before them."""
        self._waiting = [answer for answer in self._waiting if answer not in answers]
        for answer in answers:
            self._answered = max(self._answered, answer.psn + (answer.kind != NAK))
            if answer.kind == RESPONSE and self._reads and answer.psn == self._reads[0][0]:
                self._reads[0][0] += 1
                if self._reads[0][0] == self._reads[0][1]:
                    self._reads.pop(0)
        return [answer.packet for answer in answers]

    def _advance(self):
        """What waited and has nothing missing before it."""
        passed = []
        while self._waiting:
            first = min(self._waiting, key=lambda answer: answer.psn)
            if self._must_wait(first):
                break
            passed += self._go([first])
        return passed
