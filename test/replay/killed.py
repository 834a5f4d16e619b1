# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul run` itself, killed with data in custody and started again on the same restart record.

Its ports are capture files (DPDK's net_pcap): no network interface and no root. A box looks at its ports in turn, 32
frames each, so a sequence of frames is played by giving each a burst of its own, filled up with frames of no meaning.
"""
import json
import pathlib
import re
import signal
import subprocess
import time

import capture
import roce
from edges import EDGES, load

BURST = 32  # frames of one port that a box looks at before the other's turn
FILLER = bytes.fromhex("ffffffffffff 020000000001 88b5".replace(" ", "")) + bytes(46)  # IEEE local experimental
PATIENCE = 120  # seconds until a box that does not do what it should is given up
REMOTE_OPERATIONAL_ERROR = 0x63


def write_rounds(directory, rounds):
    """One burst for each (side, frame): that frame and fillers on its side, fillers on the other."""
    start = capture.Captured(0, FILLER, len(FILLER))
    for side in ("host", "wan"):
        frames = []
        for at, frame in rounds:
            frames += [frame if at == side else start] + [start] * (BURST - 1)
        capture.write_pcap(directory / f"{side}-in.pcap", frames)


class Box:
    """A process of `longhaul run` between two capture files."""

    def __init__(self, longhaul, directory, rounds):
        self._directory = pathlib.Path(directory)
        write_rounds(self._directory, rounds)
        for name in ("host-out.pcap", "wan-out.pcap", "stats.json"):
            (self._directory / name).unlink(missing_ok=True)
        ports = "\n".join(f'  {side}: {{vdev: "net_pcap{i},rx_pcap={self._directory}/{side}-in.pcap,'
                          f'tx_pcap={self._directory}/{side}-out.pcap"}}' for i, side in enumerate(("host", "wan")))
        (self._directory / "box.yaml").write_text(
            f"ports:\n{ports}\nhugepages: false\nidle: sleep\nmtu: 1500\nconnections: 16\n"
            f"custody: {{mbufs: 1024, small_mbufs: 1024}}\nrestart_record: {self._directory}/run/box.record\n")
        self._errors = open(self._directory / "stderr", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [longhaul.path, "run", "--config", self._directory / "box.yaml", "--stats", self._directory / "stats.json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self._errors.close()

    def sent(self, side):
        """What has left a port up to now; the last frame of the file may be cut short."""
        path = self._directory / f"{side}-out.pcap"
        if not path.exists() or path.stat().st_size < 24:
            return []
        return [frame.data for frame in capture.read_pcap(path) if len(frame.data) == frame.length]

    def roce(self, side):
        return [packet for packet in map(roce.parse, self.sent(side)) if packet]

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if self._process.poll() is not None:
                raise RuntimeError(f"{what}: the box ended, exit {self._process.returncode}: {self.errors()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {PATIENCE} s")
            time.sleep(0.02)

    def errors(self):
        self._errors.flush()
        return (self._directory / "stderr").read_text(encoding="utf-8")

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        """Exit code and statistics after SIGTERM."""
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(PATIENCE)
        return code, json.loads((self._directory / "stats.json").read_text(encoding="utf-8"))


def first_connection():
    """Of a capture: set-up, first request and its answer in order; the client's later requests; its DREQ, and the DREP."""
    roces = [(frame, packet) for frame in load("write_bw_r_4k") if (packet := roce.parse(frame.data))]
    cms = [(frame, packet) for frame, packet in roces if packet.cm]
    client = cms[0][1].source
    side = lambda packet: "host" if packet.source == client else "wan"
    ids = {cms[0][1].cm["local"], cms[1][1].cm["local"]}
    rc = [(frame, packet) for frame, packet in roces if packet.rc]
    setup = [(side(packet), frame) for frame, packet in cms[:3] + rc[:2]]
    first = rc[0][1]
    requests = [(frame, packet) for frame, packet in rc[1:] if packet.request and packet.source == client
                and packet.qpn == first.qpn]
    closing = [(side(packet), frame) for frame, packet in cms
               if (side(packet), packet.name) in (("host", "CM_DREQ"), ("wan", "CM_DREP"))
               and {packet.cm["local"], packet.cm["remote"]} == ids]
    return setup, requests, closing


def expect(name, found, wanted):
    if found != wanted:
        yield f"{name}: {found}, expected {wanted}"


def killed_box_fails_its_flows(longhaul, directory):
    """kill -9 with acknowledged data in custody: the next process says which connection lost how much, answers its next
    request by the fatal NAK at h, and lets it close, and reports that it closed with lost data."""
    setup, requests, closing = first_connection()
    lost, following = requests[:3], requests[3]
    lost_bytes = sum(len(frame.data) for frame, _ in lost)

    with Box(longhaul, directory, setup + [("host", frame) for frame, _ in lost]) as box:
        acked = lambda: {packet.psn for packet in box.roce("host") if packet.real_ack}
        box.wait_for("pseudo-ACKs", lambda: {packet.psn for _, packet in lost} <= acked())
        box.kill()

    with Box(longhaul, directory, [("host", following[0])]) as box:
        naks = lambda: [packet for packet in box.roce("host") if packet.opcode == roce.ACK and not packet.real_ack]
        box.wait_for("a fatal NAK", naks)
        code, stats = box.stop()
        packet = following[1]
        yield from expect("fatal NAK", [(nak.psn, nak.msn, nak.syndrome, nak.icrc_ok) for nak in naks()],
                          [(packet.psn, 1 + len(lost), REMOTE_OPERATIONAL_ERROR, True)])
        yield from expect("sent on to the responder", [p.name for p in box.roce("wan")], [])
        yield from expect("flows_failed_by_restart", stats["flows_failed_by_restart"], 1)
        yield from expect("failed_by_restart_bytes", stats["failed_by_restart_bytes"], lost_bytes)
        yield from expect("exit code", code, 0)
        responder_qpn = f"QP {packet.qpn:#08x}"
        line = next((line for line in box.errors().splitlines() if "the box was restarted" in line), "")
        if not re.search(rf"{packet.source} QP 0x[0-9a-f]{{6}} -> {packet.destination} {responder_qpn}", line) or \
                f"{lost_bytes} bytes" not in line:
            yield f"no line with both QPNs and {lost_bytes} bytes: {box.errors()}"

    # Stopped before the connection was closed: it is failed still. Nobody asks, DREQ and DREP pass.
    with Box(longhaul, directory, closing) as box:
        seen = lambda: [p.name for p in box.roce("wan")] + [p.name for p in box.roce("host")]
        box.wait_for("DREQ and DREP", lambda: seen() == ["CM_DREQ", "CM_DREP"])
        _, stats = box.stop()
        yield from expect("closed_untold_bytes", stats["closed_untold_bytes"], lost_bytes)
        if "closed with lost data" not in box.errors():
            yield f"no report that it closed with lost data: {box.errors()}"

    with Box(longhaul, directory, [("host", following[0])]) as box:
        box.wait_for("the request", lambda: box.roce("wan"))
        code, stats = box.stop()
        yield from expect("flows failed after the connection had closed", stats["flows_failed_by_restart"], 0)
        yield from expect("answers", [p.name for p in box.roce("host")], [])


def record_in_use(longhaul, directory):
    """Two boxes on one record: the second one says so, with the line of its configuration, and does not start."""
    with Box(longhaul, directory, []) as box:
        record = pathlib.Path(directory) / "run/box.record"
        box.wait_for("a record", lambda: record.exists() and record.stat().st_size > 0)
        done = subprocess.run([longhaul.path, "run", "--config", pathlib.Path(directory) / "box.yaml"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        yield from expect("exit code", done.returncode, 2)
        if not re.search(r"box\.yaml:9:17: restart_record: .*box\.record: is in use by another running box", done.stderr):
            yield f"message: {done.stderr}"


EDGES += [killed_box_fails_its_flows, record_in_use]
