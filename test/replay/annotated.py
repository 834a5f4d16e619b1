# SPDX-License-Identifier: BSD-3-Clause
"""The file of --annotated-out, as tshark reads it: both ports, every frame, and comments that are true."""
import pathlib
import re
import subprocess
from dataclasses import dataclass, replace

import capture
import outside
import roce
from command_lines import NEAR, differing, write_captures
from edges import BASE, CLIENT, edge, load, saved
from program import CAPTURES
from world import World

PORTS = {"host port": "host", "WAN port": "wan"}
FIELDS = ("frame.interface_name", "frame.packet_flags_direction", "frame.packet_id", "frame.comment")


@dataclass
class Event:
    side: str
    incoming: bool
    id: int  # number in the capture, 0: none
    comment: str
    frame: object


def tshark(*arguments):
    done = subprocess.run(["tshark", "-n", *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tshark: {done.stderr.strip()}")
    return done.stdout


def read(path):
    """The events of an annotated file; the frames' bytes too come from tshark, which writes them as pcap."""
    lines = tshark("-r", path, "-T", "fields", *(word for field in FIELDS for word in ("-e", field))).splitlines()
    plain = path.with_suffix(".plain")
    tshark("-r", path, "-F", "nsecpcap", "-w", plain)
    events = []
    for line, frame in zip(lines, capture.read_pcap(plain), strict=True):
        port, direction, number, comment = (line.split("\t") + [""] * 4)[:4]
        events.append(Event(PORTS[port], int(direction, 16) == 1, int(number or 0), comment, frame))
    return events


def annotated(longhaul, directory, path, near, *more):
    """(run, events) of a replay with the file."""
    out = pathlib.Path(directory) / "annotated.pcapng"
    run = longhaul.replay(path, near, "--annotated-out", out, *more)
    return run, read(out)


def check_ports(frames, run, events):
    """What came in is the capture, what left the ports is what the pcap files of the ports have."""
    came = [(event.frame.time, event.frame.data, event.id) for event in events if event.incoming]
    if came != [(frame.time, frame.data, number) for number, frame in enumerate(frames, 1)]:
        yield f"{len(came)} frames came to the ports, {len(frames)} are in the capture, or they differ"
    for side in ("host", "wan"):
        left = [event.frame for event in events if not event.incoming and event.side == side]
        if left != run.out[side]:
            yield f"{len(left)} frames left the {side} port, its pcap file has {len(run.out[side])}, or they differ"
    times = [event.frame.time for event in events]
    if times != sorted(times):
        yield "not in order of time"


def check_passed(events):
    """A frame that left without a comment is one that came to the other port, to the byte."""
    came = {event.id: event for event in events if event.incoming}
    for number, event in enumerate(events, 1):
        if not event.incoming and not event.comment:
            source = came.get(event.id)
            if source is None or source.side == event.side or source.frame.data != event.frame.data:
                yield f"frame {number} left the {event.side} port without a comment, and is not what came in"


def check_kept_back(events, report):
    """As many frames have a comment that they were kept back as the report says; these never left."""
    kept = {event.id for event in events if event.incoming and re.match("absorbed: |dropped: ", event.comment)}
    counted = sum(count for name, count in report["not_forwarded"].items() if name not in ("waiting", "dropped_unsent"))
    if len(kept) != counted:
        yield f"{len(kept)} frames have the comment that they were kept back, the report has {counted}"
    left = {event.id for event in events if not event.incoming and "sent again" not in event.comment}
    still_in = {event.id for event in events if event.incoming and event.comment.startswith("did not leave")}
    missing = {event.id for event in events if event.incoming} - left
    if missing != kept | still_in:
        yield f"frames {sorted(missing ^ (kept | still_in))} left and did not leave"


def check_pseudo_acks(frames, near, run, events):
    """Each frame that is a pseudo-ACK by the judge from outside names its request, and the real ACK if there is one."""
    outputs = outside.Outputs(World(frames, near), run.out)
    on_host = [number for number, event in enumerate(events) if not event.incoming and event.side == "host"]
    by_judge = {on_host[position] for position in outputs.pseudo_acks}
    by_comment = {number for number, event in enumerate(events) if event.comment.startswith("pseudo-ACK for ")}
    if not by_judge <= by_comment:  # one that equals a captured frame to the byte is not found from outside
        yield f"pseudo-ACKs without a comment: {sorted(by_judge - by_comment)}"
    parse = lambda number: roce.parse(events[number].frame.data)
    for number in by_comment:
        event, ack = events[number], parse(number)
        told = re.fullmatch(r"pseudo-ACK for frame (\d+)(?:; the real one is frame (\d+): (equal|.* is 0x.*)"
                            r"|; acknowledged by frame (\d+), a real ACK of a later PSN|; the capture has no real one)", event.comment)
        where = f"frame {number + 1}, \"{event.comment}\""
        if not told:
            yield f"{where}: not one of the forms"
            continue
        request = parse(int(told[1]) - 1)
        if not (int(told[1]) <= number and request.request and request.psn == ack.psn and request.source == ack.destination
                and events[int(told[1]) - 1].incoming):
            yield f"{where}: frame {told[1]} is not its request"
        real = told[2] or told[4]
        if real:
            answer = parse(int(real) - 1)
            if not (int(real) - 1 > number and events[int(real) - 1].incoming and answer.real_ack and answer.key == ack.key):
                yield f"{where}: frame {real} is no real ACK for it"
            elif told[2] and answer.psn != ack.psn or told[4] and roce.psn_diff(answer.psn, ack.psn) <= 0:
                yield f"{where}: frame {real} has PSN {answer.psn}, this {ack.psn}"
            elif told[2] and ((answer.msn, answer.syndrome, answer.p_key) == (ack.msn, ack.syndrome, ack.p_key)) != (told[3] == "equal"):
                yield f"{where}: the two are not so"
            elif told[2] and f"the pseudo-ACK is frame {number + 1}: {told[3]}" not in events[int(real) - 1].comment:
                yield f"{where}: frame {real} does not say the same"
        else:
            later = [e for e in events[number + 1:] if e.incoming and (p := roce.parse(e.frame.data)) and p.real_ack and p.icrc_ok
                     and p.key == ack.key and roce.psn_diff(p.psn, ack.psn) >= 0]
            if later:
                yield f"{where}: but there is"


def check_sent_again(events):
    for number, event in enumerate(events, 1):
        told = re.fullmatch(r"frame (\d+)(?: sent again from custody|, held for [\d.]+ ms)?(?:, changed: (.+))?", event.comment)
        if not told:
            continue
        source = events[int(told[1]) - 1]
        same = source.frame.data == event.frame.data
        if not (source.incoming and source.id == event.id and same == (told[2] is None)):
            yield f"frame {number}: \"{event.comment}\", but frame {told[1]} is another"
        if told[2] == "AckReq set" and roce.without_ack_req(roce.parse(source.frame.data)) != roce.without_ack_req(roce.parse(event.frame.data)):
            yield f"frame {number}: \"{event.comment}\", but more is changed"


def check_all(frames, near, run, events):
    for found in (check_ports(frames, run, events), check_passed(events), check_kept_back(events, run.report),
                  check_pseudo_acks(frames, near, run, events), check_sent_again(events)):
        yield from found


@edge
def annotated_captures(longhaul, directory):
    """Real captures, with losses and without, from either side."""
    kinds = set()
    for name in (BASE, "send_rnr", "nvmeof_fio", "write_bw_r_loss", "read_bw_r_loss", "atomic_fa_r", "send_bw_ud"):
        for near in (("10.9.0.1/32",), CLIENT):
            run, events = annotated(longhaul, directory, CAPTURES / f"{name}.pcap", near)
            for error in check_all(load(name), near, run, events):
                yield f"{name} near {near[0]}: {error}"
            kinds |= {re.sub(r"\d+", "N", event.comment) for event in events}
    for words in ("pseudo-ACK for frame N; the real one is frame N: equal", "frame N sent again from custody",
                  "made by the box: PSN sequence error, PSN N", "dropped: beyond a gap in the requester's PSNs",
                  "absorbed: a pseudo-ACK had already told the requester; the pseudo-ACK is frame N: equal"):
        if words not in kinds:
            yield f"no frame has the comment {words!r}: {sorted(kinds)}"


@edge
def annotated_difference(longhaul, directory):
    """A real ACK that differs says in what, at both frames."""
    frames = differing()
    run, events = annotated(longhaul, directory, saved(directory, frames), CLIENT)
    yield from check_all(frames, CLIENT, run, events)
    said = [event.comment for event in events if re.search(r": msn is 0x[0-9a-f]+, the pseudo-ACK said 0x", event.comment)]
    if len(said) != 2:
        yield f"comments about the MSN: {said}"


@edge
def annotated_paced(longhaul, directory):
    """Frames that wait for a narrow WAN name the frame that came."""
    run, events = annotated(longhaul, directory, CAPTURES / f"{BASE}.pcap", CLIENT, "--wan-rate", "2Mbps")
    yield from check_all(load(BASE), CLIENT, run, events)
    if not any(re.fullmatch(r"frame \d+, held for \d+\.\d+ ms", event.comment) for event in events):
        yield "no frame was held"


@edge
def annotated_change(longhaul, directory):
    """The responder falls silent behind a message; the next one has been acknowledged, and begins without AckReq. The box
    sends that again to ask for an ACK, which changes it."""
    frames = load("send_bw_r_mtu1024")
    world = World(frames, CLIENT)
    messages = [index for index, packet in enumerate(world.packets) if packet and packet.name == "SEND_LAST" and world.sides[index] == "host"]
    last = messages[6]
    silent = frames[:last + 1] + [replace(frames[0], time=frames[last].time + nth * 10**8) for nth in range(1, 20)]
    run, events = annotated(longhaul, directory, saved(directory, silent), CLIENT)
    yield from check_all(silent, CLIENT, run, events)
    if not any(event.comment.endswith(", changed: AckReq set") for event in events):
        yield f"no frame was changed: {[event.comment for event in events[-60:]]}"


@edge
def annotated_cut_frames(longhaul, directory):
    """A frame of which the capture has the beginning keeps its length."""
    frames = [replace(frame, data=frame.data[:60]) for frame in load(BASE)]
    _, events = annotated(longhaul, directory, saved(directory, frames), CLIENT)
    if [event.frame for event in events if event.incoming] != frames:
        yield "what came in is not the capture"


@edge
def annotated_directory(longhaul, directory):
    """Several captures: a file for each, by its name; no file that is not asked for stays behind."""
    write_captures(directory)
    out = pathlib.Path(directory) / "out"
    out.mkdir()
    done = longhaul.raw("write.pcap", "send.pcap", "--near", NEAR, "--annotated-out", "out", cwd=directory)
    names = sorted(path.name for path in out.iterdir())
    if done.returncode != 0 or names != ["send.pcapng", "write.pcapng"]:
        yield f"exit {done.returncode}, files {names}"
    if not any(event.comment for event in read(out / "write.pcapng")):
        yield "no comments"
