# SPDX-License-Identifier: BSD-3-Clause
"""Times and limits of docs/peer-protocol.md, section 6. Times in nanoseconds."""
from dataclasses import dataclass

MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Timers:
    init_first: int = 100 * MILLISECOND
    init_last: int = 1600 * MILLISECOND
    init_spread: float = 0.2
    confirm: int = 100 * MILLISECOND
    confirms: int = 10
    life: int = 3600 * SECOND
    life_spread: float = 0.1
    life_most: int = 7200 * SECOND
    older: int = 3 * SECOND
    keepalive: int = 100 * MILLISECOND
    gone: int = 350 * MILLISECOND
    gone_round_trips: int = 3
    gone_most: int = 3 * SECOND
    round_trip_most: int = SECOND
    clocks_differ: int = 100_000
    clocks_differ_part: int = 64
    sequences: int = 2**31
    sequences_most: int = 2**32 - 1
    tags_per_second: int = 500
    sessions_most: int = 4
