# SPDX-License-Identifier: BSD-3-Clause
"""A box: its peers, what it counts, what it wants to send. Time is an argument everywhere, in nanoseconds, never 0."""
import collections
import random as random_numbers

import messages
from peer import REASON_ENDS, REASON_REMOVED, Peer
from timers import SECOND, Timers


class Box:
    def __init__(self, address, *, epoch=None, versions=(1, 1), workers=1, features=0, initiate=True, timers=Timers(),
                 random=None):
        """`address` is one of 16 bytes. `random` is a random.Random; by default the system's own."""
        self.random = random or random_numbers.SystemRandom()
        self.address, self.versions, self.workers, self.features = address, versions, workers, features
        self.epoch = epoch or self.random.randbytes(8)
        self.secret = self.random.randbytes(32)
        self.initiate, self.timers = initiate, timers
        self.peers = {}
        self.received, self.sent, self.dropped = (collections.Counter() for _ in range(3))
        self.outbox = []  # (address of the receiver, datagram)
        self.events = []  # (time, peer, name, details)
        self._window_began = self._verified = 0

    def add(self, now, address, psks):
        self.peers[address] = Peer(self, address, psks)
        self.tick(now)
        return self.peers[address]

    def remove(self, now, address):
        """As after a reload of a configuration without that peer."""
        peer = self.peers.pop(address)
        peer.say_bye(now, REASON_REMOVED, list(peer.sessions))

    def close(self, now):
        for peer in self.peers.values():
            peer.say_bye(now, REASON_ENDS, list(peer.sessions))

    def receive(self, now, source, datagram):
        """None, or the name of the check at which the datagram was dropped."""
        reason = self._receive(now, source, datagram)
        if reason:
            self.dropped[reason] += 1
        return reason

    def _receive(self, now, source, datagram):
        peer = self.peers.get(source)
        if peer is None:
            return "source"
        try:
            header, message, body = messages.decode(datagram)
        except messages.Malformed as malformed:
            return str(malformed)
        reason = peer.receive(now, header, message, body, datagram)
        if reason is None:
            self.received[messages.NAMES[header.type]] += 1
        return reason

    def tick(self, now):
        for peer in self.peers.values():
            peer.tick(now)

    def due(self, now):
        return min((due for peer in self.peers.values() if (due := peer.due(now)) is not None), default=None)

    def may_verify(self, now):
        """Whether one more tag of a handshake can be paid for in this second."""
        if now - self._window_began >= SECOND:
            self._window_began, self._verified = now, 0
        self._verified += 1
        return self._verified <= self.timers.tags_per_second

    # For Peer

    def send(self, peer, kind, datagram):
        self.sent[messages.NAMES[kind]] += 1
        self.outbox.append((peer.address, datagram))

    def record(self, now, peer, name, **details):
        self.events.append((now, peer, name, {**peer.status(now), **details}))
