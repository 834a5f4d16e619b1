# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul plan throughput` against the published figures, and against a model written here."""
import published as pub
from case_depth import line_bytes
from plan_program import close, expect

KIB, MIB = 1 << 10, 1 << 20
# As published for the 380 km: the application asked for 2048, LOG_MAX_OUTSTANDING_WQE was 7.
TRIAL = ("--rtt", f"{pub.RTT_380_MS}ms", "--turnaround", "0", "--depth", 2048, "--nic-depth", 128)
WINDOW_LIMITED = 64 * KIB  # W/S up to here, READ up to twice that


def trial_model(operation, message, cap):
    outstanding = 16 if operation == "read" else 128
    return min(cap, pub.QPS_380[operation] * outstanding * message * 8 / (pub.RTT_380_MS * 1e-3))


def trial(plan, operation, cap="98.3Gbps"):
    answer = plan.json("throughput", *TRIAL, "--operation", operation, "--qps", pub.QPS_380[operation], "--cap", cap,
                       "--message", *[f"{size}B" for size in pub.SIZES_380])
    return {row["message_bytes"]: row for row in answer["rows"]}, answer


def model_380_km(plan):
    """N4's model comes out exactly, for each operation and size"""
    for operation, cap in (("write", 98.3e9), ("send", 92.69e9), ("read", 98.3e9)):
        rows, _ = trial(plan, operation, f"{cap / 1e9}Gbps")
        for size in pub.SIZES_380:
            close(f"{operation} of {size} B", rows[size]["standard_bits_per_second"], trial_model(operation, size, cap), 1e-12)


def measured_380_km(plan):
    """within 1 % of N4's maxima for WRITE and READ and 2 % for SEND where the window is the limit; the misprint is left out"""
    compared = 0
    for operation, tolerance in (("write", 0.01), ("send", 0.02), ("read", 0.01)):
        rows, _ = trial(plan, operation)
        for size, rate in zip(pub.SIZES_380, pub.RATE_380[operation]):
            if rate is None or size > WINDOW_LIMITED * (2 if operation == "read" else 1):
                continue
            row = rows[size]
            expect(row["standard_limit"] == ("read_depth" if operation == "read" else "nic_depth"), f"{row['standard_limit']}")
            close(f"{operation} of {size} B", row["standard_bits_per_second"], rate * 1e9, tolerance)
            compared += 1
    expect(compared == 4 + 5 + 6, f"{compared} cells compared")


def latency_380_km(plan):
    """within 1 % of N4's latencies, from 2 B to 8 MiB"""
    for operation, cap in (("write", "98.3Gbps"), ("send", "92.69Gbps"), ("read", "98.3Gbps")):
        sizes = pub.LATENCY_380[operation]
        rows = plan.json("throughput", *TRIAL, "--operation", operation, "--cap", cap, "--message",
                         *[f"{size}B" for size in sizes])["rows"]
        for row in rows:
            close(f"{operation} of {row['message_bytes']} B", row["delivered_seconds"] * 1e6, sizes[row["message_bytes"]], 0.01)


def standard_by_distance(plan):
    """N1 within 15 %, with 92 effective work requests of 4096 B and 20 us of fixed loop time as parameters"""
    rows = plan.json("throughput", "--distance", *[f"{km}km" for km in pub.STANDARD_BY_KM], "--message", "4KiB", "--depth", 92,
                     "--turnaround", "20us")["rows"]
    expect(len(rows) == len(pub.STANDARD_BY_KM), f"{len(rows)} rows")
    for row in rows:
        km = round(row["kilometres"])
        close(f"{km} km", row["standard_bits_per_second"], pub.STANDARD_BY_KM[km] * 1e9, 0.15)


def contradiction(plan):
    """a cap above what the headers leave of the line is called a contradiction, one below it is not"""
    for cap, wanted in ((f"{pub.RATE_380['write'][-1]}Gbps", True), ("98Gbps", False)):
        _, answer = trial(plan, "write", cap)
        said = any("Contradiction" in note and "98.04" in note for note in answer["notes"])
        expect(said == wanted, f"a cap of {cap}: notes {answer['notes']}")


def reference(operation, message, rtt, pair, depth=128, nic=0, qps=1, moderation=1, read_depth=16, mtu=4096, rate=100e9,
              turnaround=2e-6, message_time=0.0, local=4e-6, frame_time=300e-9, workers=1):
    """Payload per second, and what limits it."""
    size, packets = line_bytes(operation, message, mtu)
    under_way, limit = depth - depth % moderation, "depth"
    if nic and nic < under_way:
        under_way, limit = nic, "nic_depth"
    if operation == "read" and read_depth < under_way:
        under_way, limit = read_depth, "read_depth"
    loop = rtt
    if pair and operation != "read":
        loop, limit = local, "local_loop"
    bounds = [(rate / 8 / size, "line"), (qps * under_way / (loop + turnaround), limit)]
    if message_time:
        bounds.append((qps / message_time, "message_time"))
    if pair:
        bounds.append((min(qps, workers) / frame_time / packets, "box"))
    messages, what = min(bounds)
    return messages * message * 8, what


def grid(plan):
    """every way, operation and size over a grid of hosts and links equals a second implementation, limits included"""
    sizes = (2, 100, 512, 4096, 8192, 65536, MIB)
    hosts = (
        {}, {"qps": 16}, {"depth": 1000, "moderation": 300}, {"nic": 64, "qps": 3}, {"read_depth": 128, "depth": 64},
        {"mtu": 1024}, {"turnaround": 20e-6}, {"message_time": 500e-9}, {"frame_time": 100e-9, "workers": 4, "qps": 8},
        {"local": 40e-6, "rate": 400e9})
    names = {"qps": "--qps", "depth": "--depth", "moderation": "--moderation", "nic": "--nic-depth",
             "read_depth": "--read-depth", "mtu": "--mtu", "workers": "--workers"}
    times = {"turnaround": "--turnaround", "message_time": "--message-time", "frame_time": "--frame-time", "local": "--local-rtt"}
    for operation in ("write", "send", "read"):
        for host in hosts:
            options = [word for key, value in host.items()
                       for word in ((names[key], value) if key in names else
                                    (times[key], f"{round(value * 1e9)}ns") if key in times else ("--rate", "400Gbps"))]
            for rtt in ("10us", "1ms", "100ms"):
                rows = plan.json("throughput", "--operation", operation, "--rtt", rtt, *options, "--message",
                                 *[f"{s}B" for s in sizes])["rows"]
                seconds = {"10us": 1e-5, "1ms": 1e-3, "100ms": 1e-1}[rtt]
                for row in rows:
                    message = row["message_bytes"]
                    deep = {**host, "depth": 2048, "nic": 16384}
                    for way, values, pair in (("standard", host, False), ("deep", deep, False), ("pair", host, True)):
                        rate, limit = reference(operation, message, seconds, pair, **values)
                        where = f"{operation} of {message} B, {rtt}, {host}, {way}"
                        close(where, row[f"{way}_bits_per_second"], rate, 1e-9)
                        close(where, row[f"{way}_messages_per_second"], rate / 8 / message, 1e-9)
                        expect(row[f"{way}_limit"] == limit, f"{where}: limited by {row[f'{way}_limit']}, not {limit}")
                    close("gain", row["gain"], row["pair_bits_per_second"] / row["standard_bits_per_second"], 1e-9)


def advice(plan):
    """what is advised works: with that depth, those QPs or that message size the line is the limit, with a bit less it is not"""
    answer = plan.json("throughput", "--distance", "100km", "--message", "512B")
    expect(answer["advice"].startswith("The pair would help"), answer["advice"])
    # Before that, it may say what the pair itself needs.
    words = answer["advice"].split("without it")[1].replace(",", "").split()
    depth = int(words[words.index("work") - 1])
    qps = int(words[words.index("QPs") - 1])
    at = words.index("messages")
    message = words[at + 2] + words[at + 3].rstrip(".")

    def limit(*options):
        base = {"--message": "512B", "--depth": 128, "--qps": 1, **dict(zip(options[::2], options[1::2]))}
        flat = [word for pair in base.items() for word in pair]
        return plan.json("throughput", "--distance", "100km", *flat)["rows"][0]["standard_limit"]
    for option, enough, less in (("--depth", depth, depth - 1), ("--qps", qps, qps - 1), ("--message", message, "64KiB")):
        expect(limit(option, enough) == "line", f"{option} {enough} does not fill the line")
        expect(limit(option, less) == "depth", f"{option} {less} fills the line already")
    read = plan.json("throughput", "--distance", "100km", "--message", "64KiB", "--operation", "read")["advice"]
    expect("pair does not help" in read and "work requests a QP" not in read, read)
    full = plan.json("throughput", "--distance", "100km", "--message", "1MiB")["advice"]
    expect("line is already full" in full, full)


def refused(plan):
    """what no host can do is refused, and said why"""
    for arguments, words in (
            (("--rtt", "1ms", "--depth", 10, "--moderation", 11), ("11th", "10")),
            (("--rtt", "1ms", "--qps", 0), ("--qps",)),
            (("--rtt", "1ms", "--qps", -1), ("--qps",)),
            (("--rtt", "1ms", "--frame-time", "0"), ("worker",)),
            (("--rtt", "1ms", "--cap", "101Gbps"), ("--cap", "101Gbps")),
            (("--rtt", "1ms", "--cap", "0"), ("--cap",)),
            (("--rtt", "1ms", "--turnaround", "5"), ("--turnaround", "unit is missing")),
            (("--rtt", "1ms", "--operation", "atomic"), ("--operation",)),
            (("--rtt", "1ms", "--json", "--csv"), ("--csv",)),
            (("--rtt", "1ms", "--plot", "x.gif"), (".svg",)),
            (("--rtt", "1ms", "--surprise"), ("--surprise",))):
        plan.refused("throughput", *arguments, words=words)


CASES = {
    "throughput-380-km-model": model_380_km,
    "throughput-380-km": measured_380_km,
    "throughput-380-km-latency": latency_380_km,
    "throughput-by-distance": standard_by_distance,
    "throughput-contradiction": contradiction,
    "throughput-grid": grid,
    "throughput-advice": advice,
    "throughput-refused": refused,
}
