# SPDX-License-Identifier: BSD-3-Clause
"""What a replay must also stand: other file formats, damaged files, wrong arguments, altered captures."""
import pathlib
import struct
from dataclasses import replace

import capture
import outside
import roce
from program import CAPTURES
from world import World

CLIENT = ("10.9.0.2/32",)
BASE = "write_bw_r_4k"
EDGES = []


def edge(function):
    EDGES.append(function)
    return function


def load(name):
    return capture.read_pcap(CAPTURES / f"{name}.pcap")


def saved(directory, frames, **options):
    path = pathlib.Path(directory) / "in.pcap"
    capture.write_pcap(path, frames, **options)
    return path


def findings(run):
    return {key: value for key, value in run.report.items() if key != "capture"}


def judged(frames, near, run, ends_early=False):
    return outside.check_all(outside.Outputs(World(frames, near), run.out), run.report, ends_early)


@edge
def file_formats(longhaul, directory):
    """pcap and pcapng, either byte order, microseconds and nanoseconds: one report, one output."""
    frames = load(BASE)
    base = longhaul.replay(CAPTURES / f"{BASE}.pcap", CLIENT)
    path = pathlib.Path(directory) / "variant"
    variants = {
        "pcap us": lambda: capture.write_pcap(path, frames, magic=capture.MICRO),
        "pcap ns": lambda: capture.write_pcap(path, frames, magic=capture.NANO),
        "pcap us big-endian": lambda: capture.write_pcap(path, frames, magic=capture.MICRO, order=">"),
        "pcap ns big-endian": lambda: capture.write_pcap(path, frames, magic=capture.NANO, order=">"),
        "pcapng us": lambda: capture.write_pcapng(path, frames, nano=False),
        "pcapng ns": lambda: capture.write_pcapng(path, frames, nano=True),
    }
    for name, write in variants.items():
        write()
        run = longhaul.replay(path, CLIENT)
        if run.exit_code != base.exit_code or findings(run) != findings(base) or run.out != base.out:
            yield f"{name}: another result than the original's: exit {run.exit_code}, {run.stderr.strip()}"


@edge
def nanoseconds_are_kept(longhaul, directory):
    frames = [replace(frame, time=frame.time + 123) for frame in load(BASE)]
    run = longhaul.replay(saved(directory, frames), CLIENT)
    if not any(frame.time % 1000 == 123 for frame in run.out["wan"]):
        yield "output times are not the capture's nanoseconds"


@edge
def empty_capture(longhaul, directory):
    run = longhaul.replay(saved(directory, []), CLIENT)
    if run.exit_code != 3:
        yield f"exit {run.exit_code}: {run.stderr}"
    elif run.report["frames"] != 0 or not run.report["sum_ok"]:
        yield "frames in nothing"


@edge
def unreadable_files(longhaul, directory):
    """Exit 2 and a message that names the file, nothing on standard output."""
    path = pathlib.Path(directory) / "in.pcap"
    whole = (CAPTURES / f"{BASE}.pcap").read_bytes()
    contents = {"cut inside a frame": whole[:len(whole) // 2], "cut inside a record header": whole[:24 + 7], "cut inside the file header": whole[:9],
                "no bytes": b"", "not a capture": b"to be or not to be, that is the question" * 10, "absent": None,
                "not Ethernet": struct.pack("<IHHiIII", capture.MICRO, 2, 4, 0, 0, 65535, 113)}
    for name, data in contents.items():
        path.unlink(missing_ok=True)
        if data is not None:
            path.write_bytes(data)
        done = longhaul.raw(path, "--near", CLIENT[0], "--json")
        if done.returncode != 2 or str(path) not in done.stderr or done.stdout:
            yield f"{name}: exit {done.returncode}, stderr {done.stderr!r}, {len(done.stdout)} bytes on stdout"


@edge
def wrong_arguments(longhaul, directory):
    good = str(CAPTURES / f"{BASE}.pcap")
    for arguments in ([good], [good, "--near", "10.9.0.1/33"], [good, "--near", "10.9.0"], [good, "--near", "fd00::1/129"],
                      [good, "--near", "10.9.0.1/"], [good, "--near", "10.9.0.1/8x"], [good, "--near", ""], ["--near", "10.9.0.1"],
                      [good, "--near", "10.9.0.1", "--policy", "maybe"], [good, "--near", "10.9.0.1", "--confirm", "never"],
                      [good, "--near", "10.9.0.1", "--wan-rate", "fast"], [good, "--near", "10.9.0.1", "--frobnicate"],
                      [good, "--near", "10.9.0.1", "--host-out", "/nonexistent/x.pcap"]):
        done = longhaul.raw(*arguments)
        if done.returncode != 2 or not done.stderr.strip() or done.stdout:
            yield f"{' '.join(arguments)}: exit {done.returncode}, stderr {done.stderr!r}"


@edge
def outputs_overwrite_nothing(longhaul, directory):
    """An output that is the capture itself, or the other output, is refused before anything is opened."""
    path, other = saved(directory, load(BASE)), pathlib.Path(directory) / "link.pcap"
    other.symlink_to(path)
    before = path.read_bytes()
    for outputs in (["--host-out", path], ["--wan-out", other], ["--host-out", path.with_name("x"), "--wan-out", path.with_name("x")]):
        done = longhaul.raw(path, "--near", CLIENT[0], *outputs)
        if done.returncode != 2 or not done.stderr.strip() or path.read_bytes() != before:
            yield f"{outputs}: exit {done.returncode}, stderr {done.stderr!r}, capture {'kept' if path.read_bytes() == before else 'overwritten'}"


@edge
def policy_off(longhaul, directory):
    """Nothing is made, nothing is held back: what goes in comes out of the other side, in order."""
    for name in (BASE, "send_rnr", "rping_v4", "nvmeof_fio", "write_bw_r_loss", "read_bw_r_loss"):
        for near in (("10.9.0.1/32",), CLIENT):
            frames = load(name)
            world = World(frames, near)
            run = longhaul.replay(CAPTURES / f"{name}.pcap", near, "--policy", "off")
            if run.exit_code != 0:
                yield f"{name}: exit {run.exit_code}: {run.stderr}"
                continue
            for side in ("host", "wan"):
                expected = [(f.time, f.data) for i, f in enumerate(frames) if world.sides[i] != side]
                if [(f.time, f.data) for f in run.out[side]] != expected:
                    yield f"{name} near {near[0]}: the {side} port did not send exactly what came in"
            if any(run.report["made"].values()):
                yield f"{name}: made {run.report['made']}"


def nth_request(frames, near, nth):
    """Index of the nth in-sequence SEND or WRITE with AckReq of a flow from the near side, past its first."""
    world = World(frames, near)
    found = [i for i, p in enumerate(world.packets)
             if p and p.request and p.ack_req and world.flow_of[i] and world.sides[i] == "host" and p.opcode != roce.READ_REQUEST]
    return found[nth], world


@edge
def corrupted_request(longhaul, directory):
    """A wrong ICRC: counted, passed on as it is, and nothing from it on acknowledged before the responder has."""
    frames = load(BASE)
    sound = World(frames, CLIENT)
    index, world = nth_request(frames, CLIENT, 30)
    packet, flow = world.packets[index], world.flow_of[index]
    data = bytearray(packet.data)
    data[packet.end - 1] ^= 0x10
    frames[index] = replace(frames[index], data=bytes(data))
    run = longhaul.replay(saved(directory, frames), CLIENT)
    report = run.report
    if run.exit_code != 0:
        yield f"exit {run.exit_code}: {report['mismatches']} {run.stderr}"
    if report["icrc_bad"] != 1:
        yield f"icrc_bad {report['icrc_bad']}, not 1"
    if bytes(data) not in [frame.data for frame in run.out["wan"]]:
        yield "the corrupted frame was not passed on as it was"
    outputs = outside.Outputs(World(frames, CLIENT), run.out)
    # Who recorded it had the request whole, and so had its responder.
    answered = min(sound.frames[at].time for at, ack in sound.flow_of[index].real_acks
                   if roce.psn_diff(ack.psn, packet.psn) >= 0)
    for position in outputs.pseudo_acks:
        made = outputs.packets["host"][position]
        if (made.qpn == flow.requester_qpn and roce.psn_diff(made.psn, packet.psn) >= 0
                and outputs.out["host"][position].time < answered):
            yield f"PSN {made.psn} was acknowledged, {packet.psn} never came whole"
    yield from outside.check_icrc(outputs)
    yield from outside.check_pseudo_acks(outside.Outputs(sound, run.out))
    yield from outside.check_sums(outputs, report)


@edge
def corrupted_answer(longhaul, directory):
    """A real ACK with a wrong ICRC changes nothing and passes."""
    frames = load(BASE)
    world = World(frames, CLIENT)
    index = [i for flow in world.flows for i, _ in flow.real_acks if world.sides[i] == "wan"][-3]
    packet = world.packets[index]
    data = bytearray(packet.data)
    data[packet.end + 2] ^= 0x01
    frames[index] = replace(frames[index], data=bytes(data))
    run = longhaul.replay(saved(directory, frames), CLIENT)
    if run.report["icrc_bad"] != 1 or bytes(data) not in [frame.data for frame in run.out["host"]]:
        yield f"icrc_bad {run.report['icrc_bad']}; the ACK must be passed on as it was"
    yield from judged(frames, CLIENT, run)


@edge
def mutable_fields(longhaul, directory):
    """Routers change ToS, TTL and checksum on the way: the ICRC holds, nothing else changes."""
    base = longhaul.replay(CAPTURES / f"{BASE}.pcap", CLIENT).report
    frames = []
    for frame in load(BASE):
        if roce.parse(frame.data):
            data = bytearray(frame.data)
            data[15] |= 3  # congestion experienced
            data[22] -= 5
            data[24:26] = b"\0\0"
            words = struct.unpack("!10H", data[14:34])
            total = sum(words)
            total = (total & 0xFFFF) + (total >> 16)
            data[24:26] = struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
            frame = replace(frame, data=bytes(data))
        frames.append(frame)
    run = longhaul.replay(saved(directory, frames), CLIENT)
    if run.report["icrc_bad"] or run.report["pseudo_acks"] != base["pseudo_acks"]:
        yield f"icrc_bad {run.report['icrc_bad']}, pseudo_acks {run.report['pseudo_acks']}, not {base['pseudo_acks']}"
    yield from judged(frames, CLIENT, run)


@edge
def vlan_tags(longhaul, directory):
    """802.1Q and QinQ: the same counts, and the tags in the pseudo-ACKs (compared with the real ACKs')."""
    tag, service = b"\x81\x00\x60\x2a", b"\x88\xa8\x00\x07"
    for name, near in ((BASE, CLIENT), ("rping_v6", ("fd00::1/128",)), ("write_bw_r_loss", CLIENT)):
        base = longhaul.replay(CAPTURES / f"{name}.pcap", near)
        for tags in ((tag,), (service, tag)):
            frames = [replace(frame, data=roce.with_tags(frame.data, tags), length=frame.length + 4 * len(tags)) for frame in load(name)]
            run = longhaul.replay(saved(directory, frames), near)
            for key in ("frames", "requests", "pseudo_acks", "real_acks_matched", "real_acks_unmatched", "icrc_bad", "flows_learned"):
                if run.report[key] != base.report[key]:
                    yield f"{name}, {len(tags)} tags: {key} is {run.report[key]}, untagged {base.report[key]}"
            for error in judged(frames, near, run):
                yield f"{name}, {len(tags)} tags: {error}"


@edge
def cut_frames(longhaul, directory):
    """A capture with a short snap length: everything counted and passed, nothing believed."""
    frames = [replace(frame, data=frame.data[:60]) for frame in load(BASE)]
    cut = sum(len(frame.data) != frame.length for frame in frames)
    run = longhaul.replay(saved(directory, frames), CLIENT)
    report = run.report
    if run.exit_code != 3 or report["truncated"] != cut or report["pseudo_acks"] != 0 or not report["sum_ok"]:
        yield f"exit {run.exit_code}, truncated {report['truncated']} of {cut}, {report['pseudo_acks']} pseudo-ACKs"
    if sorted(f.data for side in run.out.values() for f in side) != sorted(f.data for f in frames):
        yield "not every frame came out as it went in"


@edge
def confirmed_by_cm(longhaul, directory):
    """--confirm cm: acknowledges from the first request on, and is right about it."""
    for name in (BASE, "send_rnr", "nvmeof_fio"):
        base = longhaul.replay(CAPTURES / f"{name}.pcap", CLIENT).report
        run = longhaul.replay(CAPTURES / f"{name}.pcap", CLIENT, "--confirm", "cm")
        if run.report["pseudo_acks"] <= base["pseudo_acks"]:
            yield f"{name}: {run.report['pseudo_acks']} pseudo-ACKs, {base['pseudo_acks']} without"
        for error in judged(load(name), CLIENT, run):
            yield f"{name}: {error}"


@edge
def paced(longhaul, directory):
    """A narrow WAN: every frame still sums up and no pseudo-ACK precedes its request."""
    run = longhaul.replay(CAPTURES / f"{BASE}.pcap", CLIENT, "--wan-rate", "2Mbps")
    if run.exit_code != 0 or not run.report["sum_ok"]:
        yield f"exit {run.exit_code}: {run.stderr} {run.report['mismatches']}"
    outputs = outside.Outputs(World(load(BASE), CLIENT), run.out)
    yield from outside.check_explained(outputs, run.report)
    yield from outside.check_pseudo_acks(outputs)
    # Over any tenth of a second: the rate, and what a port may send at once.
    sent = [(frame.time, 8 * len(frame.data)) for frame in run.out["wan"]]
    for start, _ in sent:
        bits = sum(size for at, size in sent if start <= at < start + 10**8)
        if bits > 200_000 + 300_000:
            yield f"{bits} bits left the WAN port within 100 ms at 2 Mbit/s"
            break


@edge
def both_hosts_near(longhaul, directory):
    """Frames of one connection from one side only: a box that cannot see the answers must not acknowledge."""
    frames = load(BASE)
    run = longhaul.replay(CAPTURES / f"{BASE}.pcap", ("10.9.0.0/24",))
    if run.exit_code != 3 or run.report["pseudo_acks"] != 0:
        yield f"exit {run.exit_code}, {run.report['pseudo_acks']} pseudo-ACKs"
    if [f.data for f in run.out["wan"]] != [f.data for f in frames] or run.out["host"]:
        yield "not everything went from the host port to the WAN port"


@edge
def readable_report(longhaul, directory):
    done = longhaul.raw(CAPTURES / f"{BASE}.pcap", "--near", CLIENT[0])
    for words in ("frames", "pseudo-ACKs", "matched", "10.9.0.2", "orderly"):
        if words not in done.stdout:
            yield f"{words!r} is not in the report: {done.stdout}"


@edge
def the_judge_judges(longhaul, directory):
    """Outputs with a fault put in must not pass: a judge that never objects proves nothing."""
    frames = load(BASE)
    run = longhaul.replay(CAPTURES / f"{BASE}.pcap", CLIENT)
    world = World(frames, CLIENT)
    good = outside.Outputs(world, run.out)
    if not good.pseudo_acks:
        yield "no pseudo-ACK to falsify"
        return
    position = good.pseudo_acks[-1]
    ack = run.out["host"][position]

    def falsified(offset, value):
        data = bytearray(ack.data)
        data[good.packets["host"][position].bth + offset] = value
        return replace(ack, data=roce.with_icrc(bytes(data)))

    def with_ack(*replacement):
        return {**run.out, "host": run.out["host"][:position] + list(replacement) + run.out["host"][position + 1:]}

    # Two neighbours of one flow on the WAN side, in the wrong order.
    packets = [roce.parse(frame.data) for frame in run.out["wan"]]
    first = next(i for i, (a, b) in enumerate(zip(packets, packets[1:])) if a and b and a.request and b.request and a.key == b.key)
    swapped = list(run.out["wan"])
    swapped[first:first + 2] = swapped[first + 1], replace(swapped[first], time=swapped[first + 1].time)

    moved = [*run.out["host"][:position], *run.out["host"][position + 1:]]
    early = next(i for i, frame in enumerate(run.out["host"]) if (p := roce.parse(frame.data)) and p.rc)
    faults = {
        "MSN": with_ack(falsified(15, ack.data[good.packets["host"][position].bth + 15] ^ 1)),
        "syndrome": with_ack(falsified(12, 0x1E)),
        "P_Key": with_ack(falsified(3, 0x7F)),
        "PSN": with_ack(falsified(11, ack.data[good.packets["host"][position].bth + 11] ^ 0x40)),
        "ICRC": with_ack(replace(ack, data=ack.data[:-1] + bytes([ack.data[-1] ^ 1]))),
        "absent": with_ack(),
        "twice": with_ack(ack, ack),
        "too early": {**run.out, "host": moved[:early] + [replace(ack, time=moved[early].time)] + moved[early:]},
        "lost request": {**run.out, "wan": run.out["wan"][:-3] + run.out["wan"][-2:]},
        "swapped": {**run.out, "wan": swapped},
        "payload": {**run.out, "wan": run.out["wan"][:-1] + [replace(run.out["wan"][-1], data=run.out["wan"][-1].data[:-1] + b"?")]},
    }
    for name, out in faults.items():
        if not outside.check_all(outside.Outputs(world, out), run.report):
            yield f"a fault went unseen: {name}"


@edge
def mismatch_is_found(longhaul, directory):
    """A real ACK altered in the capture, ICRC right again: listed with its field, exit 1."""
    frames = load(BASE)
    world = World(frames, CLIENT)
    index = [i for flow in world.flows for i, _ in flow.real_acks if world.sides[i] == "wan"][-3]
    packet = world.packets[index]
    for field, offset, value in (("msn", 15, packet.msn & 0xFF ^ 1), ("syndrome", 12, 0x05), ("p_key", 2, 0x7F)):
        data = bytearray(packet.data)
        data[packet.bth + offset] = value
        altered = frames[:index] + [replace(frames[index], data=roce.with_icrc(bytes(data)))] + frames[index + 1:]
        run = longhaul.replay(saved(directory, altered), CLIENT)
        found = [(item["frame"], item["psn"], item["field"]) for item in run.report["mismatches"]]
        if run.exit_code != 1 or (index + 1, packet.psn, field) not in found:
            yield f"{field} altered in frame {index + 1}: exit {run.exit_code}, mismatches {found}"


@edge
def lost_request_is_named(longhaul, directory):
    """A request taken out of the capture: its ACK is unmatched for that reason. What comes before that ACK waits for
    what is missing; once the responder has answered the gap, all passes."""
    frames = load(BASE)
    for nth in (30, 31):
        index, world = nth_request(frames, CLIENT, nth)
        psn = world.packets[index].psn
        left = frames[:index] + frames[index + 1:]
        run = longhaul.replay(saved(directory, left), CLIENT)
        unmatched = {item["psn"]: item["reason"] for item in run.report["unmatched"]}
        if not unmatched.get(psn, "").startswith("request not in the capture"):
            yield f"PSN {psn}: {unmatched.get(psn)}"
        beyond = any(reason.startswith("request arrived beyond a gap") for reason in unmatched.values())
        if beyond:
            yield f"without PSN {psn} something is dropped beyond a gap: {unmatched}"
        yield from outside.check_real_acks(outside.Outputs(World(left, CLIENT), run.out), run.report)


def announced(packet):
    """An RDMA-CM message, which a box that starts later has missed."""
    return packet is not None and packet.cm is not None


def made_acks(frames, run):
    """(the ACKs made by the box, those of them that differ from the responder's own for the same PSN)."""
    real = {(packet.key, packet.psn): packet for packet in map(roce.parse, (frame.data for frame in frames))
            if packet and packet.rc and packet.real_ack}
    outputs = outside.Outputs(World(frames, CLIENT), run.out)
    made = [outputs.packets["host"][position] for position in outputs.pseudo_acks]
    return made, [packet for packet in made if (theirs := real.get((packet.key, packet.psn))) is not None
                  and (theirs.msn, theirs.syndrome, theirs.p_key) != (packet.msn, packet.syndrome, packet.p_key)]


@edge
def started_in_mid_traffic(longhaul, directory):
    """The box misses RDMA-CM and the first part of the traffic: it learns from the rest."""
    for name, skipped in ((BASE, 0), (BASE, 30), ("send_bw_r_mtu1024", 41), ("write_bw_r_q4", 60), ("write_lat_r", 25)):
        frames = [frame for frame in load(name)[skipped:] if not announced(roce.parse(frame.data))]
        # Its first second it only looks on.
        frames.insert(0, replace(frames[0], data=bytes(60), time=frames[0].time - 1_000_000_000))
        run = longhaul.replay(saved(directory, frames), CLIENT)
        made, wrong = made_acks(frames, run)
        if run.exit_code != 0 or not run.report["sum_ok"] or wrong:
            yield f"{name} from {skipped}: exit {run.exit_code}, {len(wrong)} of {len(made)} pseudo-ACKs differ from the responder's"
        if not made or run.report["counters"]["connections_from_traffic"] == 0:
            yield f"{name} from {skipped}: nothing learned from {len(frames)} frames"


@edge
def two_candidates(longhaul, directory):
    """A second QP between the same hosts with the same PSNs outstanding: whose answers these are nobody can tell."""
    frames = load("write_bw_tcpexchange")
    twins = []
    for frame in frames:
        packet = roce.parse(frame.data)
        twins.append(frame)
        if packet and packet.rc and packet.request:
            data = bytearray(frame.data)
            data[packet.bth + 5:packet.bth + 8] = (0x7777).to_bytes(3, "big")
            twins.append(replace(frame, data=roce.with_icrc(bytes(data))))
    run = longhaul.replay(saved(directory, twins), CLIENT)
    if run.report["flows_learned"] or any(run.report["made"].values()) or any(run.report["not_forwarded"].values()):
        yield f"learned {run.report['flows_learned']} flows, made {run.report['made']}"
    if run.report["counters"]["traffic_ambiguous"] == 0:
        yield "no ACK was called ambiguous"


@edge
def policy_window(longhaul, directory):
    """Packets are acknowledged early, messages never: each end up to there has its real answer already."""
    total = 0
    for name in (BASE, "send_bw_r_mtu1024", "write_bw_r_q4", "rping_v4", "nvmeof_fio", "write_bw_r_loss", "send_rnr"):
        frames = load(name)
        run = longhaul.replay(CAPTURES / f"{name}.pcap", CLIENT, "--policy", "window")
        world = World(frames, CLIENT)
        outputs = outside.Outputs(world, run.out)
        if run.exit_code != 0 or not run.report["sum_ok"]:
            yield f"{name}: exit {run.exit_code}"
        for position in outputs.pseudo_acks:
            packet, time = outputs.packets["host"][position], run.out["host"][position].time
            flow = world.requester_flow(packet)
            total += 1
            ends = [request.psn for request in flow.requests.values()
                    if roce.psn_diff(request.psn, packet.psn) <= 0 and world.packets[request.index].opcode in roce.MESSAGE_ENDS]
            answered = [ack.psn for index, ack in flow.real_acks if frames[index].time <= time]
            answered += [other.psn for index, other in enumerate(world.packets) if other and frames[index].time <= time
                         and other.opcode in roce.READ_RESPONSES and world.requester_flow(other) is flow]
            latest = max((roce.psn_diff(psn, packet.psn) for psn in answered), default=-roce.PSN_MASK)
            for psn in ends:
                if roce.psn_diff(psn, packet.psn) > latest:
                    yield f"{name}: the pseudo-ACK of PSN {packet.psn} completes the message that ends with {psn}"
    if total == 0:
        yield "no pseudo-ACK at all"
