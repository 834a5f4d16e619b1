# SPDX-License-Identifier: BSD-3-Clause
"""How two boxes find each other: who says what, crossed handshakes, losses, restarts in the middle, versions, keys."""
import messages as m
from timers import MILLISECOND, SECOND
from two_boxes import A6, B6, KEY, OTHER_KEY, Two
from verdict import expect, expect_equal


def one_side():
    """one box begins, the other only answers: four datagrams, and both are up"""
    for addresses in ({}, {"addresses": (A6, B6)}):
        two = Two(of_b={"initiate": False}, start=False, delay=10 * MILLISECOND, **addresses)
        two.start(1)
        two.start(0)
        two.link.run(41 * MILLISECOND)
        expect_equal(two.link.states(two.a), [(0.02, "confirming"), (0.04, "up")], "states of the initiator")
        expect_equal(two.link.states(two.b), [(0.03, "up")], "states of the responder")
        said = [(source == two.a.address, datagram[1]) for source, _, datagram in two.datagrams()]
        expect_equal(said[:4], [(True, m.INIT), (False, m.RESPONSE), (True, m.CONFIRM), (False, m.KEEPALIVE)], "said")
        two.stay_up(10, "undisturbed")
        expect_equal(two.at_a.rtt, 20 * MILLISECOND, "round trip at a")
        expect_equal(two.at_b.rtt, 20 * MILLISECOND, "round trip at b")
        expect_equal((two.at_a.epoch, two.at_b.epoch), (two.b.epoch, two.a.epoch), "epochs")
        expect(not two.a.dropped and not two.b.dropped, f"dropped {two.a.dropped} {two.b.dropped}")


def crossed():
    """both begin at once: both come up, stay up, and know the round trip, for all differences of their clocks"""
    for late in [0, 1, 5, 9, 10, 11, 15, 19, 20, 21, 25, 30, 35, 39, 40, 41, 50, 99, 100, 101]:
        two = Two(start=False, delay=10 * MILLISECOND)
        two.start(0)
        two.link.run(late * MILLISECOND)
        two.start(1)
        two.come_up(1)
        two.stay_up(30, f"b began {late} ms later")
        expect_equal((two.at_a.rtt, two.at_b.rtt), (20 * MILLISECOND,) * 2, "round trips")


def losses():
    """with any loss up to 40 % and any order they come up"""
    for seed in range(60):
        two = Two(seed=seed, loss=0.4 * seed / 60, jitter=40 * MILLISECOND, twice=0.2)
        two.come_up(40)


def each_lost():
    """each of the first datagrams is lost, alone or with the next ones: up within 3 s after that"""
    for first in range(12):
        for count in (1, 2, 3, 6, 12, 20):
            two = Two(start=False, delay=20 * MILLISECOND)
            sent = []

            def lost(*datagram):
                sent.append(datagram)
                return first <= len(sent) - 1 < first + count
            two.link.blocks = lost
            two.start(0)
            two.start(1)
            two.link.run(60 * SECOND, lambda: len(sent) >= first + count)
            two.link.run(SECOND)  # what was up then may be gone first
            two.come_up(2)
            two.stay_up(5, f"datagrams {first} to {first + count - 1} lost")


def confirm_lost():
    """CONFIRM is said ten times with sequence 1 to 10, 100 ms apart, then there is a new INIT"""
    two = Two(of_b={"initiate": False}, start=False)
    two.link.blocks = lambda source, destination, datagram: datagram[1] == m.CONFIRM
    two.start(1)
    two.start(0)
    two.link.run(1035 * MILLISECOND)
    said = [m.decode(datagram)[0] for _, _, datagram in two.datagrams(m.CONFIRM)]
    expect_equal([header.sequence for header in said], list(range(1, 11)), "sequence numbers of CONFIRM")
    expect_equal(two.a.sent["INIT"], 2, "INITs")
    expect_equal(two.states()[1], "down", "the responder")
    two.link.blocks = lambda *_: False
    two.come_up(2)
    two.stay_up(5, "after CONFIRM came at last")


def answer_lost():
    """the responder accepted CONFIRM, and its answers are lost: it is not up, and the repeated CONFIRM makes no second session"""
    two = Two(of_b={"initiate": False}, start=False)
    two.link.blocks = lambda source, destination, datagram: datagram[1] == m.KEEPALIVE
    two.start(1)
    two.start(0)
    two.link.run(550 * MILLISECOND)
    expect_equal((two.states(), len(two.at_b.sessions), two.at_b.counter), (["confirming", "down"], 1, 2), "in between")
    two.link.blocks = lambda *_: False
    two.come_up(1)
    expect_equal((len(two.at_a.sessions), len(two.at_b.sessions)), (1, 1), "sessions")


def restarts():
    """a restart of either box before each of the first datagrams arrives, or of both: up within 5 s, and up it stays"""
    for which in ([0], [1], [0, 1]):
        for number in range(1, 16):
            two = Two(start=False, delay=20 * MILLISECOND)
            two.start(0)
            two.link.run(7 * MILLISECOND)
            two.start(1)
            two.link.run(10 * SECOND, lambda: len(two.link.ever) >= number)
            for box in which:
                two.start(box)
            expect(two.link.run(5 * SECOND, lambda: two.both_up() and two.at_a.epoch == two.b.epoch and
                                two.at_b.epoch == two.a.epoch), f"box {which} at datagram {number}: {two.described()}")
            two.stay_up(5, f"box {which} started again at datagram {number}")


def restart_is_told():
    """a box that lost its memory is known by its epoch, once"""
    two = Two(of_b={"initiate": False})
    two.come_up()
    two.start(0)
    expect(two.link.run(5 * SECOND, lambda: two.at_b.epoch == two.a.epoch), two.described())
    expect(all(session.peer_epoch == two.a.epoch for session in two.at_b.sessions), "a session of the former life is left")
    two.come_up()
    two.stay_up(10, "after a restart of a")
    expect_equal((two.at_b.restarts, two.at_a.restarts), (1, 0), "restarts")


def versions():
    """the highest version that both speak is chosen; every datagram of the session has it"""
    for of_a, of_b, wanted in (((1, 1), (1, 1), 1), ((1, 3), (1, 2), 2), ((2, 3), (1, 2), 2), ((1, 9), (4, 7), 7)):
        two = Two(of_a={"versions": of_a}, of_b={"versions": of_b})
        two.come_up()
        expect_equal((two.at_a.version(), two.at_b.version()), (wanted, wanted), "version")
        expect(all(datagram[0] == wanted for _, _, datagram in two.datagrams(m.KEEPALIVE)), "version of KEEPALIVE")
        expect(all(datagram[0] == 1 for _, _, datagram in two.datagrams() if datagram[1] <= 15), "version of the handshake")


def no_version():
    """no common version: both hear REFUSE with the other's, and stay down; after an upgrade they come up"""
    two = Two(of_a={"versions": (1, 2)}, of_b={"versions": (3, 4)})
    two.link.run(5 * SECOND)
    expect_equal(two.states(), ["down", "down"], "states")
    expect_equal((two.at_a.refused, two.at_b.refused), ((3, 4), (1, 2)), "refused with")
    inits = two.a.sent["INIT"]
    expect(5 <= inits <= 8, f"{inits} INITs in 5 s: the timer must go on")
    two.start(0, versions=(2, 3))
    two.come_up()
    expect_equal((two.at_a.version(), two.at_a.refused, two.at_b.refused), (3, None, None), "after the upgrade")


def wrong_key():
    """another key: never up, nothing but INIT is said, and it is counted"""
    two = Two(psks=[KEY], psks_of_b=[OTHER_KEY], seed=3)
    two.link.run(60 * SECOND)
    expect_equal([two.link.states(box) for box in (two.a, two.b)], [[], []], "states")
    expect_equal({datagram[1] for _, _, datagram in two.datagrams()}, {m.INIT}, "types that were said")
    expect_equal(dict(two.a.dropped), {"cookie": two.b.sent["INIT"]}, "dropped")


def timers():
    """an INIT without an answer comes again after 100 ms, doubled up to 1.6 s, with a new token each time"""
    two = Two(start=False)
    two.start(0)
    times = []
    two.link.blocks = lambda *_: times.append(two.link.now / SECOND)
    two.link.run(30 * SECOND)
    waits = [after - before for before, after in zip(times, times[1:])]
    for number, wait in enumerate(waits):
        nominal = min(0.1 * 2**number, 1.6)
        expect(0.79 * nominal <= wait <= 1.21 * nominal, f"wait {number} is {wait:.3f} s, not {nominal} s ± 20 %")
    expect(len({round(wait, 3) for wait in waits[4:]}) > 5, "the waits do not differ")
    tokens = {m.decode(datagram)[1].token for _, _, datagram in two.datagrams()}
    expect_equal(len(tokens), len(times), "different tokens")


CASES = {"handshake-one-side": one_side, "handshake-crossed": crossed, "handshake-losses": losses,
         "handshake-each-lost": each_lost, "handshake-confirm-lost": confirm_lost, "handshake-answer-lost": answer_lost,
         "handshake-restarts": restarts, "handshake-restart-is-told": restart_is_told, "handshake-versions": versions,
         "handshake-no-version": no_version, "handshake-wrong-key": wrong_key, "handshake-timers": timers}
