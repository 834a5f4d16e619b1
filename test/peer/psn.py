# SPDX-License-Identifier: BSD-3-Clause
"""Packet sequence numbers: 24 bits, compared around the circle."""

COUNT = 1 << 24
HALF = COUNT // 2


def after(psn, count):
    return (psn + count) % COUNT


def distance(first, second):
    """How far `second` is behind `first`: negative if it is before."""
    return (second - first + HALF) % COUNT - HALF


def span(length, path_mtu):
    """How many PSNs a READ of that many bytes takes: one for each packet of its answer. Other requests take one."""
    return max(1, -(-length // path_mtu))
