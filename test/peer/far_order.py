# SPDX-License-Identifier: BSD-3-Clause
"""The far box of one flow (docs/peer-protocol.md, 9.4, and the reports of 9.2): what it holds, hands on and reports.

A model: it keeps all that it ever saw, and is no faster than a test needs. PSNs inside are not cut to 24 bits. Times
are nanoseconds. What comes back from a call is the list of packets that are handed on, in their order.
"""
from typing import NamedTuple

import psn as psns
import repeat
from timers import MILLISECOND

PASSING, ORDERING = "passing", "ordering"
FARTHEST = 1 << 20
MOST_GAPS = 1024
GIVE_UP = 20 * MILLISECOND
GIVE_UP_ROUND_TRIPS = 3
REPORTS_SOON = 3  # how often a gap, an answer, an end is said
FULL_PART = 4  # of a round trip


class Packet(NamedTuple):
    psn: int
    span: int = 1  # PSNs that it takes: a READ may take several
    bytes: str = ""  # packets with the same are the same


class Gap(NamedTuple):
    first: int
    end: int
    since: int
    reported: int


class FarOrder:
    def __init__(self, psn, round_trip, room=None, most_gaps=MOST_GAPS):
        """`psn`: the BIND's. `room`: how many packets may be held."""
        self.round_trip, self.room, self.most_gaps = round_trip, room, most_gaps
        self.repeats = 0
        self._begin(psn)

    def _begin(self, psn):
        self.state = ORDERING
        self.next = self._horizon = psn  # the horizon: before it, all is known to have been sent
        self._held = {}
        self._gaps = []
        self._skipped = []  # (first, end): given up, and not reached by `next` yet
        self._there = set()
        self._full_at = 0
        self._to_say = {repeat.BOUND: REPORTS_SOON, repeat.UNKNOWN: 0, repeat.MENDED: 0}

    # What can be seen

    def held(self):
        return [psn % psns.COUNT for psn in sorted(self._held)]

    def missing(self):
        return _joined([(gap.first, gap.end) for gap in self._gaps])

    # What comes

    def tick(self, now):
        """Time passes. Each call below begins with this one."""
        limit = min(max(GIVE_UP_ROUND_TRIPS * self.round_trip, GIVE_UP), GIVE_UP + 3 * self.round_trip // 2)
        return self._give_up([(gap.first, gap.end) for gap in self._gaps if now - gap.since >= limit])

    def arrive(self, now, packet, good=True):
        """`good`: its ICRC. The page does not say what becomes of another one: it passes."""
        handed = self.tick(now)
        if self.state == PASSING or not good:
            return handed + [packet]
        distance = psns.distance(self.next % psns.COUNT, packet.psn)
        first = self.next + distance
        if abs(distance) > FARTHEST or self._held.get(first, packet) != packet:
            self._end(keep=False)
            return handed + [packet]
        if distance < 0 or first in self._held:
            self.repeats += 1
        if distance <= 0:
            self._note(now, first, packet)
            self.next = max(self.next, first + packet.span)
            return handed + [packet] + self._advance()
        if first not in self._held and self._has_room(first, packet):
            self._note(now, first, packet)
            self._held[first] = packet
        elif first not in self._held and self._is_full():
            self._know(now, first)  # what is missing before it is reported all the same
        return handed

    def clock(self, now, entry):
        """A CLOCK's entry for this binding. One that cannot be is ignored."""
        handed = self.tick(now)
        if self.state == PASSING:
            return handed
        lowest, end, top = (self.next + psns.distance(self.next % psns.COUNT, psn)
                            for psn in (entry.lowest, entry.end, entry.top))
        if not self.next - FARTHEST <= lowest <= end <= top <= self.next + FARTHEST:
            return handed
        self._know(now, top)
        never = []
        for gap in self._gaps:
            never += [(gap.first, min(gap.end, lowest)), (max(gap.first, end), min(gap.end, top))]
        return handed + self._give_up([(first, last) for first, last in never if first < last])

    def bind(self, now, psn, newer):
        """A BIND: this binding's again, or a newer one's for the same flow. What a former life held is dropped."""
        handed = self.tick(now)
        if newer or self.state == PASSING:
            self._begin(psn)
        self._to_say[repeat.BOUND] = REPORTS_SOON
        return handed

    def unbind(self, now, keep):
        return self.tick(now) + self._end(keep)

    def rdma_cm(self, now):
        return self.tick(now) + self._end(keep=False)

    def peer_gone(self, now):
        """The page does not say what becomes of what is held: it goes on, as after giving up. Nobody hears a report."""
        handed = self.tick(now) + self._end(keep=True)
        self._to_say[repeat.UNKNOWN] = 0
        return handed

    def report(self, now):
        """(what is handed on, flags, next, missing ranges) for one STATE; flags are None if it has no entry."""
        handed = self.tick(now)
        flags = sum(flag for flag, times in self._to_say.items() if times)
        self._to_say = {flag: max(0, times - 1) for flag, times in self._to_say.items()}
        if self.state == PASSING:
            return handed, flags or None, 0, []
        full = bool(self._gaps) and now - self._full_at >= self.round_trip // FULL_PART
        if full:
            self._full_at = now
        named = [gap for gap in self._gaps if full or gap.reported < REPORTS_SOON]
        self._gaps = [gap._replace(reported=gap.reported + (gap in named)) for gap in self._gaps]
        ranges = _joined([(gap.first, gap.end) for gap in named])
        return handed, flags if flags or ranges else None, self.next % psns.COUNT, ranges

    # Inside

    def _note(self, now, first, packet):
        """A packet is there: it is not missing any more, and what is before it is known to have been sent."""
        self._there.update(range(first, first + packet.span))
        if first < self._horizon:
            self._remove(first, first + packet.span)
        self._know(now, first)
        self._horizon = max(self._horizon, first + packet.span)

    def _know(self, now, end):
        """All before `end` was sent: what is not there is missing."""
        if end > self._horizon:
            if not self._gaps:
                self._full_at = now
                self._to_say[repeat.MENDED] = 0
            self._gaps.append(Gap(self._horizon, end, now, 0))
            self._horizon = end

    def _remove(self, first, end):
        had = bool(self._gaps)
        self._gaps = [gap._replace(first=a, end=b) for gap in self._gaps
                      for a, b in ((gap.first, min(gap.end, first)), (max(gap.first, end), gap.end)) if a < b]
        if had and not self._gaps:
            self._to_say[repeat.MENDED] = REPORTS_SOON

    def _is_full(self):
        return self.room is not None and len(self._held) >= self.room

    def _has_room(self, first, packet):
        if self._is_full():
            return False
        if len(self._gaps) < self.most_gaps:  # it makes one more at most
            return True
        gaps = [(gap.first, gap.end) for gap in self._gaps] + [(self._horizon, max(self._horizon, first))]
        end = first + packet.span
        left = [(a, b) for gap in gaps for a, b in ((gap[0], min(gap[1], first)), (max(gap[0], end), gap[1])) if a < b]
        return len(_joined(left)) <= self.most_gaps

    def _give_up(self, ranges):
        for first, end in ranges:
            self._remove(first, end)
            self._skipped.append((first, end))
        return self._advance() if ranges else []

    def _advance(self):
        """What is held at `next`, and behind what was given up."""
        handed, moved = [], True
        while moved:
            before = self.next, len(handed)
            for psn in sorted(psn for psn in self._held if psn <= self.next):
                packet = self._held.pop(psn)
                handed.append(packet)
                self.next = max(self.next, psn + packet.span)
            self.next = max([self.next, *(end for first, end in self._skipped if first <= self.next)])
            moved = before != (self.next, len(handed))
        self._skipped = [(first, end) for first, end in self._skipped if end > self.next]
        self._horizon = max(self._horizon, self.next)
        return handed

    def _end(self, keep):
        if self.state == PASSING:
            return []
        handed = [self._held[psn] for psn in sorted(self._held)] if keep else []
        self._held, self._gaps, self._skipped = {}, [], []
        self.state = PASSING
        self._to_say = {repeat.BOUND: 0, repeat.UNKNOWN: REPORTS_SOON, repeat.MENDED: 0}
        return handed


def _joined(ranges):
    """[(first, count)] with 24 bits, of (first, end) in their order: neighbours are one."""
    found = []
    for first, end in sorted(ranges):
        if found and found[-1][1] == first:
            found[-1][1] = end
        else:
            found.append([first, end])
    return [(first % psns.COUNT, end - first) for first, end in found]
