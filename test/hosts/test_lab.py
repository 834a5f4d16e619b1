#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the laboratory itself that need neither hosts nor root."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lab import perftest, speed  # noqa: E402
from lab.path import Conditions  # noqa: E402
from lab.process import LabError, run, spawn, stop  # noqa: E402
from lab.table import render  # noqa: E402

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
