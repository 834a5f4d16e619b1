# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul plan buffer`: its configuration loads, and `longhaul run --check` plans the memory that it says."""
import math
import pathlib
import re
import tempfile

from plan_program import close, expect

SETS = (
    ("--rate", "100Gbps", "--distance", "100km"),
    ("--rate", "100Gbps", "--distance", "1000km", "--loss", "1e-6"),
    ("--rate", "100Gbps", "--distance", "1534km", "--loss", "1e-4", "--burst", "50ms"),
    ("--rate", "10Gbps", "--rtt", "3.81ms", "--path-mtu", 1024),
    ("--rate", "25Gbps", "--distance", "3000km", "--frame", "512B", "--connections", 65536),
    ("--rate", "1Gbps", "--distance", "1m"),
    ("--rate", "400Gbps", "--distance", "10000km"),
    ("--rate", "100Mbps", "--rtt", "1.2s", "--loss", "1%"),
)


def checked(plan, text, directory):
    """What `longhaul run --check` says of it."""
    path = pathlib.Path(directory) / "box.yaml"
    path.write_text(text, encoding="utf-8")
    return plan.json("--config", path, "--check", command="run")


def loads(plan):
    """each configuration is accepted by `longhaul run --check`, which plans the memory and custody that were printed"""
    for options in SETS:
        answer = plan.json("buffer", *options)
        text = plan.text("buffer", *options, "--config")
        expect(text == answer["configuration"], f"{options}: --config prints another configuration")
        expect(text in plan.text("buffer", *options), f"{options}: the text lacks the configuration")
        with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as directory:
            report = checked(plan, text, directory)
        for key in ("reserve_bytes", "ordinary_bytes", "promised_bytes"):
            expect(report[key] == answer[key], f"{options}: {key} {answer[key]}, run --check says {report[key]}")
        expect(report["custody_connection_bytes"] == answer["promised_bytes"], f"{options}: a connection cannot fill the path")
        expect(report["promised_bytes"] >= answer["bandwidth_delay_bytes"], f"{options}: too little for the path alone")
        rate, rtt = answer["rate_bits_per_second"], answer["round_trip_seconds"]
        window = int(re.search(r"initial_window: (\d+)B", text).group(1))
        expect(window == max(4096, math.ceil(round(rate * rtt / 8, 3))), f"{options}: initial_window {window}")
        rows = {row["case"]: row for row in answer["custody"]}
        expect(rows["nothing lost"]["bytes"] == math.ceil(round(rate * rtt / 8, 3)), f"{options}: {rows['nothing lost']}")
        close(f"{options}: promised", answer["promised_bytes"], rate * answer["custody_seconds"] / 8, 1e-4)


def loss_times(plan):
    """custody with losses: how many repairs 999 of 1000 round trips need, and how long they take, computed apart"""
    for km, loss in ((100, 1e-8), (100, 1e-6), (100, 1e-4), (100, 1e-3), (1000, 1e-4), (1000, 1e-3), (1534, 1e-2), (20, 0.1)):
        answer = plan.json("buffer", "--rate", "100Gbps", "--distance", f"{km}km", "--loss", loss)
        rtt = km * 10e-6
        packets = 100e9 * rtt / 8 / 4178
        repairs = 0
        while 1 - (1 - loss ** (repairs + 1)) ** packets > 1e-3:
            repairs += 1
        expect(answer["repairs"] == repairs, f"{km} km, loss {loss}: {answer['repairs']} repairs instead of {repairs}")
        timer = max(0.010, 1.25 * rtt)
        close("resend timer", answer["resend_timer_seconds"], timer, 1e-3)
        held = rtt
        for again in range(repairs):
            held += rtt if again == 0 else min(timer * 2 ** (again - 1), 2.0)
        close(f"{km} km, loss {loss}: held", answer["custody_seconds"], held, 1e-3)
        close("losses", answer["losses_per_round_trip"], loss * packets, 1e-3)
        close("one connection", answer["connection_bits_per_second"], 100e9 / (1 + loss * packets), 1e-3)
        close("reordering", answer["far_box_held_bytes"] + 1, 100e9 * rtt * repairs / 8 + 1, 1e-3)
        expected = next(row for row in answer["custody"] if row["case"] == "expected")["seconds"]
        expect(rtt <= expected <= held * 1.001 or repairs == 0, f"expected {expected} s, held {held} s at most")


def outages(plan):
    """custody outlasts an outage: longer than it by a round trip at least and by a doubled timer at most, and never less for more"""
    before = 0
    for outage in (1, 5, 10, 25, 50, 100, 500, 1000, 5000):
        answer = plan.json("buffer", "--rate", "10Gbps", "--distance", "500km", "--burst", f"{outage}ms")
        held = answer["custody_seconds"]
        rtt, timer = 0.005, 0.010
        expect(held >= outage / 1e3 + rtt, f"{outage} ms: held for {held} s only")
        expect(held <= 2 * (outage / 1e3 + rtt) + timer + 2 * rtt, f"{outage} ms: held for {held} s")
        expect(held >= before, f"{outage} ms: {held} s, less than for a shorter one, {before} s")
        before = held


def far_box(plan):
    """with losses it says what a far box holds, and that boxes which are peers have no limit on one connection"""
    text = " ".join(plan.text("buffer", "--distance", "1000km", "--loss", "1e-4").split())
    expect("a far box that is a peer holds" in text, f"nothing of the far box: {text[-900:]}")
    expect("or boxes that are peers" in text, f"nothing of peers: {text[-900:]}")


def refused(plan):
    """what no box can hold is refused, and said why"""
    for arguments, words in (
            (("--distance", "100km", "--loss", "2"), ("--loss",)),
            (("--distance", "100km", "--loss", "60%"), ("--loss", "0.5")),
            (("--distance", "100km", "--burst", "2min"), ("--burst",)),
            (("--rate", "400Gbps", "--rtt", "30s"), ("custody.round_trip", "400 Gbit/s")),
            (("--distance", "100km", "--frame", "9KiB"), ("least_frame", "mtu")),
            (("--distance", "100km", "--frame", "1B"), ("least_frame",)),
            (("--distance", "100km", "--path-mtu", 9000), ("--path-mtu",)),
            (("--distance", "100km", "--connections", 0), ("--connections",)),
            (("--distance", "100km", "--config", "--json"), ("--json",)),
            (("--distance", "100km", "200km"), ())):
        plan.refused("buffer", *arguments, words=words)


CASES = {
    "buffer-loads": loads,
    "buffer-loss": loss_times,
    "buffer-outages": outages,
    "buffer-far-box": far_box,
    "buffer-refused": refused,
}
