# SPDX-License-Identifier: BSD-3-Clause
"""How fast perftest sends, and how many messages a measurement needs to last a moment and not a minute."""
import math

from .process import LabError

TOOLS = {"write": "ib_write_bw", "send": "ib_send_bw"}
PATH_MTU = 4096
CLOCK_ATTEMPTS = 4
# What two user-mode hosts manage on two cores, roughly: only the length of a measurement depends on it.
MESSAGE_SECONDS, PACKET_SECONDS = 60e-6, 30e-6
# What acceleration must make of what the hosts can do at all, where that is less than what it is asked to gain. Where
# the hosts are fast enough for the long link to be what limits them, the gain alone counts.
SHARE_OF_CEILING = 0.7


def expected_rate(size, depth, conditions):
    """Messages per second, near enough to choose a count."""
    packets = math.ceil(size / PATH_MTU)
    hosts = 1 / (MESSAGE_SECONDS + PACKET_SECONDS * packets)
    if conditions.policy == "off":
        rate = depth / (conditions.rtt + depth / hosts)
    else:
        rate = hosts
        if conditions.loss_fraction:
            # Go-back-N on the link: about one loss is repaired per round trip.
            rate = min(rate, 1 / (conditions.loss_fraction * packets * max(conditions.rtt, 1e-4)))
    return rate


def message_count(size, depth, conditions, seconds):
    """The -n of a measurement that lasts about `seconds`."""
    return max(50, 4 * depth, int(seconds * expected_rate(size, depth, conditions)))


def fast_enough(standard, fast, least, ceiling):
    """Whether acceleration gains a factor of `least`, or else the hosts cannot send so fast; all in messages per second."""
    return fast >= min(least * standard, SHARE_OF_CEILING * ceiling)


def measure(session, operation, size, depth, seconds=2.0):
    """Messages per second of one operation ("write", "send") at one size, from perftest's own output."""
    count = message_count(size, depth, session.conditions, seconds)
    for _ in range(CLOCK_ATTEMPTS):
        figures = session.perftest(TOOLS[operation], size, count, depth=depth)
        if figures:
            return figures.messages_per_second
    raise LabError(f"{TOOLS[operation]} did not know the processor's clock, {CLOCK_ATTEMPTS} times: no figures")
