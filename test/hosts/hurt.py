# SPDX-License-Identifier: BSD-3-Clause
"""Real hosts, hurt: every kind of traffic under every kind of harm, a scenario for each row of the matrix below.

The names are hurt-OPERATION-EXCHANGE-FAMILY-HARM. A few run with the other scenarios; `run --matrix` runs all.
"""
import dataclasses
import signal
import time
from typing import Callable

from lab.traffic import COUNTED, TRAFFIC, UNACCELERATED

# Long enough for custody to be full of unanswered requests at any moment, short enough for hundreds of round trips.
NEAR_BY, LONG_HAUL = {"distance": "100km"}, {"distance": "1000km"}
OUTAGE_SECONDS = 10
# What RDMA-CM's timer of 2.1 s with 2 retries outlives: the one after 4.3 s passes. rxe takes 7 retries for "for ever".
SHORT_OUTAGE_SECONDS, IMPATIENT = 3, ("--retry_count=2",)
# Longer than give_up (60 s). perftest asks for rnr_retry 7, which is "for ever" (IBTA vol. 1, 9.7.5.2.8).
BUSY_SECONDS = 70
# A tenth of what these hosts send, and a queue that holds more than their window.
SLOW_LINK = {"distance": "100km", "rate": "50Mbps", "queue": "4MiB"}
# A box that stands still for longer than it waits for answers, with more flows in custody than a burst has frames. The
# hosts' patience (TCP_PATIENCE) is longer.
GIVE_UP_SECONDS, PAUSE_SECONDS, PAUSED_QPS = 2, 6, 40
# What RDMA-CM gives both ends here: 2.1 s, eight times; perftest's own over TCP is 67 ms, less than any outage.
TCP_PATIENCE = ("-u", 19)
# A box looks on for a second before it learns connections from their traffic; a fast transfer is over by then.
LOOKS_ON_SECONDS = 1.2
# A requester's own retries take 17 s; beyond them this much for busy machines, and then it hangs.
HANGS_SECONDS = 240
# Of 64 bytes, less than the first window of a flow; at 1 s round trip its answers are far behind its last request.
TOLD_MESSAGES = 3000
STOPPED_MESSAGES, STOPPED_SECONDS = 500, 240  # of each QP; 40 of them are slow on a busy machine

# Of the table that `run --table` writes.
COLUMNS = {"operation": "operation", "exchange": "exchange", "family": "family", "harm": "harm", "result": "result",
           "harmed": "frames harmed", "pseudo_acks": "pseudo-ACKs", "eligible": "of eligible", "resends": "resends",
           "verified": "data", "seconds": "s", "passed": ""}


@dataclasses.dataclass(frozen=True)
class Harm:
    """`act(trial, session, traffic)` runs the traffic and checks what came of it; its value says what happened.

    `judge(trial, session, traffic)`, when the boxes have stopped, checks their counters. `counted` is the link's
    counter that tells that the harm was done.
    """
    what: str
    conditions: dict
    act: Callable
    judge: Callable
    counted: str = None
    may_lose: bool = False


def completes(trial, session, traffic, times=1, **options):
    """The transfer ends well, and its bytes are right where its tool compares them."""
    outcome = session.transfer(traffic, traffic.brief * times, **options)
    trial.check(outcome.complete, f"{traffic.name}: {outcome}")
    return "complete" if outcome.complete else "failed"


def accelerated(trial, session, traffic):
    """Requests that a box may answer were answered by it; and nothing is left in its hands."""
    near = session.counters["near"]
    if traffic.operation in UNACCELERATED:
        # Over TCP they have no ACK to learn from: plain RoCE throughout.
        counter = "real_responses" if traffic.exchange == "cm" else "responses_unlearned"
        trial.check(near[counter] > 0, f"{counter} {near[counter]}")
    elif traffic.exchange == "cm":
        # A host that a busy machine held up repeats what was just answered: nothing is acknowledged for its flow until
        # answers decide whether it is another life, and how many requests that takes is a matter of time.
        held_up = near["flows_doubted"] and near["duplicates_forwarded"]
        share = 0 if held_up else 0.9
        trial.check(near["eligible_requests"] > 0 and near["pseudo_acks"] > share * near["eligible_requests"],
                    f"{near['pseudo_acks']} of {near['eligible_requests']} eligible requests were pseudo-acknowledged, "
                    f"{near['flows_doubted']} times in doubt")
    else:
        trial.check(near["connections_from_traffic"] > 0 and near["pseudo_acks"] > 0,
                    f"{near['connections_from_traffic']} connections learned from traffic, "
                    f"{near['pseudo_acks']} pseudo-ACKs")
    for name in ("near", "far"):
        left = session.counters[name]["custody_left_packets"]
        trial.check(left == 0, f"{name}: {left} packets in custody after draining")
        for counter in ("failed_bytes", "dropped_port_full"):
            trial.check(session.counters[name][counter] == 0, f"{name}: {counter} {session.counters[name][counter]}")


def completes_long(trial, session, traffic):
    """Enough frames for more than one harm in a thousand."""
    return completes(trial, session, traffic, times=5)


def not_ready(trial, session, traffic):
    """SEND into fewer receives than are sent: RNR NAKs, which the near box answers from custody."""
    return completes(trial, session, traffic, server_extra=("-r", 2))


def was_not_ready(trial, session, traffic):
    accelerated(trial, session, traffic)
    absorbed = session.counters["near"]["absorbed_rnr_naks"]
    trial.check(absorbed > 0, f"{absorbed} RNR NAKs absorbed")


def slow_receiver(trial, session, traffic):
    """The receiving host runs a third of the time."""
    with session.server.throttled(runs=0.02, rests=0.04):
        return completes(trial, session, traffic)


def outage(trial, session, traffic):
    """Nothing passes the long link for OUTAGE_SECONDS in the middle of a transfer, which everything survives."""
    patience = TCP_PATIENCE if traffic.exchange == "tcp" and traffic.verified == COUNTED else ()
    return cut_for(OUTAGE_SECONDS, patience, trial, session, traffic)


def short_outage(trial, session, traffic):
    """The same, shorter, with a requester whose retries last little longer."""
    return cut_for(SHORT_OUTAGE_SECONDS, IMPATIENT, trial, session, traffic)


def cut_for(seconds, patience, trial, session, traffic):
    transfer = session.begin(traffic, traffic.long, server_extra=patience, client_extra=patience)
    transfer.wait_under_way()
    session.path.cut()
    began = time.monotonic()
    time.sleep(seconds)
    session.path.mend()
    length = time.monotonic() - began
    outcome = transfer.finish()
    trial.check(outcome.complete, f"{traffic.name}: {outcome}")
    trial.check(outcome.seconds >= seconds, f"over in {outcome.seconds:.1f} s: the outage missed it")
    return f"{'complete' if outcome.complete else 'failed'}, {length:.1f} s of outage"


def busy(trial, session, traffic):
    """The receiving program stands still: its QP answers by RNR NAKs, for longer than a box waits for answers."""
    receives = ("-r", 16)
    transfer = session.begin(traffic, traffic.long, server_extra=receives)
    transfer.wait_under_way()
    session.run(session.server, ["pkill", "-STOP", "-x", "ib_send_bw"])
    time.sleep(BUSY_SECONDS)
    session.run(session.server, ["pkill", "-CONT", "-x", "ib_send_bw"])
    outcome = transfer.finish()
    trial.check(outcome.complete, f"{traffic.name}: {outcome}")
    trial.check(outcome.seconds >= BUSY_SECONDS, f"over in {outcome.seconds:.1f} s: the receiver was not busy")
    return "complete" if outcome.complete else "failed"


def was_busy(trial, session, traffic):
    was_not_ready(trial, session, traffic)
    near = session.counters["near"]
    trial.check(near["flows_failed"] == 0, f"{near['flows_failed']} flows failed")


def was_slow(trial, session, traffic):
    """The link queues what the box holds back for its rate, drops nothing, and the hosts are told."""
    accelerated(trial, session, traffic)
    near, link = session.counters["near"], session.counters["link"]
    dropped = link["a_to_b_queue_dropped"] + link["b_to_a_queue_dropped"]
    trial.check(dropped == 0, f"the link's queue dropped {dropped} frames")
    trial.check(near["cnps_made"] > 0, f"{near['cnps_made']} CNPs")


def stopped(trial, session, traffic):
    """The near box is stopped (SIGSTOP) with all flows in custody, for longer than give_up, and goes on."""
    # What is under way fits into the rings of the box's ports.
    extra = ("-q", PAUSED_QPS, "-s", 1024, "-t", 16) + TCP_PATIENCE
    transfer = session.begin(traffic, STOPPED_MESSAGES, timeout=STOPPED_SECONDS, server_extra=extra, client_extra=extra)
    transfer.wait_under_way(50 * PAUSED_QPS)
    session.path.signal("near", signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS)
    session.path.signal("near", signal.SIGCONT)
    after = session.path.snapshot("near")
    outcome = transfer.finish()
    trial.check(outcome.complete, f"{traffic.name}: {outcome}")
    trial.check(outcome.seconds >= PAUSE_SECONDS, f"over in {outcome.seconds:.1f} s: the pause missed it")
    return (f"{'complete' if outcome.complete else 'failed'}, stopped for {after['paused_ns'] / 1e9:.1f} s, "
            f"give_up {GIVE_UP_SECONDS} s")


def was_stopped(trial, session, traffic):
    accelerated(trial, session, traffic)
    near = session.counters["near"]
    trial.check(near["pauses"] > 0 and near["paused_ns"] > 0.9e9 * PAUSE_SECONDS,
                f"{near['pauses']} pauses of {near['paused_ns'] / 1e9:.1f} s in all")
    trial.check(near["connections_from_traffic"] > PAUSED_QPS / 2,
                f"{near['connections_from_traffic']} of {PAUSED_QPS} connections learned")
    trial.check(near["flows_failed"] == 0, f"{near['flows_failed']} flows failed")


def killed(box):
    """kill -9 of a box in the middle of a transfer, and a new one at once."""
    def act(trial, session, traffic):
        transfer = session.begin(traffic, traffic.long, timeout=HANGS_SECONDS)
        transfer.wait_under_way()
        session.path.kill_one(box)
        began = time.monotonic()
        session.path.start_again(box)
        outcome = transfer.finish(qp_may_fail=True)
        lost = session.path.snapshot(box)["failed_by_restart_bytes"]
        honest(trial, traffic, outcome, lost)
        again(trial, session)
        end = "complete" if outcome.complete else f"error {outcome.ended - began:.1f} s after the kill"
        return f"{end}; {lost} bytes on record as lost; a new connection is accelerated"
    return act


def honest(trial, traffic, outcome, lost):
    """A transfer over which a box was killed ends: by an error, or well, and then all has arrived or is on record."""
    trial.check(not outcome.hung, f"{traffic.name} hangs: no end within {HANGS_SECONDS} s")
    trial.check(not outcome.wrong_data, f"{traffic.name}: {outcome}")
    if outcome.rc == 0 and lost == 0:
        trial.check(outcome.complete, f"{traffic.name}: the client was told success, no byte is on record as lost, and "
                                      f"yet: {outcome}")


def again(trial, session):
    """A new connection between the same hosts works, and is accelerated."""
    before = session.path.snapshot("near")
    outcome = session.transfer(TRAFFIC["rping-cm-ipv4"], 20)
    after = session.path.snapshot("near")
    made = after["pseudo_acks"] - before["pseudo_acks"]
    trial.check(outcome.complete and made > 0, f"a new connection: {outcome}, {made} pseudo-ACKs")


def was_killed(trial, session, traffic):
    """After draining nobody holds anything any more but what is on record, which a box tells by exit code 1."""
    del traffic
    for wrong in session.wrong:
        trial.check("ended with exit code 1:" in wrong, wrong)
    for name in ("near", "far"):
        left = session.counters[name]["custody_left_packets"]
        trial.check(left == 0, f"{name}: {left} packets in custody after draining")


def told_success(trial, session, traffic):
    """The box is killed when it has acknowledged the last request and none of the last ones has been answered.

    The sender then has success for all of them; perftest asks nothing more, so only the record can say what was lost.
    """
    extra = ("-s", 64) + TCP_PATIENCE
    transfer = session.begin(traffic, TOLD_MESSAGES, server_extra=TCP_PATIENCE, client_extra=extra)
    transfer.wait_under_way(TOLD_MESSAGES, of=("requests", "requests_unlearned"))
    session.path.kill_one("near")
    session.path.start_again("near")
    outcome = transfer.finish()
    lost = session.path.snapshot("near")["failed_by_restart_bytes"]
    trial.check(outcome.rc == 0, f"the sender was to be told success: {outcome}")
    trial.check(lost > 0, f"{lost} bytes on record as lost")
    trial.check(lost == 0 or "not delivered" in session.path.log("near"), "the lost bytes are in no line of the log")
    return f"sender told success; {lost} bytes on record as lost"


HARMS = {
    "loss-1e-3": Harm("0.1 % loss", {**NEAR_BY, "loss": "0.1%", "seed": 3}, completes_long, accelerated, "lost"),
    "loss-1e-2": Harm("1 % loss", {**NEAR_BY, "loss": "1%", "seed": 4}, completes, accelerated, "lost"),
    "reorder": Harm("1 % of frames 1 ms late", {**NEAR_BY, "reorder": "1%", "seed": 5}, completes, accelerated,
                    "reordered"),
    "duplicate": Harm("1 % of frames twice", {**NEAR_BY, "duplicate": "1%", "seed": 6}, completes, accelerated,
                      "duplicated"),
    "not-ready": Harm("2 receives posted", NEAR_BY, not_ready, was_not_ready),
    "slow-receiver": Harm("receiver runs 1/3 of the time", NEAR_BY, slow_receiver, accelerated),
    "stopped": Harm(f"SIGSTOP of the near box for {PAUSE_SECONDS} s, give_up {GIVE_UP_SECONDS} s, {PAUSED_QPS} QPs",
                    {**LONG_HAUL, "give_up": f"{GIVE_UP_SECONDS}s"}, stopped, was_stopped),
    "busy": Harm(f"receiver busy for {BUSY_SECONDS} s", NEAR_BY, busy, was_busy),
    "slow-link": Harm("the link has a tenth of the hosts' rate", SLOW_LINK, completes, was_slow),
    "outage": Harm("10 s outage at 1000 km", LONG_HAUL, outage, accelerated),
    "short-outage": Harm("3 s outage at 1000 km, retries for 4 s", LONG_HAUL, short_outage, accelerated),
    "kill-near": Harm("kill -9 of the near box", {**LONG_HAUL, "record": True}, killed("near"), was_killed,
                      may_lose=True),
    "kill-far": Harm("kill -9 of the far box", {**LONG_HAUL, "record": True}, killed("far"), was_killed, may_lose=True),
    "kill-told": Harm("kill -9 of the near box when the sender was told success",
                      {"distance": "100000km", "record": True}, told_success, was_killed, may_lose=True),
}

EVERY = tuple(TRAFFIC)
SOME = ("write-cm-ipv4", "write-tcp-ipv6", "send-cm-ipv4", "read-cm-ipv4", "atomic-tcp-ipv4", "rping-cm-ipv4",
        "rping-cm-ipv6", "rstream-cm-ipv4", "pingpong-tcp-ipv6", "nvme-cm-ipv4")
MATRIX = {
    "loss-1e-3": EVERY, "loss-1e-2": EVERY, "reorder": EVERY, "duplicate": EVERY,
    "not-ready": ("send-cm-ipv4", "send-tcp-ipv4", "send-tcp-ipv6"),
    "slow-receiver": ("write-cm-ipv4", "write-tcp-ipv6", "send-cm-ipv4", "rping-cm-ipv6", "nvme-cm-ipv4"),
    "stopped": ("write-tcp-ipv4", "send-tcp-ipv4"),
    "busy": ("send-cm-ipv4",), "slow-link": ("write-cm-ipv4", "send-cm-ipv4"), "short-outage": ("write-cm-ipv4",),
    "outage": SOME, "kill-near": SOME, "kill-far": SOME, "kill-told": ("write-tcp-ipv4",),
}
# CI has no time for these: two minutes.
ONLY_IN_MATRIX = ("busy", "slow-link", "short-outage")
# What runs with the other scenarios: each other harm, exchange and family at least once.
BY_DEFAULT = ("hurt-send-tcp-ipv6-loss-1e-2", "hurt-rstream-cm-ipv4-loss-1e-3", "hurt-rping-cm-ipv6-reorder",
              "hurt-pingpong-tcp-ipv4-duplicate", "hurt-send-cm-ipv4-not-ready", "hurt-nvme-cm-ipv4-slow-receiver",
              "hurt-write-tcp-ipv4-stopped", "hurt-write-cm-ipv4-outage", "hurt-rping-cm-ipv4-kill-near",
              "hurt-nvme-cm-ipv4-kill-far", "hurt-write-tcp-ipv4-kill-told")


def _scenario(traffic, harm):
    def run(trial):
        trial.row = {"operation": traffic.operation, "exchange": traffic.exchange, "family": traffic.family,
                     "harm": harm.what, "verified": traffic.verified}
        with trial.under(policy="full", may_lose=harm.may_lose, **harm.conditions) as session:
            if traffic.exchange == "tcp":
                time.sleep(LOOKS_ON_SECONDS)
            trial.row["result"] = harm.act(trial, session, traffic)
        harm.judge(trial, session, traffic)
        near, link = session.counters["near"], session.counters["link"]
        trial.row.update(pseudo_acks=near["pseudo_acks"], eligible=near["eligible_requests"], resends=near["resends"])
        if harm.counted:
            trial.row["harmed"] = sum(link[f"{way}_{harm.counted}"] for way in ("a_to_b", "b_to_a"))
            trial.check(trial.row["harmed"] > 0, f"the link counted no frame {harm.counted}")
    run.__doc__ = f"{traffic.operation} ({traffic.exchange}, {traffic.family}), {harm.what}; {traffic.verified}."
    return run


SCENARIOS = {f"hurt-{name}-{harm}": _scenario(TRAFFIC[name], HARMS[harm])
             for harm, names in MATRIX.items() for name in names}
