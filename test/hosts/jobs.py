# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in a row between the same two hosts, without RDMA-CM, whose QPNs and PSNs begin again each time.

The names are jobs-KIND-QPNS-HARM. `jobs-quick` runs with the other scenarios; `run --jobs` runs all. Each scenario
compares the policies in one run: without loss a median job may take at most MOST_TIMES as long as with `off`. The
median of 50 jobs differs by a tenth from one session to the next, whatever the policy; so without loss there are
ROUNDS, in which each policy comes first, second and third, and the jobs of all of them count.
"""
import statistics
import time

from lab import jobs

POLICIES = ("off", "full", "window")
BOXES = ("near", "far")
DISTANCE = "400km"
LOSS = {"loss-0": {}, "loss-1e-2": {"loss": "1%", "seed": 11}}
# A box looks on for a second before it learns connections from their traffic.
LOOKS_ON_SECONDS = 1.2
MOST_TIMES = 1.1
ROUNDS = 3
GENEROUS = 5  # where a busy machine must pass too; a timer's wait in each job is more than that
GIVEN_UP_SECONDS = 75  # `give_up` is 60 s
PING_PONGS = 40  # one by one: each takes a round trip

COLUMNS = {"what": "jobs", "loss": "loss", "policy": "policy", "complete": "complete", "left": "left on purpose",
           "compared": "bytes compared", "wrong": "wrong", "median": "median job, ms",
           "medians": "of each session", "times": "times that of `off`",
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
    while time.monotonic() < end and any(path.snapshot(name)["custody_packets"] for name in BOXES):
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
    for name in BOXES:
        box = session.counters[name]
        trial.check(box["custody_left_packets"] == 0,
                    f"{policy}, {name}: {box['custody_left_packets']} packets in custody after draining")
        if quiet:
            trial.check(box["failed_bytes"] == 0, f"{policy}, {name}: {box['failed_bytes']} bytes failed")


def run_jobs(trial, policy, plan, conditions):
    """All jobs of a plan under one policy, judged: (Row, the boxes' counters or None)."""
    with trial.under(may_lose=True, policy=policy, distance=DISTANCE, **conditions) as session:
        time.sleep(LOOKS_ON_SECONDS)
        row = jobs.run(session, plan)
        if trial.has_boxes and not is_quiet(plan, conditions):
            wait_until_given_up(session.path)
    judge(trial, policy, plan, row)
    if not trial.has_boxes:
        return row, None
    judge_boxes(trial, policy, plan, session)
    return row, session.counters


def cells_of(plan, conditions, policy, done):
    """A row of the table: what `done`, all [(Row, counters)] of a policy, comes to."""
    rows = [row for row, _ in done]
    job_seconds = [seconds for row in rows for seconds in row.job_seconds]
    cells = {"what": described(plan), "loss": conditions.get("loss", "0%"), "policy": policy,
             "complete": sum(row.count("equal") for row in rows), "left": sum(row.count("left") for row in rows),
             "compared": sum(row.compared for row in rows), "wrong": sum(row.wrong for row in rows),
             "median": round(1000 * statistics.median(job_seconds), 1) if job_seconds else "",
             "medians": ", ".join(f"{1000 * row.median:.0f}" for row in rows if row.median),
             "first_bad": next((row.first_bad for row in rows if row.first_bad), "")}
    boxes = [counters for _, counters in done if counters]
    if boxes:
        near = [counters["near"] for counters in boxes]
        cells |= {"pseudo_acks": sum(box["pseudo_acks"] for box in near),
                  "eligible": sum(box["eligible_requests"] for box in near),
                  "resends": sum(box["resends"] for box in near),
                  "failed": sum(counters[name]["failed_bytes"] for counters in boxes for name in BOXES)}
    return cells


def compare_policies(trial, plan, conditions, most_times, rounds):
    """The same jobs under each policy, and what they took."""
    done = {policy: [] for policy in POLICIES}
    for nth in range(rounds):
        for policy in POLICIES[nth:] + POLICIES[:nth]:
            done[policy].append(run_jobs(trial, policy, plan, conditions))
    trial.rows = [cells_of(plan, conditions, policy, done[policy]) for policy in POLICIES]
    off = trial.rows[0]["median"]
    for cells in trial.rows[1:]:
        if not off or not cells["median"]:
            continue
        times = cells["median"] / off
        cells["times"] = round(times, 2)
        if trial.has_boxes and not conditions:
            trial.check(times <= most_times, f"{cells['policy']}: a median job took {cells['median']} ms, {times:.2f} "
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


def _scenario(plan, loss, most_times, rounds=1):
    def run(trial):
        compare_policies(trial, plan, LOSS[loss], most_times, rounds)
    often = f"{rounds} times " if rounds > 1 else ""
    run.__doc__ = (f"{often}{plan.jobs} jobs: {described(plan)}; {LOSS[loss].get('loss', 'no')} loss; "
                   f"policies {', '.join(POLICIES)}.")
    return run


SCENARIOS = {f"jobs-{name}-{loss}": _scenario(plan, loss, MOST_TIMES, 1 if LOSS[loss] else ROUNDS)
             for name, (plan, losses) in _MATRIX.items() for loss in losses}
SCENARIOS["jobs-quick"] = _scenario(_plan("write", 8, leave_every=3, job_seconds=10), "loss-0", GENEROUS)
BY_DEFAULT = ("jobs-quick",)
