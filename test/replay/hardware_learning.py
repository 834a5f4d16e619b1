# SPDX-License-Identifier: BSD-3-Clause
"""Queue pairs that no RDMA-CM announces, as NCCL, UCX and MPI make them: many between two hosts, in step. What a box takes
for one connection must be one; and how many it finds."""
import random

from edges import CLIENT, edge, saved
from killed import FILLER
from traffic import MS, US, QueuePair, at, in_time, symmetric_port

RTT = 10 * MS
LOOKS_ON = 1200 * MS
ELSEWHERE = ("10.9.1.2", "10.9.1.1")


def in_step(pairs, rounds, apart=100 * US):
    """Each writes 64 bytes, one after the other, and is answered a round trip later; `rounds` times."""
    frames = []
    for turn in range(rounds):
        for number, pair in enumerate(pairs):
            time = turn * apart * len(pairs) + number * apart
            frames += [at(time, pair.write(turn)), at(time + RTT, pair.ack(turn, 1 + turn))]
    return in_time(frames)


def learned(longhaul, directory, frames, near=CLIENT):
    """{(requester, responder's QPN): (requester's QPN, ns from the first frame)} of what was learned, and the report. A box
    looks on for a second before it learns anything from traffic."""
    frames = [at(-LOOKS_ON, FILLER), *frames]
    run = longhaul.replay(saved(directory, frames), near, "--explain")
    return {(one["requester"], one["responder_qpn"]):
            (one["requester_qpn"], frames[one["learned_frame"] - 1].time - frames[1].time)
            for one in run.report["explanation"]["connections"] if one["learned"]}, run.report


def wrong(found, pairs):
    """What was taken for a connection and is none."""
    real = {pair.responder_qpn: pair.requester_qpn for pair in pairs}
    return [(theirs, ours) for (host, theirs), (ours, _) in found.items() if host == "10.9.0.2" and real.get(theirs) != ours]


def queue_pairs(count, rng, psn, port_of):
    """QPNs as drivers give them: in sequence, from somewhere on."""
    one, other = rng.randrange(1 << 8, 1 << 20), rng.randrange(1 << 8, 1 << 20)
    made = []
    for i in range(count):
        ports = port_of(one + i, other + i)
        made.append(QueuePair(one + i, other + i, psn(), ports))
    return made


@edge
def queue_pairs_in_step(longhaul, directory):
    """NCCL's and UCX's: 4 and 16 queue pairs that all begin with PSN 0, their ports derived from both QPNs (Linux): all
    are learned within three round trips, and none wrongly."""
    rng = random.Random(3)
    for count in (4, 16):
        pairs = queue_pairs(count, rng, lambda: 0, lambda one, other: (symmetric_port(one, other),) * 2)
        frames = in_step(pairs, 1 + 5 * RTT // (count * 100 * US))
        found, report = learned(longhaul, directory, frames)
        if bad := wrong(found, pairs):
            yield f"{count}: {bad} are no connections"
        if len(found) != count:
            yield f"{count}: {len(found)} learned"
        late = max((time for _, time in found.values()), default=0)
        if late > 3 * RTT + count * 100 * US:
            yield f"{count}: learned after {late / MS:.1f} ms"
        if not report["pseudo_acks"] or report["real_acks_mismatched"]:
            yield f"{count}: {report['pseudo_acks']} pseudo-ACKs, {report['real_acks_mismatched']} mismatched"


@edge
def queue_pairs_by_the_hundred(longhaul, directory):
    """512 queue pairs between two hosts, PSNs at random, ports of any value: some are learned, as an ACK is compared with a
    bounded number of candidates (docs/records/learning-2026-11-27.md), and none wrongly."""
    rng = random.Random(4)
    port = lambda *_: (rng.randrange(0xC000, 0x10000), rng.randrange(0xC000, 0x10000))
    pairs = queue_pairs(512, rng, lambda: rng.randrange(1 << 24), port)
    found, report = learned(longhaul, directory, in_step(pairs, 12, 2 * US))
    if bad := wrong(found, pairs):
        yield f"{bad} are no connections"
    if len(found) < 10:
        yield f"{len(found)} of 512 were learned"
    if report["real_acks_mismatched"]:
        yield f"{report['real_acks_mismatched']} mismatched"


@edge
def ambiguous_ones_hide_nobody(longhaul, directory):
    """1,100 queue pairs that nothing tells apart: none is learned wrongly, and another pair of hosts is learned at once."""
    rng = random.Random(5)
    port = lambda *_: (rng.randrange(0xC000, 0x10000), rng.randrange(0xC000, 0x10000))
    pairs = queue_pairs(1100, rng, lambda: 0, port)
    other = QueuePair(0x77, 0x99, 0x123456, addresses=ELSEWHERE)
    frames = in_time(in_step(pairs, 4, US) + in_step([other], 8, 5 * MS))
    found, report = learned(longhaul, directory, frames, (*CLIENT, ELSEWHERE[0] + "/32"))
    if bad := wrong(found, pairs):
        yield f"{bad} are no connections"
    if found.get((ELSEWHERE[0], 0x99), (None,))[0] != 0x77:
        yield f"the other pair of hosts was not learned: {found.get((ELSEWHERE[0], 0x99))}"
    if report["real_acks_mismatched"]:
        yield f"{report['real_acks_mismatched']} mismatched"


@edge
def peer_gone_with_its_last_ack(longhaul, directory):
    """Without RDMA-CM a job ends, its last ACK is lost, and its queue pairs are gone: no failure is reported at its end,
    but counted as what it is, both ends silent."""
    pair, other, count = QueuePair(), QueuePair(0x77, 0x99, 0x123456, addresses=ELSEWHERE), 20
    frames = []
    for nth in range(count):
        frames.append(at(nth * MS, pair.write(nth)))
        if nth + 1 < count:
            frames.append(at(nth * MS + RTT, pair.ack(nth, nth + 1)))
    frames += in_step([other], 250, 300 * MS)  # time goes on
    found, report = learned(longhaul, directory, in_time(frames), (*CLIENT, ELSEWHERE[0] + "/32"))
    counters = report["counters"]
    if len(found) != 2 or not report["pseudo_acks"]:
        yield f"{len(found)} learned, {report['pseudo_acks']} pseudo-ACKs"
    if counters["flows_failed"] != counters["flows_failed_silent"] or counters["flows_failed_silent"] != 1:
        yield f"{counters['flows_failed']} failed, {counters['flows_failed_silent']} of them with both ends silent"
