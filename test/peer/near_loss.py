# SPDX-License-Identifier: BSD-3-Clause
"""The near box of one flow (docs/peer-protocol.md, 9.3): which packets are lost, and how often a repair is sent.

A model. Times are nanoseconds of the near box's clock.
"""
from fractions import Fraction

import psn as psns

LEAST_WINDOW = 100_000
LEAST_REPAIRS = 4
QUIET_ROUND_TRIPS = 16
MOST_COPIES = 3
RESIDUE = Fraction(1, 100)


class NearLoss:
    def __init__(self, lowest, least_round_trip, window=LEAST_WINDOW):
        """`lowest`: the first packet in custody. `least_round_trip`: the flow's."""
        self.lowest = self.end = self.top = lowest
        self.least_round_trip, self.window = least_round_trip, window
        self._sent = {}  # PSN of a packet in custody: when it was last sent

    def sent(self, now, psn, span=1, custody=True):
        """A packet is sent, for the first time or again. `custody`: whether it is kept."""
        if custody or psn in self._sent:
            self._sent[psn] = now
        behind = psns.after(psn, span)
        if psns.distance(self.top, behind) > 0:
            self.top = behind
            self.end = behind if custody else self.end

    def released(self, lowest):
        """The responder has answered what is before `lowest`."""
        self._sent = {psn: sent for psn, sent in self._sent.items() if psns.distance(lowest, psn) >= 0}
        self.lowest = lowest

    def report(self, now, echo, missing):
        """(PSNs of the packets that are lost, whether the next CLOCK has an entry): a report comes; `missing` are pairs
        of first and count. The packet that a range names is the one whose first PSN is in it."""
        lost, tell = [], False
        for first, count in missing:
            for psn in (psns.after(first, index) for index in range(count)):
                if not 0 <= psns.distance(self.lowest, psn) < psns.distance(self.lowest, self.end):
                    tell = True
                elif psn in self._sent and self._is_lost(now, echo, self._sent[psn]):
                    lost.append(psn)
        return lost, tell

    def _is_lost(self, now, echo, sent):
        return echo != 0 and sent + self.window <= echo and now - sent >= self.least_round_trip


class Window:
    """How long a packet on its way may be overtaken by a CLOCK, from what became of the repairs."""

    def __init__(self, round_trip):
        self.round_trip, self.window, self.quiet = round_trip, LEAST_WINDOW, 0

    def round(self, repairs, needless):
        """A round trip is over, in which so many repairs were sent."""
        self.quiet = 0 if needless else self.quiet + 1
        if repairs >= LEAST_REPAIRS and 2 * needless > repairs:
            self.window = min(2 * self.window, max(LEAST_WINDOW, self.round_trip // 2))
        elif self.quiet == QUIET_ROUND_TRIPS:
            self.window, self.quiet = max(LEAST_WINDOW, self.window // 2), 0
        return self.window


def copies(packets, part):
    """How often each repair is sent: `packets` in a round trip, the part of them that was lost lately as a Fraction."""
    enough = (r for r in range(1, MOST_COPIES) if packets * Fraction(part) ** (r + 1) <= RESIDUE)
    return next(enough, MOST_COPIES)
