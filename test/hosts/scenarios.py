# SPDX-License-Identifier: BSD-3-Clause
"""What the hosts do, and what must come of it: a function each, its name (with dashes) the scenario's.

A scenario gets a Trial: `with trial.under(distance=…, loss=…, policy=…) as session:` starts both boxes and the link,
`session` runs commands on the hosts, `trial.check(…)` judges. A command that fails ends the scenario by itself.
"""
import math
import time
from statistics import median

from lab import ucx
from lab.path import UNSET
from lab.speed import fast_enough, measure

# Ratios here only tell acceleration from none, on machines that may be busy; docs/records/ has the figures.
UNTOLD = {"distance": "1000km", "rate": "50Mbps", "queue": "256KiB", "wan_rate": UNSET}
LONG, LOSSY = {"distance": "1000km"}, {"distance": "1534km", "loss": "1%", "seed": 7}
SHORT = {"distance": "10km", "policy": "full"}
SIZES = (64, 512, 4096, 65536)
DEPTH = 4
TURNS = 3
# A box looks on for a second before it learns connections from their traffic.
LOOKS_ON_SECONDS = 1.2
# A link that a host can fill several times over, and how much of it UDP asks for.
SLOW_MBPS = 20
SLOW = {"distance": "10km", "rate": f"{SLOW_MBPS}Mbps", "queue": "256KiB"}
LOADS = (0.9, 1.0, 1.2, 3.0)

SCENARIOS = {}


def scenario(function):
    """Adds a function to the list."""
    SCENARIOS[function.__name__.replace("_", "-")] = function
    return function


def accelerated(trial, session):
    """What holds after any traffic under policy "full", once its connections are closed."""
    near, far = session.counters["near"], session.counters["far"]
    trial.check(near["pseudo_acks"] >= 0.95 * near["eligible_requests"] > 0,
                f"{near['pseudo_acks']} of {near['eligible_requests']} eligible requests were pseudo-acknowledged")
    for name, box in (("near", near), ("far", far)):
        trial.check(box["custody_at_stop_packets"] == 0 and box["custody_left_packets"] == 0,
                    f"{name}: {box['custody_at_stop_packets']} packets in custody after the last disconnect, "
                    f"{box['custody_left_packets']} after draining")


def faster(trial, operation, conditions, least, sizes=SIZES, seconds=1.5):
    """The same traffic without and with acceleration: by `least` faster at each size, in messages per second.

    Where it is not, the hosts themselves may be too slow for that: their ceiling is measured, at no distance, and judged by.
    With losses a run must be long enough to meet the ACK timeouts of 2 s that lost last packets cost plain RoCE.
    """
    rates = {}
    for policy in ("off", "full"):
        with trial.under(policy=policy, **conditions) as session:
            rates[policy] = [measure(session, operation, size, DEPTH, seconds) for size in sizes]
    if not trial.has_boxes:
        return session
    accelerated(trial, session)
    standard, fast = ({size: [rate] for size, rate in zip(sizes, rates[policy])} for policy in ("off", "full"))
    ceiling = {size: [] for size in sizes}

    def enough(size):
        return fast_enough(median(standard[size]), median(fast[size]), least, median(ceiling[size] or [math.inf]))

    # One measurement may have met a busy machine: those that miss are taken again, in turns with the ceiling.
    compared = missed = [size for size in sizes if median(fast[size]) < least * median(standard[size])]
    for turn in range(TURNS):
        if not missed:
            break
        if turn > 0:
            with trial.under(policy="full", **conditions) as again:
                for size in missed:
                    fast[size].append(measure(again, operation, size, DEPTH, seconds))
        with trial.under(policy="off") as near_by:
            for size in missed:
                ceiling[size].append(measure(near_by, operation, size, DEPTH, seconds))
        missed = [size for size in missed if not enough(size)]
    for size in sizes:
        slow, quick = median(standard[size]), median(fast[size])
        of_ceiling = (f", {quick / median(ceiling[size]):.2f} of the hosts' ceiling of {median(ceiling[size]):.0f}"
                      f" (medians of {len(fast[size])})" if size in compared else "")
        trial.check(enough(size), f"{operation} {size} B: {slow:.0f} to {quick:.0f} messages/s, {quick / slow:.1f} times{of_ceiling}")
    return session


@scenario
def long_write(trial):
    """WRITE at 1000 km, depth 4."""
    faster(trial, "write", LONG, least=2)


@scenario
def long_send(trial):
    """SEND at 1000 km, depth 4."""
    faster(trial, "send", LONG, least=2)


@scenario
def unset_write(trial):
    """WRITE at 1000 km over a slow link whose rate no box is told."""
    session = faster(trial, "write", UNTOLD, least=2, sizes=(512, 4096))
    if trial.has_boxes:
        link = session.counters["link"]
        dropped, received = link["a_to_b_queue_dropped"], link["a_to_b_received"]
        trial.check(dropped <= 0.1 * received, f"the link's queue dropped {dropped} of {received} frames")


@scenario
def lossy_write(trial):
    """WRITE at 1534 km with 1 % loss, the same losses for both policies."""
    lossy_resends(trial, faster(trial, "write", LOSSY, least=3, seconds=4))


@scenario
def lossy_send(trial):
    """SEND at 1534 km with 1 % loss, the same losses for both policies."""
    lossy_resends(trial, faster(trial, "send", LOSSY, least=3, seconds=4))


@scenario
def lossy_rping(trial):
    """rping, which compares every byte, at 1534 km with 1 % loss."""
    with trial.under(policy="full", **LOSSY) as session:
        session.rping(session.server.ip, count=100)
    if trial.has_boxes:
        accelerated(trial, session)
        lossy_resends(trial, session)


@scenario
def lossy_nvme(trial):
    """The kernel's NVMe over RDMA, written and verified by fio, at 1534 km with 1 % loss."""
    with trial.under(policy="full", **LOSSY) as session:
        session.nvme_fio(megabytes=16)
    if trial.has_boxes:
        accelerated(trial, session)
        lossy_resends(trial, session)


def lossy_resends(trial, session):
    """Losses on the way must have been repaired out of custody."""
    if trial.has_boxes:
        trial.check(session.counters["near"]["resends"] > 0, f"{session.counters['near']['resends']} resends")


@scenario
def through_read_atomic(trial):
    """READ and atomics are answered by the responder only; rping mixes READ, WRITE and SEND, IPv4 and IPv6."""
    with trial.under(**SHORT) as session:
        session.perftest("ib_read_bw", 65536, 500, depth=4)
        session.perftest("ib_atomic_bw", 8, 2000, depth=4)
        session.perftest("ib_write_lat", 64, 1000)
        session.rping(session.server.ip, count=100)
        session.rping(session.server.ip6, count=100)
    if trial.has_boxes:
        accelerated(trial, session)


@scenario
def without_cm_ucx(trial):
    """Eight connections of UCX side by side, without RDMA-CM: all begin at PSN 0 and have one UDP source port."""
    connections = 8
    with trial.under(policy="full", distance="100km") as session:
        time.sleep(LOOKS_ON_SECONDS)
        ucx.run_pairs(session, connections, size=1024, messages=2000)
    if not trial.has_boxes:
        return
    near = session.counters["near"]
    trial.check(near["connections_from_traffic"] == connections,
                f"{near['connections_from_traffic']} connections were learned from their traffic")
    trial.check(near["pseudo_acks"] >= 0.5 * near["eligible_requests"] > 0,
                f"{near['pseudo_acks']} of {near['eligible_requests']} eligible requests were pseudo-acknowledged")


@scenario
def through_unreliable(trial):
    """UC and UD are never acknowledged, by nobody."""
    with trial.under(**SHORT) as session:
        session.perftest("ib_write_bw", 4096, 2000, connection="UC", cm=False)
        session.perftest("ib_send_bw", 1024, 500, connection="UD", cm=False)
    no_pseudo_acks(trial, session)


@scenario
def through_ip(trial):
    """ARP, ICMP over IPv4 and IPv6, and TCP."""
    with trial.under(**SHORT) as session:
        session.run(session.client, ["ip", "neigh", "flush", "all"])
        session.run(session.client, ["ping", "-c", 5, "-i", "0.2", "-s", 8000, session.server.ip])
        session.run(session.client, ["ping", "-c", 5, "-i", "0.2", session.server.ip6])
        session.tcp(megabytes=16)
        neighbour = session.run(session.client, ["ip", "neigh", "show", session.server.ip]).output
        trial.check(session.server.mac in neighbour, f"ARP: {neighbour.strip()}")
    no_pseudo_acks(trial, session)


@scenario
def overloaded(trial):
    """Verified pings and WRITEs beside UDP that alone fills the link, and more: a box goes on sending."""
    with trial.under(policy="full", **SLOW) as session:
        for load in LOADS:
            with session.load(load * SLOW_MBPS):
                session.rping(session.server.ip, count=10)
                session.perftest("ib_write_bw", 4096, 50, depth=4)
    if trial.has_boxes:
        accelerated(trial, session)


@scenario
def workers_write(trial):
    """WRITE over four QPs at 100 km through boxes with two workers each."""
    conditions = {"distance": "100km", "policy": "full", "workers": 2}
    with trial.under(**conditions) as session:
        session.perftest("ib_write_bw", 4096, 2000, depth=16, extra=("-q", 4))
        session.rping(session.server.ip, count=50)
    if not trial.has_boxes:
        return
    accelerated(trial, session)
    parts = session.counters["near"]["workers"]
    trial.check(len(parts) == 2 and all(part.get("pseudo_acks", 0) > 0 for part in parts),
                f"pseudo-ACKs of each worker: {[part.get('pseudo_acks', 0) for part in parts]}")
    for name in ("near", "far"):
        handed_over(trial, name, session.counters[name])


def handed_over(trial, name, box):
    """What workers hand to each other arrives or is counted.

    A worker that the machine does not run for long finds its ring full, as a NIC's queue would be; that all was delivered
    in spite of it, the traffic itself has shown. That nothing is dropped while workers run, test/workers shows.
    """
    handed, dropped = box["handed_over"] + box["handed_home"], box["dropped_ring_full"]
    trial.check(box["connections_spread"] > 0 and box["handed_over"] > 0 and dropped <= 0.01 * handed,
                f"{name}: {box['connections_spread']} connections spread, {handed} frames handed to another worker, "
                f"{dropped} dropped")
    received = box["port_host_ipackets"] + box["port_wan_ipackets"]
    taken = box["frames_host"] + box["frames_wan"] - box["cm_requests_shown"]
    trial.check(received == taken + dropped + box["dropped_unshown"],
                f"{name}: {received} frames received, {taken} taken by the engines, {dropped + box['dropped_unshown']} dropped")


def no_pseudo_acks(trial, session):
    """Where nothing is RC, nothing may be acknowledged by a box."""
    if trial.has_boxes:
        for name in ("near", "far"):
            made = session.counters[name]["pseudo_acks"]
            trial.check(made == 0, f"{name}: {made} pseudo-ACKs without an RC connection")
