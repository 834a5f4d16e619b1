# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a row between the same two hosts, without RDMA-CM, whose QPNs and PSNs begin again each time.

The names are jobs-KIND-QPNS-HARM. `jobs-quick` runs with the other scenarios; `run --jobs` runs all. Each scenario
compares the policies in one run: without loss a median job may take at most MOST_TIMES as long as with `off`.
"""
import time

from lab import jobs

POLICIES = ("off", "full", "window")
DISTANCE = "400km"
LOSS = {"loss-0": {}, "loss-1e-2": {"loss": "1%", "seed": 11}}
# A box looks on for a second before it learns connections from their traffic.
LOOKS_ON_SECONDS = 1.2
MOST_TIMES = 1.1
GENEROUS = 5  # where a busy machine must pass too; a timer's wait in each job is more than that
GIVEN_UP_SECONDS = 75  # `give_up` is 60 s
PING_PONGS = 40  # one by one: each takes a round trip

COLUMNS = {"what": "jobs", "loss": "loss", "policy": "policy", "complete": "complete", "left": "left on purpose",
           "compared": "bytes compared", "wrong": "wrong", "median": "median job, ms", "times": "times that of `off`",
           "pseudo_acks": "pseudo-ACKs", "eligible": "of eligible", "resends": "resends", "failed": "bytes failed",
           "first_bad": "first bad", "seconds": "s, all policies", "passed": ""}


def described(plan):
    """A plan in a few words."""
    words = [plan.kind, "both QPNs come back" if not plan.other_qpn else "the responder's QPN comes back"]
    words += ["sizes vary"] * plan.vary
    words += [f"one in {plan.leave_every} left"] * bool(plan.leave_every)
    return ", ".join(words)


def judge(trial, policy, plan, row):
    """Every job complete, every byte compared, and the QPNs did come back."""
    trial.check(row.rc == 0 and row.server_rc == 0, f"{policy}: exit codes {row.rc} and {row.server_rc} (server); "
                                                    f"{row.first_bad or row.said}")
    complete = row.count("equal", "left")
    trial.check(complete == plan.jobs, f"{policy}: {complete} of {plan.jobs} jobs complete")
    trial.check(row.wrong == 0, f"{policy}: {row.wrong} of {row.compared} bytes are not what was sent")
    trial.check(len(row.qpns("server")) == 1, f"{policy}: the server's QPNs were {sorted(row.qpns('server'))}")
    expected = len(row.jobs) if plan.other_qpn else 1
    trial.check(len(row.qpns("client")) == expected,
                f"{policy}: the client's QPNs were {sorted(row.qpns('client'))}")


def is_quiet(plan, loss):
    """Every request was answered, and every answer arrived."""
    return not plan.leave_every and not loss


def wait_until_given_up(path):
    """What nobody will answer any more ends by itself: a job left behind, or a last ACK that was lost with its QP."""
    end = time.monotonic() + GIVEN_UP_SECONDS
    while time.monotonic() < end and any(path.snapshot(name)["custody_packets"] for name in ("near", "far")):
        time.sleep(1)


def judge_boxes(trial, policy, plan, session):
    """Jobs were accelerated where the policy says so, and no box holds anything at the end.

    What was given up is on record as failed.
    """
    near = session.counters["near"]
    if policy == "off":
        trial.check(near["pseudo_acks"] == 0, f"off: {near['pseudo_acks']} pseudo-ACKs")
    else:
        trial.check(near["pseudo_acks"] > 0, f"{policy}: {near['pseudo_acks']} of {near['eligible_requests']} eligible "
                                             "requests were pseudo-acknowledged")
    quiet = is_quiet(plan, session.conditions.loss_fraction)
    for name in ("near", "far"):
        box = session.counters[name]
        trial.check(box["custody_left_packets"] == 0,
                    f"{policy}, {name}: {box['custody_left_packets']} packets in custody after draining")
        if quiet:
            trial.check(box["failed_bytes"] == 0, f"{policy}, {name}: {box['failed_bytes']} bytes failed")


def compare_policies(trial, plan, conditions, most_times):
    """The same jobs under each policy, and what they took."""
    trial.rows = []
    off = None
    for policy in POLICIES:
        with trial.under(may_lose=True, policy=policy, distance=DISTANCE, **conditions) as session:
            time.sleep(LOOKS_ON_SECONDS)
            row = jobs.run(session, plan)
            if trial.has_boxes and not is_quiet(plan, conditions):
                wait_until_given_up(session.path)
        judge(trial, policy, plan, row)
        times = row.median / off if off and row.median else None
        cells = {"what": described(plan), "loss": conditions.get("loss", "0%"), "policy": policy,
                 "complete": row.count("equal"), "left": row.count("left"),
                 "compared": row.compared, "wrong": row.wrong,
                 "median": round(1000 * row.median, 1) if row.median else "", "times": round(times, 2) if times else "",
                 "first_bad": row.first_bad or ""}
        off = off or row.median
        trial.rows.append(cells)
        if not trial.has_boxes:
            continue
        judge_boxes(trial, policy, plan, session)
        near, far = session.counters["near"], session.counters["far"]
        cells |= {"pseudo_acks": near["pseudo_acks"], "eligible": near["eligible_requests"], "resends": near["resends"],
                  "failed": near["failed_bytes"] + far["failed_bytes"]}
        if not conditions and times:
            trial.check(times <= most_times, f"{policy}: a median job took {1000 * row.median:.1f} ms, {times:.2f} "
                                             "times that of off")


def _plan(kind, count=50, **options):
    return jobs.Plan(count, kind, PING_PONGS if kind == "ping-pong" else 400, **options)


# name: (plan, losses)
_MATRIX = {
    "write-same": (_plan("write"), tuple(LOSS)),
    "write-other": (_plan("write", other_qpn=True), tuple(LOSS)),
    "write-vary": (_plan("write", vary=True), tuple(LOSS)),
    "send-same": (_plan("send"), tuple(LOSS)),
    "ping-pong-same": (_plan("ping-pong"), tuple(LOSS)),
    "write-same-left": (_plan("write", leave_every=4), tuple(LOSS)),
    "send-same-left": (_plan("send", leave_every=4), tuple(LOSS)),
    "write-other-left": (_plan("write", leave_every=4, other_qpn=True), ("loss-1e-2",)),
    "ping-pong-same-left": (_plan("ping-pong", leave_every=4), ("loss-1e-2",)),
}


def _scenario(plan, loss, most_times):
    def run(trial):
        compare_policies(trial, plan, LOSS[loss], most_times)
    run.__doc__ = (f"{plan.jobs} jobs: {described(plan)}; {LOSS[loss].get('loss', 'no')} loss; "
                   f"policies {', '.join(POLICIES)}.")
    return run


SCENARIOS = {f"jobs-{name}-{loss}": _scenario(plan, loss, MOST_TIMES)
             for name, (plan, losses) in _MATRIX.items() for loss in losses}
SCENARIOS["jobs-quick"] = _scenario(_plan("write", 8, leave_every=3, job_seconds=10), "loss-0", GENEROUS)
BY_DEFAULT = ("jobs-quick",)
