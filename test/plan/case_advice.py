# SPDX-License-Identifier: BSD-3-Clause
"""The sentence at the end, presets, satellites, timers of hosts, TCP: what they say is tried, or calculated again."""
import json
import math
import pathlib
import re

import published as pub
from plan_program import close, expect

WORKLOADS = sorted(file.stem for file in (pathlib.Path(__file__).parents[2] / "config/workloads").glob("*.yaml"))
DUMPS = pathlib.Path(__file__).parent / "nic"

# A question for each command, and some with another answer.
QUESTIONS = (
    ("throughput", "--distance", "100km"),
    ("throughput", "--distance", "100km", "--message", "4KiB"),
    ("throughput", "--distance", "10km", "1000km", "--message", "64KiB"),
    ("throughput", "--distance", "10km", "1000km"),
    ("throughput", "--distance", "100km", "--operation", "read"),
    ("throughput", "--distance", "100km", "--message-time", "1ms"),
    ("throughput", "--distance", "100m"),
    ("throughput", "--rate", "400Gbps", "--distance", "1000km"),
    ("simulate", "--distance", "10km", "--message", "4KiB", "--messages", "200"),
    ("depth", "--distance", "100km"),
    ("depth", "--distance", "100km", "--operation", "read"),
    ("depth", "--distance", "1km", "--frame", "4178B"),
    ("buffer", "--distance", "100km"),
    ("buffer", "--distance", "100km", "--loss", "1e-4"),
    ("buffer", "--distance", "100km", "--burst", "50ms"),
    *(("workload", name) for name in WORKLOADS),
    *(("workload", name, "--rate", "400Gbps", "--distance", "1km", "--nic-depth", "0") for name in WORKLOADS),
)


def at_the_end(plan):
    """each table is followed by sentences about what would help and what would not, as the last thing; programs get them, too"""
    for question in QUESTIONS:
        answer = plan.json(*question)
        advice = answer["advice"]
        expect(advice and advice[0].isupper() and advice.endswith(".") or advice[0].isdigit(), f"{question}: {advice!r}")
        expect(answer["notes"][-1] == advice, f"{question}: the last note is {answer['notes'][-1]!r}")
        text = plan.text(*question)
        end = " ".join(text.rstrip("\n").split("\n\n")[-1].split())
        expect(end == " ".join(advice.split()), f"{question} ends with {end!r} instead of {advice!r}")
        expect(re.search(r"help|add nothing|slower|full|wait|enough|faster|limit|too slow", advice), f"{question}: {advice!r}")


def nic(plan):
    """`plan nic` ends with what would help, and its depth is that of the report"""
    dumps = sorted(str(path) for path in (DUMPS / "connectx6dx").iterdir() if path.is_file())
    expect(dumps, "no dumps")
    for distance, words in (("20000km", "would fill the line"), ("1m", "The line is the limit")):
        done = plan.raw("nic", *dumps, "--distance", distance)
        end = " ".join(done.stdout.split("\nhelps")[-1].split())
        expect(words in end, f"{distance}: ends with {end!r}")
        answer = json.loads(plan.raw("nic", *dumps, "--distance", distance, "--json").stdout)
        expect(answer["what_helps"] == end, f"{distance}: {answer['what_helps']!r} in JSON, {end!r} in text")
        if "fill" in words:
            expect(str(answer["haul"]["depth_needed"]["value"]) in end, end)


def needed(advice):
    """The workers and QPs that are advised; None for what is enough."""
    both = re.search(r"(\d+) workers and (\d+) QPs \(now (\d+) and (\d+)\)", advice)
    if both:
        return int(both[1]), int(both[2])
    workers = re.search(r"(\d+) workers \(now \d+\) would carry", advice)
    qps = re.search(r"(\d+) QPs \(now \d+\) would carry", advice)
    expect(workers or qps, f"no word about workers or QPs: {advice}")
    return (int(workers[1]) if workers else None), (int(qps[1]) if qps else None)


def box_limit(plan):
    """where the box is the limit, the advised workers and QPs reach the line, and one less of either does not"""
    for rate in ("200Gbps", "400Gbps", "800Gbps"):
        for now_workers, now_qps in ((1, 1), (1, 64), (16, 1)):
            for message in ("4KiB", "64KiB", "8MiB"):
                base = ("throughput", "--rate", rate, "--distance", "1000km", "--message", message, "--depth", 4096)
                advice = plan.json(*base, "--workers", now_workers, "--qps", now_qps)["advice"]
                workers, qps = needed(advice)
                least = workers or qps
                workers, qps = workers or now_workers, qps or now_qps

                def limit(some_workers, some_qps):
                    row = plan.json(*base, "--workers", some_workers, "--qps", some_qps)["rows"][0]
                    return row["pair_limit"]
                where = f"{rate}, {message}, {workers} workers, {qps} QPs"
                expect(limit(workers, qps) == "line", f"{where}: limited by {limit(workers, qps)}")
                expect(limit(least - 1, qps) == "box", f"{where}: one worker less is enough")
                expect(limit(workers, least - 1) == "box", f"{where}: fewer QPs are enough")
    slow = plan.json("throughput", "--rate", "400Gbps", "--distance", "10km", "--message", "1MiB")
    expect(slow["rows"][0]["gain"] < 0.5 and "slower" in slow["advice"], slow["advice"])
    expect(needed(slow["advice"]) == (4, 4), slow["advice"])
    many = plan.json("throughput", "--rate", "800Gbps", "--distance", "10km", "--message", "64B")["advice"]
    expect("32 workers at most" in many, many)


def presets(plan):
    """a preset is its rate, workers and QPs; with 4 KiB packets its boxes carry the line, with a worker less they do not"""
    for name, gigabits in (("100G", 100), ("200G", 200), ("400G", 400), ("800G", 800)):
        base = ("throughput", "--distance", "1000km", "--message", "4KiB", "1MiB", "--depth", 4096)
        answer = plan.json(*base, "--preset", name)
        expect(answer["rate_bits_per_second"] == gigabits * 1e9, f"{name}: {answer['rate_bits_per_second']}")
        # 300 ns a frame, 4194 B on the line for a WRITE of 4 KiB
        workers = math.ceil(gigabits * 1e9 / 8 / 4194 * 300e-9)
        same = plan.json(*base, "--rate", f"{gigabits}Gbps", "--workers", workers, "--qps", workers)
        expect(answer == same, f"{name} is not {workers} workers and QPs")
        expect({row["pair_limit"] for row in answer["rows"]} == {"line"}, f"{name}: {answer['rows']}")
        if workers > 1:
            less = plan.json(*base, "--preset", name, "--workers", workers - 1)["rows"]
            expect({row["pair_limit"] for row in less} == {"box"}, f"{name} with a worker less: {less}")
        one = plan.json(*base, "--preset", name, "--qps", 1)
        expect(one["qps"] == 1, "an option is weaker than the preset")
        for other in (("depth", "--distance", "10km"), ("buffer", "--distance", "10km"), ("workload", "gps")):
            expect(plan.json(*other, "--preset", name)["rate_bits_per_second"] == gigabits * 1e9 or other[0] == "buffer", f"{other}")
    config = plan.text("buffer", "--distance", "1000km", "--preset", "400G", "--config")
    expect("wan_rate: 400Gbps" in config and "--preset 400G" in config, config)
    plan.refused("depth", "--distance", "1km", "--preset", "500G", words=("100G, 200G, 400G or 800G",))


def satellites(plan):
    """a round trip that no fibre has is not called a length of fibre"""
    for command in (("throughput", "--message", "64KiB"), ("depth",), ("buffer",), ("workload", "gps")):
        for rtt, word in (("480ms", "satellite"), ("600ms", "satellite"), ("400ms", "longer than any fibre"), ("2s", "longer than")):
            text = plan.text(*command, "--rtt", rtt)
            title = text.splitlines()[0]
            expect(word in title and " km of fibre" not in title, f"{command}, {rtt}: {title}")
        for rtt, km in (("10ms", "1000 km of fibre"), ("300ms", "30000 km of fibre")):
            title = plan.text(*command, "--rtt", rtt).splitlines()[0]
            expect(km in title, f"{command}, {rtt}: {title}")
    rows = plan.text("throughput", "--rtt", "10ms", "600ms", "--message", "64KiB")
    expect(re.search(r"^ +10 +1000 ", rows, re.M) and "60000" not in rows, rows)
    expect(plan.json("throughput", "--rtt", "600ms", "--message", "64KiB")["rows"][0]["kilometres"] == 60000, "programs lost it")


def timers(plan):
    """each usual timer of hosts is warned of from its own time on, and not before"""
    def warnings(command, rtt_us):
        answer = plan.json(*command, "--rtt", f"{rtt_us}us")
        found = {one["timer"]: one for one in answer.get("warnings", [])}
        for one in found.values():
            expect("Warning: " + one["message"] in answer["notes"], f"{one['timer']} is not in the notes")
        return found
    for command in (("throughput", "--message", "64KiB"), ("depth",), ("buffer",), ("workload", "gps")):
        expect(not warnings(command, 67_000), f"{command}: warned of 67 ms")
        for exponent, names in ((14, 1), (17, 2), (19, 3)):
            limit = math.ceil(4.096 * 2 ** exponent)
            found = warnings(command, limit)["ack_timeout"]
            close("timer", found["seconds"], 4.096e-6 * 2 ** exponent, 1e-9)
            said = re.findall(r"\((\d+): ", found["message"])
            expect(len(said) == names and int(said[-1]) == exponent, f"{command}: {found['message']}")
            advised = int(re.search(r"Set (\d+) or more", found["message"])[1])
            expect(4.096 * 2 ** advised >= 2 * limit > 4.096 * 2 ** (advised - 1), f"{limit} us: {advised} is advised")
            if exponent > 14:
                before = warnings(command, limit - 2)["ack_timeout"]
                expect(f"({exponent}: " not in before["message"], f"{command}: warned of {exponent} too early")
    expect("cm_response" not in warnings(("depth",), 4_095_000), "CM is warned of at 4.095 s")
    expect("4.096 s" in warnings(("depth",), 4_096_000)["cm_response"]["message"], "CM is not warned of at 4.096 s")


def tcp(plan):
    """TCP equals a second implementation: window / RTT, Mathis et al. with loss, and no more than the line"""
    for mtu in (1024, 4096):
        for qps in (1, 8):
            for loss in (0, 1e-8, 1e-4, 0.01):
                for window in (65536, 6 << 20, 1 << 30):
                    answer = plan.json("throughput", "--rtt", "100us", "1ms", "100ms", "--mtu", mtu, "--qps", qps, "--message",
                                       "64KiB", "--tcp-loss", loss, "--tcp-window", f"{window}B")
                    expect([row["round_trip_seconds"] for row in answer["tcp"]] == [1e-4, 1e-3, 0.1], f"{answer['tcp']}")
                    for row in answer["tcp"]:
                        rtt = row["round_trip_seconds"]
                        bounds = [(100e9 * mtu / (mtu + 32 + 20 + 14 + 24), "line"), (qps * window * 8 / rtt, "window")]
                        if loss:
                            bounds.append((qps * mtu * 8 / rtt * math.sqrt(3 / 2) / math.sqrt(loss), "loss"))
                        rate, limit = min(bounds)
                        where = f"TCP, {mtu}, {qps} connections, loss {loss}, window {window}, {rtt} s"
                        close(where, row["bits_per_second"], rate, 1e-9)
                        expect(row["limit"] == limit and row["kind"] == "calculated", f"{where}: {row}")
    # What is said to be its source.
    text = plan.text("throughput", "--distance", "1000km", "--message", "64KiB", "--tcp-loss", "1e-6")
    expect("Mathis et al." in text and "1997" in text, "no source")
    # The usual window and no loss; 12.5 MB are under way over 100 km at 100 Gbit/s.
    usual = plan.json("throughput", "--distance", "100km", "--message", "64KiB")["tcp"][0]
    close("6 MiB in 1 ms", usual["bits_per_second"], (6 << 20) * 8 / 1e-3, 1e-9)
    expect(usual["bits_per_second"] < pub.BANDWIDTH_DELAY_MB[100] * 8e9, "more than is under way")
    plan.refused("throughput", "--distance", "1km", "--tcp-window", "0", words=("--tcp-window",))
    plan.refused("throughput", "--distance", "1km", "--tcp-loss", "2", words=("--tcp-loss",))


CASES = {
    "advice-at-the-end": at_the_end,
    "advice-nic": nic,
    "advice-box-limit": box_limit,
    "presets": presets,
    "satellites": satellites,
    "timers": timers,
    "tcp": tcp,
}
