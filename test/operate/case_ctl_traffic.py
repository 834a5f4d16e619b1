# SPDX-License-Identifier: BSD-3-Clause
"""A pair of boxes is drained, replaced, changed and bypassed while real RDMA hosts go on working across it."""
import contextlib
import shutil
import signal
import time

from bench import PATIENCE, expect
from ctl import Ctl, annoy
from lab.laboratory import Laboratory
from lab.path import Conditions
from lab.process import LabError, run, wait_until
from lab.tools import kernel, missing
from lab.traffic import TRAFFIC

LONG_HAUL = {"distance": "1000km", "policy": "full", "record": True, "control": True}
# A ping is four round trips or more, so the time that many pings take has a lower bound.
PINGS = 500
VERIFIED, COUNTED = TRAFFIC["rping-cm-ipv4"], TRAFFIC["write-cm-ipv4"]
MESSAGES = 20000
QPS = 8


@contextlib.contextmanager
def _pair(bench, may_lose=False, **conditions):
    """Two hosts, two boxes and the long link; the session and the near box's Ctl."""
    reason = missing(bench.program, "boxes")
    if reason:
        raise LabError(reason)
    with Laboratory(kernel(), bench.program, bench.directory / "lab", capture=False) as laboratory:
        with laboratory.session(Conditions(**LONG_HAUL, **conditions), may_lose) as session:
            yield session, Ctl(bench.program, session.path.socket("near"))


def _complete(transfer, what):
    outcome = transfer.finish()
    expect(outcome.complete, f"{what}: {outcome}")


def _goes_on(transfer, when):
    expect(transfer.running, f"the pings were over {when}: nothing is shown")


def upgrade(bench):
    """drain, stop, another program, resume: verified pings and writes go on across it, and nothing is lost"""
    new = bench.directory / "longhaul-new"
    shutil.copy(bench.program, new)
    with _pair(bench) as (session, ctl):
        pings = session.begin(VERIFIED, PINGS)
        pings.wait_under_way()
        writes = session.begin(COUNTED, MESSAGES)
        writes.wait_under_way(500)
        drained = ctl.json("drain", "--timeout", "60s")
        expect(ctl.json("status")["custody"]["packets"] == 0, f"custody is not empty: {drained}")
        _goes_on(pings, "when custody was empty")
        code, counted = session.path.end_one("near")
        expect(code == 0 and counted["custody_at_stop_packets"] == 0, f"exit code {code}, {counted}")
        for name in ("flows_failed", "failed_bytes", "unconfirmed_at_close_bytes", "unconfirmed_in_doubt_bytes"):
            expect(counted[name] == 0, f"{name} {counted[name]}")
        session.path.start_again("near", new)
        _goes_on(pings, "when the new box had started")
        expect(ctl.counters()["flows_failed_by_restart"] == 0, "the new box found a debt")
        _complete(writes, "writes across an upgrade")
        # Connections older than the box are learned from their traffic.
        wait_until(lambda: ctl.counters()["connections_from_traffic"] > 0 or not pings.running, PATIENCE, "learning")
        _complete(pings, "pings across an upgrade")
        counters = ctl.counters()
        expect(counters["connections_from_traffic"] > 0, f"learned: {counters['connections_from_traffic']}")


def _captured(bench, ctl, flow):
    """A capture of the flow as tshark reads it: its frames only, from both ports, in and out, and of now."""
    file = bench.directory / "flow.pcapng"
    ctl("capture", flow["id"], "--packets", 100, "--time", "2s", "--output", file)
    fields = ("frame.interface_name", "frame.packet_flags_direction", "infiniband.bth.destqp", "frame.time_epoch")
    lines = run("tshark", "-r", file, "-T", "fields", *(word for field in fields for word in ("-e", field))).splitlines()
    rows = [line.split("\t") for line in lines]
    expect(0 < len(rows) <= 100, f"{len(rows)} frames")
    seen = {tuple(row[:2]) for row in rows}
    # 1: in, 2: out; newer versions print them as hexadecimal.
    seen = {(name, int(direction, 0)) for name, direction in seen}
    expect(seen == {("host", 1), ("host", 2), ("wan", 1), ("wan", 2)}, f"seen at {sorted(seen)}")
    qps = {int(row[2], 0) for row in rows}
    expect(qps <= {flow["host_qpn"], flow["remote_qpn"], 1}, f"{qps} are not of {flow}")
    times = [float(row[3]) for row in rows]
    expect(times == sorted(times) and abs(times[-1] - time.time()) < 600, f"from {times[0]} to {times[-1]}")


def _share(ctl, host, cause):
    """Of the host's requests in the last survey, those that were not accelerated for this cause."""
    return sum(why["share"] for pair in ctl.json("pairs")["pairs"] if pair["host"] == host
               for why in pair["not_accelerated"] if why["cause"] == cause)


def changed_under_traffic(bench):
    """a capture, policy, reload, hostile clients, bypass on and off: verified pings go on"""
    with _pair(bench) as (session, ctl):
        pings = session.begin(VERIFIED, 2 * PINGS)
        pings.wait_under_way()
        flow = ctl.json("flows", "--host", session.client.ip, "--sort", "bytes", "--limit", 1)["flows"][0]
        expect(flow["state"] == "confirmed" and flow["taken_bytes"] > 0, f"{flow}")
        expect(ctl.json("flow", flow["id"])["host"] == session.client.ip, "flow")
        wait_until(lambda: any(pair["host"] == session.client.ip and pair["connections"] > 0 and pair["processors"] > 0
                               for pair in ctl.json("pairs")["pairs"]), PATIENCE, "the pair of hosts in `pairs`")
        _captured(bench, ctl, flow)

        expect(ctl.json("policy", "set", session.server.ip, "off")["connections_changed"] == 1, "policy set")
        wait_until(lambda: ctl.json("status")["custody"]["packets"] == 0, PATIENCE, "custody goes on after policy off")
        before = ctl.counters()["pseudo_acks"]
        ctl.grows("requests")
        expect(ctl.counters()["pseudo_acks"] == before, "policy off, and yet acknowledged")
        wait_until(lambda: _share(ctl, session.client.ip, "policy") > 0.9, PATIENCE, "policy off as the cause in `pairs`")
        expect(ctl.json("policy", "unset", session.server.ip)["connections_changed"] == 1, "policy unset")
        ctl.grows("pseudo_acks")

        file = session.path.config("near")
        file.write_text(file.read_text() + "timers: {give_up: 45s}\n")
        session.path.signal("near", signal.SIGHUP)
        wait_until(lambda: "timers.give_up is now 45s" in session.path.log("near"), PATIENCE, "the reload")

        annoy(session.path.socket("near"))
        expect(ctl.json("bypass", "on", "--timeout", "60s")["flows_failed"] == 0, "bypass failed a flow")
        ctl.grows("bypassed")
        _goes_on(pings, "with bypass on")
        ctl("bypass", "off")
        ctl.grows("pseudo_acks")  # learned from the traffic
        _complete(pings, "pings across all that")


def bypass_now(bench):
    """bypass on --now fails who has custody, counts and tells it; the next connection is accelerated again"""
    with _pair(bench, may_lose=True) as (session, ctl):
        writes = session.begin(COUNTED, 10 * MESSAGES, timeout=300)
        writes.wait_under_way(500)
        # Nothing is answered across a link that is cut: what is in custody is still there when the bypass comes.
        session.path.cut()
        ctl.refused(2, "--yes", "bypass", "on", "--now")
        wait_until(lambda: ctl.json("status")["unconfirmed_bytes"] > 0, PATIENCE, "nothing in custody")
        reply = ctl.json("bypass", "on", "--now", "--yes")
        session.path.mend()
        expect(reply["flows_failed"] >= 1 and reply["failed_bytes"] > 0, f"{reply}")
        counters = ctl.counters()
        expect(counters["failed_bytes"] == reply["failed_bytes"] and counters["custody_packets"] == 0, f"{reply}")
        expect("bypassed by an operator" in session.path.log("near"), "no line in the log")
        outcome = writes.finish(qp_may_fail=True)
        expect(not outcome.hung, "the writes hang")
        ctl("bypass", "off")
        after = session.transfer(VERIFIED, 20)
        expect(after.complete, f"a new connection: {after}")
        expect(ctl.counters()["pseudo_acks"] > counters["pseudo_acks"], "a new connection is not accelerated")


def two_workers(bench):
    """a box of two workers is one box: flows of both, drain, policy and bypass reach both, and pings go on"""
    with _pair(bench, workers=2) as (session, ctl):
        pings = session.begin(VERIFIED, PINGS)
        pings.wait_under_way()
        # QPs are dealt out by their numbers: each worker has some of this many.
        extra = ("-q", QPS)
        writes = session.begin(COUNTED, MESSAGES // QPS, server_extra=extra, client_extra=extra)
        # perftest has one more, for what its ends tell each other. The pings alone are counted as under way.
        writes.wait_until(lambda: len(ctl.json("flows")["flows"]) >= 1 + QPS, f"{1 + QPS} flows", PATIENCE)
        writes.wait_under_way(500)
        flows = ctl.json("flows")["flows"]
        expect(len({flow["id"] for flow in flows}) == len(flows) >= 1 + QPS, f"{len(flows)} flows, or one twice")
        expect({flow["worker"] for flow in flows} == {0, 1}, f"one worker has all {len(flows)} connections")
        for flow in flows:
            expect(ctl.json("flow", flow["id"])["host_qpn"] == flow["host_qpn"], f"flow {flow['id']} is another")
        drained = ctl.json("drain", "--timeout", "60s")
        expect(ctl.json("status")["custody"]["packets"] == 0, f"custody is not empty: {drained}")
        ctl("resume")
        ctl.grows("pseudo_acks")
        changed = ctl.json("policy", "default", "off")["connections_changed"]
        expect(changed == len(flows), f"policy of {changed} of {len(flows)} connections")
        ctl("policy", "default", "full")
        ctl.grows("pseudo_acks")
        expect(ctl.json("bypass", "on", "--timeout", "60s")["flows_failed"] == 0, "bypass failed a flow")
        ctl.grows("bypassed")
        ctl("bypass", "off")
        _complete(writes, "writes across all that")
        _complete(pings, "pings across all that")


CASES = {
    "ctl-two-workers": two_workers,
    "ctl-upgrade": upgrade,
    "ctl-changed-under-traffic": changed_under_traffic,
    "ctl-bypass-now": bypass_now,
}
