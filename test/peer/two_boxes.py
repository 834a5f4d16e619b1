# SPDX-License-Identifier: BSD-3-Clause
"""Two boxes with a link between them, as most cases begin."""
import keys
from link import Link
from timers import SECOND
from verdict import expect

A, B = "192.0.2.1", "198.51.100.7"
A6, B6 = "2001:db8:1::1", "2001:db8:2::7"
KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))


class Two:
    """Boxes a and b, and what each knows of the other: at_a (b, as a sees it) and at_b."""

    def __init__(self, psks=(KEY,), psks_of_b=None, addresses=(A, B), start=True, of_a=None, of_b=None, **link):
        self.link = Link(**link)
        self.addresses = addresses
        self.psks = [list(psks), list(psks_of_b or psks)]
        self.options = [of_a or {}, of_b or {}]
        self.boxes, self.peers = [None, None], [None, None]
        if start:
            self.start(0)
            self.start(1)

    a = property(lambda self: self.boxes[0])
    b = property(lambda self: self.boxes[1])
    at_a = property(lambda self: self.peers[0])
    at_b = property(lambda self: self.peers[1])

    def start(self, which, **options):
        """Starts or restarts a box: another epoch, nothing remembered."""
        self.options[which] = self.options[which] | options
        box = self.link.box(self.addresses[which], **self.options[which])
        self.boxes[which] = box
        self.peers[which] = box.add(self.link.now, keys.address_bytes(self.addresses[1 - which]), self.psks[which])

    def stop(self, which):
        """As a crash: no BYE."""
        del self.link.boxes[self.boxes[which].address]

    def set_keys(self, which, psks):
        self.psks[which] = list(psks)
        self.peers[which].set_keys(self.link.now, psks)

    def states(self):
        return [peer.state(self.link.now) for peer in self.peers]

    def both_up(self):
        return self.states() == ["up", "up"]

    def come_up(self, seconds=5):
        expect(self.link.run(seconds * SECOND, self.both_up), f"not up after {seconds} s: {self.described()}")

    def stay_up(self, seconds, what):
        """No box may say anything but `up` in that time."""
        before = [len(self.link.states(box)) for box in self.boxes]
        self.link.run(seconds * SECOND)
        after = [self.link.states(box)[count:] for box, count in zip(self.boxes, before)]
        expect(self.both_up() and not any(after), f"{what}: {after}, {self.described()}")

    def described(self):
        return "; ".join(
            f"{name} is {peer.state(self.link.now)} with {len(peer.sessions)} sessions, dropped {dict(box.dropped)}"
            for name, box, peer in zip("ab", self.boxes, self.peers))

    def datagrams(self, kind=None):
        """(source, destination, datagram) of all that was ever sent, or all of one type."""
        return [one for one in self.link.ever if kind is None or one[2][1] == kind]

    def accepted(self):
        return [sum(box.received.values()) for box in self.boxes]
