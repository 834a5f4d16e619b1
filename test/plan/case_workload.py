# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul plan workload`: the shipped workloads and the user's own, against models written here and published figures."""
import math
import pathlib
import tempfile

import published as pub
from case_depth import line_bytes
from plan_program import close, expect

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHIPPED = sorted(file.stem for file in (REPOSITORY / "config" / "workloads").glob("*.yaml"))
MIXES = {"retail-web": (0.707, 0.611), "gps": (0.764, 0), "vdi": (0.623, 0.766)}  # sum of shares, share of reads


def own(plan, text, *arguments, refused=()):
    """The answer to a workload of the user's."""
    with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as directory:
        path = pathlib.Path(directory) / "own.yaml"
        path.write_text(text, encoding="utf-8")
        if refused:
            return plan.refused("workload", path, *arguments, words=[word.replace("FILE", str(path)) for word in refused])
        return plan.json("workload", path, *arguments)


def shipped(plan):
    """all that are shipped are listed, load by name and by file, and say one sentence of what would help"""
    listed = plan.text("workload", "--list")
    expect([line.split()[0] for line in listed.splitlines()] == SHIPPED, f"--list says {listed}")
    for name in SHIPPED:
        answer = plan.json("workload", name)
        expect(answer == plan.json("workload", REPOSITORY / "config" / "workloads" / f"{name}.yaml"), f"{name} by file differs")
        advice = answer["advice"]
        expect(advice in answer["notes"] and advice.endswith(".") and ". " not in advice, f"{name}: {advice!r} is no one sentence")
        expect(any(word in advice for word in ("pair", "line")), f"{name}: {advice!r} says nothing of the pair")
        text = plan.text("workload", name)
        expect("(calculated)" in text and text.splitlines()[0].endswith("calculated"), f"{name}: does not say that it is calculated")


def little(plan):
    """I/O/s x latency = I/Os in flight in every row, as in the published cells"""
    for operation, (iops, latency) in pub.SNIA_4K.items():
        close(f"published {operation}", iops * latency / 1e3, pub.SNIA_OUTSTANDING, 0.005)
    for name in MIXES:
        for rtt in ("10us", "1ms", "30ms"):
            for row in plan.json("workload", name, "--rtt", rtt)["ways"]:
                close(f"{name}, {rtt}", row["ios_per_second"] * row["latency_seconds"], row["in_flight"], 1e-9)


def mixes(plan):
    """shares are scaled to the whole, said to be incomplete, and sum up"""
    for name, (total, reads) in MIXES.items():
        answer = plan.json("workload", name)
        close(f"{name}: sum of shares", answer["share_sum"], total, 1e-9)
        expect(abs(answer["share_of_reads"] - reads) < 1e-3, f"{name}: {answer['share_of_reads']} of the I/Os are reads")
        close(name, sum(row["share"] for row in answer["streams"]), 1, 1e-9)
        close(name, sum(row["published_share"] for row in answer["streams"]), total, 1e-9)
        expect(all(row["kinds"] == {"published_share": "published"} for row in answer["streams"]), "shares are not called published")
        expect(any(f"{total * 100:.1f} % of the I/Os are published" in note for note in answer["notes"]), "not said to be incomplete")
        for row in answer["streams"]:
            trips = 2 if row["operation"] == "write" and row["size_bytes"] > 8192 else 1
            expect(row["round_trips"] == trips, f"{name}: {row['size_bytes']} B {row['operation']}: {row['round_trips']} trips")


def storage_reference(streams, rtt, depth, nic, pair, queues=1, read_depth=16, rate=100e9, frame_time=300e-9, turnaround=2e-6,
                      local=4e-6):
    """I/Os per second of a mix of (weight, size, write), and what limits them."""
    whole, near = rtt + turnaround, (local if pair else rtt) + turnaround
    latency = initiator = target = posts = reads = frames = 0
    weight = sum(stream[0] for stream in streams)
    for share, size, write in streams:
        share /= weight
        fetched = write and size > 8192
        to_target = line_bytes("send", 64 + size if write and not fetched else 64)[0]
        to_initiator = line_bytes("send", 16)[0]
        count = 1 + line_bytes("send", 64 + size)[1] if write and not fetched else 2 + line_bytes("send", size)[1]
        if fetched:
            to_target += line_bytes("read", size)[0]
        elif not write:
            to_initiator += line_bytes("write", size)[0]
        latency += share * ((2 if fetched else 1) * whole + 8 * (to_target + to_initiator) / rate)
        initiator, target, frames = initiator + share * to_initiator, target + share * to_target, frames + share * count
        posts, reads = posts + share * (1 if write else 2), reads + share * fetched
    def taken(per_second):
        """Work requests of a NIC in flight: what is posted behind a READ keeps its place until the READ is answered."""
        rate_of_reads = per_second * reads / queues
        wait = whole - (1 - math.exp(-rate_of_reads * whole)) / rate_of_reads if pair and rate_of_reads else 0
        return per_second / queues * (posts * min(whole, near + wait) + reads * whole)

    bounds = [(queues * depth / latency, "iodepth"), (rate / 8 / max(initiator, target), "line")]
    if nic:
        low, high = 1e-9, 1e15  # geometric bisection
        for _ in range(200):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if taken(middle) < nic else (low, middle)
        bounds.append((low, "nic_depth"))
    if reads:
        bounds.append((queues * read_depth / (reads * whole), "read_depth"))
    if pair:
        bounds.append((1 / frame_time / frames, "box"))
    per_second, limit = min(bounds)
    return per_second, limit, 1 - math.exp(-per_second * reads / queues * whole)


def storage(plan):
    """every way over distances and NIC depths equals a second implementation, limits included"""
    for name in MIXES:
        for rtt in (1e-5, 1e-3, 3e-2):
            for nic in (0, 128, 512):
                answer = plan.json("workload", name, "--rtt", f"{round(rtt * 1e6)}us", "--nic-depth", nic)
                streams = [(row["published_share"], row["size_bytes"], row["operation"] == "write") for row in answer["streams"]]
                for row, (depth, slots, pair) in zip(answer["ways"], ((128, nic, False), (1024, 16384, False), (128, nic, True))):
                    per_second, limit, behind = storage_reference(streams, rtt, depth, slots, pair)
                    where = f"{name}, {rtt} s, NIC {nic}, {row['way']}"
                    close(where, row["ios_per_second"], per_second, 1e-9)
                    expect(row["limit"] == limit, f"{where}: {row['limit']} instead of {limit}")
                    close(where, row["seconds"], 1e6 / per_second, 1e-9)
                    if pair:
                        expect(abs(answer["behind_reads"] - behind) < 1e-9, f"{where}: {answer['behind_reads']}, not {behind}")
                        told = any("behind an unfinished READ" in note for note in answer["notes"])
                        expect(told == (behind > 0), f"{where}: the notes {'' if told else 'do not '}speak of READs")


def migrate(memory, storage_bytes, rate, dirty, downtime, rounds):
    """Seconds until it runs at the other end; None: never."""
    seconds, rest, done = storage_bytes / rate, memory, 0
    while rest > rate * downtime:
        if done == rounds:
            return None
        seconds += rest / rate
        rest = min(memory, dirty * rest / rate)
        done += 1
    return seconds + rest / rate


def migration(plan):
    """pre-copy rounds equal a second implementation; it finishes below the throughput and never above"""
    for bandwidth in (5, 13.5, 40):
        for dirty in (0, 2, 4, 13.4, 13.6, 50):
            answer = plan.json("workload", "vm-migration", "--bandwidth", f"{bandwidth}Gbps", "--dirty-rate", f"{dirty}Gbps")
            for row in answer["migrations"]:
                wanted = migrate(row["memory_bytes"], 100e9, bandwidth * 1e9 / 8, dirty * 1e9 / 8, 0.3, 30)
                where = f"{row['memory_bytes']} B, {bandwidth} Gbit/s, dirtying {dirty} Gbit/s"
                expect(row["standard_finishes"] == (wanted is not None), f"{where}: finishes: {row['standard_finishes']}")
                if wanted is None:
                    expect(row["standard_seconds"] is None, f"{where}: a time although it never finishes")
                else:
                    close(where, row["standard_seconds"], wanted, 1e-9)
                if dirty > bandwidth:
                    expect(not row["standard_finishes"], f"{where}: finishes")
    lax = plan.json("workload", "vm-migration", "--dirty-rate", "50Gbps", "--downtime", "10min")["migrations"]
    expect(all(row["standard_finishes"] for row in lax), "a downtime of ten minutes does not let it finish")


def migration_published(plan):
    """published times stand beside the model with their deviation; what never finished does not finish here"""
    rows = plan.json("workload", "vm-migration")["migrations"]
    expect(len(rows) == 20, f"{len(rows)} rows")
    for row in rows:
        published, got, deviation = row["published_rdma_seconds"], row["standard_seconds"], row["deviation"]
        expect(row["kinds"]["published_rdma_seconds"] == "published", "published times are not called published")
        if published == "never":
            expect(got is None and deviation == "agrees", f"{row['memory_bytes']} B, {row['dirty_share']}: finishes, published never")
        elif got is not None:
            close("deviation", deviation + 1, got / published, 1e-9)
        else:
            expect(deviation == "at the edge" and published == 120, f"{row['memory_bytes']} B, {row['dirty_share']}: {deviation}")
    idle = next(row for row in rows if row["memory_bytes"] == 64 << 30 and row["dirty_share"] == 0)
    close("64 GiB, idle (an input)", idle["standard_seconds"], 100, 0.01)


def telescope(plan):
    """the streams as published, no distance limits them, no way differs from another, loss is told"""
    for km in (1, 380, 10000):
        answer = plan.json("workload", "radio-telescope", "--distance", f"{km}km", "--loss", "1e-4")
        expect(answer["qps"] == pub.STREAMS and answer["message_bytes"] == pub.STREAM_MESSAGE and answer["fits"], f"{answer}")
        wanted, packets = line_bytes("write", pub.STREAM_MESSAGE)
        expect(answer["line_bytes"] == wanted + 4, f"{answer['line_bytes']} B on the line, {wanted} and an immediate wanted")
        for row in answer["ways"]:
            close("payload", row["bits_per_second"], pub.STREAMS_GBPS * 1e9, 1e-9)
            close("of a QP", row["bits_per_second_and_qp"], pub.STREAM_MBPS * 1e6, 1e-9)
            close("damaged", row["damaged_messages_per_second"], 90e9 / 8 / 16384 * (1 - (1 - 1e-4) ** packets), 1e-6)
    slow = plan.json("workload", "radio-telescope", "--rate", "40Gbps")
    expect(not slow["fits"] and slow["ways"][0]["limit"] == "line", "2000 streams fit into 40 Gbit/s")


def answers(plan):
    """who waits for the far application gains nothing by the pair, who does not gains, and wanted messages are no more than wanted"""
    text = """title: own
messages:
  - {name: waits, operation: write, size: 4KiB, depth: 16, answered: true}
  - {name: goes, operation: write, size: 4KiB, depth: 16}
  - {name: little, operation: send, size: 512B, depth: 16, wanted: 100, total: 1MB}
  - {name: fetches, operation: read, size: 4KiB, depth: 16}
"""
    answer = own(plan, text, "--distance", "1000km")
    rows = {(row["stream"], row["way"]): row for row in answer["ways"]}
    waiting = 16 / (0.010 + 2e-6 + line_bytes("write", 4096)[0] * 8 / 100e9)
    for way in ("standard", "deep queues", "pair"):
        close(f"waits, {way}", rows["waits", way]["messages_per_second"], waiting, 1e-9)
        expect(rows["little", way]["messages_per_second"] == 100, f"little, {way}: {rows['little', way]}")
        close(f"little, {way}: all", rows["little", way]["seconds"], 1e6 / 512 / 100, 1e-9)
        close(f"fetches, {way}", rows["fetches", way]["messages_per_second"], 16 / (0.010 + 2e-6), 1e-9)
    close("goes", rows["goes", "standard"]["messages_per_second"], 16 / (0.010 + 2e-6), 1e-9)
    expect(rows["goes", "pair"]["messages_per_second"] > 100 * rows["goes", "standard"]["messages_per_second"], "no gain")
    expect('The pair would help "goes";' in answer["advice"], answer["advice"])


def refused(plan):
    """mistakes are refused with file, line and what was expected"""
    plan.refused("workload", words=("NAME", "retail-web"))
    plan.refused("workload", "no-such", words=("no-such", "retail-web"))
    plan.refused("workload", "./no-such.yaml", words=("./no-such.yaml", "cannot be read"))
    plan.refused("workload", "gps", "--dirty-rate", "1Gbps", words=("--dirty-rate", "migration"))
    plan.refused("workload", "gps", "--loss", "1%", words=("--loss",))
    plan.refused("workload", "vm-migration", "--bandwidth", "0", words=("--bandwidth",))
    for text, words in (
            ("title: x\n", ("FILE:1:1", "nvmeof, migration, unacknowledged, messages", "0 of them")),
            ("title: x\nmessages:\n  - {name: a, operation: write, size: 0B}\n", ("FILE:3:", "messages[0].size")),
            ("title: x\nmessages:\n  - {name: a, operation: wrote, size: 1B}\n", ("FILE:3:", "write, send or read")),
            ("title: x\nmessages: []\n", ("FILE:2:", "at least one stream")),
            ("title: x\nnvmeof:\n  streams:\n    - {share: 60%, size: 4KiB, operation: read}\n"
             "    - {share: 50%, size: 4KiB, operation: read}\n", ("FILE:4:", "110 %")),
            ("title: x\nnvmeof:\n  iodeph: 3\n  streams: []\n", ("FILE:3:", "iodepth")),
            ("title: x\nunacknowledged: {qps: 0, message: 1KiB, rate_per_qp: 1Mbps}\n", ("FILE:2:", "unacknowledged.qps")),
            ("title: x\nmigration:\n  dirty: [0%, 20%]\n  dirty_interval: 1s\n  machines:\n"
             "    - {memory: 8GiB, published_rdma: [64s]}\n", ("FILE:6:", "1 times for 2 shares")),
            ("title: x\nmigration:\n  dirty: [0%]\n  dirty_interval: 1s\n  machines:\n"
             "    - {memory: 8GiB, published_rdma: [soon]}\n", ("FILE:6:", "never")),
            ("title: [\n", ("FILE:",))):
        own(plan, text, refused=words)


CASES = {
    "workload-shipped": shipped,
    "workload-little": little,
    "workload-mixes": mixes,
    "workload-storage": storage,
    "workload-migration": migration,
    "workload-migration-published": migration_published,
    "workload-telescope": telescope,
    "workload-answers": answers,
    "workload-refused": refused,
}
