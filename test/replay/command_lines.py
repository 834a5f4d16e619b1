# SPDX-License-Identifier: BSD-3-Clause
"""What one types at `longhaul replay`, and what comes back: exit status, and words on standard output or standard error.

The captures of a row are made from real ones; the commands run in their directory.
"""
import json
import pathlib
import re
import shlex
from dataclasses import replace

import capture
import roce
from edges import BASE, CLIENT, EDGES, edge, load, nth_request
from program import CAPTURES
from world import World

NEAR = CLIENT[0]


def without_icrc(frame):
    packet = roce.parse(frame.data)
    if packet is None:
        return frame
    return replace(frame, data=frame.data[:packet.end] + bytes(4) + frame.data[packet.end + 4:])


def cut(length):
    return [replace(frame, data=frame.data[:length]) for frame in load(BASE)]


def without(name, unwanted):
    return [frame for frame in load(name) if not unwanted(roce.parse(frame.data))]


def differing():
    """A real ACK near the end has another MSN."""
    frames, world = load(BASE), World(load(BASE), CLIENT)
    index = [i for flow in world.flows for i, _ in flow.real_acks if world.sides[i] == "wan"][-3]
    packet = world.packets[index]
    data = bytearray(packet.data)
    data[packet.bth + 15] ^= 1
    frames[index] = replace(frames[index], data=roce.with_icrc(bytes(data)))
    return frames


def lossy():
    """A request is missing, so its ACK has no pseudo-ACK."""
    frames = load(BASE)
    index, _ = nth_request(frames, CLIENT, 30)
    return frames[:index] + frames[index + 1:]


CAPTURES_OF_ROWS = {
    "write.pcap": lambda: load(BASE),
    "send.pcap": lambda: load("send_rnr"),
    "uc.pcap": lambda: load("write_bw_uc"),
    "one-way.pcap": lambda: load("write_bw_tcpexchange"),
    "empty.pcap": lambda: [],
    "tcp.pcap": lambda: without("write_bw_tcpexchange", lambda packet: packet is not None),
    "cut60.pcap": lambda: cut(60),
    "cut64.pcap": lambda: cut(64),
    "icrc.pcap": lambda: [without_icrc(frame) for frame in load(BASE)],
    "no-acks.pcap": lambda: without(BASE, lambda packet: packet and packet.opcode == roce.ACK),
    "reads.pcap": lambda: without("read_bw_r", lambda packet: packet and packet.request and packet.opcode != roce.READ_REQUEST),
    "differs.pcap": differing,
    "lossy.pcap": lossy,
}

# What is typed, the exit status, and what must be on standard output (a report) or on standard error (a message).
ROWS = [
    # nothing was compared: why, and what to do about it
    (f"empty.pcap --near {NEAR}", 3, "the capture has no frames"),
    (f"tcp.pcap --near {NEAR}", 3, "no RoCEv2 .* in 40 frames; capture where RoCE passes"),
    (f"cut60.pcap --near {NEAR}", 3, "no whole RoCE frame: the snap length .* cut 196 of 198 .*tcpdump -s 0"),
    (f"cut64.pcap --near {NEAR}", 3, r"the snap length of the capture cut \d+ of 198 frames .*tcpdump -s 0"),
    ("write.pcap --near 192.0.2.1", 3, r"--near fits none of .*\n\nhosts that exchange RoCE\n  10\.9\.0\.2 sent .*; 10\.9\.0\.1 sent "),
    ("write.pcap --near 10.9.0.0/24", 3, r"--near fits all of .*\n\nhosts .*\n  10\.9\.0\.2 \(near\) sent .*; 10\.9\.0\.1 \(near\) sent "),
    (f"icrc.pcap --near {NEAR}", 3, "all of 196 RoCE frames have a wrong ICRC.*capture on the wire"),
    (f"uc.pcap --near {NEAR}", 3, "no frame of a reliable connection"),
    ("one-way.pcap --near 10.9.0.1", 3, r"hosts in --near send no SEND or WRITE.*\n\nhosts .*\n.*10\.9\.0\.2 sent \d+ frames, 40 SENDs"),
    (f"reads.pcap --near {NEAR}", 3, "no SEND or WRITE in the capture"),
    (f"no-acks.pcap --near {NEAR}", 3, "no real ACK .*capture both directions"),
    ("write.pcap --near 192.0.2.1 --json", 3, r'"nothing_compared": "near_fits_nobody"'),
    ("write.pcap --near 192.0.2.1 --json", 3, r"write\.pcap: nothing was compared: --near fits none"),
    (f"write.pcap --near {NEAR} --policy off", 0, "pseudo-ACKs +0\n"),
    (f"uc.pcap --near {NEAR} --min-matched 0", 0, "frames +80\n"),
    # what was seen, as the last sentence; nothing of the kind where something differs
    (f"write.pcap --near {NEAR}", 0, r"\n\nSeen: .* all 74 ACKs .*\n.* 2 came before a box may answer, .*\.\n$"),
    (f"lossy.pcap --near {NEAR}", 0, r"\n\nSeen: .* ACKs .*\n.* [1-9]\d* had no pseudo-ACK, for the reasons above\."),
    (f"differs.pcap --near {NEAR}", 1, r"(?s)^(?!.*Seen:)"),
    # demands
    (f"write.pcap --near {NEAR} --min-matched 74", 0, "matched +74\n"),
    (f"write.pcap --near {NEAR} --min-matched 75", 1, "failed\n  74 real ACKs matched, fewer than 75\n"),
    (f"lossy.pcap --near {NEAR}", 0, "unmatched +[1-9]"),
    (f"lossy.pcap --near {NEAR} --max-unmatched 0", 1, r"failed\n  \d+ real ACKs unmatched, more than 0\n"),
    (f"write.pcap --near {NEAR} --max-unmatched 0", 0, "unmatched +0\n"),
    (f"differs.pcap --near {NEAR}", 1, r"failed\n  \d+ of 7\d real ACKs differ from the pseudo-ACKs\n"),
    (f"write.pcap --near {NEAR} --min-matched many", 2, "many"),
    # many captures
    (f"write.pcap send.pcap --near {NEAR}", 0, r"write\.pcap +198 .*agreed\nsend\.pcap +216 .*agreed\nall +414 .*agreed\n"),
    (f"--near {NEAR} write.pcap send.pcap", 0, r"all +414 "),
    (f"write.pcap uc.pcap --near {NEAR}", 3, r"uc\.pcap .* nothing_compared\nall .* nothing_compared\n\nuc\.pcap\n"),
    (f"uc.pcap differs.pcap write.pcap --near {NEAR}", 1, r"differs\.pcap .* differs\n.*\nall .* differs\n"),
    (f"uc.pcap absent.pcap differs.pcap --near {NEAR}", 2, r"absent\.pcap .* unusable\ndiffers.pcap .* differs\nall .* unusable\n"),
    (f"write.pcap absent.pcap --near {NEAR}", 2, r"longhaul replay: .*absent\.pcap"),
    (f"write.pcap send.pcap --near {NEAR} --wan-out x.pcap", 2, "--wan-out are for one capture"),
    (f"write.pcap send.pcap --near {NEAR} --annotated-out x.pcapng", 2, "must be a directory that exists"),
    # files
    (f"write.pcap --near {NEAR} --annotated-out write.pcap", 2, "--annotated-out would overwrite the capture"),
    (f"write.pcap --near {NEAR} --annotated-out nowhere/x.pcapng", 2, r"nowhere/x\.pcapng: cannot be written: No such file"),
    (f"write.pcap ./write.pcap --near {NEAR} --annotated-out .", 2, r"write\.pcapng: --annotated-out would overwrite --annotated-out"),
    (f"write.pcap --near {NEAR} --junit write.pcap", 2, "--junit would overwrite the capture"),
    (f"write.pcap --near {NEAR} --write-expect e.json --junit e.json", 2, "--junit would overwrite --write-expect"),
    (f"write.pcap --near {NEAR} --expect absent.json", 2, r"absent\.json: cannot be read: No such file"),
    (f"write.pcap --near {NEAR} --expect write.pcap", 2, r"write\.pcap: not a file that --write-expect has written"),
    (f"write.pcap --near {NEAR} --expect e.json --write-expect f.json", 2, "not both"),
    (f"write.pcap --near {NEAR} --junit nowhere/x.xml", 2, r"nowhere/x\.xml.*No such file"),
    ("--help", 0, "Exit status:"),
]


def write_captures(directory):
    for name, frames in CAPTURES_OF_ROWS.items():
        capture.write_pcap(pathlib.Path(directory) / name, frames())


@edge
def command_lines(longhaul, directory):
    """Each row of ROWS."""
    write_captures(directory)
    for typed, status, words in ROWS:
        done = longhaul.raw(*shlex.split(typed), cwd=directory)
        if done.returncode != status:
            yield f"{typed}: exit {done.returncode}, not {status}: {done.stdout}{done.stderr}"
        elif not re.search(words, done.stderr if status == 2 and "absent.pcap diff" not in typed else done.stdout + done.stderr):
            yield f"{typed}: no {words!r} in {done.stdout}{done.stderr}"


@edge
def several_captures_as_json(longhaul, directory):
    """Each capture's object is the one that it gives by itself."""
    write_captures(directory)
    names = ["write.pcap", "uc.pcap", "absent.pcap", "differs.pcap"]
    together = json.loads(longhaul.raw(*names, "--near", NEAR, "--json", cwd=directory).stdout)
    if together["verdict"] != "unusable" or [one["capture"] for one in together["captures"]] != names:
        yield f"verdict {together['verdict']} of {[one['capture'] for one in together['captures']]}"
    verdicts = [one["verdict"] for one in together["captures"]]
    if verdicts != ["agreed", "nothing_compared", "unusable", "differs"]:
        yield f"verdicts {verdicts}"
    for name, one in zip(names, together["captures"]):
        alone = longhaul.raw(name, "--near", NEAR, "--json", cwd=directory).stdout
        if alone and json.loads(alone) != one:
            yield f"{name}: another object than by itself"


@edge
def every_capture_in_one_run(longhaul, _):
    """A box for each capture: none leaves anything to the next."""
    files = sorted(CAPTURES.glob("*.pcap"))
    near = ["--near", NEAR, "--near", "fd00::2"]
    together = json.loads(longhaul.raw(*files, *near, "--json").stdout)["captures"]
    for file, one in zip(files, together):
        if json.loads(longhaul.raw(file, *near, "--json").stdout) != one:
            yield f"{file.name}: another result among the others than by itself"


@edge
def expected_counters(longhaul, directory):
    """Written once and met by the next run, from any directory; each kind of change is a failure that names the counter."""
    write_captures(directory)
    elsewhere = pathlib.Path(directory) / "a" / "b"
    elsewhere.mkdir(parents=True)
    near = ("--near", NEAR)
    written = longhaul.raw("write.pcap", "uc.pcap", *near, "--write-expect", "e.json", cwd=directory)
    if written.returncode != 3:
        yield f"--write-expect: exit {written.returncode}, the UC capture compares nothing: {written.stderr}"
    path = pathlib.Path(directory) / "e.json"
    expected = json.loads(path.read_text())
    flows = expected["captures"]["write.pcap"]["flows"]
    if not any(re.fullmatch(r"10\.9\.0\.2 0x[0-9a-f]{6} -> 10\.9\.0\.1 0x[0-9a-f]{6}", flow) for flow in flows):
        yield f"flows {list(flows)}"
    again = longhaul.raw("../../write.pcap", "../../uc.pcap", *near, "--expect", "../../e.json", cwd=elsewhere)
    if again.returncode != 0:
        yield f"--expect: exit {again.returncode}: {again.stdout}{again.stderr}"

    def changed(change):
        altered = json.loads(path.read_text())
        change(altered["captures"])
        return altered

    flow = next(iter(flows))

    def one_more_match(captures):
        captures["write.pcap"]["flows"][flow]["matched"] += 1

    def one_more_frame(captures):
        captures["write.pcap"]["totals"]["frames"] += 1

    def another_end(captures):
        captures["write.pcap"]["flows"][flow]["end"] = "open"

    def flow_gone(captures):
        captures["write.pcap"]["flows"]["10.9.0.2 0x0000ff -> 10.9.0.1 0x0000fe"] = {"matched": 1}

    def flow_new(captures):
        del captures["write.pcap"]["flows"][flow]

    def another_reason(captures):
        captures["uc.pcap"]["nothing_compared"] = "no_roce"

    def capture_new(captures):
        del captures["uc.pcap"]

    for change, words in ((one_more_match, rf"{flow}: matched: expected \d+, got \d+"), (one_more_frame, "totals: frames: expected 199, got 198"),
                          (another_end, f'{flow}: end: expected "open", got "orderly"'),
                          (flow_gone, "0x0000fe: the flow was not learned"), (flow_new, f"{flow}: a flow that was not expected"),
                          (another_reason, 'expected "no_roce", got "no_rc"'),
                          (capture_new, r"has no capture uc\.pcap: write it again with --write-expect")):
        (pathlib.Path(directory) / "changed.json").write_text(json.dumps(changed(change)))
        done = longhaul.raw("write.pcap", "uc.pcap", *near, "--expect", "changed.json", cwd=directory)
        if done.returncode != 1 or not re.search(words, done.stdout):
            yield f"{change.__name__}: exit {done.returncode}, no {words!r} in {done.stdout}"
    wrong = longhaul.raw("write.pcap", "--near", "192.0.2.1", "--expect", "e.json", cwd=directory)
    if wrong.returncode != 1 or "near_fits_nobody" not in wrong.stdout:
        yield f"a wrong --near: exit {wrong.returncode}: {wrong.stdout}"
