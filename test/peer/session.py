# SPDX-License-Identifier: BSD-3-Clause
"""One session: its keys, its sequence numbers, what was received on it."""
import keys
import messages
from window import Window


class Session:
    def __init__(self, role, psk, init_body, response_body, own, other):
        """`own` and `other` are the addresses; the bodies are those of the handshake, with all that they have."""
        self.role, self.psk, self.own, self.other = role, psk, own, other
        ends = (own, other) if role == keys.INITIATOR else (other, own)
        self.secret = keys.secret(psk, init_body, response_body, *ends)
        self.cookie_in = keys.cookie(self.secret, role)
        self.cookie_out = keys.cookie(self.secret, 1 - role)
        init = messages.decode_body(messages.Init, init_body)
        response = messages.decode_body(messages.Response, response_body)
        peer = response if role == keys.INITIATOR else init
        self.version, self.peer_epoch, self.peer_workers = response.version, peer.epoch, peer.workers
        self.features = init.features & response.features
        self.sequence = 0  # the last one that was sent; worker 0 is the only one that sends here
        self._windows, self._keys_in = {}, {}
        self._key_out = keys.sending_key(self.secret, role, 0)
        self.confirm_body = messages.encode_body(messages.Confirm(keys.key_id(psk), init_body, response_body))
        self.made = self.heard = self.keepalive_due = self.renew_at = None

    def seal(self, kind, body):
        """A datagram of worker 0 with the next sequence number. Who asks for it knows that there is one."""
        self.sequence += 1
        version = self.version if kind > messages.LAST_HANDSHAKE_TYPE else messages.HANDSHAKE_VERSION
        header = messages.Header(version, kind, 0, self.sequence, self.cookie_out)
        return messages.encode(header, body, self._key_out, self.own, self.other)

    def reason_to_drop(self, header, datagram):
        """What is wrong with a datagram that has this session's cookie, or None: then it cannot come a second time."""
        if header.type == messages.CONFIRM and (self.role == keys.INITIATOR or header.worker != 0):
            return "type"
        if header.type > messages.LAST_HANDSHAKE_TYPE and header.version != self.version:
            return "version"
        if header.worker >= self.peer_workers:
            return "worker"
        key = self._keys_in.get(header.worker) or keys.sending_key(self.secret, 1 - self.role, header.worker)
        if not messages.tag_is_right(datagram, key, self.other, self.own):
            return "tag"
        self._keys_in[header.worker] = key
        window = self._windows.setdefault(header.worker, Window())
        if not window.is_new(header.sequence):
            return "sequence"
        window.add(header.sequence)
        return None
