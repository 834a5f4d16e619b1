# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul replay --explain`: what it says of each connection, against a model that reads the capture by itself."""
import struct
from dataclasses import replace

import roce
from edges import BASE, CLIENT, edge, load, saved
from program import CAPTURES
from vendors import altered
from world import World

SERVER = ("10.9.0.1/32",)
MELLANOX = 0x15B3


def explained(longhaul, path, near, *more):
    run = longhaul.replay(path, near, "--explain", *more)
    return run.report["explanation"]["connections"]


def by_key(connections):
    return {(one["requester"], one["responder"], one["responder_qpn"]): one for one in connections}


def check_against(world, connections):
    """Every direction with requests is listed; frames, requests and how it was learned are what the capture has."""
    found = by_key(connections)
    seen = {}
    for index, packet in enumerate(world.packets):
        if packet and packet.request:
            key = (str(packet.source), str(packet.destination), packet.qpn)
            seen.setdefault(key, []).append((index + 1, packet))
    for key in seen.keys() - found.keys():
        yield f"{key} is not explained"
    flows = {(str(f.requester), str(f.responder), f.responder_qpn): f for f in world.flows}
    for key, one in found.items():
        frames = seen.get(key, [])
        wanted = {
            "requests": len(frames), "icrc_bad": sum(not packet.icrc_ok for _, packet in frames),
            "ack_requests": sum(packet.ack_req and packet.opcode != roce.READ_REQUEST and packet.opcode not in roce.ATOMIC_REQUESTS
                                for _, packet in frames)}
        if frames:
            wanted["last_frame"] = frames[-1][0]
        for name, value in wanted.items():
            if one[name] != value:
                yield f"{key}: {name} is {one[name]}, the capture has {value}"
        if not one["why"] or not one["reason"]:
            yield f"{key}: no reason"
        flow = flows.get(key)
        if one["learned"] and (flow is None or flow.requester_qpn != one["requester_qpn"]):
            yield f"{key}: learned with QPN {one['requester_qpn']}, which the capture does not show"
        if one["learned"] == "rdma_cm" and (flow is None or flow.over_tcp):
            yield f"{key}: the capture has no RDMA-CM for it"
        plain = sum(one["not_accelerated"].values())
        if one["pseudo_acks"] + plain > one["ack_requests"]:
            yield f"{key}: {one['pseudo_acks']} accelerated and {plain} plain, of {one['ack_requests']}"
        if one["pseudo_acks"] and not one["learned_frame"] <= one["confirmed_frame"] <= len(world.frames):
            yield f"{key}: learned at {one['learned_frame']}, confirmed at {one['confirmed_frame']}"
        if (one["reason"] == "accelerated") != (one["pseudo_acks"] > 0):
            yield f"{key}: {one['reason']} with {one['pseudo_acks']} pseudo-ACKs"


@edge
def explained_captures(longhaul, directory):
    """All captures from both sides: the model agrees, and the sums are those of the report."""
    for path in sorted(CAPTURES.glob("*.pcap")):
        for near in (SERVER, CLIENT) if "v6" not in path.stem else (("fd00::1/128",), ("fd00::2/128",)):
            run = longhaul.replay(path, near, "--explain")
            plain = longhaul.replay(path, near)
            report = run.report
            connections = report.pop("explanation")["connections"]
            where = f"{path.stem} near {near[0]}"
            if report != plain.report or run.exit_code != plain.exit_code or run.out != plain.out:
                yield f"{where}: with --explain the rest of the report, or the output, is another"
            for error in check_against(World(load(path.stem), near), connections):
                yield f"{where}: {error}"
            if sum(one["pseudo_acks"] for one in connections) != report["pseudo_acks"]:
                yield f"{where}: pseudo-ACKs are {report['pseudo_acks']} in all"
            near_side = [one for one in connections if one["reason"] != "requester_far" and one["learned"]]
            if len(near_side) * 2 != report["flows_learned"]:
                yield f"{where}: {len(near_side)} learned, the report has {report['flows_learned']} flows"


@edge
def explained_reasons(longhaul, directory):
    """Each reason, from a capture that has it."""
    frames = load(BASE)
    world = World(frames, CLIENT)

    def reasons(chosen, near=CLIENT, *more):
        """Of the direction whose WRITEs the capture is about: the other one has a SEND at most."""
        return {one["reason"] for one in explained(longhaul, saved(directory, chosen), near, *more)
                if one["requester"] == "10.9.0.2" and one["requests"]}

    def without(drop):
        return [frame for index, frame in enumerate(frames) if not drop(index, world.packets[index])]

    damaged = []
    for index, frame in enumerate(frames):
        packet = world.packets[index]
        data = bytearray(frame.data)
        if packet and packet.request:
            data[packet.end] ^= 1
        damaged.append(replace(frame, data=bytes(data)))
    no_cm = without(lambda _, packet: packet and packet.cm)
    first_answers = [index for index, packet in enumerate(world.packets) if packet and packet.real_ack]
    cases = {
        "accelerated": reasons(frames),
        "policy": reasons(frames, CLIENT, "--policy", "off"),
        "requester_far": reasons(no_cm, SERVER),
        "not_divided": reasons(no_cm, ("10.9.0.0/24",)),
        "requests_damaged": reasons([f for f, p in zip(damaged, world.packets) if not (p and p.cm)]),
        "no_answers": reasons(without(lambda _, packet: packet and (packet.cm or not packet.request))),
        "unknown": reasons(without(lambda index, packet: packet and (packet.cm or index in first_answers[1:]))),
    }
    for wanted, got in cases.items():
        if got != {wanted}:
            yield f"wanted {wanted}, got {got}"


@edge
def explained_vendor_features(longhaul, directory):
    """ECE of the REQ and the REP, where Linux puts it; and the text for people has it."""
    def change(packet, data):
        if not packet.cm or packet.cm["attribute"] not in (roce.CM_REQ, roce.CM_REP):
            return
        mad = packet.bth + 12 + 8
        request = packet.cm["attribute"] == roce.CM_REQ
        struct.pack_into("!I", data, mad + 20, 7 if request else 3)
        vendor = MELLANOX.to_bytes(3, "big")
        for at, byte in zip((5, 6, 7) if request else (15, 19, 23), vendor):
            data[mad + 24 + at] = byte

    path = saved(directory, altered(load(BASE), change))
    for one in explained(longhaul, path, CLIENT):
        wanted = {"offered": {"vendor_id": MELLANOX, "attribute_modifier": 7}, "accepted": {"vendor_id": MELLANOX, "attribute_modifier": 3}}
        if one["learned"] and one["ece"] != wanted:
            yield f"{one['ece']}, not {wanted}"
    done = longhaul.raw(path, "--near", CLIENT[0], "--explain")
    for words in ("vendor features of 0x15b3, options 0x3", "learned from RDMA-CM at frame", "confirmed at frame"):
        if words not in done.stdout:
            yield f"the text does not say {words!r}"


@edge
def explained_several(longhaul, directory):
    """Below the table of several captures, each has its explanation."""
    done = longhaul.raw(CAPTURES / f"{BASE}.pcap", CAPTURES / "send_rnr.pcap", "--near", CLIENT[0], "--explain")
    if done.stdout.count("why: ") != 2:
        yield f"{done.stdout.count('why: ')} explanations"
