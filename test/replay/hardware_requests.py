# SPDX-License-Identifier: BSD-3-Clause
"""How requesters in hardware send, unlike Soft-RoCE: at line rate from the first packet on, out of order, again on timers
of their own, with few requests for ACKs. A capture for each, through a box."""
import random

import outside
import roce
from edges import CLIENT, edge, judged, saved
from traffic import MS, MTU, US, QueuePair, at, in_time, real_acks_at_host
from world import World

RTT = 10 * MS


def run_of(longhaul, directory, frames, *more):
    return longhaul.replay(saved(directory, frames), CLIENT, *more)


def confirmed(pair):
    """Set up, and the first WRITE is answered: from then on a box acknowledges."""
    return pair.setup() + [at(100 * US, pair.write(0)), at(100 * US + RTT, pair.ack(0, 1))]


def on_wan(run, pair):
    """PSNs of the requests that left the WAN port, counted from the first request's."""
    packets = (roce.parse(frame.data) for frame in run.out["wan"])
    return [roce.psn_diff(packet.psn, pair.psn) for packet in packets if packet and packet.request]


@edge
def line_rate_into_a_slow_wan(longhaul, directory):
    """A fresh connection posts 4 MB at 10 Gbit/s into a WAN of 1 Gbit/s: the host is told by CNPs, nothing is dropped, and
    nothing overtakes what waits."""
    pair, count = QueuePair(), 1000
    apart, slow = MTU * 8 * US // 10_000, (MTU + 100) * 8 * US // 1_000
    frames = pair.setup()
    frames += [at(100 * US + nth * apart, pair.write(nth, MTU)) for nth in range(count)]
    frames += [at(100 * US + RTT + (nth + 1) * slow, pair.ack(nth, nth + 1)) for nth in range(count)]
    frames += pair.closing(100 * US + 2 * RTT + (count + 1) * slow)
    frames = in_time(frames)
    run = run_of(longhaul, directory, frames, "--wan-rate", "1Gbps")
    report = run.report
    # How soon a real ACK may be is not known here: those of a path without a box precede what the pace has let out.
    outputs = outside.Outputs(World(frames, CLIENT), run.out)
    yield from outside.check_explained(outputs, report)
    yield from outside.check_icrc(outputs)
    if not report["sum_ok"]:
        yield "the frames do not add up"
    sent = on_wan(run, pair)
    if sent != list(range(count)):
        yield f"{len(sent)} requests left the WAN port, {sum(b != a + 1 for a, b in zip(sent, sent[1:]))} out of order"
    dropped = {name: number for name, number in report["not_forwarded"].items() if number and name.startswith("dropped")}
    if dropped:
        yield f"dropped: {dropped}"
    if not 10 <= len(outputs.cnps) <= 1 + (1000 * slow) // (50 * US):
        yield f"{len(outputs.cnps)} CNPs: one in 50 us at most, as long as the backlog lasts"


def overtaken(count, apart, late, share, rng):
    """Times of `count` packets `apart`, of which a share comes `late`."""
    return [nth * apart + (late if rng.random() < share else 0) for nth in range(count)]


@edge
def requests_out_of_order(longhaul, directory):
    """0.1, 1 and 10 % of the requests come 10 us late (adaptive routing): they leave once each, in order, and each is
    acknowledged."""
    for share in (0.001, 0.01, 0.1):
        rng, pair, count = random.Random(5), QueuePair(), 1000
        times = overtaken(count, US, 10 * US, share, rng)
        times[7] += 10 * US if share < 0.01 else 0  # one at least
        frames = confirmed(pair)
        begin = 200 * US + RTT
        frames += [at(begin + time, pair.write(1 + nth)) for nth, time in enumerate(times)]
        # A responder in hardware places them out of order and answers the highest that is whole.
        frames += [at(begin + RTT + 20 * US + nth * US, pair.ack(1 + nth, 2 + nth)) for nth in range(count)]
        frames = in_time(frames + pair.closing(begin + 3 * RTT))
        run = run_of(longhaul, directory, frames)
        sent = on_wan(run, pair)
        if sent != list(range(count + 1)):
            yield f"{share:.1%}: {len(sent)} requests left the WAN port, {sum(b < a for a, b in zip(sent, sent[1:]))} out of order"
        if run.report["pseudo_acks"] < count:
            yield f"{share:.1%}: {run.report['pseudo_acks']} pseudo-ACKs for {count} requests"
        if run.report["made"]["pseudo_naks"] or run.report["made"]["repair_naks"]:
            yield f"{share:.1%}: NAKs for what was only late: {run.report['made']}"
        if run.exit_code != 0:
            yield f"{share:.1%}: exit {run.exit_code}: {run.stderr.strip()}"


@edge
def repeats_of_a_quick_timer(longhaul, directory):
    """A timer of 5 ms under a round trip of 30 ms (adaptive retransmission): what waits behind a READ is repeated by its
    requester until the READ's response is there. The WAN carries the first repeat, not each."""
    rtt, pair, count, rounds = 30 * MS, QueuePair(), 20, 5
    frames = pair.setup() + [at(100 * US, pair.write(0)), at(100 * US + rtt, pair.ack(0, 1))]
    begin = rtt + MS
    posted = [pair.read(1, MTU)] + [pair.write(2 + nth) for nth in range(count)]
    for turn in range(1 + rounds):
        frames += [at(begin + 5 * MS * turn + nth * US, data) for nth, data in enumerate(posted)]
    frames += [at(begin + rtt, pair.responses(1, 1, 2)[0])]
    frames += [at(begin + rtt + (1 + nth) * US, pair.ack(2 + nth, 3 + nth)) for nth in range(count)]
    # The responder answers each repeat, too; these are under way when all is done.
    frames = in_time(frames + pair.closing(begin + 3 * rtt))
    run = run_of(longhaul, directory, frames)
    yield from judged(frames, CLIENT, run)
    sent = len(on_wan(run, pair)) - 1
    if sent > 2 * len(posted):
        yield f"{sent} frames left the WAN port for {len(posted)} requests, each repeated {rounds} times"


@edge
def acks_asked_for_rarely(longhaul, directory):
    """63 WRITEs of 16 packets, and each 128th packet asks for an ACK, whatever message it is of (mlx5 has such a setting,
    MLX5_IB_ACK_REQ_FREQ): each message's end is acknowledged, long before an answer."""
    pair, messages, packets, rarely = QueuePair(), 63, 16, 128
    frames = confirmed(pair)
    begin = RTT + MS
    start_of = lambda end: begin + (end - 1) // packets * 2 * MS
    for message in range(messages):
        nth = 1 + message * packets
        made = pair.write_in_packets(nth, packets, lambda i: (nth + i) % rarely == 8)
        frames += [at(begin + message * 2 * MS + i * US, data) for i, data in enumerate(made)]
        if message % (rarely // packets) == 0:
            frames.append(at(begin + message * 2 * MS + 20 * US + RTT, pair.ack(nth + 7, 1 + message)))
    last = begin + messages * 2 * MS
    frames.append(at(last + RTT, pair.ack(messages * packets, 1 + messages)))  # what its timer asks for in the end
    frames = in_time(frames + pair.closing(last + 2 * RTT))
    run = run_of(longhaul, directory, frames)
    yield from judged(frames, CLIENT, run)
    ends = {packets * (1 + message): None for message in range(messages)}
    for time, packet in real_acks_at_host(run):
        if (end := roce.psn_diff(packet.psn, pair.psn)) in ends and ends[end] is None:
            ends[end] = time - start_of(end) - (packets - 1) * US
    late = {end: delay for end, delay in ends.items() if delay is None or delay > MS}
    # The limit on unanswered bytes holds a few back until the next answer: answers are rare, too.
    if len(late) > messages // 20:
        yield f"{len(late)} of {messages} messages were not acknowledged within 1 ms of their end: {late}"
