# SPDX-License-Identifier: BSD-3-Clause
"""The far host's side of one bound flow (docs/peer-protocol.md, section 11): copies of requests, and which go again.

A model for requests that come in order from the long haul. PSNs inside are not cut to 24 bits. Times are nanoseconds.
What comes back from a call is the list of packets that go to the host, in their order; from an answer also whether it
passes. Only requests of which there is a copy count as under way.
"""
from dataclasses import dataclass

import psn as psns
from timers import MILLISECOND

ACK, PSN_NAK, RNR_NAK, OTHER_NAK, RESPONSE = KINDS = "ack", "psn_nak", "rnr_nak", "other_nak", "response"
MSNS = 1 << 24
MOST_COPIES = 4096
LEAST_TIME = 20 * MILLISECOND  # 9.2
KEEP_ROUND_TRIPS, WAIT_ROUND_TRIPS = 4, 3
NAKS = 3  # in a row that are mended here
LEAST_SILENCE, SILENCE_ROUND_TRIPS, SILENCES = MILLISECOND, 4, 3
LEAST_WINDOW, NO_WINDOW = 16, 4096


@dataclass(eq=False)
class Request:
    psn: int
    end: int
    packet: str
    asks: bool
    ends: bool
    came: int
    handed: int = 0  # when it was first handed on
    ended: int = 0  # how many messages ended in this binding, up to its end
    again: int | None = None  # when it last went again from its copy
    repeated: bool = False  # it may have been there twice

    @property
    def is_read(self):
        return self.end - self.psn > 1


class FarHost:
    def __init__(self, psn, round_trip, room=MOST_COPIES):
        """`psn`: the BIND's. `round_trip`: over the long haul. `room`: copies kept at most."""
        self.bound, self.next, self.room = True, psn, min(room, MOST_COPIES)
        self.round_trip_to_host, self.window = 0, None  # 0: not measured yet
        self._keep_time, self._wait_time = (_time(round_trip, count) for count in (KEEP_ROUND_TRIPS, WAIT_ROUND_TRIPS))
        self._copies, self._waiting = [], []
        self._gone = 0  # of the copies: all, or, while they go again, those that have gone
        self._ended = 0  # messages that ended in what the host has answered
        self._base = None  # the host's MSN before the binding, as its last ACK has it
        self._naks = 0  # in a row
        self._is_nak_open = self._is_stopped = False  # an RNR NAK stops
        self._quiet_since, self._silences = None, 0  # None: no answer is asked for
        self._grown = 0  # requests answered towards the window's next growth

    # What can be seen

    def kept(self):
        return [request.packet for request in self._copies]

    def waiting(self):
        return [request.packet for request in self._waiting]

    # What comes

    def tick(self, now):
        """Time passes. Each call below begins with this one."""
        handed = []
        while (due := self._due()) is not None and self._noticed(due, now) <= now:
            handed += self._happen(self._noticed(due, now))
        return handed

    def arrive(self, now, psn, span, packet, asks, ends):
        handed = self.tick(now)
        first = self._unwrap(psn)
        if not self.bound:
            return handed + [packet]
        request = Request(first, first + span, packet, bool(asks), bool(ends), now)
        if first < self.next:  # 9.4: the responder knows best
            for copy in self._copies:
                copy.repeated |= copy.psn == first
            return handed + [packet]
        same = [one for one in self._waiting if one.psn == first]
        if same and same[0].packet != packet:
            return handed + self._end(keep=False) + [packet]
        if not same:
            self._waiting.append(request)
        return handed + self._go(now)

    def answer(self, now, kind, psn, msn):
        """(what goes to the host, whether the answer passes)"""
        handed = self.tick(now)
        passes = True
        if self.bound:
            passes = {ACK: self._ack, RESPONSE: self._response, PSN_NAK: self._psn_nak, RNR_NAK: self._rnr_nak,
                      OTHER_NAK: self._other_nak}[kind](now, self._unwrap(psn), msn)
            self._quiet_since = now if any(copy.asks for copy in self._copies) else None
            handed += self._go(now)
        return handed, passes

    def unbind(self, now, keep):
        return self.tick(now) + self._end(keep)

    # Answers; `psn` is not cut

    def _ack(self, now, psn, msn):
        _, at = self._acknowledged(now, psn + 1, msn, True)
        if at:
            self._base = msn - self._ended
        return True

    def _response(self, now, psn, msn):
        self._cover(now, psn + 1, True)
        return True

    def _psn_nak(self, now, psn, msn):
        agreed, _ = self._acknowledged(now, psn, msn, False)
        if not agreed or self._is_stopped or not self._copies or self._copies[0].psn != psn:
            return True
        copy = self._copies[0]
        if self._gone == 0 or (copy.again is not None and now - copy.again < self.round_trip_to_host // 2):
            return False
        if self._naks == NAKS:
            return True
        self._naks += 1
        self._is_nak_open = True
        self._shrink()
        self._gone = 0
        return False

    def _rnr_nak(self, now, psn, msn):
        self._acknowledged(now, psn, msn, False)
        self._is_stopped = True
        self._gone = len(self._copies)
        return True

    def _other_nak(self, now, psn, msn):
        self._acknowledged(now, psn, msn, False)
        self._drop_copies()
        return True

    def _acknowledged(self, now, end, msn, measures):
        """(its MSN is the one that was counted, it is known what was counted)"""
        if end < self._first():
            return False, False
        if end <= self.next:
            self._cover(now, end, measures)
        else:
            self._drop_copies()
        if self._first() != end:
            return False, False
        if self._base is None:
            return False, True
        agreed = msn == (self._base + self._ended) % MSNS
        if not agreed:
            self._drop_copies()
        return agreed, True

    # What is counted

    def _unwrap(self, psn):
        return self.next + psns.distance(self.next % psns.COUNT, psn)

    def _first(self):
        """The first PSN of which there is a copy."""
        return self._copies[0].psn if self._copies else self.next

    def _measure(self, time):
        old = self.round_trip_to_host
        self.round_trip_to_host = old + (time - old) // 8 if old else time

    def _cover(self, now, end, measures):
        """The host has answered what is before `end`. A NAK measures nothing: it comes when a later request does."""
        if end > self.next:
            return self._drop_copies()
        done = [copy for copy in self._copies if copy.end <= end]
        if not done:
            return None
        last = done[-1]
        if measures and last.end == end and last.asks and not last.is_read and not last.repeated:
            self._measure(now - last.handed)
            self._silences = 0
        self._drop_first(len(done))
        self._naks, self._is_nak_open, self._is_stopped = 0, False, False
        self._grown += len(done) if self.window else 0
        while self.window and self._grown >= self.window:
            self._grown -= self.window
            self.window += self.window // 8 + 1
            if self.window >= NO_WINDOW:
                self.window = None
        return None

    def _drop_first(self, count):
        if count:
            self._ended = self._copies[count - 1].ended
            self._copies = self._copies[count:]
            self._gone = max(0, self._gone - count)

    def _shrink(self):
        under_way = self._gone if self.window is None else min(self._gone, self.window)
        self.window, self._grown = max(LEAST_WINDOW, under_way // 2), 0

    def _drop_copies(self):
        self._drop_first(len(self._copies))
        self._is_nak_open = False

    def _end(self, keep):
        handed = self.waiting() if keep else []
        self._copies, self._waiting = [], []
        self.bound = False
        return handed

    # Time

    def _noticed(self, due, now):
        """When the box sees what is due: here at once."""
        return due

    def _kept_for(self):
        """A copy has the way to the host before it."""
        return max(0, self._keep_time - self.round_trip_to_host)

    def _silence(self):
        if self._quiet_since is None or self._is_stopped or self._silences == SILENCES:
            return None
        time = max(LEAST_SILENCE, SILENCE_ROUND_TRIPS * self.round_trip_to_host)
        return self._quiet_since + (time << self._silences)

    def _due(self):
        if not self.bound:
            return None
        times = [self._silence(), *(copy.came + self._kept_for() for copy in self._copies[:1]),
                 *(request.came + self._wait_time for request in self._waiting[:1])]
        return min((time for time in times if time is not None), default=None)

    def _happen(self, now):
        while self._copies and now - self._copies[0].came >= self._kept_for():
            self._drop_first(1)
        if self._waiting and now - self._waiting[0].came >= self._wait_time:
            self.window = None
        silence = self._silence()
        again = self._be_silent(now) if silence is not None and silence <= now else []
        return again + self._go(now)

    def _be_silent(self, now):
        self._silences += 1
        self._quiet_since = now
        if self._silences == SILENCES:
            self.window = None
        if self._is_nak_open:
            self._gone = 0
            return []
        asking = [copy for copy in self._copies[:self._gone] if copy.asks and not copy.is_read]
        return self._send_again(now, asking[-1:])

    # What goes to the host

    def _send_again(self, now, requests):
        for request in requests:
            request.again, request.repeated = now, True
        return [request.packet for request in requests]

    def _is_window_full(self):
        gone = self._copies[:self._gone]
        return self.window is not None and len(gone) >= self.window and any(request.asks for request in gone)

    def _go(self, now):
        """What the window lets go: copies first, then what waits."""
        handed = []
        while not self._is_window_full() and (self._gone < len(self._copies) or self._waiting):
            if self._gone < len(self._copies):
                handed += self._send_again(now, [self._copies[self._gone]])
            else:
                handed.append(self._hand_on(now, self._waiting.pop(0)))
            self._gone += 1
        return handed

    def _hand_on(self, now, request):
        before = self._copies[-1].ended if self._copies else self._ended
        request.handed, request.ended = now, before + request.ends
        self.next = request.end
        if len(self._copies) == self.room:
            self._drop_first(1)
        self._copies.append(request)
        if request.asks and self._quiet_since is None:
            self._quiet_since = now
        return request.packet


def _time(round_trip, count):
    return min(max(count * round_trip, LEAST_TIME), LEAST_TIME + 3 * round_trip // 2)
