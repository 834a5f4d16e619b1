# SPDX-License-Identifier: BSD-3-Clause
"""How responders in hardware answer, unlike Soft-RoCE: RNR NAKs for longer than give_up, MSNs of their own counting,
credits, READ responses out of order. A capture for each, through a box."""
import outside
import roce
from edges import CLIENT, edge, judged, saved
from hardware_requests import RTT, confirmed, on_wan, run_of
from traffic import MS, MTU, RNR_NAK, SECOND, US, QueuePair, at, in_time, real_acks_at_host
from world import World


@edge
def receiver_busy_for_70_s(longhaul, directory):
    """rnr_retry 7 is "for ever": a receiver answers by RNR NAKs for 70 s, longer than give_up. The connection lives."""
    pair = QueuePair()
    frames = confirmed(pair) + [at(RTT + MS, pair.send(1)), at(RTT + 2 * MS, pair.send(2))]
    # Timer code 1: 0.01 ms; the box sends again, and the responder says so again.
    frames += [at(2 * RTT + MS + turn * SECOND // 2, pair.ack(1, 1, RNR_NAK | 1)) for turn in range(140)]
    ready = 71 * SECOND
    frames += [at(ready, pair.ack(1, 2)), at(ready + US, pair.ack(2, 3))]
    frames = in_time(frames + pair.closing(ready + SECOND))
    run = run_of(longhaul, directory, frames)
    yield from judged(frames, CLIENT, run)
    counters = run.report["counters"]
    if counters["flows_failed"] or counters["flows_unanswered"] or run.report["custody_left_packets"]:
        yield f"failed {counters['flows_failed']}, unanswered {counters['flows_unanswered']}"
    if counters["absorbed_rnr_naks"] != 140 or counters["resends_rnr_nak"] < 140:
        yield f"{counters['absorbed_rnr_naks']} RNR NAKs were absorbed, {counters['resends_rnr_nak']} times sent again"
    if run.report["made"]["fatal_naks"]:
        yield "a fatal NAK was made"


@edge
def msn_of_its_own_counting(longhaul, directory):
    """A responder whose MSNs are one ahead of IBTA's from the first answer on: learned, and pseudo-ACKs count as it does."""
    pair, count = QueuePair(), 60
    frames = pair.setup()
    for nth in range(count):
        frames += [at(RTT + nth * MS, pair.write(nth)), at(2 * RTT + nth * MS, pair.ack(nth, nth + 2))]
    frames = in_time(frames + pair.closing(4 * RTT + count * MS))
    run = run_of(longhaul, directory, frames)
    report = run.report
    # What is on the way when the second answer agrees with the first one is answered by the responder.
    if report["pseudo_acks"] < count - 20 or report["real_acks_mismatched"]:
        yield f"{report['pseudo_acks']} pseudo-ACKs for {count} WRITEs, {report['real_acks_mismatched']} with another MSN"
    for _, packet in real_acks_at_host(run):
        if packet.msn != roce.psn_diff(packet.psn, pair.psn) + 2:
            yield f"PSN {roce.psn_diff(packet.psn, pair.psn)} is acknowledged with MSN {packet.msn}"


@edge
def one_msn_that_disagrees(longhaul, directory):
    """One answer in the middle of a message tells an MSN that does not fit: accelerated again after two that agree."""
    pair, messages, packets, odd = QueuePair(), 40, 4, 10
    frames, nth = confirmed(pair), 1
    for message in range(messages):
        start = 2 * RTT + message * MS
        made = pair.write_in_packets(nth, packets, lambda i: i in (1, packets - 1))
        frames += [at(start + i * US, data) for i, data in enumerate(made)]
        told = 2 + message if message == odd else 1 + message  # one too many, once
        frames += [at(start + US + RTT, pair.ack(nth + 1, told)),
                   at(start + 3 * US + RTT, pair.ack(nth + packets - 1, 2 + message))]
        nth += packets
    frames = in_time(frames + pair.closing(5 * RTT + messages * MS))
    run = run_of(longhaul, directory, frames)
    early = sum(1 for time, packet in real_acks_at_host(run)
                if time < 2 * RTT + (roce.psn_diff(packet.psn, pair.psn) - 1) // packets * MS + RTT // 2
                and roce.psn_diff(packet.psn, pair.psn) > packets * (odd + 2 + RTT // MS))
    after = messages - (odd + 2 + RTT // MS) - 1
    if early < after:
        yield f"{early} early ACKs after the odd one, for {after} messages"
    if run.report["made"]["fatal_naks"] or run.report["counters"]["flows_failed"]:
        yield "the connection failed"


@edge
def reads_between_writes(longhaul, directory):
    """An NVMe-oF target fetches data by READs: nothing behind a READ is acknowledged before its response has passed to the
    requester (its ACK would tell that the response is lost); what precedes it is, at once."""
    pair, count = QueuePair(), 60
    frames, nth, sent, msn = confirmed(pair), 1, {}, 1
    for turn in range(count):
        start = 2 * RTT + turn * 3 * MS
        msn += 1
        if turn % 3 == 0:
            frames += [at(start, pair.read(nth, MTU)), at(start + RTT, pair.responses(nth, 1, msn)[0])]
        else:
            sent[nth] = start
            frames += [at(start, pair.send(nth)), at(start + RTT, pair.ack(nth, msn))]
        nth += 1
    frames = in_time(frames + pair.closing(5 * RTT + count * 3 * MS))
    run = run_of(longhaul, directory, frames)
    yield from judged(frames, CLIENT, run)  # nothing past a READ earlier
    if run.report["counters"]["eligible_requests"] != count * 2 // 3 or run.exit_code != 0:
        yield f"{run.report['counters']['eligible_requests']} requests to acknowledge; exit {run.exit_code}"
    delays = sorted(time - sent[psn] for time, packet in real_acks_at_host(run)
                    if (psn := roce.psn_diff(packet.psn, pair.psn)) in sent)
    # Each third request is a READ, and at 3 ms apart several are under way at any time: none is early.
    if not delays or delays[0] < RTT - 6 * MS - MS:
        yield f"ACKs after {delays[:5]} ns, with READs before them that take {RTT}"


@edge
def credits_for_few_sends(longhaul, directory):
    """A responder without SRQ tells its credits: no more SENDs are acknowledged than it has receives for, less the one
    that an ACK must leave; and no ACK tells more than the responder does."""
    for code, receives in ((0x04, 4), (0x0C, 64)):  # the codes of 4 and of 64: IBTA vol. 1, table 45
        pair, count = QueuePair(), 200
        frames = pair.setup() + [at(100 * US, pair.send(0)), at(100 * US + RTT, pair.ack(0, 1, code))]
        begin = 2 * RTT
        frames += [at(begin + nth * US, pair.send(1 + nth)) for nth in range(count)]
        frames += [at(begin + RTT + nth * 10 * US, pair.ack(1 + nth, 2 + nth, code)) for nth in range(count)]
        frames = in_time(frames + pair.closing(begin + 3 * RTT))
        run = run_of(longhaul, directory, frames)
        early = max((roce.psn_diff(packet.psn, pair.psn) for time, packet in real_acks_at_host(run)
                     if time < begin + RTT), default=0)
        if early != receives - 1:
            yield f"{receives} receives: SENDs up to {early} were acknowledged before an answer"
        if run.report["real_acks_mismatched"] or run.report["custody_left_packets"]:
            yield f"{receives} receives: {run.report['real_acks_mismatched']} mismatched"


@edge
def read_responses_out_of_order(longhaul, directory):
    """READ responses swap on the WAN (out-of-order placement is for requests alone): they reach the host in order, nothing
    is acknowledged past the READ earlier, and acceleration goes on."""
    pair, packets, reads = QueuePair(), 16, 6
    frames, nth, msn = confirmed(pair), 1, 1
    for turn in range(reads):
        start = 2 * RTT + turn * 2 * RTT
        msn += 1
        answers = pair.responses(nth, packets, msn)
        frames.append(at(start, pair.read(nth, packets * MTU)))
        for i, data in enumerate(answers):
            late = 30 * US if i % 5 == 2 else 0
            frames.append(at(start + RTT + i * 3 * US + late, data))
        nth += packets
        msn += 1
        frames += [at(start + US, pair.write(nth)), at(start + RTT + MS, pair.ack(nth, msn))]
        nth += 1
    last = 2 * RTT + reads * 2 * RTT
    frames += [at(last, pair.write(nth)), at(last + RTT, pair.ack(nth, msn + 1))]
    frames = in_time(frames + pair.closing(last + 3 * RTT))
    run = run_of(longhaul, directory, frames)
    got = [roce.psn_diff(packet.psn, pair.psn) for frame in run.out["host"]
           if (packet := roce.parse(frame.data)) and packet.opcode in roce.READ_RESPONSES]
    if len(got) != reads * packets or got != sorted(got):
        yield f"{len(got)} of {reads * packets} responses reached the host, {sum(b < a for a, b in zip(got, got[1:]))} out of order"
    outputs = outside.Outputs(World(frames, CLIENT), run.out)
    yield from outside.check_pseudo_acks(outputs)
    yield from outside.check_icrc(outputs)
    early = [psn for time, packet in real_acks_at_host(run)
             if (psn := roce.psn_diff(packet.psn, pair.psn)) == nth and time < last + MS]
    if not early:
        yield "the WRITE after all READs was not acknowledged early"
    if run.report["counters"]["flows_failed"] or len(set(on_wan(run, pair))) != 2 + 2 * reads:
        yield f"flows failed: {run.report['counters']['flows_failed']}; {len(set(on_wan(run, pair)))} different requests"
