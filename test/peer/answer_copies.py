# SPDX-License-Identifier: BSD-3-Clause
"""The far box of one bound flow (docs/peer-protocol.md, 10.2): copies of its host's answers, and which go again.

A model with room for all, a window of 100 us and one copy for each repair. Times are nanoseconds of the far box's
clock.
"""
from typing import NamedTuple

import psn as psns
import repeat
from near_loss import LEAST_WINDOW
from timers import MILLISECOND

KEEP = 20 * MILLISECOND
KEEP_ROUND_TRIPS = 4


class Copy(NamedTuple):
    psn: int
    packet: str
    came: int
    sent: int


class AnswerCopies:
    def __init__(self, round_trip):
        self.round_trip, self.bound = round_trip, True
        self._responses = {}  # by PSN
        self._ack = None
        self._place = 0  # PSN of the last response: others are before or behind it

    # What can be seen

    def kept(self):
        """Packets of responses in the order of their PSNs."""
        return [copy.packet for copy in sorted(self._responses.values(), key=self._order)]

    def ack(self):
        return self._ack.packet if self._ack else None

    # What comes

    def tick(self, now):
        """Time passes. Each call below begins with this one."""
        limit = min(max(KEEP_ROUND_TRIPS * self.round_trip, KEEP), KEEP + 3 * self.round_trip // 2)
        self._drop(lambda copy: now - copy.came >= limit)

    def respond(self, now, psn, packet):
        """The host answers with a response. The far box sends it at once."""
        self.tick(now)
        if self.bound:
            self._responses[psn] = Copy(psn, packet, now, now)
            self._place = psn

    def acknowledge(self, now, psn, packet):
        """The host answers with an ACK. Of two with one PSN the later is the newest."""
        self.tick(now)
        if self.bound and (self._ack is None or psns.distance(self._ack.psn, psn) >= 0):
            self._ack = Copy(psn, packet, now, now)

    def state(self, now, echo, flags, psn, missing):
        """An ANSWER_STATE's entry; `missing` are pairs of first and count. What goes again, in its order."""
        self.tick(now)
        if echo > now:  # the near box cannot have heard that clock
            return []
        if flags & repeat.IS_NEXT:
            self._drop(lambda copy: psns.distance(copy.psn, psn) > 0)
        if flags & repeat.ALL_NAMED:
            named = sum(there + count for there, count in repeat.ranges_of(psn, missing))
            self._drop(lambda copy: (copy.psn - psn) % psns.COUNT < named and not _is_in(copy, missing))
        again = []
        for first, count in missing:
            copies = [*self._responses.values(), *([self._ack] if self._ack else [])]
            lost = [copy for copy in copies if _is_in(copy, [(first, count)]) and self._is_lost(now, echo, copy)]
            again += [self._send(now, copy) for copy in sorted(lost, key=lambda copy: (copy.psn - first) % psns.COUNT)]
        return again

    def end(self, now):
        """The binding ends."""
        self.tick(now)
        self._drop(lambda copy: True)
        self.bound = False

    # Inside

    def _order(self, copy):
        return psns.distance(self._place, copy.psn)

    def _drop(self, done):
        self._responses = {psn: copy for psn, copy in self._responses.items() if not done(copy)}
        if self._ack and done(self._ack):
            self._ack = None

    def _is_lost(self, now, echo, copy):
        return copy.sent + LEAST_WINDOW <= echo and now - copy.sent >= self.round_trip

    def _send(self, now, copy):
        if copy is self._ack:
            self._ack = copy._replace(sent=now)
        else:
            self._responses[copy.psn] = copy._replace(sent=now)
        return copy.packet


def _is_in(copy, ranges):
    return any((copy.psn - first) % psns.COUNT < count for first, count in ranges)
