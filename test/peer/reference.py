#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One end of the conversation of docs/peer-protocol.md over a real UDP socket: something for a box to talk to.

It is written from that page alone, so that it and the box judge each other. It forwards nothing: it finds the peer,
proves that it has the key, and says when the peer comes, goes, or has lost its memory.

One JSON object a line on standard output, at each change and at the end ("event": "end"):
  event     state, session (a new one stands), restarted, refused (the peer speaks none of our versions), "refused the
            other" (we none of its), bye, keys, end
  state     down, confirming, up
  epoch     the peer's, null before the first session
  version, key   the newest session's version and key ID, null without one
  sessions  that stand; restarts: how often the peer came back with another epoch
  rtt       the last round trip in nanoseconds, null before the first
  received, sent   datagrams by type
  dropped   datagrams by the check that failed: source, length, type, version, cookie, rate, worker, tag, sequence;
            of a CONFIRM also counter and body; value: a number of workers that cannot be

SIGTERM and SIGINT end it with a BYE; SIGKILL is a crash. SIGHUP reads the key file again.

A key file has one to four lines, each base64 of 32 bytes, the first the one to begin with; # begins a comment:
  head -c 32 /dev/urandom | base64 >pair.key

Example, in two terminals:
  reference.py --address 127.0.0.1 --peer 127.0.0.2 --key-file pair.key
  reference.py --address 127.0.0.2 --peer 127.0.0.1 --key-file pair.key --seconds 5
"""
import argparse
import json
import pathlib
import select
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import keys  # noqa: E402
import messages  # noqa: E402
from box import Box  # noqa: E402
from peer import Peer  # noqa: E402
from session import Session  # noqa: E402
from timers import SECOND, Timers  # noqa: E402
from window import Window  # noqa: E402

__all__ = ["Box", "Peer", "Session", "Timers", "Window", "keys", "messages", "open_socket", "main"]

PORT = 47910
CLASS_SELECTOR_6 = 48 << 2
HOPS = 64
DO_NOT_FRAGMENT = 2  # IP_PMTUDISC_DO, IPV6_PMTUDISC_DO
IP_MTU_DISCOVER = 10  # this and the next are not in the socket module
IPV6_MTU_DISCOVER = 23


def open_socket(address, port):
    """UDP, Don't Fragment, TTL or hop limit 64, DSCP CS6."""
    family, _, _, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)[0]
    opened = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        options = [(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, DO_NOT_FRAGMENT), (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1),
                   (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, HOPS),
                   (socket.IPPROTO_IPV6, socket.IPV6_TCLASS, CLASS_SELECTOR_6)]
    else:
        options = [(socket.IPPROTO_IP, IP_MTU_DISCOVER, DO_NOT_FRAGMENT), (socket.IPPROTO_IP, socket.IP_TTL, HOPS),
                   (socket.IPPROTO_IP, socket.IP_TOS, CLASS_SELECTOR_6)]
    for option in options:
        opened.setsockopt(*option)
    opened.bind(where)
    opened.setblocking(False)
    return opened


class Program:
    """A box with one peer, and the socket, the clock and the standard output around it."""

    def __init__(self, options):
        self.options = options
        self.socket = open_socket(options.address, options.port)
        self.began = time.monotonic_ns()
        self.box = Box(keys.address_bytes(options.address), epoch=options.epoch, versions=options.versions,
                       workers=options.workers, initiate=options.initiate)
        self.peer = self.box.add(self.began, keys.address_bytes(options.peer), options.keys)
        self.unsent = 0
        self.signals = []
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, frame: self.signals.append(number))

    def run(self):
        end = None if self.options.seconds is None else self.began + int(self.options.seconds * SECOND)
        while True:
            now = time.monotonic_ns()
            if signal.SIGHUP in self.signals:
                self.signals.remove(signal.SIGHUP)
                self._read_keys_again(now)
            if self.signals or end is not None and now >= end:
                break
            self.box.tick(now)
            self._flush()
            due = [time for time in (self.box.due(now), end, now + SECOND // 10) if time is not None]
            select.select([self.socket], [], [], max(0, min(due) - time.monotonic_ns()) / SECOND)
            self._receive()
        self.say(now, "end", self.peer.status(now))
        if self.options.bye:
            self.box.close(now)
        self.box.events.clear()
        self._flush()

    def say(self, now, event, details):
        line = {"seconds": round((now - self.began) / SECOND, 6), "event": event, **details,
                "received": self.box.received, "sent": self.box.sent, "dropped": self.box.dropped, "unsent": self.unsent}
        print(json.dumps(line), flush=True)

    def _receive(self):
        for _ in range(100):  # a flood must not keep the timers waiting
            try:
                datagram, (source, port, *_) = self.socket.recvfrom(65536)
            except BlockingIOError:
                return
            known = keys.address_bytes(source) if port == self.options.port else None
            self.box.receive(time.monotonic_ns(), known, datagram)
            self._flush()

    def _flush(self):
        for _, datagram in self.box.outbox:
            try:
                self.socket.sendto(datagram, (self.options.peer, self.options.port))
            except OSError:  # no route, or no such neighbour: as good as lost
                self.unsent += 1
        self.box.outbox.clear()
        for now, _, name, details in self.box.events:
            self.say(now, name, details)
        self.box.events.clear()

    def _read_keys_again(self, now):
        try:
            found = keys.read_keys(pathlib.Path(self.options.key_file).read_text())
        except (OSError, ValueError) as error:
            print(f"{self.options.key_file}: {error}; the keys stay as they were", file=sys.stderr, flush=True)
            return
        self.peer.set_keys(now, found)
        self.box.record(now, self.peer, "keys", count=len(found))


def _versions(text):
    lowest, _, highest = text.partition(":")
    lowest, highest = int(lowest), int(highest or lowest)
    if not 1 <= lowest <= highest <= 255:
        raise argparse.ArgumentTypeError(f"{text}: versions are LOWEST:HIGHEST, from 1 to 255")
    return lowest, highest


def _epoch(text):
    try:
        epoch = bytes.fromhex(text)
    except ValueError:
        epoch = b""
    if len(epoch) != 8:
        raise argparse.ArgumentTypeError(f"{text}: an epoch has 16 hexadecimal digits")
    return epoch


def _address(text):
    try:
        keys.address_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _options(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", type=_address, required=True, help="our own, IPv4 or IPv6; some interface must have it")
    parser.add_argument("--peer", type=_address, required=True, help="the address of the other")
    parser.add_argument("--key-file", required=True, help="the keys of the two")
    parser.add_argument("--port", type=int, default=PORT, help="of both (default: %(default)s)")
    parser.add_argument("--versions", type=_versions, default=(1, 1), metavar="LOWEST:HIGHEST",
                        help="those that we speak (default: 1:1)")
    parser.add_argument("--workers", type=int, default=1, help="how many we say that we have (default: %(default)s)")
    parser.add_argument("--epoch", type=_epoch, help="16 hexadecimal digits (default: by chance)")
    parser.add_argument("--seconds", type=float, help="end after that time (default: never)")
    parser.add_argument("--no-initiate", dest="initiate", action="store_false", help="answer, and never begin")
    parser.add_argument("--no-bye", dest="bye", action="store_false", help="end without a BYE, as after a crash")
    options = parser.parse_args(arguments)
    if keys.address_bytes(options.address) == keys.address_bytes(options.peer):
        parser.error("--address and --peer are the same")
    if ":" in options.address and ":" not in options.peer or ":" in options.peer and ":" not in options.address:
        parser.error("--address and --peer are one IPv4 and one IPv6")
    if not 1 <= options.workers <= messages.MOST_WORKERS:
        parser.error(f"--workers is from 1 to {messages.MOST_WORKERS}")
    try:
        options.keys = keys.read_keys(pathlib.Path(options.key_file).read_text())
    except (OSError, ValueError) as error:
        parser.error(f"{options.key_file}: {error}")
    return options


def main(arguments=None):
    options = _options(arguments)
    try:
        program = Program(options)
    except OSError as error:
        print(f"{options.address} port {options.port}: {error.strerror}", file=sys.stderr)
        return 1
    program.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
