# SPDX-License-Identifier: BSD-3-Clause
"""What a box knows of one other box, and its part of the conversation: docs/peer-protocol.md, sections 6 and 7."""
import keys
import messages
from session import Session

HELD_MOST = 2**32 - 1
NO_EPOCH = bytes(8)
REASON_ENDS, REASON_REMOVED, REASON_KEY = 0, 1, 2


class _Open:
    """An INIT that waits for its RESPONSE."""

    def __init__(self, psk, token, body, due):
        self.psk, self.token, self.body, self.due = psk, token, body, due


class _Confirming:
    """A session on which nothing has come yet."""

    def __init__(self, session, due):
        self.session, self.sent, self.due = session, 0, due


class Peer:
    def __init__(self, box, address, psks):
        self.box, self.address, self.psks = box, address, list(psks)
        self.counter = 1
        self.sessions = []  # those that stand, in the order in which they were made
        self.opened = self.confirming = None
        self.tries = 0  # INITs since the last answer
        self.renew = False  # the first key is another one now
        self.epoch = self.rtt = self.heard = self.refused = None
        self.restarts = 0
        self.clock, self.clock_at = 0, 0
        self.noted = "down"

    # What it is

    def gone_after(self):
        timers = self.box.timers
        return min(max(timers.gone, timers.gone_round_trips * (self.rtt or 0)), timers.gone_most)

    def state(self, now):
        if self.sessions and now - self.heard < self.gone_after():
            return "up"
        return "confirming" if self.confirming else "down"

    def newest(self):
        """The one that is sent on: the newest with the first key, or if there is none, the newest."""
        with_it = [session for session in self.sessions if session.psk == self.psks[0]]
        return (with_it or self.sessions or [None])[-1]

    def version(self):
        return self.newest().version if self.sessions else None

    def status(self, now):
        return {"state": self.state(now), "epoch": self.epoch.hex() if self.epoch else None, "version": self.version(),
                "key": keys.key_id(self.newest().psk).hex() if self.sessions else None, "rtt": self.rtt,
                "sessions": len(self.sessions), "restarts": self.restarts}

    def wants_handshake(self, now):
        if not self.box.initiate:
            return False
        if self.state(now) != "up":
            return True
        newest = self.newest()
        return self.renew or now >= newest.renew_at or newest.sequence >= self.box.timers.sequences

    # What comes

    def receive(self, now, header, message, body, datagram):
        """None, or the name of the check that failed."""
        handle = {messages.INIT: self._init, messages.RESPONSE: self._response, messages.CONFIRM: self._confirm,
                  messages.REFUSE: self._refuse}.get(header.type, self._on_session)
        if header.type <= messages.LAST_HANDSHAKE_TYPE and header.version != messages.HANDSHAKE_VERSION:
            return "version"
        if header.type in (messages.INIT, messages.RESPONSE, messages.REFUSE) and (header.worker or header.sequence):
            return "value"
        reason = handle(now, header, message, body, datagram)
        self.note(now)
        return reason

    def _init(self, now, header, init, body, datagram):
        psk = self._psk_of(header.cookie)
        if psk is None:
            return "cookie"
        reason = self._hello_reason(now, datagram, psk)
        if reason:
            return reason
        if not 1 <= init.workers <= messages.MOST_WORKERS or init.epoch == NO_EPOCH or len(body) > messages.MOST_INIT:
            return "value"
        answer = self._own_response(body)
        if answer is None:
            self._say_hello(messages.REFUSE, init.token, messages.encode_body(messages.Refuse(*self.box.versions)), psk)
            self.box.record(now, self, "refused the other", lowest=init.lowest, highest=init.highest)
        else:
            self._say_hello(messages.RESPONSE, init.token, answer, psk)
        return None

    def _response(self, now, header, response, body, datagram):
        if self.opened is None or header.cookie != self.opened.token:
            return "cookie"
        opened = self.opened
        reason = self._hello_reason(now, datagram, opened.psk)
        if reason:
            return reason
        if not self.box.versions[0] <= response.version <= self.box.versions[1]:
            return "version"
        if not 1 <= response.workers <= messages.MOST_WORKERS or response.epoch == NO_EPOCH or len(body) > len(opened.body):
            return "value"
        session = Session(keys.INITIATOR, opened.psk, opened.body, body, self.box.address, self.address)
        self.opened, self.tries = None, 0
        self.confirming = _Confirming(session, now)
        self._confirm_again(now)
        return None

    def _refuse(self, now, header, refuse, body, datagram):
        if self.opened is None or header.cookie != self.opened.token:
            return "cookie"
        reason = self._hello_reason(now, datagram, self.opened.psk)
        if reason:
            return reason
        self.refused = tuple(refuse)
        self.box.record(now, self, "refused", lowest=refuse.lowest, highest=refuse.highest)
        return None  # the INIT stays open, and its timer makes the next one

    def _confirm(self, now, header, confirm, body, datagram):
        session = self._session_of(header.cookie)
        if session is None:
            return self._first_confirm(now, header, confirm, datagram)
        reason = session.reason_to_drop(header, datagram)
        if reason is None:
            session.heard = now  # but it may be one that was kept back: no sign of life
            self._keepalive(now, session)
        return reason

    def _first_confirm(self, now, header, confirm, datagram):
        """The checks that cost nothing come first; what costs something is counted as one tag."""
        psk = self._psk_of(confirm.key_id)
        if psk is None:
            return "cookie"
        if messages.decode_body(messages.Response, confirm.response_body).counter != self.counter:
            return "counter"
        if not self.box.may_verify(now):
            return "rate"
        own = self._own_response(confirm.init_body)
        if own is None or confirm.response_body[:len(own)] != own:
            return "body"
        session = Session(keys.RESPONDER, psk, confirm.init_body, own, self.box.address, self.address)
        if header.cookie != session.cookie_in:
            return "cookie"
        reason = session.reason_to_drop(header, datagram)
        if reason is None:
            self._stand(now, session)
            self._keepalive(now, session)
        return reason

    def _on_session(self, now, header, message, body, datagram):
        session = self._session_of(header.cookie)
        if session is None:
            return "cookie"
        reason = session.reason_to_drop(header, datagram)
        if reason:
            return reason
        if self.confirming and session is self.confirming.session:
            self.confirming = None
            self._stand(now, session)
        session.heard = now
        if header.type == messages.BYE:
            self.box.record(now, self, "bye", reason=message.reason)
            self._end([session])
        elif self._measure(now, session, message):
            self._hear(now, session)
        else:
            return "late"
        return None

    def _measure(self, now, session, keepalive):
        """False when it is no sign of life: its sender does not hear this box, or somebody keeps datagrams back."""
        timers = self.box.timers
        if keepalive.clock > self.clock:
            self.clock, self.clock_at = keepalive.clock, now
        if not keepalive.echo:
            return now - session.made <= timers.gone_most
        round_trip = now - keepalive.echo - keepalive.held
        if keepalive.held > self.gone_after() or keepalive.echo > now or round_trip > timers.round_trip_most:
            return False
        if round_trip < 0:  # two clocks, which need not run at one rate
            return -round_trip <= timers.clocks_differ + keepalive.held // timers.clocks_differ_part
        self.rtt = round_trip
        return True

    def _hear(self, now, session):
        session.heard = self.heard = now

    # Parts of what comes

    def _psk_of(self, key_id):
        return next((psk for psk in self.psks if keys.key_id(psk) == key_id), None)

    def _session_of(self, cookie):
        held = self.sessions + ([self.confirming.session] if self.confirming else [])
        return next((session for session in held if session.cookie_in == cookie), None)

    def _hello_reason(self, now, datagram, psk):
        if not self.box.may_verify(now):
            return "rate"
        return None if messages.tag_is_right(datagram, keys.hello_key(psk), self.address, self.box.address) else "tag"

    def _own_response(self, init_body):
        """The body of this box's RESPONSE to that INIT; None if the two have no version in common."""
        init = messages.decode_body(messages.Init, init_body)
        version = min(init.highest, self.box.versions[1])
        if version < max(init.lowest, self.box.versions[0]):
            return None
        nonce = keys.responder_nonce(self.box.secret, self.counter, init_body, self.address)
        return messages.encode_body(messages.Response(nonce, self.counter, self.box.epoch, version, 0, self.box.workers,
                                                      self.box.features))

    def _stand(self, now, session):
        """From here on the session is there to be used."""
        former, self.epoch, self.refused = self.epoch, session.peer_epoch, None
        self.counter += 1
        self.sessions = [other for other in self.sessions if other.peer_epoch == self.epoch]
        if self.confirming and self.confirming.session.peer_epoch != self.epoch:
            self.confirming = None  # what comes late on it must not bring the former life back
        timers = self.box.timers
        session.made = session.keepalive_due = now
        session.renew_at = now + int(timers.life * self.box.random.uniform(1 - timers.life_spread, 1 + timers.life_spread))
        self.sessions = (self.sessions + [session])[-timers.sessions_most:]
        if session.role == keys.INITIATOR and session.psk == self.psks[0]:
            self.renew = False
        self._hear(now, session)
        if former not in (None, self.epoch):
            self.clock, self.rtt = 0, None
            self.restarts += 1
            self.box.record(now, self, "restarted")
        self.box.record(now, self, "session", role="responder" if session.role else "initiator")

    def _end(self, ended):
        self.sessions = [session for session in self.sessions if session not in ended]
        if self.confirming and self.confirming.session in ended:
            self.confirming = None

    # What it says

    def _say_hello(self, kind, cookie, body, psk):
        header = messages.Header(messages.HANDSHAKE_VERSION, kind, 0, 0, cookie)
        self.box.send(self, kind, messages.encode(header, body, keys.hello_key(psk), self.box.address, self.address))

    def _say(self, session, kind, message):
        self.box.send(self, kind, session.seal(kind, messages.encode_body(message)))

    def _begin(self, now):
        timers, random = self.box.timers, self.box.random
        init = messages.Init(random.randbytes(8), random.randbytes(32), self.box.epoch, *self.box.versions,
                             self.box.workers, self.box.features)
        wait = min(timers.init_first << min(self.tries, 20), timers.init_last)
        due = now + int(wait * random.uniform(1 - timers.init_spread, 1 + timers.init_spread))
        self.opened = _Open(self.psks[0], init.token, messages.encode_body(init), due)
        self.tries += 1
        self._say_hello(messages.INIT, keys.key_id(self.psks[0]), self.opened.body, self.psks[0])

    def _confirm_again(self, now):
        self.confirming.sent += 1
        self.confirming.due = now + self.box.timers.confirm
        session = self.confirming.session
        self.box.send(self, messages.CONFIRM, session.seal(messages.CONFIRM, session.confirm_body))

    def _keepalive(self, now, session):
        if session.sequence >= self.box.timers.sequences_most:
            return self._end([session])
        held = min(now - self.clock_at, HELD_MOST) if self.clock else 0
        self._say(session, messages.KEEPALIVE, messages.Keepalive(now, self.clock, held))
        session.keepalive_due = now + self.box.timers.keepalive

    def say_bye(self, now, reason, sessions):
        for session in sessions:
            self._say(session, messages.BYE, messages.Bye(reason))
        self._end(sessions)
        self.note(now)

    def set_keys(self, now, psks):
        """As after a reload of the key file."""
        changed = psks[0] != self.psks[0]
        self.psks = list(psks)
        if changed:
            self.renew, self.opened = True, None
        if self.confirming and self.confirming.session.psk not in psks:
            self.confirming = None
        self.say_bye(now, REASON_KEY, [session for session in self.sessions if session.psk not in psks])

    # What time does

    def tick(self, now):
        timers = self.box.timers
        self._end([session for session, end in self._ends() if now >= end])
        self.note(now)
        if self.confirming and now >= self.confirming.due:
            if self.confirming.sent < timers.confirms:
                self._confirm_again(now)
            else:
                self.confirming = None
        if self.opened and now >= self.opened.due:
            self.opened = None
        if not self.opened and not self.confirming and self.wants_handshake(now):
            self._begin(now)
        elif not self.opened and not self.confirming:
            self.tries = 0
        if self.sessions and now >= self.newest().keepalive_due:
            self._keepalive(now, self.newest())
        self.note(now)

    def _ends(self):
        """Each session, and when it ends if nothing more comes on it."""
        timers = self.box.timers
        for session in self.sessions:
            end = session.made + timers.life_most
            if session is not self.newest():
                end = min(end, max(session.heard, self.sessions[-1].made) + timers.older)
            yield session, end

    def due(self, now):
        """When tick() is wanted next; None if never."""
        timers, times = self.box.timers, []
        if self.confirming:
            times.append(self.confirming.due)
        elif self.opened:
            times.append(self.opened.due)
        elif self.wants_handshake(now):
            times.append(now)
        if self.sessions:
            times += [end for _, end in self._ends()]
            times.append(self.newest().keepalive_due)
            if self.state(now) == "up":
                times.append(self.heard + self.gone_after())
            if self.box.initiate and not self.opened and not self.confirming and now < self.newest().renew_at:
                times.append(self.newest().renew_at)
        return min(times, default=None)

    def note(self, now):
        """Records a change of the state, and forgets how often an INIT had no answer before."""
        state = self.state(now)
        if state == self.noted:
            return
        if "up" in (state, self.noted):
            self.tries = 0
        self.noted = state
        self.box.record(now, self, "state")
