# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of a session: gone and back, BYE, new sessions by age and by number, rotation of keys, limits."""
import random

import messages as m
import peer
from timers import MILLISECOND, SECOND, Timers
from two_boxes import KEY, OTHER_KEY, Two
from verdict import expect, expect_equal
from window import SIZE, Window


def gone():
    """nothing for 350 ms, or for three round trips if that is longer: down; not before"""
    for delay, wanted in ((10, 350), (100, 600)):
        two = Two(of_a={"initiate": False}, delay=delay * MILLISECOND)
        two.come_up()
        two.link.run(3 * SECOND)
        two.stop(1)
        two.link.run(SECOND // 2, lambda: two.at_a.heard < two.link.now - 150 * MILLISECOND)  # what was under way is there
        heard = two.at_a.heard
        expect(two.link.run(5 * SECOND, lambda: two.states()[0] == "down"), "never down")
        expect_equal((two.link.now - heard) // MILLISECOND, wanted, f"ms until gone with a round trip of {2 * delay} ms")


def cuts():
    """the link is cut, in one direction or both, for less than the time of gone or for long: up again within 3 s, and stays"""
    for direction in ("both", 0, 1):
        for cut in (150, 280, 320, 400, 500, 1000, 5000, 60000):
            two = Two(delay=15 * MILLISECOND, seed=cut)
            two.come_up()
            two.link.run(SECOND)
            address = None if direction == "both" else two.boxes[direction].address
            two.link.blocks = lambda source, *_: address in (None, source)
            before = [len(two.link.states(box)) for box in two.boxes]
            two.link.run(cut * MILLISECOND)
            if cut > 1000:
                expect("up" not in two.states(), f"cut {direction} for {cut} ms: {two.states()}")
            two.link.blocks = lambda *_: False
            two.link.run(150 * MILLISECOND)
            if cut < 200:
                expect_equal([len(two.link.states(box)) for box in two.boxes], before, f"changes of state by {cut} ms")
            two.come_up(3)
            two.stay_up(10, f"after the cut of {direction} for {cut} ms")
            expect_equal((two.at_a.restarts, two.at_b.restarts), (0, 0), "restarts")


def flapping():
    """a link that comes and goes all the time: both stay sane, and are up for good once it stays"""
    two = Two(delay=15 * MILLISECOND, seed=5)
    cut = random.Random(5)
    for _ in range(200):
        two.link.blocks = lambda *_: True
        two.link.run(int(cut.random() * 600) * MILLISECOND)
        two.link.blocks = lambda *_: False
        two.link.run(int(cut.random() * 600) * MILLISECOND)
        expect(max(len(two.at_a.sessions), len(two.at_b.sessions)) <= 4, "too many sessions")
    two.come_up()
    two.stay_up(30, "after 200 cuts")
    expect(max(len(two.at_a.sessions), len(two.at_b.sessions)) <= 2, f"sessions: {two.described()}")


def bye():
    """a process that ends, or takes the peer out, says so: down at once; and it comes up again when the other is back"""
    for removes in (False, True):
        two = Two()
        two.come_up()
        two.link.run(5 * SECOND)
        if removes:
            two.b.remove(two.link.now, two.a.address)
        else:
            two.b.close(two.link.now)
        two.link.run(11 * MILLISECOND)
        expect_equal(two.at_a.state(two.link.now), "down", "11 ms later")
        said = {details["reason"] for _, _, name, details in two.a.events if name == "bye"}
        expect_equal(said, {peer.REASON_REMOVED if removes else peer.REASON_ENDS}, "reason")
        two.stop(1)
        two.link.run(2 * SECOND)
        two.start(1)
        two.come_up()
        two.stay_up(5, "after it came back")


def renewed_by_age():
    """after an hour, within 10 %, there is a new session, never a moment of down, and the former one ends"""
    timers = Timers(life=60 * SECOND, life_most=120 * SECOND)  # a minute does as well
    for initiate in (True, False):
        two = Two(of_a={"timers": timers}, of_b={"timers": timers, "initiate": initiate})
        two.come_up()
        made = [{(session.secret, session.made) for session in two.at_a.sessions}]
        two.link.run(SECOND)
        for _ in range(300):
            two.stay_up(1, "renewal")
            made.append({(session.secret, session.made) for session in two.at_a.sessions})
        times = sorted({time for one in made for _, time in one})
        expect(len(times) >= 5, f"{len(times)} sessions in five lives")
        most = 3 if initiate else 2  # crossed handshakes make two
        expect(all(len(one) <= most for one in made), f"more than {most} sessions at a time")
        if not initiate:
            waits = [(after - before) / SECOND for before, after in zip(times, times[1:])]
            expect(all(53.9 < wait < 66.1 for wait in waits), f"lives {waits}")


def renewed_by_number():
    """after 2^31 sequence numbers there is a new session; no number is used twice"""
    two = Two(of_b={"initiate": False})
    two.come_up()
    two.link.run(SECOND)
    old = two.at_a.newest()
    old.sequence = 2**31 - 5
    two.stay_up(3, "at 2^31")
    expect(two.at_a.newest() is not old, "no new session")
    two = Two(of_b={"initiate": False})
    two.come_up()
    two.link.run(SECOND)
    two.at_b.newest().sequence = 2**32 - 8
    two.link.run(SECOND)
    said = [m.decode(datagram)[0].sequence for source, _, datagram in two.datagrams(m.KEEPALIVE) if source == two.b.address]
    expect(2**32 - 1 in said, "the last sequence number was not used")
    two.come_up()
    two.stay_up(5, "after 2^32 - 1")


def end_of_life():
    """a session that cannot be renewed ends after two hours"""
    timers = Timers(life=60 * SECOND, life_most=120 * SECOND)
    two = Two(of_a={"timers": timers}, of_b={"timers": timers})
    two.come_up()
    two.link.blocks = lambda source, destination, datagram: datagram[1] == m.INIT
    two.stay_up(118, "while it lives")
    two.link.run(3 * SECOND)
    expect_equal((two.states(), two.at_a.sessions, two.at_b.sessions), (["down", "down"], [], []), "after its life")


def rotation():
    """keys are rotated in three steps, at any distance of the two boxes: never a moment of down"""
    for apart, pause in ((0, 5), (0, 0.5), (0.003, 0.5), (0.01, 5), (0.02, 0.5), (0.03, 5), (0.5, 0.5), (2, 5), (10, 5)):
        for first in (0, 1):
            two = Two(psks=[KEY], delay=10 * MILLISECOND)
            two.come_up()
            two.link.run(5 * SECOND)
            for psks in ([KEY, OTHER_KEY], [OTHER_KEY, KEY], [OTHER_KEY]):
                two.set_keys(first, psks)
                two.stay_up(apart, f"between the reloads, {apart} s apart")
                two.set_keys(1 - first, psks)
                two.stay_up(pause, f"after both reloads, {apart} s apart")
            two.stay_up(5, "after the rotation")
            used = {session.psk for one in two.peers for session in one.sessions}
            expect_equal(used, {OTHER_KEY}, "keys in use")
            expect_equal((two.at_a.restarts, two.at_b.restarts), (0, 0), "restarts")


def rotation_is_not_endless():
    """while only one box has the new key first, they do not make new sessions in turn"""
    two = Two(psks=[KEY], delay=10 * MILLISECOND)
    two.come_up()
    two.set_keys(0, [KEY, OTHER_KEY])
    two.set_keys(1, [KEY, OTHER_KEY])
    two.set_keys(0, [OTHER_KEY, KEY])
    two.link.run(5 * SECOND)
    before = two.a.sent["INIT"] + two.b.sent["INIT"]
    two.stay_up(60, "with the two orders")
    expect_equal(two.a.sent["INIT"] + two.b.sent["INIT"], before, "INITs")


def rotation_with_losses():
    """a rotation with a fifth of all lost: the new key is in use at last"""
    for seed in range(10):
        two = Two(psks=[KEY], loss=0.2, seed=seed, jitter=20 * MILLISECOND)
        two.come_up(20)
        for psks in ([KEY, OTHER_KEY], [OTHER_KEY, KEY]):
            two.set_keys(0, psks)
            two.link.run(SECOND)
            two.set_keys(1, psks)
            two.link.run(20 * SECOND)
        expect_equal({one.newest().psk for one in two.peers}, {OTHER_KEY}, "keys in use")


def key_taken_out():
    """a key is deleted while its session is the only one: BYE with reason 2, down; the other key brings them up"""
    two = Two(psks=[KEY, OTHER_KEY])
    two.come_up()
    two.link.run(SECOND)  # nothing is being confirmed any more
    two.set_keys(0, [OTHER_KEY])
    two.link.run(11 * MILLISECOND)
    reasons = {details["reason"] for _, _, name, details in two.b.events if name == "bye"}
    expect_equal((reasons, two.at_b.sessions), ({peer.REASON_KEY}, []), "what b heard")
    two.come_up()
    expect(all(session.psk == OTHER_KEY for one in two.peers for session in one.sessions), "the deleted key is in use")
    two.stay_up(5, "with the other key")


def four_keys():
    """a box begins with its first key, and accepts any of four"""
    psks = [bytes([number]) * 32 for number in range(4)]
    for number in range(4):
        order = [psks[number], *(psk for psk in psks if psk != psks[number])]
        two = Two(psks=order, psks_of_b=psks, of_b={"initiate": False})
        two.come_up()
        expect_equal(two.at_b.newest().psk, psks[number], "the key in use")


def window():
    """the replay window lets each of the last 1,024 numbers through once, as a list of all numbers would"""
    for seed in range(20):
        draw, one, seen, highest = random.Random(seed), Window(), set(), 0
        centre = 1
        for _ in range(3000):
            centre += draw.choice((0, 0, 1, 1, 1, 2, 50, SIZE, 3 * SIZE) if seed % 2 else (0, 1))
            number = max(0, centre - draw.randrange(0, 2 * SIZE if seed % 3 else 8))
            wanted = number > 0 and number not in seen and number > highest - SIZE
            expect_equal(one.is_new(number), wanted, f"number {number} after {highest}")
            if wanted:
                one.add(number)
                seen.add(number)
                highest = max(highest, number)
    expect(Window().is_new(2**32 - 1) and not Window().is_new(0), "first and last number")


def late_within_the_window():
    """a datagram 1,023 numbers late is accepted once, one 1,024 late is dropped"""
    two = Two(of_b={"initiate": False})
    two.come_up()
    two.link.run(SECOND)
    session, link = two.at_a.newest(), two.link
    late = [session.seal(m.KEEPALIVE, m.encode_body(m.Keepalive(link.now, 0, 0))) for _ in range(2)]
    session.sequence += 1022
    newest = session.seal(m.KEEPALIVE, m.encode_body(m.Keepalive(link.now, 0, 0)))
    found = [two.b.receive(link.now, two.a.address, datagram) for datagram in (newest, late[0], late[1], late[1], newest)]
    expect_equal(found, [None, "sequence", None, "sequence", "sequence"], "reasons")


CASES = {"life-gone": gone, "life-cuts": cuts, "life-flapping": flapping, "life-bye": bye,
         "life-renewed-by-age": renewed_by_age, "life-renewed-by-number": renewed_by_number, "life-end": end_of_life,
         "rotation": rotation, "rotation-not-endless": rotation_is_not_endless, "rotation-losses": rotation_with_losses,
         "rotation-key-taken-out": key_taken_out, "rotation-four-keys": four_keys, "window": window,
         "window-late": late_within_the_window}
