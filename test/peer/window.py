# SPDX-License-Identifier: BSD-3-Clause
"""Which sequence numbers of one sender were there already (RFC 4303, 3.4.3)."""

SIZE = 1024


class Window:
    def __init__(self):
        self.highest = 0
        self._seen = 0  # bit n: highest - n was there

    def is_new(self, sequence):
        if sequence == 0:
            return False
        age = self.highest - sequence
        return age < 0 or (age < SIZE and not self._seen >> age & 1)

    def add(self, sequence):
        """Only for a datagram whose tag is right."""
        if sequence > self.highest:
            self._seen = self._seen << (sequence - self.highest) & ((1 << SIZE) - 1) if sequence - self.highest < SIZE else 0
            self.highest = sequence
        self._seen |= 1 << (self.highest - sequence)
