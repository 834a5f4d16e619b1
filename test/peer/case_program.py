# SPDX-License-Identifier: BSD-3-Clause
"""reference.py as a program: two of them over real sockets."""
import signal
import socket
import subprocess
import sys

import keys
import messages as m
import programs
import reference
from two_boxes import KEY, OTHER_KEY
from verdict import Skipped, expect, expect_equal


def ipv4():
    """two programs find each other over 127.x, know epoch, version and round trip, and the end of one is told"""
    with programs.Directory() as directory:
        file = directory.key_file("pair.key", [KEY])
        one, other = programs.loopback(1), programs.loopback(2)
        a = directory.start(one, other, file, "--epoch", "0123456789abcdef", "--versions", "1:3", "--seconds", "0.6")
        b = directory.start(other, one, file, "--versions", "2:2")
        a.wait_for_state("up")
        line = b.wait_for_state("up")
        expect_equal((line["epoch"], line["version"]), ("0123456789abcdef", 2), "epoch and version")
        end = a.rest()
        expect_equal((end["event"], end["state"]), ("end", "up"), "the last line")
        b.wait_for(lambda line: line["event"] == "bye" and line["reason"] == 0, "bye")
        b.wait_for(lambda line: line["event"] == "state" and line["state"] == "down", "down")
        end = b.end()
        expect(end["dropped"] == {} and end["rtt"] > 0, f"the last line {end}")


def ipv6():
    """the same over IPv6, with addresses of a documentation prefix"""
    one, other = "2001:db8::1", "2001:db8::2"
    with programs.network_with(one, other) as within, programs.Directory() as directory:
        file = directory.key_file("pair.key", [KEY])
        a = directory.start(one, other, file, within=within)
        b = directory.start(other, one, file, "--no-initiate", within=within)
        a.wait_for(lambda line: line["state"] == "up", "up")
        b.wait_for(lambda line: line["state"] == "up", "up")


def crash_and_keys():
    """a crash and a restart are told with the new epoch; SIGHUP rotates the key without a moment of down"""
    new_key = keys.key_id(OTHER_KEY).hex()
    with programs.Directory() as directory:
        files = [directory.key_file(name, [KEY]) for name in ("a.key", "b.key")]
        one, other = programs.loopback(3), programs.loopback(4)
        a = directory.start(one, other, files[0])
        b = directory.start(other, one, files[1])
        a.wait_for_state("up")
        b.wait_for_state("up")
        b.end(signal.SIGKILL)
        b = directory.start(other, one, files[1], "--epoch", "00000000000000b2")
        a.wait_for(lambda line: line["event"] == "restarted" and line["epoch"] == "00000000000000b2", "restarted")
        b.wait_for_state("up")
        known = len(a.lines())
        programs_and_files = ((a, "a.key"), (b, "b.key"))
        for psks in ([KEY, OTHER_KEY], [OTHER_KEY, KEY], [OTHER_KEY]):
            for program, name in programs_and_files:
                directory.key_file(name, psks)
                read = len(program.lines())
                program.process.send_signal(signal.SIGHUP)
                program.wait_for(lambda line: line["event"] == "keys" and line["count"] == len(psks), "keys", read)
                if psks == [OTHER_KEY, KEY]:  # the old key is taken out only when the new one is in use
                    program.wait_for(lambda line: line["event"] == "session" and line["key"] == new_key, "session", read)
        expect_equal({line["state"] for line in a.lines()[known:]}, {"up"}, "states during the rotation")
        expect_equal((a.end()["key"], b.end()["key"]), (new_key, None), "the key at the end: b has heard a's BYE")


def wrong_key():
    """with different keys neither is ever up"""
    with programs.Directory() as directory:
        one, other = programs.loopback(5), programs.loopback(6)
        a = directory.start(one, other, directory.key_file("a.key", [KEY]), "--seconds", "1")
        b = directory.start(other, one, directory.key_file("b.key", [OTHER_KEY]), "--seconds", "1")
        for program in (a, b):
            program.rest()
            expect_equal([line["state"] for line in program.lines()], ["down"], "states")


def on_the_wire():
    """TTL 64, DSCP CS6, 88 bytes, one port: what comes from the program's socket; Don't Fragment is asked for"""
    one, other = programs.loopback(7), programs.loopback(8)
    with programs.Directory() as directory, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        for option in (socket.IP_RECVTOS, 12):  # 12: IP_RECVTTL
            ear.setsockopt(socket.IPPROTO_IP, option, 1)
        ear.bind((other, reference.PORT))
        ear.settimeout(programs.PATIENCE)
        directory.start(one, other, directory.key_file("pair.key", [KEY]))
        datagram, ancillary, _, source = ear.recvmsg(2000, 200)
    expect_equal((len(datagram), datagram[:2], source), (88, bytes([1, m.INIT]), (one, reference.PORT)), "the first datagram")
    seen = {kind: int.from_bytes(data, sys.byteorder) for _, kind, data in ancillary}
    expect_equal(seen, {socket.IP_TOS: 48 << 2, socket.IP_TTL: 64}, "TOS and TTL")
    for address, level, option in ((one, socket.IPPROTO_IP, reference.IP_MTU_DISCOVER),
                                   ("::1", socket.IPPROTO_IPV6, reference.IPV6_MTU_DISCOVER)):
        try:
            opened = reference.open_socket(address, 0)
        except OSError as error:
            raise Skipped(f"{address}: {error}") from None
        with opened:
            expect_equal(opened.getsockopt(level, option), 2, f"Don't Fragment with {address}")


def mistakes():
    """--help teaches, and a mistake in the options or the key file is explained with exit code 2"""
    def run(*arguments):
        return subprocess.run([sys.executable, programs.REFERENCE, *arguments], capture_output=True, text=True)
    text = run("--help").stdout
    for word in ("--key-file", "--no-initiate", "SIGHUP", "base64", "rtt"):
        expect(word in text, f"--help does not say {word}")
    with programs.Directory() as directory:
        good = directory.key_file("good.key", [KEY])
        short = directory.key_file("short.key", [b"short"])
        six = ("--address", "::1", "--peer", "::2", "--key-file", good)
        for arguments, wanted in {("--address", "127.0.0.1", "--peer", "127.0.0.2", "--key-file", short): "has 5 bytes",
                                  ("--address", "127.0.0.1", "--peer", "::1", "--key-file", good): "one IPv4",
                                  ("--address", "nowhere", "--peer", "::1", "--key-file", good): "nowhere",
                                  ("--address", "::1", "--peer", "::1", "--key-file", good): "the same",
                                  (*six, "--epoch", "12"): "16 hexadecimal", (*six, "--versions", "3:1"): "LOWEST",
                                  (*six, "--workers", "65"): "from 1 to 64"}.items():
            ran = run(*arguments)
            expect(ran.returncode == 2 and wanted in ran.stderr, f"{arguments}: {ran.returncode} {ran.stderr[-200:]}")


CASES = {"program-ipv4": ipv4, "program-ipv6": ipv6, "program-crash-and-keys": crash_and_keys, "program-wrong-key": wrong_key,
         "program-on-the-wire": on_the_wire, "program-mistakes": mistakes}
