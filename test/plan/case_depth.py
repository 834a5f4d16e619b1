# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul plan depth` against the published figures, and against whole-number arithmetic done here."""
from fractions import Fraction

import published as pub
from plan_program import close, expect

NS_PER_KM = 10_000  # round trip
LINK = ("--rate", "100Gbps")


def floor_depth(rate, round_trip_ns, line_bytes):
    return rate * round_trip_ns // (8 * 10**9 * line_bytes)


def line_bytes(operation, message, mtu=4096, ipv6=False, tags=0):
    """Counted packet by packet."""
    total, left, number = 0, message, 0
    while left > 0:
        payload = min(left, mtu)
        left -= payload
        first, last = number == 0, left == 0
        extended = 16 if operation == "write" and first else 4 if operation == "read" and (first or last) else 0
        total += 8 + 14 + 4 * tags + (40 if ipv6 else 20) + 8 + 12 + extended + payload + -payload % 4 + 4 + 4 + 12
        number += 1
    return total, number


def formula_exact(plan):
    """the published depths of N2, all of them, exactly"""
    for km, depth in pub.DEPTH_BY_KM.items():
        answer = plan.json("depth", *LINK, "--distance", f"{km}km", "--message", "4KiB")
        expect(answer["kind"] == "calculated", "does not say that it is calculated")
        row = answer["frames"][0]
        expect(answer["frame_bytes"] == row["frame_bytes"] == pub.FRAME_BYTES, f"a frame of {row['frame_bytes']} B")
        expect(row["depth"] == depth, f"{km} km: {row['depth']} instead of {depth}")
        expect(row["kind"] == "calculated", "a row does not say what it is")
    for km, megabytes in pub.BANDWIDTH_DELAY_MB.items():
        got = plan.json("depth", *LINK, "--distance", f"{km}km")["bandwidth_delay_bytes"]
        expect(got == megabytes * 1e6, f"{km} km: {got} B under way instead of {megabytes} MB")


def backwards(plan):
    """the distance that a depth fills, as published and as the formula turned round"""
    row = plan.json("depth", *LINK, "--distance", "100km", "--depth", *pub.KM_BY_DEPTH)["frames"][0]
    for depth, km in pub.KM_BY_DEPTH.items():
        got = row[f"kilometres_filled_by_{depth}"]
        expect(round(got, 2 if km < 10 else 1) == km, f"depth {depth}: {got} km instead of {km}")
        exact = Fraction(depth * 8 * pub.FRAME_BYTES, 100) / NS_PER_KM
        expect(abs(got - float(exact)) < 1e-3, f"depth {depth}: {got} km instead of {float(exact)}")


def given_frames(plan):
    """the depths published for small messages, which count 78 B around the payload"""
    rows = plan.json("depth", *LINK, "--distance", "100km", "--frame", *[f"{b}B" for b in pub.DEPTH_BY_FRAME])["frames"]
    got = {row["frame_bytes"]: row["depth"] for row in rows}
    expect(got == pub.DEPTH_BY_FRAME, f"{got} instead of {pub.DEPTH_BY_FRAME}")


def headers(plan):
    """bytes on the line and depths of every operation, size, path MTU, IP version and tag, counted packet by packet"""
    sizes = (1, 2, 3, 4, 255, 512, 1024, 4095, 4096, 4097, 8192, 65536, 8 << 20)
    for operation in ("write", "send", "read"):
        for mtu in (256, 1024, 4096):
            for ipv6 in (False, True):
                for tags in (0, 1, 2):
                    answer = plan.json("depth", "--rate", "400Gbps", "--rtt", "3.81ms", "--operation", operation, "--mtu", mtu,
                                       *(["--ipv6"] if ipv6 else []), "--vlan", tags, "--message", *[f"{s}B" for s in sizes])
                    expect([row["message_bytes"] for row in answer["messages"]] == list(sizes), "other message sizes")
                    for row in answer["messages"]:
                        wanted, packets = line_bytes(operation, row["message_bytes"], mtu, ipv6, tags)
                        where = f"{operation} of {row['message_bytes']} B, path MTU {mtu}, IPv6 {ipv6}, {tags} tags"
                        expect(row["line_bytes"] == wanted, f"{where}: {row['line_bytes']} B instead of {wanted}")
                        expect(row["packets"] == packets, f"{where}: {row['packets']} packets instead of {packets}")
                        depth = max(1, floor_depth(400 * 10**9, 3_810_000, wanted))
                        expect(row["depth"] == depth, f"{where}: depth {row['depth']} instead of {depth}")
                        close(where, row["share_filled"], min(1, depth * wanted / (400e9 * 3.81e-3 / 8)), 1e-6)


def refused(plan):
    """what cannot be is refused, and said why"""
    for arguments, words in (
            (("--distance", "100km", "--frame", "4178B", "--mtu", 1024), ("--frame",)),
            (("--distance", "100km", "--frame", "63B"), ("--frame", "64B")),
            (("--distance", "100"), ("--distance", "unit is missing")),
            (("--distance", "0km"), ("--distance", "more than 0")),
            (("--distance", "100km", "--rtt", "1ms"), ("--rtt",)),
            ((), ("--distance",)),
            (("--rtt", "2h"), ("--rtt", "60 s")),
            (("--rate", "0", "--rtt", "1ms"), ("--rate", "more than 0")),
            (("--rate", "fast", "--rtt", "1ms"), ("--rate", "100Gbps")),
            (("--rtt", "1ms", "--mtu", 1500), ("--mtu",)),
            (("--rtt", "1ms", "--depth", 0), ("--depth",)),
            (("--rtt", "1ms", "--message", "0B"), ("--message",)),
            (("--rtt", "1ms", "--message", "3GiB"), ("--message", "2GiB")),
            (("--rtt", "1ms", "--vlan", 3), ("--vlan",)),
            (("--rtt", "1ms", "--frame", "4178B", "--plot", "x.svg"), ("--frame", "plot"))):
        plan.refused("depth", *arguments, words=words)


CASES = {
    "depth-published": formula_exact,
    "depth-backwards": backwards,
    "depth-given-frames": given_frames,
    "depth-headers": headers,
    "depth-refused": refused,
}
