#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the laboratory itself that need neither hosts nor root."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hurt  # noqa: E402
import jobs  # noqa: E402
from lab import jobs as rc_jobs  # noqa: E402
from lab import perftest, speed, stall  # noqa: E402
from lab.path import Conditions  # noqa: E402
from lab.process import LabError, run, spawn, stop  # noqa: E402
from lab.session import Session  # noqa: E402
from lab.table import render  # noqa: E402
from lab.tools import PERFTEST_CLOCK  # noqa: E402
from lab.traffic import FAMILIES, TRAFFIC, WRONG_DATA  # noqa: E402
from lab.transfer import HUNG  # noqa: E402

BANDWIDTH = """\
 remote address: LID 0000 QPN 0x0012 PSN 0x46a1c6
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 512        20000            0.099              0.042   \t\t   0.010790
---------------------------------------------------------------------------------------
"""
LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]
 64      1000          59.59          311.34       62.15     \t       67.10        \t9.17
"""


class Perftest(unittest.TestCase):
    """Reading what perftest prints."""

    def test_bandwidth(self):
        self.assertEqual(perftest.parse(BANDWIDTH), perftest.Figures(512, 20000, 0.042, 10790.0))

    def test_rping_that_lost_its_own_race(self):
        data, race = "server ping data: rdma-ping-99: abc\n", "rdma_get_cm_event: Bad file descriptor\n"
        self.assertEqual(perftest.exit_code(255, "wait for RDMA_READ_ADV state 10\n" + race + data), 0)
        for text, rc in ((race + "rping server failed: -1\n", 255), (data, 255), ("data mismatch!\n" + race, 255),
                         ("connect error -1\n" + race, 255), (race, 1)):
            self.assertEqual(perftest.exit_code(rc, text), rc)

    def test_latency(self):
        self.assertEqual(perftest.parse(LATENCY).typical_latency_us, 62.15)

    def test_no_result(self):
        with self.assertRaises(LabError):
            perftest.parse("RDMA CM event error:\nEvent: RDMA_CM_EVENT_REJECTED; error: 8.\n")

    def test_noisy_clock(self):
        self.assertFalse(perftest.knows_clock("Correlation coefficient r^2: 0.884644 < 0.9\n" + BANDWIDTH))
        self.assertTrue(perftest.knows_clock(BANDWIDTH))

    def test_command_lines(self):
        client = perftest.command("ib_write_bw", 512, 100, depth=4, server="10.9.0.1")
        self.assertIn("-R", client)
        self.assertEqual(client[-1], "10.9.0.1")
        exchange_by_tcp = perftest.command("ib_send_bw", 512, 100, connection="UD", cm=False)
        self.assertNotIn("-R", exchange_by_tcp)
        self.assertEqual(exchange_by_tcp[exchange_by_tcp.index("-c") + 1], "UD")

    def test_clock(self):
        for cm in (True, False):
            words = perftest.command("ib_write_bw", 512, 100, cm=cm)
            self.assertEqual(words[:3], ["env", f"LD_PRELOAD={PERFTEST_CLOCK}", "ib_write_bw"])
            self.assertIn("-F", words)


class Host:
    """The two addresses that command lines are made with."""
    ip, ip6 = "10.9.0.1", "fd00::1"


class Hurt(unittest.TestCase):
    """The matrix of traffic and harm."""

    def test_every_kind_exchange_and_family(self):
        traffics = TRAFFIC.values()
        self.assertEqual({(t.exchange, t.family) for t in traffics}, {(e, f) for e in ("cm", "tcp") for f in FAMILIES})
        for operation in ("write", "send", "read", "atomic"):
            self.assertEqual({t.exchange for t in traffics if t.operation == operation}, {"cm", "tcp"})

    def test_default_has_each_harm(self):
        self.assertEqual(set(hurt.BY_DEFAULT) - set(hurt.SCENARIOS), set())
        for harm in hurt.HARMS:
            by_default = any(name.endswith(f"-{harm}") for name in hurt.BY_DEFAULT)
            self.assertEqual(by_default, harm not in hurt.ONLY_IN_MATRIX, harm)
        for word in ("-cm-", "-tcp-", "-ipv4-", "-ipv6-"):
            self.assertTrue(any(word in name for name in hurt.BY_DEFAULT), word)

    def test_command_lines(self):
        for name, of_cm, of_tcp in (("send", ["-R"], ["-x", "2"]), ("atomic", ["-R"], ["-x", "2"])):
            by_cm, by_tcp = (TRAFFIC[f"{name}-{end}"] for end in ("cm-ipv4", "tcp-ipv6"))
            _, client = by_cm.commands(by_cm, Host, 10, ())
            self.assertLessEqual(set(of_cm), set(client))
            self.assertNotIn("-x", client)
            server, client = by_tcp.commands(by_tcp, Host, 10, ("-u", 19))
            words = [str(word) for word in server]
            self.assertEqual(words[words.index("-x"):][:2], of_tcp)
            self.assertNotIn("-R", words)
            self.assertEqual(client[-1], "10.9.0.1")
        rping = TRAFFIC["rping-cm-ipv6"]
        self.assertIn("fd00::1", rping.commands(rping, Host, 10, ())[1])

    def test_wrong_data_is_seen(self):
        for words in ("data mismatch!", "data verification failed byte 7", "invalid data in page 0",
                      "crc32c: verify failed at file /dev/nvme0n1 offset 4096", "verify: bad magic header 0, wanted acca"):
            self.assertTrue(WRONG_DATA.search(words), words)
        for words in ("verify: (g=0): rw=randwrite, bs=(R) 4096B", "ping data: rdma-ping-7: HIJK", "verify data"):
            self.assertIsNone(WRONG_DATA.search(words), words)

    def test_conditions_name_the_harm(self):
        self.assertEqual(str(Conditions("100km", loss="1%", reorder="2%", policy="full")),
                         "100km, 1% loss, 2% reordered, policy full")


def job(number, verdict="equal", seconds=0.1, qpn=17, wrong=0, comparing=0.0):
    """A line of rc_jobs."""
    return {"job": number, "verdict": verdict, "seconds": seconds, "comparing": comparing, "qpn": qpn, "peer_qpn": 17,
            "compared": 100, "wrong": wrong, "missing": wrong}


class Checks:
    """Stands in for a Trial: what failed, in words."""

    def __init__(self):
        self.failed = []

    def check(self, passed, what):
        if not passed:
            self.failed.append(what)


class Jobs(unittest.TestCase):
    """Jobs in a row: reading what rc_jobs says, and what is held against it."""

    def judged(self, lines, plan=rc_jobs.Plan(3), rc=0):
        checks = Checks()
        jobs.judge(checks, "full", plan, rc_jobs.Row(rc, 0, lines, [], 1.0, ""))
        return checks.failed

    def test_good_rows(self):
        self.assertEqual(self.judged([job(1), job(2), job(3)]), [])
        self.assertEqual(self.judged([job(1), job(2, "left"), job(3)]), [])
        self.assertEqual(self.judged([job(n, qpn=17 + n) for n in (1, 2, 3)], rc_jobs.Plan(3, other_qpn=True)), [])

    def test_bad_rows(self):
        for lines, rc in (([job(1), job(2, "hung")], 1), ([job(1), job(2)], 0), ([job(1), job(2), job(3)], 1),
                          ([job(1), job(2), job(3, "differs", wrong=1)], 1), ([job(1), job(2), job(3, qpn=18)], 0)):
            self.assertTrue(self.judged(lines, rc=rc), lines)
        self.assertTrue(self.judged([job(1), job(2), job(3)], rc_jobs.Plan(3, other_qpn=True)))

    def test_median_is_of_whole_jobs(self):
        row = rc_jobs.Row(0, 0, [job(1, seconds=0.3), job(2, "left", 9.0), job(3, seconds=0.1),
                                  job(4, seconds=2.2, comparing=2.0)], [], 1.0, "")
        self.assertAlmostEqual(row.median, 0.2)
        self.assertIsNone(rc_jobs.Row(1, 0, [job(1, "hung")], [], 1.0, "").median)

    def test_all_sessions_of_a_policy_make_one_row(self):
        def done(seconds, verdict="equal"):
            box = {"pseudo_acks": 1, "eligible_requests": 2, "resends": 0, "failed_bytes": 4}
            lines = [job(1, seconds=seconds), job(2, verdict, seconds), job(3, seconds=seconds)]
            return rc_jobs.Row(0, 0, lines, [], 1.0, ""), {"near": box, "far": box, "link": {}}
        cells = jobs.cells_of(rc_jobs.Plan(3), {}, "full", [done(0.1), done(0.3), done(0.2, "hung")])
        self.assertEqual((cells["complete"], cells["compared"], cells["pseudo_acks"], cells["failed"]), (8, 900, 3, 24))
        self.assertEqual((cells["median"], cells["medians"]), (200, "100, 300, 200"))
        self.assertIn("job 2 hung", cells["first_bad"])

    def test_lines_of_json_among_others(self):
        self.assertEqual(rc_jobs.parse('rc_jobs: something\n{"job": 1}\n'), [{"job": 1}])

    def test_default_is_among_all(self):
        self.assertLessEqual(set(jobs.BY_DEFAULT), set(jobs.SCENARIOS))


class Path:
    """Stands in for two boxes of which one no longer forwards."""
    boxes = ("near", "far")

    def __init__(self):
        self.frames = 0

    def snapshot(self, name):
        self.frames += 3
        return dict.fromkeys(stall.BOX_COUNTERS, 0) | ({"frames_host": self.frames} if name == "near" else {})


class End:
    """Stands in for a command on a host, and for that host."""

    ip, ended_at = "10.9.0.1", 0.0

    def __init__(self, rc, output):
        self.rc, self.output, self.name = rc, output, "host-a"
        self.running, self.killed, self.seconds = False, False, 1.0

    def start(self, _argv, _timeout):
        return self

    def run(self, *_argv, **_options):
        return self

    def wait(self):
        return self

    def ended(self, _seconds):
        return self.killed or self.rc != HUNG

    def kill(self):
        self.killed = True


class Pair(unittest.TestCase):
    """A server and its client: what their exit codes mean."""

    def rping(self, client):
        server = End(0, "")
        Session((client, server), Conditions(), None, lambda _: None).rping("10.9.0.1", 2, timeout=0)
        return server

    def write(self, client, server_rc=0, policy="off"):
        Session((client, End(server_rc, "")), Conditions(policy=policy), Path(), lambda _: None).perftest(
            "ib_write_bw", 512, 20000, timeout=0)

    def test_a_server_is_left_alone_whose_client_lost_its_own_race(self):
        race = "rdma_get_cm_event: Bad file descriptor\n"
        self.assertFalse(self.rping(End(255, "ping data: 0\nping data: 1\n" + race)).killed)

    def test_a_failed_client_fails(self):
        with self.assertRaises(LabError):
            self.rping(End(255, "ping data: 0\nping data: 1\n"))

    def test_a_client_with_its_figures_that_its_server_left_is_done(self):
        client = End(HUNG, BANDWIDTH)
        self.write(client)
        self.assertTrue(client.killed)

    def test_no_other_hung_client_is(self):
        for client, more in ((End(HUNG, ""), {}), (End(HUNG, BANDWIDTH), {"server_rc": 1}),
                             (End(HUNG, BANDWIDTH), {"policy": "full"}), (End(1, BANDWIDTH), {})):
            with self.assertRaises(LabError):
                self.write(client, **more)

    def test_a_hung_client_says_who_still_moves(self):
        host = End(HUNG, "/sys/class/net/vec0/statistics/tx_packets:7\n")
        with self.assertRaisesRegex(LabError, r"hung; .*\n  host-a: tx_packets 7 \(\+0\)\n  near: frames_host 9 \(\+6\)\n"):
            Session((host, host), Conditions(), Path(), lambda _: None).rping("10.9.0.1", 2, timeout=0)

    def test_a_hang_that_cannot_be_looked_at_is_still_one(self):
        class Gone(Path):
            def snapshot(self, name):
                raise LabError(f"{name} is gone")
        host = End(HUNG, "")
        with self.assertRaisesRegex(LabError, "exit code 124.*\nhung, and nobody can say why: near is gone"):
            Session((host, host), Conditions(), Gone(), lambda _: None).rping("10.9.0.1", 2, timeout=0)


class Transfers(unittest.TestCase):
    """One that something else is done beside: it begins again when it was refused, and is missed when it is over."""

    def begin(self, *clients):
        server = End(0, "state LISTEN")
        host = End(0, "")
        host.start = lambda _argv, _timeout, ends=iter(clients): next(ends)
        return Session((host, server), Conditions(), None, lambda _: None).begin(TRAFFIC["write-cm-ipv4"], 100)

    def test_a_refused_one_begins_again(self):
        refused, second = End(1, "Unexpected CM event bl blka 8\n"), End(0, "")
        second.running = True
        transfer = self.begin(refused, second)
        transfer.wait_until(lambda: transfer.running, "nothing", seconds=0)

    def test_one_that_is_over_is_not_waited_for(self):
        for client in (End(0, "done"), End(1, "Failed to modify QP")):
            with self.assertRaisesRegex(LabError, f"over before 9 flows, exit code {client.rc}\n{client.output}"):
                self.begin(client).wait_until(lambda: False, "9 flows")


class Speed(unittest.TestCase):
    """How long measurements last."""

    def test_distance(self):
        self.assertAlmostEqual(Conditions("1000km").rtt, 0.010)
        self.assertAlmostEqual(Conditions(loss="1%").loss_fraction, 0.01)

    def test_window_binds(self):
        # Four messages per 10 ms round trip, less what the hosts take.
        self.assertAlmostEqual(speed.expected_rate(512, 4, Conditions("1000km")), 400, delta=40)

    def test_hosts_bind(self):
        near = speed.expected_rate(512, 4, Conditions("0km"))
        self.assertAlmostEqual(speed.expected_rate(512, 4, Conditions("1000km", policy="full")), near, delta=1)


class Unclocked:
    """A session in which perftest does not know the clock the first `times` times."""
    conditions = Conditions("1000km")

    def __init__(self, times):
        self.asked, self._times = 0, times

    def perftest(self, *_, **__):
        self.asked += 1
        return perftest.Figures(512, 100, 0.1, 400.0) if self.asked > self._times else None


class Measuring(unittest.TestCase):
    """What a figure takes, and what it must be."""

    def test_unknown_clock(self):
        session = Unclocked(2)
        self.assertEqual(speed.measure(session, "write", 512, 4), 400)
        self.assertEqual(session.asked, 3)
        session = Unclocked(1000)
        with self.assertRaisesRegex(LabError, "clock"):
            speed.measure(session, "write", 512, 4)
        self.assertEqual(session.asked, speed.CLOCK_ATTEMPTS)

    def test_fast_hosts_are_held_to_the_gain(self):
        self.assertTrue(speed.fast_enough(standard=300, fast=600, least=2, ceiling=1200))
        self.assertFalse(speed.fast_enough(standard=300, fast=599, least=2, ceiling=1200))

    def test_slow_hosts_are_held_to_their_ceiling(self):
        self.assertTrue(speed.fast_enough(standard=200, fast=360, least=2, ceiling=400))
        self.assertFalse(speed.fast_enough(standard=200, fast=210, least=2, ceiling=400))


class Processes(unittest.TestCase):
    """Starting and ending them."""

    def test_stop_asks_first(self):
        with tempfile.TemporaryFile() as output:
            process = spawn(["sh", "-c", "trap 'exit 7' TERM; echo; while :; do sleep 0.05; done"], stdout=output)
            while not output.tell():
                output.seek(0, 2)
            self.assertEqual(stop(process), 7)

    def test_stop_insists(self):
        with tempfile.TemporaryFile() as output:
            process = spawn(["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.05; done"], stdout=output)
            while not output.tell():
                output.seek(0, 2)
            self.assertEqual(stop(process, grace=0.1), -9)

    def test_failure_says_why(self):
        with self.assertRaisesRegex(LabError, "some reason"):
            run("sh", "-c", "echo some reason >&2; exit 3")


class Table(unittest.TestCase):
    """The table of tools/demo."""

    def test_columns_line_up(self):
        lines = render(["size", "ratio"], [["64 B", "1.0"], ["64 KiB", "33.1"]]).splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1)


if __name__ == "__main__":
    unittest.main()
