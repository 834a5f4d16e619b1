# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul ctl` and a box without traffic: the socket, exit codes, reload, and who it lets in."""
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile

from bench import PATIENCE, expect
from ctl import Ctl, annoy, raw
from lab.process import LabError, wait_until


def _start(bench, extra=""):
    socket = bench.directory / "near.sock"
    box = bench.start_box(f"control: {{socket: {socket}, mode: \"0600\"}}\n{extra}")
    bench.expect_log(f"control at {socket}")
    return box, Ctl(bench.program, socket), socket


def _pairs(ctl):
    """The busiest pairs of hosts, or None before the box has looked at its connections for the first time."""
    try:
        return ctl.json("pairs")["pairs"]
    except LabError:
        return None


def answers(bench):
    """a box answers on its socket, tells its state, and takes the socket away when it stops"""
    box, ctl, socket = _start(bench)
    mode = stat.S_IMODE(os.stat(socket).st_mode)
    expect(mode == 0o600, f"the socket has mode {mode:o}")
    status = ctl.json("status")
    expect(status["state"] == "running" and status["name"] == "near", f"status: {status}")
    expect([port["link"] for port in status["ports"]] == ["up", "up"], f"ports: {status['ports']}")
    expect("near: running" in ctl("status"), "no such text")
    wait_until(lambda: _pairs(ctl) is not None, PATIENCE, "a survey of connections")
    expect("0 of 0 pairs" in ctl("pairs"), "pairs")
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
    "ctl-refuses": refuses,
    "ctl-one-socket-each": one_socket_each,
    "ctl-reloads": reloads,
    "ctl-hostile-clients": hostile_clients,
}
