# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul ctl` and a box without traffic: the socket, exit codes, reload, and who it lets in."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import termios
import time

from bench import PATIENCE, expect
from ctl import Ctl, annoy, raw
from lab.process import LabError, run, stop, wait_until
from lab.tools import REPOSITORY
from namespace import Inside


COPIES = 10  # of the frames of a capture: what a box estimates from samples needs many
BTH_ACK_REQ = 14 + 20 + 8 + 8  # the byte of an untagged RoCEv2 frame in IPv4 whose highest bit is AckReq


def _start(bench, extra=""):
    socket = bench.directory / "near.sock"
    box = bench.start_box(f"control: {{socket: {socket}, mode: \"0600\"}}\n{extra}")
    bench.expect_log(f"control at {socket}")
    return box, Ctl(bench.program, socket), socket


def answers(bench):
    """a box answers on its socket, tells its state, and takes the socket away when it stops"""
    box, ctl, socket = _start(bench)
    # At once: the box has not looked at its connections for the first time.
    expect("pairs of hosts with connections: 0" in ctl("pairs"), "pairs")
    mode = stat.S_IMODE(os.stat(socket).st_mode)
    expect(mode == 0o600, f"the socket has mode {mode:o}")
    status = ctl.json("status")
    expect(status["state"] == "running" and status["name"] == "near", f"status: {status}")
    expect([port["link"] for port in status["ports"]] == ["up", "up"], f"ports: {status['ports']}")
    expect("near: running" in ctl("status"), "no such text")
    expect("limit 16.0 MiB;" in ctl("status"), "custody's limit is not written as in the configuration")
    expect("0 of 0 flows" in ctl("flows", "--sort", "rtt", "--host", "10.0.0.0/8"), "flows")
    ctl("drain", "--timeout", "60s")
    expect(ctl.json("status")["state"] == "draining", "it does not drain")
    ctl("resume")
    ctl("bypass", "on")
    expect(ctl.json("status")["state"] == "bypass", "no bypass")
    ctl.refused(1, "bypass off", "resume")
    ctl("bypass", "off")
    expect("192.0.2.0/24" in ctl("policy", "set", "192.0.2.0/24", "off"), "policy set")
    ctl("policy", "default", "window")
    policy = ctl.json("policy", "show")["policy"]
    expect(policy == {"default": "window", "rules": [{"match": "192.0.2.0/24", "policy": "off"}]}, f"policy: {policy}")
    ctl("policy", "unset", "192.0.2.0/24")
    expect("policy.default" in ctl("config", "show"), "config show")
    expect(bench.end_box(box) == 0, "the box did not stop in order")
    expect(not socket.exists(), "the socket is there still")


def _requests(bench):
    """The RC requests of a capture, as a file of their own, and how many frames: what tshark takes for such."""
    requests = bench.directory / "requests.pcap"
    run("tshark", "-r", REPOSITORY / "test/pcaps/send_bw_r_mtu1024.pcap", "-F", "pcap", "-w", requests, "-Y",
        "infiniband.bth.opcode <= 10 && infiniband.bth.destqp != 1")
    data = requests.read_bytes()
    frames, at = [], 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def _screen(heard):
    """Lines that a terminal shows after these bytes: only the control sequences that the view uses."""
    shown = heard.rsplit("\x1b[H", 1)[1]
    return [line.rstrip() for line in shown.replace("\x1b[K", "").replace("\x1b[J", "").split("\r\n")]


def top_shows(bench):
    """ctl top says how many requests pass plain and why, once and live; q and Ctrl-C end it and restore the terminal"""
    _, ctl, path = _start(bench)
    ctl.refused(2, "--once", "top")
    ctl.refused(2, "--interval", "top", "--interval", "0")
    ctl.refused(2, "--once", "top", "--json")
    idle = ctl("top", "--once", "--interval", "0.2")
    expect("NOT ACCELERATED, of SENDs and WRITEs with AckReq\n  nothing\n" in idle, idle)
    frames = _requests(bench)
    expect(frames, "no requests in the capture")

    def send():
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as host:
            host.bind(("host", 0))
            for frame in COPIES * frames:
                host.send(frame)
                time.sleep(0.0002)  # one at a time, so that there are many calls to take samples of
    before = ctl.counters()["requests_unlearned"]
    with Inside(bench.namespace) as inside:
        # A view over an interval that all frames fall into.
        seen = inside.submit(ctl.json, "top", "--once", "--interval", "5")
        time.sleep(1)
        inside.do(send)
        view = seen.result()
    sent = COPIES * len(frames)
    came = ctl.counters()["requests_unlearned"] - before
    expect(came == sent, f"{came} of {sent} frames came")
    expect(round(view["per_second"]["frames_host"] * view["seconds"]) == sent, f"{view['per_second']}")
    cause, = view["not_accelerated"]
    expect(cause["cause"] == "unknown" and cause["share"] == 1, f"{cause}")
    counted = ctl.json("pairs")["counted_by_surveys"]
    asking = COPIES * sum(frame[BTH_ACK_REQ] >> 7 for frame in frames)
    expect(asking / 4 < counted["not_accelerated"]["unknown"] == counted["ack_requests"] < 4 * asking,
           f"{counted}, and {asking} were sent")

    for ending, status in ((b"q", 0), (b"\x03", -signal.SIGINT)):
        ours, terminal = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
        modes = termios.tcgetattr(terminal)
        process = subprocess.Popen([bench.program, "ctl", "--socket", path, "top", "--interval", "0.2"], stdin=terminal,
                                   stdout=terminal, stderr=terminal, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        try:
            heard = ""
            while heard.count("NOT ACCEL") < 3:
                expect(select.select([ours], [], [], PATIENCE)[0] and process.poll() is None, f"no view: {heard}")
                heard += os.read(ours, 65536).decode()
            expect(not termios.tcgetattr(terminal)[3] & termios.ECHO, "keys are echoed")
            os.write(ours, ending)
            wait_until(lambda: process.poll() is not None, PATIENCE, f"{ending} does not end it")
            while select.select([ours], [], [], 0)[0]:
                heard += os.read(ours, 65536).decode()
        finally:
            stop(process, grace=0)
            after = termios.tcgetattr(terminal)
            os.close(ours)
            os.close(terminal)
        expect(process.returncode == status, f"{ending}: exit status {process.returncode}")
        expect(after == modes, f"{ending}: the terminal is not as it was")
        expect(heard.startswith("\x1b[?1049h\x1b[?25l") and heard.endswith("\x1b[?25h\x1b[?1049l"), repr(heard[-80:]))
        lines = _screen(heard[:heard.rindex("\x1b[?25h")])
        expect(lines[0].startswith("near: running") and len(lines) == 12, f"{lines}")
        expect(max(map(len, lines)) == 40, f"lines are not cut at the terminal's width: {lines}")


def refuses(bench):
    """what cannot be has an exit code of its own kind, and words"""
    _, ctl, _ = _start(bench)
    ctl.refused(1, "no flow 7", "flow", 7)
    ctl.refused(2, "prefix length", "policy", "set", "10.0.0.0/77", "off")
    ctl.refused(2, "--timeout", "drain", "--timeout", "soon")
    ctl.refused(2, "confirm with --yes", "bypass", "on", "--now")
    ctl.refused(2, "off", "policy", "default", "fast")
    ctl.refused(2, "a command is missing: show, ", "policy")
    Ctl(bench.program, bench.directory / "none.sock").refused(1, "no such socket", "status")


def one_socket_each(bench):
    """a second box on the same socket does not start; one after kill -9 does"""
    box, ctl, socket = _start(bench)
    second = bench.start([bench.program, "run", "--config", bench.write_box(f"control: {{socket: {socket}}}\n")],
                         "second.log")
    wait_until(lambda: second.poll() is not None, PATIENCE, "the second box runs")
    expect(second.returncode != 0, "the second box ended well")
    expect(ctl.json("status")["state"] == "running", "the first box does not answer")
    box.send_signal(signal.SIGKILL)
    box.wait(10)
    expect(socket.exists(), "the socket went with a killed process: this case shows nothing")
    ctl.refused(1, "has ended", "status")
    _start(bench)
    expect(ctl.json("status")["state"] == "running", "the new box does not answer")


def reloads(bench):
    """SIGHUP takes over what may change, and refuses all of it with a reason when something may not"""
    box, ctl, socket = _start(bench)
    base = f"control: {{socket: {socket}, mode: \"0600\"}}\n"
    bench.write_box(base + "timers: {give_up: 30s}\npolicy: {default: \"off\"}\n")
    expect("a reload would change" in ctl("config", "check", bench.directory / "box.yaml"), "config check")
    changes = ctl.json("config", "check", bench.directory / "box.yaml")["changes"]
    expect({change["key"]: change["live"] for change in changes} == {"policy.default": True, "timers.give_up": True},
           f"{changes}")
    reply = ctl.json("reload")
    expect([change["key"] for change in reply["changes"]] == ["policy.default", "timers.give_up"], f"{reply}")
    bench.write_box(base + "mtu: 1500\npolicy: {default: full}\n")
    ctl.refused(1, "mtu", "reload")
    expect("would be refused" in ctl("config", "check", bench.directory / "box.yaml"), "config check")
    changes = ctl.json("config", "check", bench.directory / "box.yaml")["changes"]
    expect(not {change["key"]: change["live"] for change in changes}["mtu"], f"{changes}")
    expect(ctl.json("policy", "show")["policy"]["default"] == "off", "half a reload")
    bench.write_box(base + "policy: {default: window}\n")
    box.send_signal(signal.SIGHUP)
    bench.expect_log("policy.default is now window")
    bench.write_box(base + "wan_rate: fast\n")
    ctl.refused(2, "wan_rate", "reload")
    box.send_signal(signal.SIGHUP)
    bench.expect_log("reload: ")
    ctl.refused(2, "wan_rate", "config", "check", bench.directory / "box.yaml")
    expect(ctl.json("policy", "show")["policy"]["default"] == "window", "a broken file changed something")


def hostile_clients(bench):
    """garbage, lines without end, 200 silent clients: the next one is answered, and the box stops in order"""
    box, ctl, socket = _start(bench)
    annoy(socket)
    held = [raw(socket) for _ in range(200)]
    expect(ctl.json("status")["state"] == "running", "it does not answer")
    expect(bench.end_box(box) == 0, "the box did not stop in order")
    for client in held:
        client.close()


def telemetry(bench):
    """DPDK's own dpdk-telemetry.py reads the same data"""
    tool = shutil.which("dpdk-telemetry.py")
    if not tool:
        raise LabError("dpdk-telemetry.py is not installed (run tools/setup)")
    # Where DPDK has its sockets; not the machine's own, and short enough for a socket's path.
    with tempfile.TemporaryDirectory(prefix="lh-") as directory:
        environment = {**os.environ, "RUNTIME_DIRECTORY": directory}
        box = bench.start([bench.program, "run", "--config", bench.write_box("control: {telemetry: true}\n")],
                          "box.log", env=environment)
        wait_until(lambda: ": ready" in bench.log_of() or box.poll() is not None, PATIENCE, "the box is not ready")
        expect(box.poll() is None, bench.log_of())

        def ask(command):
            done = subprocess.run([tool, "-f", "longhaul_near"], input=f"{command}\n", capture_output=True, text=True,
                                  env=environment, timeout=PATIENCE, check=False)
            line = next((line for line in done.stdout.splitlines() if f'"{command.split(",")[0]}"' in line), None)
            expect(line, f"{command}: {done.stdout[-500:]}{done.stderr[-500:]}")
            return json.loads(line[line.index("{"):])[command.split(",")[0]]
        status = ask("/longhaul/status")
        expect(status["state"] == "running" and status["name"] == "near" and "custody_bytes" in status, f"{status}")
        counters = ask("/longhaul/counters")
        expect("pseudo_acks" in counters and "wan_rtt_ns_p99" in counters, f"{counters}")
        expect(ask("/longhaul/flows") == [], "flows")
        expect(ask("/longhaul/flow,7") is None, "a flow that is not there")
        expect(bench.end_box(box) == 0, "the box did not stop in order")


CASES = {
    "ctl-telemetry": telemetry,
    "ctl-answers": answers,
    "ctl-top-shows": top_shows,
    "ctl-refuses": refuses,
    "ctl-one-socket-each": one_socket_each,
    "ctl-reloads": reloads,
    "ctl-hostile-clients": hostile_clients,
}
