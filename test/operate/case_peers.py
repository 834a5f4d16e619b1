# SPDX-License-Identifier: BSD-3-Clause
"""A box with an address: judged by the kernel's ARP, Neighbour Discovery and ping, by another implementation of the
session (test/peer/reference.py), and by a second box."""
import contextlib
import json
import os
import signal
import time

from bench import BOX, PATIENCE, expect
from ctl import Ctl
from lab.process import LabError, run, spawn, stop, wait_until
from lab.tools import REPOSITORY

REFERENCE = REPOSITORY / "test" / "peer" / "reference.py"
FAMILIES = {4: ("192.0.2.1", "192.0.2.2", "24"), 6: ("2001:db8:7::1", "2001:db8:7::2", "64")}


def _inside(bench, *words, **options):
    return run("ip", "netns", "exec", bench.namespace, *words, **options)


def _keys(bench, file, *numbers):
    """A file with these keys, which are made when they are first named; its path."""
    lines = []
    for number in numbers:
        key = bench.directory / f"key-{number}"
        if not key.exists():
            run(bench.program, "key", "new", "--file", key)
        lines.append(key.read_text(encoding="utf-8"))
    path = bench.directory / file
    path.write_text("".join(lines), encoding="utf-8")
    path.chmod(0o600)
    return path


def _peers(bench, own, peer, length, name="far", key_file=None, extra=""):
    """`peers:` and the control socket, as lines of a configuration."""
    key_file = key_file or _keys(bench, "box.keys", 1)
    return (f"control: {{socket: {bench.directory}/{name}.sock}}\n"
            f"peers:\n  address: {own}/{length}\n{extra}"
            f"  boxes:\n    - {{name: {name}, address: \"{peer}\", key_file: {key_file}}}\n")


def _start(bench, family, **options):
    """A box whose WAN is the interface `wan`, with the peer's address: the box, and its ctl."""
    own, peer, length = FAMILIES[family]
    # A virtual cable need not carry checksums: the kernel would leave them to a NIC that is not there.
    _inside(bench, "ethtool", "-K", "wan", "tx", "off")
    if family == 6:
        _inside(bench, "sysctl", "-qw", "net.ipv6.conf.wan.disable_ipv6=0")
        bench.ip("address", "add", f"{peer}/{length}", "dev", "wan", "nodad")
    else:
        bench.ip("address", "add", f"{peer}/{length}", "dev", "wan")
    box = bench.start_box(_peers(bench, f'"{own}' if family == 6 else own, peer, f'{length}"' if family == 6 else length,
                                 **options))
    bench.expect_log("control at")
    return box, Ctl(bench.program, bench.directory / "far.sock")


def _peer(ctl):
    return ctl.json("peers")["peers"][0]


def _wait(ctl, condition, what):
    """Until condition(peer); LabError with the peer as it is then."""
    try:
        wait_until(lambda: condition(_peer(ctl)), PATIENCE, what)
    except LabError as failure:
        raise LabError(f"{failure}: {_peer(ctl)}") from failure


def _becomes(ctl, state):
    _wait(ctl, lambda peer: peer["state"] == state, f"the peer is not {state}")


def _reference(bench, family, key_file, log="reference.log", **options):
    own, peer, _ = FAMILIES[family]
    return bench.start(["python3", REFERENCE, "--address", peer, "--peer", own, "--key-file", key_file,
                        *(word for name, value in options.items() for word in (f"--{name}", str(value)))], log)


def _last(bench, log="reference.log"):
    """The last object that the reference printed, {} before the first."""
    lines = bench.log_of(log).splitlines()
    return json.loads(lines[-1]) if lines else {}


@contextlib.contextmanager
def _capture(bench, interface, file):
    """Everything that passes at an interface, in a file."""
    path = bench.directory / file
    process = bench.start(["tcpdump", "--immediate-mode", "-U", "-n", "-i", interface, "-w", path], f"{file}.log")
    bench.expect_log("listening on", log=f"{file}.log")
    yield path
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: process.poll() is not None, PATIENCE, "tcpdump does not stop")


def _frames(path, display=""):
    return run("tshark", "-r", path, *(("-Y", display) if display else ())).splitlines()


def _is_pinged(bench, family):
    own, _, _ = FAMILIES[family]
    with _capture(bench, "host", "host.pcap") as at_host, _capture(bench, "wan", "wan.pcap") as at_wan:
        _, ctl = _start(bench, family)
        _inside(bench, "ping", "-c", "3", "-i", "0.2", "-s", "1400", "-M", "do", own)
        _wait(ctl, lambda peer: peer["next_hop_known"], "the kernel's answer was not understood")
        # What nobody knows is dropped: the kernel hears nothing back.
        _inside(bench, "bash", "-c", f"echo hello >/dev/udp/{own}/9999")
    neighbours = json.loads(bench.ip("-json", "neighbour", "show", "dev", "wan"))
    expect(any(entry["dst"] == own and "lladdr" in entry for entry in neighbours), f"neighbours: {neighbours}")
    own_frames = _frames(at_host, f"ipv6.addr == {own} || icmpv6.nd.ns.target_address == {own}" if family == 6 else
                         f"ip.addr == {own} || arp.dst.proto_ipv4 == {own} || arp.src.proto_ipv4 == {own}")
    expect(not own_frames, f"the hosts saw {own_frames}")
    bad = _frames(at_wan, "_ws.malformed || ip.checksum.status == 0 || icmp.checksum.status == 0 || "
                          "icmpv6.checksum.status == 0")
    expect(not bad, f"malformed: {bad}")
    asked = _frames(at_wan, "icmpv6.type == 135" if family == 6 else "arp.opcode == 1")
    expect(asked, "nobody was asked for a MAC address")
    counters = ctl.counters()
    expect(counters["own_frames"] > 3, f"own_frames: {counters['own_frames']}")
    expect(ctl.json("peers")["not_understood"] > 0, f"peers: {ctl.json('peers')}")


def pinged(bench):
    """the kernel finds a box by ARP and pings it; hosts see nothing of that"""
    _is_pinged(bench, 4)


def pinged_ipv6(bench):
    """the same by Neighbour Discovery"""
    _is_pinged(bench, 6)


def passes_others(bench):
    """with an address, a box passes what is for others as before"""
    _start(bench, 4)
    with _capture(bench, "host", "host.pcap") as at_host:
        _inside(bench, "ping", "-c", "1", "-W", "1", "192.0.2.77", check=False)
    seen = _frames(at_host, "arp")
    expect(any("192.0.2.77" in line for line in seen), f"ARP for another: {seen}")


def _meets_reference(bench, family):
    box, ctl = _start(bench, family)
    expect(_peer(ctl)["state"] == "down", "up without a peer")
    with _capture(bench, "wan", "wan.pcap") as at_wan:
        reference = _reference(bench, family, bench.directory / "box.keys")
        _becomes(ctl, "up")
        wait_until(lambda: _last(bench).get("state") == "up", PATIENCE, "the reference is not up")
        _wait(ctl, lambda peer: peer["round_trip_seconds"] > 0, "no round trip was measured")
        epoch = _peer(ctl)["epoch"]
        # Killed, it is gone; begun anew, it is another.
        reference.kill()
        _becomes(ctl, "down")
        expect(_peer(ctl)["down_because"] == "silent", f"peer: {_peer(ctl)}")
        reference = _reference(bench, family, bench.directory / "box.keys", "again.log")
        _becomes(ctl, "up")
        _wait(ctl, lambda peer: peer["restarts"] == 1 and peer["epoch"] != epoch, "its restart was not noticed")
        expect("up" in ctl("peers"), "ctl peers")
        expect(bench.end_box(box) == 0, "the box did not stop in order")
        wait_until(lambda: _last(bench, "again.log").get("state") != "up", PATIENCE, "no farewell")
    lua = REPOSITORY / "config" / "wireshark" / "longhaul.lua"
    shown = run("tshark", "-X", f"lua_script:{lua}", "-r", at_wan, "-Y", "longhaul")
    for word in ("INIT", "RESPONSE", "CONFIRM", "KEEPALIVE", "BYE"):
        expect(word in shown, f"the dissector shows no {word}")
    bad = run("tshark", "-X", f"lua_script:{lua}", "-r", at_wan, "-Y",
              "_ws.malformed || udp.checksum.status == 0 || ip.checksum.status == 0", "-o", "udp.check_checksum:TRUE")
    expect(not bad, f"malformed: {bad}")


def meets_reference(bench):
    """a box and another implementation of the session find each other, notice an end and a restart, and say farewell"""
    _meets_reference(bench, 4)


def meets_reference_ipv6(bench):
    """the same over IPv6"""
    _meets_reference(bench, 6)


def wrong_key(bench):
    """with another key a peer is never up, and ctl says what to compare"""
    _, ctl = _start(bench, 4)
    _reference(bench, 4, _keys(bench, "other.keys", 2))
    _wait(ctl, lambda peer: peer["dropped"]["unknown_key"] > 2, "no INIT came")
    expect(_peer(ctl)["state"] == "down", f"peer: {_peer(ctl)}")
    expect("longhaul key ids" in ctl("peers"), f"no advice: {ctl('peers')}")


def keys_change(bench):
    """keys are changed by reloads in the order of the manual, and the peer stays up"""
    box, ctl = _start(bench, 4)
    reference = _reference(bench, 4, _keys(bench, "reference.keys", 1, 2))
    _becomes(ctl, "up")
    for numbers in ((1, 2), (2, 1), (2,)):
        _keys(bench, "box.keys", *numbers)
        expect("peers.boxes" in ctl("reload"), "the reload saw no other keys")
        ids = run(bench.program, "key", "ids", bench.directory / "box.keys").split()
        _wait(ctl, lambda peer, first=ids[0]: peer["key_id"] == first, "no session with the first key")
    peer = _peer(ctl)
    expect(peer["went_down"] == 0 and peer["state"] == "up", f"peer: {peer}")
    # A key that the reference does not have: down at once, and both know why.
    _keys(bench, "box.keys", 3)
    ctl("reload")
    _becomes(ctl, "down")
    wait_until(lambda: _last(bench).get("state") != "up", PATIENCE, "the reference was not told")
    expect(reference.poll() is None and box.poll() is None, "one has ended")


@contextlib.contextmanager
def _far_namespace(bench):
    """Another namespace, with the far ends of two cables: `far-wan` to `near-wan` here, `box-far-host` to `far-host`. Two
    boxes in one would now and then ask for the same fan-out group of packet sockets."""
    name = f"{bench.namespace}-far"
    run("ip", "netns", "add", name)
    try:
        for here, there in (("near-wan", "far-wan"), ("far-host", "box-far-host")):
            bench.ip("link", "add", here, "mtu", "9000", "type", "veth", "peer", "name", there, "mtu", "9000", "netns", name)
            for namespace, end in ((bench.namespace, here), (name, there)):
                run("ip", "netns", "exec", namespace, "sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
                run("ip", "-n", namespace, "link", "set", end, "up")
        yield name
    finally:
        run("ip", "netns", "del", name, check=False)


def _box(bench, namespace, name, wan, host, own, peer, cores, log):
    """A box in this namespace, ready: its process, and its ctl."""
    text = BOX.format(record=bench.directory / f"{name}.record").replace("name: near", f"name: {name}")
    text = text.replace("iface=box-wan", f"iface={wan}").replace("iface=box-host", f"iface={host}")
    if cores:
        text = text.replace("framesz", "qpairs=2,framesz").replace("flow_limit: 8MiB", "flow_limit: 4MiB")
    path = bench.directory / f"{name}.yaml"
    path.write_text(text + cores + _peers(bench, own, peer, 24, name), encoding="utf-8")
    with open(bench.directory / log, "wb") as file:
        process = spawn([bench.program, "run", "--config", path], namespace, cwd=bench.directory, stdout=file, stderr=file)
    try:
        wait_until(lambda: ": ready" in bench.log_of(log) or process.poll() is not None, PATIENCE, "the box is not ready")
        expect(process.poll() is None, f"the box ended: {bench.log_of(log)}")
    except BaseException:
        stop(process, grace=0)
        raise
    return process, Ctl(bench.program, bench.directory / f"{name}.sock")


def two_boxes(bench):
    """two boxes, one with two workers, repair together; one is killed and comes back; the log of the other says so"""
    cores = "cores: [0, 1]\n" if len(os.sched_getaffinity(0)) > 1 else ""
    _keys(bench, "box.keys", 1)
    running = []
    with _far_namespace(bench) as far_namespace:
        def start(*arguments):
            process, ctl = _box(bench, *arguments)
            running.append(process)
            return process, ctl

        try:
            _, near = start(bench.namespace, "near", "near-wan", "box-host", "192.0.2.1", "192.0.2.2", cores, "near.log")
            far_words = (far_namespace, "far", "far-wan", "box-far-host", "192.0.2.2", "192.0.2.1", "")
            far_box, far = start(*far_words, "far.log")
            for ctl in (near, far):
                _becomes(ctl, "up")
            expect(_peer(far)["workers"] == (2 if cores else 1), f"peer: {_peer(far)}")
            for ctl in (near, far):
                expect(_peer(ctl)["repairs_flows"], f"peer: {_peer(ctl)}")
            bench.expect_log("peer near (192.0.2.2) is up", log="near.log")
            far_box.kill()
            far_box.wait()
            _becomes(near, "down")
            bench.expect_log("peer near (192.0.2.2) is down: silent", log="near.log")
            _, far = start(*far_words, "again.log")
            for ctl in (near, far):
                _becomes(ctl, "up")
            expect(_peer(near)["restarts"] == 1, f"peer: {_peer(near)}")
            bench.expect_log("peer near (192.0.2.2) has been restarted", log="near.log")
        finally:
            for process in running:
                stop(process, grace=0)


CASES = {
    "peers-pinged": pinged,
    "peers-pinged-ipv6": pinged_ipv6,
    "peers-passes-others": passes_others,
    "peers-reference": meets_reference,
    "peers-reference-ipv6": meets_reference_ipv6,
    "peers-wrong-key": wrong_key,
    "peers-keys-change": keys_change,
    "peers-two-boxes": two_boxes,
}
