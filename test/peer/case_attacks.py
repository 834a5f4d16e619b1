# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the WAN who reads and writes all of it, without a key: docs/peer-protocol.md, section 8."""
import random

import keys
import messages as m
from timers import MILLISECOND, SECOND, Timers
from two_boxes import KEY, Two
from verdict import expect, expect_equal

STRANGER = keys.address_bytes("203.0.113.66")


def replays():
    """everything that was ever sent comes again, in any order, many times, also after restarts: nothing counts twice"""
    for seed in range(6):
        two = Two(seed=seed, jitter=5 * MILLISECOND)
        draw = random.Random(seed)
        for life in range(4):
            two.come_up()
            two.link.run(3 * SECOND)
            before = two.accepted()
            states = [len(two.link.states(box)) for box in two.boxes]
            restarts = [two.at_a.restarts, two.at_b.restarts]
            counters = [two.at_a.counter, two.at_b.counter]
            said = list(two.link.ever)
            sent = len(said)
            for _ in range(3):
                draw.shuffle(said)
                for source, destination, datagram in said:
                    two.link.inject(source, destination, datagram, int(draw.random() * SECOND))
            two.link.run(1100 * MILLISECOND)
            new = two.link.ever[sent:]
            expect_equal([len(two.link.states(box)) for box in two.boxes], states, "changes of state")
            expect_equal([two.at_a.restarts, two.at_b.restarts], restarts, "restarts")
            expect_equal([two.at_a.counter, two.at_b.counter], counters, "counters")
            inits = sum(datagram[1] == m.INIT for _, _, datagram in said) * 3
            fresh = sum(datagram[1] not in (m.INIT, m.RESPONSE) for _, _, datagram in new)
            accepted = sum(two.accepted()) - sum(before)
            expect(accepted <= inits + fresh + 4, f"{accepted} accepted of {fresh} new ones and {inits} INITs sent again")
            expect({datagram[1] for _, _, datagram in new} <= {m.KEEPALIVE, m.RESPONSE}, "somebody began a handshake")
            two.start(life % 2)


def replays_keep_nobody_up():
    """the peer is dead, and all that it ever said is said again: gone after 300 ms all the same, and its epoch stays"""
    two = Two(of_a={"initiate": False})
    two.come_up()
    two.link.run(3 * SECOND)
    epoch = two.b.epoch
    two.start(1)
    expect(two.link.run(5 * SECOND, lambda: two.at_a.epoch == two.b.epoch), "b is not back")
    two.link.run(3 * SECOND)
    two.stop(1)
    two.link.run(20 * MILLISECOND)
    for _ in range(20):
        for source, destination, datagram in list(two.link.ever):
            if destination == two.a.address:
                two.link.inject(source, destination, datagram, int(two.link.random.random() * 400 * MILLISECOND))
        two.link.run(400 * MILLISECOND)
        expect_equal((two.states()[0], two.at_a.restarts), ("down", 1), "what a says of the dead peer")
    expect(two.at_a.epoch != epoch, "a believes in the former life")


def replayed_during_a_handshake():
    """recorded handshakes of former lives pour in while two boxes find each other: they do all the same, at the first try"""
    for initiate in (True, False):
        two = Two()
        for life in range(5):
            two.come_up()
            two.link.run(SECOND)
            two.start(life % 2)
        recorded = [one for one in two.link.ever if one[2][1] <= 15]
        two.start(0)
        two.start(1, initiate=initiate)
        for _ in range(2000):
            two.link.inject(*two.link.random.choice(recorded), int(two.link.random.random() * SECOND))
        two.come_up(0.1)
        two.stay_up(5, "with recorded handshakes")


def reflected():
    """each box gets its own datagrams back, and those of the other from a wrong address: none is accepted"""
    two = Two()
    two.come_up()
    two.link.run(3 * SECOND)
    for source, destination, datagram in list(two.link.ever):
        back = two.link.boxes[source].receive(two.link.now, destination, datagram)
        expect(back in ("tag", "cookie", "counter", "body"), f"a box's own type {datagram[1]}: {back}")
        stranger = two.link.boxes[destination].receive(two.link.now, STRANGER, datagram)
        expect_equal(stranger, "source", "from somebody else")
    two.stay_up(2, "with its own datagrams back")


def other_pair():
    """three boxes with one key: what one pair says is nothing to another pair"""
    two = Two(of_b={"initiate": False}, start=False)
    two.start(0)
    two.start(1)
    link = two.link
    third = link.box("203.0.113.9", initiate=False)
    third.add(link.now, two.a.address, [KEY])
    two.a.add(link.now, third.address, [KEY])
    link.run(3 * SECOND)
    expect_equal([peer.state(link.now) for peer in two.a.peers.values()], ["up", "up"], "both peers of a")
    for source, destination, datagram in list(link.ever):
        if source == two.a.address:
            elsewhere = two.b if destination == third.address else third
            reason = elsewhere.receive(link.now, source, datagram)
            expect(reason in ("tag", "cookie", "body", "counter"), f"type {datagram[1]} for another: {reason}")
        else:  # to a, in the name of the other peer
            other = third.address if source == two.b.address else two.b.address
            reason = two.a.receive(link.now, other, datagram)
            expect(reason in ("tag", "cookie"), f"type {datagram[1]} from another: {reason}")


def changed():
    """any bit of any datagram is changed under way: it is dropped, and the true one is accepted after it"""
    timers = Timers(tags_per_second=10**9)  # each shall be looked at
    two = Two(of_a={"timers": timers}, of_b={"timers": timers, "initiate": False}, start=False)
    kinds = set()

    def tamper(source, destination, datagram):
        receiver = two.link.boxes.get(destination)
        if receiver and datagram[1] not in kinds:
            kinds.add(datagram[1])
            before = sum(receiver.received.values())
            for bit in range(8 * len(datagram)):
                other = bytearray(datagram)
                other[bit // 8] ^= 1 << bit % 8
                reason = receiver.receive(two.link.now, source, bytes(other))
                expect(reason is not None, f"type {datagram[1]} with bit {bit} changed was accepted")
            expect_equal(sum(receiver.received.values()), before, "accepted")
        return False

    two.link.blocks = tamper
    two.start(1)
    two.start(0)
    expect(two.link.run(5 * SECOND, two.both_up), f"not up: {two.described()}")
    two.link.run(SECOND)
    expect({m.INIT, m.RESPONSE, m.CONFIRM, m.KEEPALIVE} <= kinds, f"types that were changed: {kinds}")


def flood():
    """a flood of INITs in the peer's name: 500 tags a second at most, and the established session does not notice"""
    two = Two()
    two.come_up()
    two.link.run(2 * SECOND)
    init = bytearray(two.datagrams(m.INIT)[0][2])
    source, destination, _ = two.datagrams(m.INIT)[0]
    receiver = two.link.boxes[destination]
    hashed = []
    plain, m.tag_is_right = m.tag_is_right, lambda *arguments: hashed.append(1) or plain(*arguments)
    try:
        before = [len(two.link.states(box)) for box in two.boxes]
        for number in range(9000):
            init[-1] = number % 256
            init[20:24] = number.to_bytes(4, "big")
            two.link.inject(source, destination, bytes(init), number * 3 * SECOND // 9000)
        two.stay_up(3, "in a flood")
    finally:
        m.tag_is_right = plain
    expect_equal([len(two.link.states(box)) for box in two.boxes], before, "changes of state")
    expect(len(hashed) < 4200, f"{len(hashed)} tags in 3 s")
    expect(receiver.dropped["rate"] > 4500, f"dropped {dict(receiver.dropped)}")


def garbage():
    """random bytes, and real datagrams with random bytes in them: no accident, nothing accepted"""
    two = Two()
    two.come_up()
    two.link.run(SECOND)
    draw = random.Random(1)
    before, said = two.accepted(), list(two.link.ever)
    for _ in range(20000):
        source, destination, datagram = draw.choice(said)
        if draw.random() < 0.3:
            datagram = draw.randbytes(draw.randrange(0, 200))
        else:
            datagram = bytearray(datagram)
            for _ in range(draw.randrange(1, 4)):
                datagram[draw.randrange(len(datagram))] ^= draw.randrange(1, 256)
            datagram = bytes(datagram[:draw.randrange(len(datagram) + 1)] if draw.random() < 0.3 else datagram)
        two.link.boxes[destination].receive(two.link.now, source, datagram)
    expect_equal(two.accepted(), before, "accepted")
    expect_equal(two.states(), ["up", "up"], "states")


def anything():
    """losses, cuts, reorderings, replays, restarts and reloads by chance; then quiet: up within 5 s, and up it stays"""
    for seed in range(24):
        two = Two(seed=seed, delay=(1 + seed % 4 * 15) * MILLISECOND, psks=[bytes(32), KEY])
        draw = random.Random(seed)
        for _ in range(40):
            two.link.loss = draw.choice((0, 0, 0.1, 0.5, 1))
            two.link.jitter = draw.choice((0, 0, 50, 300)) * MILLISECOND
            two.link.twice = draw.choice((0, 0.3))
            action = draw.randrange(8)
            if action == 0:
                two.start(draw.randrange(2))
            elif action == 1:
                two.set_keys(draw.randrange(2), draw.choice(([bytes(32), KEY], [KEY, bytes(32)])))
            elif action == 2 and two.link.ever:
                for _ in range(100):
                    two.link.inject(*draw.choice(two.link.ever[-400:]), int(draw.random() * SECOND))
            two.link.run(int(draw.random() * 1200) * MILLISECOND)
            expect(max(len(one.sessions) for one in two.peers) <= 4, "too many sessions")
        two.link.loss = two.link.jitter = two.link.twice = 0
        two.link.run(SECOND)  # what is still under way is there
        two.come_up(5)
        two.link.run(SECOND)
        two.stay_up(6, f"seed {seed}")
        expect_equal((two.at_a.epoch, two.at_b.epoch), (two.b.epoch, two.a.epoch), f"epochs, seed {seed}")


def with_the_key():
    """who has the key says what is not allowed: CONFIRM of another worker or to an initiator, a worker or version too many"""
    two = Two(of_a={"workers": 3, "versions": (1, 2)}, of_b={"initiate": False, "versions": (1, 2)})
    two.come_up()
    two.link.run(SECOND)
    from_a, from_b = two.at_a.newest(), two.at_b.newest()

    def said(session, kind, body, worker=0, version=2, sequence=1000):
        header = m.Header(version if kind > 15 else 1, kind, worker, sequence, session.cookie_out)
        key = keys.sending_key(session.secret, session.role, worker)
        datagram = m.encode(header, body, key, session.own, session.other)
        return two.link.boxes[session.other].receive(two.link.now, session.own, datagram)
    alive = m.encode_body(m.Keepalive(two.link.now, 0, 0))
    expect_equal(said(from_a, m.KEEPALIVE, alive, worker=2), None, "KEEPALIVE of the last worker")
    expect_equal(said(from_a, m.KEEPALIVE, alive, worker=2), "sequence", "the same again")
    expect_equal(said(from_a, m.KEEPALIVE, alive, worker=1), None, "the same number of another worker")
    expect_equal(said(from_a, m.KEEPALIVE, alive, worker=3), "worker", "KEEPALIVE of a worker beyond")
    expect_equal(said(from_a, m.KEEPALIVE, alive, version=1), "version", "KEEPALIVE of another version")
    expect_equal(said(from_a, m.KEEPALIVE, alive, sequence=0), "sequence", "number 0")
    expect_equal(said(from_a, m.CONFIRM, from_a.confirm_body, worker=1), "type", "CONFIRM of worker 1")
    expect_equal(said(from_b, m.CONFIRM, from_a.confirm_body), "type", "CONFIRM to the initiator")
    expect_equal(said(from_a, 18, alive), "type", "a type that nobody knows")
    expect_equal(said(from_a, m.KEEPALIVE, alive + bytes(1000)), None, "a longer KEEPALIVE")


CASES = {"attack-replays": replays, "attack-replays-of-the-dead": replays_keep_nobody_up,
         "attack-recorded-handshakes": replayed_during_a_handshake, "attack-reflected": reflected,
         "attack-other-pair": other_pair, "attack-changed": changed, "attack-flood": flood, "attack-garbage": garbage,
         "attack-with-the-key": with_the_key, "attack-anything": anything}
