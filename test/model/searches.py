# SPDX-License-Identifier: BSD-3-Clause
"""The searches that `run` makes: what is set by -D (words.pml, session_words.pml, pair_words.pml), and why."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Search:
    kind: str  # hold, open, defect, reach
    name: str
    why: str
    defines: dict = field(default_factory=dict)
    long: bool = False    # not for tools/test
    quick: bool = True    # short, and for tools/test when not long
    cycles: bool = False  # looks for endless runs instead of dead ends: every cycle without progress is an error
    large: bool = False   # more than eight million transitions: worth an optimizing compiler
    model: str = "flow"   # flow.pml, session.pml, pair.pml


def open_fault(name, why, cycles=False, **defines):
    return Search("open", name, why, defines, cycles=cycles)


def hold(name, why, long=False, cycles=False, large=False, **defines):
    return Search("hold", name, why, defines, long, not long, cycles, large or long)


ALL = "FREE"

# Where time is not modelled but ordered: a timer fires when nothing else can happen, the box's before the hosts'.
# Faults
# are counted, so nothing may go on for ever.
ORDERED = dict(EARLY=0, QCAP=2, WCAP=4, BCAP=4, ACAP=4)

# A second life of the QPs: nothing is given up while the requester waits, and nobody closes by RDMA-CM.
LIFE = dict(READS=0, GIVE_UP=1, LOSSES=0, DUPS=0)

HOLD = [
    hold("two-any", "any two requests; losses and duplicates without limit, timers at any moment", N=2),
    hold("two-host-loss", "the same with losses between requester and box", N=2, HOST_LOSSES=ALL, DUPS=0, large=True),
    hold("two-burst", "the end of a burst as a step of its own", N=2, DUPS=0, BURST=1, large=True),
    hold("two-reordered", "two packets of a direction change places", N=2, REORDERS=1, DUPS=0, large=True),
    hold("two-crash", "the box dies and starts again, also between record and pseudo-ACK", N=2, CRASHES=1, DUPS=0),
    hold("two-custody-limit", "custody of one packet: plain, rejoining", N=2, CUSTODY=1, DUPS=0, HOST_LOSSES=1,
         large=True),
    hold("two-window", "pseudo-ACKs withheld beyond one unanswered packet", N=2, WINDOW=1, DUPS=0),
    hold("two-rnr-fatal", "RNR and fatal NAKs", N=2, RNRS=1, FATALS=1, DUPS=0, LOSSES=1, large=True),
    hold("two-closing", "the responder closes, the box gives up, the requester gives up", N=2, READS=0, CLOSES=1,
         GIVE_UP=1, EXHAUSTS=1, LOSSES=0, DUPS=0),
    hold("two-closing-lossy", "the same with a loss", True, N=2, READS=0, CLOSES=1, GIVE_UP=1, EXHAUSTS=1, LOSSES=1,
         DUPS=0),
    hold("two-drain", "drain begins at any moment", N=2, DRAINS=1, DUPS=0, large=True),
    hold("clean-three", "a repeat that crosses the responder's ACK, and losses: all arrives", N=3, CLEAN=1, LOSSES=2,
         DUPS=0, **ORDERED),
    hold("clean-three-arrives", "the same where a close waits", N=3, CLEAN=1, LOSSES=2, DUPS=0, PATIENT=1, **ORDERED),
    hold("clean-three-ends", "the same run has no endless repeat", cycles=True, PATIENT=1,
         N=3, CLEAN=1, LOSSES=1, DUPS=0, **ORDERED),
    hold("clean-host-loss", "a loss on each segment: all arrives", N=2, CLEAN=1, LOSSES=1, HOST_LOSSES=1, DUPS=0,
         **ORDERED),
    hold("clean-host-loss-ends", "and nothing repeats for ever", cycles=True,
         N=2, CLEAN=1, LOSSES=1, HOST_LOSSES=1, DUPS=0, **ORDERED),
    hold("clean-custody-limit", "custody of one packet, two losses: all arrives", N=3, CLEAN=1, CUSTODY=1, LOSSES=1,
         DUPS=0,
         **ORDERED),
    hold("clean-no-host-timer", "what custody holds and the link loses, the box repairs without the requester's timer",
         N=3, CLEAN=1, READS=0, CUSTODY=1, LOSSES=1, DUPS=0, HELD_LOSS_ONLY=1, RETRIES=0, K0="WRITE", K1="WRITE",
         K2="WRITE",
         **ORDERED),
    hold("failed-ends", "a crash, a loss: the requester ends, done, by a fatal NAK or by its retry count", cycles=True,
         N=3, CRASHES=1, LOSSES=1, DUPS=0, RETRY_COUNT=2, **ORDERED),
    hold("two-credits", "an absorbed ACK may announce receives, which are passed on", N=2, CREDITS=1, LOSSES=1,
         DUPS=0),
    hold("two-strays", "answers below una may be another connection's", N=2, STRAYS=1, LOSSES=1, DUPS=1, large=True),
    hold("two-strangers", "an ACK of another connection comes to the same QPN", N=2, STRANGERS=1, LOSSES=1, READS=0, DUPS=0),
    hold("two-idle", "the flow may be confirmed again whenever it is idle", N=2, IDLES=1, LOSSES=1, DUPS=0),
    hold("clean-unknown-nak", "a NAK of an unknown code, a loss: all arrives", N=2, CLEAN=1, UNKNOWNS=1, LOSSES=1,
         DUPS=0, **ORDERED),
    hold("clean-forged", "a forged request: all arrives", N=2, CLEAN=1, FORGED=1, LOSSES=0, DUPS=0, **ORDERED),
    hold("clean-announced", "a REP announces the responder's QPN anew, to a REQ that may be forged: all arrives", N=2,
         CLEAN=1, ANNOUNCED=1, LOSSES=0, DUPS=0, **ORDERED),
    hold("clean-failover", "another next hop, of which ARP tells: all arrives", N=2, CLEAN=1, FAILOVERS=1, LOSSES=0,
         DUPS=0, **ORDERED),
    hold("lives-two", "other bytes in a second life of the QPs", N=2, LIVES=1, **LIFE),
    hold("lives-two-lossy", "the same, losses on both segments", True, N=2, LIVES=1, HOST_LOSSES=1, **{**LIFE, "LOSSES": 1}),
    hold("lives-two-same", "the same bytes", N=2, LIVES=1, SAME=255, **LIFE),
    hold("lives-two-idle", "after a long silence", N=2, LIVES=1, IDLES=1, **LIFE),
    hold("lives-first-same", "the first packet is that of the life before, the others are not", N=3, LIVES=1, SAME=1,
         K0="WRITE", K1="WRITE", K2="WRITE", large=True, **LIFE),
    hold("lives-held-back", "packets that were never sent wait behind a probe or an RNR wait", N=3, LIVES=1, HELD_BACK=1,
         SAME=1, K0="WRITE", K1="WRITE", K2="WRITE", large=True, **LIFE),
    hold("lives-first-lost", "the first packet is lost before the box, the second is the same, the third is not", True, N=3,
         LIVES=1, SAME=2, HOST_LOSSES=1, K0="WRITE", K1="WRITE", K2="WRITE", **LIFE),
    hold("lives-two-reads", "READs and atomics in both lives", N=2, LIVES=1, **{**LIFE, "READS": 1}),
    hold("lives-two-crash", "the box restarts, before or in the second life", N=2, LIVES=1, CRASHES=1, **LIFE),
    hold("lives-two-credits", "an absorbed ACK announces receives: the box acknowledges again", N=2, LIVES=1, CREDITS=1,
         **LIFE),
    hold("lives-mid-doubt", "the box doubts already", N=2, LIVES=1, MID_DOUBT=1, **LIFE),
    hold("three-host-loss", "three WRITEs, losses on every segment without limit", True, N=3, READS=0, HOST_LOSSES=ALL,
         DUPS=0),
    hold("three-crash-writes", "three WRITEs, a crash, losses on the long haul", True, N=3, READS=0, CRASHES=1, DUPS=0),
    hold("three-crash-any", "any three requests, a crash, two losses on the long haul", True, N=3, CRASHES=1, LOSSES=2, DUPS=0,
         **ORDERED),
    hold("three-custody-limit-writes", "three WRITEs, custody of one packet", True, N=3, READS=0, CUSTODY=1, DUPS=0),
    hold("three-custody-limit", "any three requests, custody of one packet, two losses on the long haul", True, N=3,
         CUSTODY=1, LOSSES=2, DUPS=0, **ORDERED),
    hold("clean-four", "four requests of any kind, a loss: all arrives", True, N=4, CLEAN=1, LOSSES=1, DUPS=0,
         **ORDERED),
    hold("clean-four-ends", "and nothing repeats for ever", True, True, N=4, CLEAN=1, LOSSES=1, DUPS=0, **ORDERED),
]


def defect(name, why, cycles=False, large=False, long=False, **defines):
    return Search("defect", name.replace("_", "-"), why, dict(DEFECT=name, **defines), long, not long, cycles, large or long)


DEFECTS = [
    defect("ack_without_custody", "a pseudo-ACK for a packet that passed without custody", N=3, READS=0,
           CUSTODY=1, LOSSES=1, DUPS=0, **ORDERED),
    defect("ack_before_port", "a pseudo-ACK before the WAN port accepted the packet", N=3, READS=0, LOSSES=0,
           DUPS=0, WCAP=1),
    defect("ack_past_read", "a pseudo-ACK past an unfinished READ", N=2, DUPS=0),
    defect("gap_nak_past_read", "a PSN NAK past an unfinished READ", N=4, HOST_LOSSES=1, LOSSES=0, DUPS=0, K0="WRITE",
           K1="READ", K2="WRITE", K3="WRITE", **ORDERED),
    defect("repeat_ack_past_read", "a pseudo-ACK past a READ that is asked again", N=2, DUPS=0),
    defect("dreq_not_held", "a DREQ forwarded over custody", N=2, CLEAN=1, LOSSES=1, DUPS=0, **ORDERED),
    defect("dreq_never_released", "a held DREQ that waits for its time though custody is empty", N=2,
           LOSSES=0, DUPS=0),
    defect("no_record", "a crash forgets silently", N=2, CRASHES=1, DUPS=0),
    defect("record_after_ack", "the record is written after the pseudo-ACK has left", N=2, CRASHES=1, DUPS=0),
    defect("no_record_at_gap_nak", "a PSN NAK acknowledges what precedes it, and the record does not say so", N=4,
         K0="WRITE",
           K1="SILENT", K2="WRITE", K3="WRITE", CRASHES=1, HOST_LOSSES=1, LOSSES=1, DUPS=0, **ORDERED),
    defect("any_ack_releases", "any ACK empties custody", N=3, READS=0, LOSSES=1, DUPS=0, **ORDERED),
    defect("no_repair_nak", "no NAK at h for what passed without custody behind a loss", N=3, CLEAN=1, READS=0,
         CUSTODY=1,
           LOSSES=1, DUPS=0, HELD_LOSS_ONLY=1, RETRIES=0, K0="WRITE", K1="WRITE", K2="WRITE", **ORDERED),
    defect("silent_give_up", "giving up without a word", N=2, GIVE_UP=1, DUPS=0),
    defect("close_uncounted", "custody dropped at close without a count", N=2, CLOSES=1, DUPS=0),
    defect("no_fatal_nak", "a failed flow drops requests and never answers", cycles=True, N=3, FATALS=1, LOSSES=0,
         DUPS=0,
           **ORDERED),
    defect("no_ackreq_on_resend", "no answer is owed for the end of a resend", cycles=True, N=4, K0="WRITE",
         K1="SILENT",
           K2="WRITE", K3="WRITE", LOSSES=1, HOST_LOSSES=1, DUPS=0, CLEAN=1, **ORDERED),
    defect("ack_after_end", "a repeated pseudo-ACK after the connection's end", N=3, READS=0, BURST=1, CREDITS=1, CLOSES=1,
           LOSSES=1, DUPS=0, K0="WRITE", K1="WRITE", K2="WRITE", large=True),
    defect("reack_repeats", "any repeat below h is acknowledged by h - 1", N=2, LIVES=1, **LIFE),
    defect("resend_in_doubt", "custody is resent in doubt", N=2, LIVES=1, **LIFE),
    defect("first_send_in_doubt", "what was never sent goes on in doubt", N=3, LIVES=1, HELD_BACK=1, SAME=1, K0="WRITE",
           K1="WRITE", K2="WRITE", **LIFE),
    defect("old_voucher", "what was vouched for stays so at another sign of another life", N=2, LIVES=1, MID_DOUBT=1,
           **LIFE),
    defect("keeps_unconfirmed", "a repeat before the first answer leaves custody as it is", N=3, LIVES=1, SAME=1,
           K0="WRITE", K1="WRITE", K2="WRITE", large=True, **LIFE),
    defect("speaks_after_repeat", "a repeat of what custody holds stops no pseudo-ACK", N=3, LIVES=1, SAME=2, HOST_LOSSES=1,
           K0="WRITE", K1="WRITE", K2="WRITE", long=True, **LIFE),
    defect("any_answer_resumes", "any answer ends a doubt", N=2, LIVES=1, **LIFE),
    defect("answer_without_msn", "an answer releases custody whatever its MSN", N=2, STRANGERS=1, LOSSES=1, READS=0,
           DUPS=0),
    defect("failed_tells_anyone", "a failed flow tells any requester that comes", N=2, LIVES=1, **LIFE),
    defect("fatal_nak_unasked", "giving up sends a fatal NAK that nobody asked for", N=3, LIVES=1, WINDOW=1, K0="WRITE",
           K1="WRITE", K2="WRITE", **LIFE),
    defect("unknown_nak_fails", "a NAK of an unknown code fails the flow", N=2, CLEAN=1, UNKNOWNS=1, LOSSES=1, DUPS=0,
           **ORDERED),
    defect("stale_eaten", "answers for what was answered are absorbed", cycles=True, N=2, CLEAN=1, LOSSES=1, HOST_LOSSES=1,
           DUPS=0, **ORDERED),
    defect("rep_ends", "a REP alone ends the connection that has its QPN", N=2, CLEAN=1, ANNOUNCED=1, LOSSES=0, DUPS=0,
           **ORDERED),
    defect("rep_ends_failed", "a REP alone ends a failed flow", cycles=True, N=3, ANNOUNCED="WHEN_FAILED", FATALS=1, LOSSES=0, DUPS=0,
           **ORDERED),
    defect("old_next_hop", "resends keep the MAC address that they were taken with", cycles=True, N=2, CLEAN=1, FAILOVERS=1,
           LOSSES=0, DUPS=0, **ORDERED),
    defect("timers_first", "timers run before the rings are read", N=2, CLEAN=1, GIVE_UP=1, READS=0, K0="WRITE",
           K1="WRITE", LOSSES=0, DUPS=0, **ORDERED),
    defect("gives_up_in_rnr", "RNR NAKs are no sign of life", N=2, CLEAN=1, GIVE_UP=1, RNRS=1, READS=0, K0="WRITE",
           K1="WRITE", LOSSES=0, DUPS=0, **ORDERED),
]


def reach(name, why="", **defines):
    return Search("reach", name.replace("_", "-"), why or name.replace("_", " "), dict(REACH=name, DUPS=0, **defines))


REACHES = [
    reach("pseudo_ack_sent", N=2),
    reach("gap_nak_sent_once", N=3, HOST_LOSSES=1, LOSSES=0, **ORDERED),
    reach("repair_nak_sent", N=3, CUSTODY=1, LOSSES=1, READS=0, **ORDERED),
    reach("repeated_ack_sent", N=2, CREDITS=1),
    reach("fatal_nak_sent", N=3, CRASHES=1, LOSSES=0, READS=0, **ORDERED),
    reach("read_completed", N=2),
    reach("read_tail_repeated", N=2, K0="READ2"),
    reach("read_asked_again", N=2),
    reach("dreq_held_and_released", N=2),
    reach("dreq_released_late", N=2),
    reach("restarted_after_ack", N=2, CRASHES=1),
    reach("rejoined", N=3, CUSTODY=1, LOSSES=0, READS=0, **ORDERED),
    reach("probed", N=2),
    reach("rnr_waited", N=2, RNRS=1),
    reach("given_up", N=2, GIVE_UP=1),
    reach("closed_unconfirmed", N=2, CLOSES=1),
    reach("requester_finished", N=2),
    reach("requester_failed", N=3, CRASHES=1, LOSSES=0, READS=0, **ORDERED),
    reach("withheld_then_sent", N=3, WINDOW=1, LOSSES=0, READS=0, **ORDERED),
    reach("loss_told_at_close", N=2, CRASHES=1),
    reach("doubt_raised", N=2),
    reach("resumed", N=2),
    reach("began_again", N=2, LIVES=1, READS=0, GIVE_UP=1, LOSSES=0),
    reach("unconfirmed_in_doubt", N=2),
    reach("let_go_of_custody", N=2),
    reach("resend_skipped", N=3, READS=0, LOSSES=1),
    reach("never_sent_dropped", N=3, LIVES=1, HELD_BACK=1, READS=0, GIVE_UP=1, LOSSES=0),
    reach("other_bytes", N=2, LIVES=1, READS=0, GIVE_UP=1, LOSSES=0),
    reach("repeat_absorbed", N=2, HOST_LOSSES=1),
    reach("given_up_in_doubt", N=2, LIVES=1, READS=0, GIVE_UP=1, LOSSES=0),
    reach("unknown_nak_came", N=2, UNKNOWNS=1),
]

# A failed flow found in the record cannot tell a requester that repeats what is below h: it may be another life's. It
# ends by its own retry count, which is 7 at most (failed-ends).
REACHES.append(Search("reach", "failed-by-retries", "a requester without a retry count repeats for ever",
                      dict(N=3, CRASHES=1, LOSSES=1, DUPS=0, **ORDERED), cycles=True))


def session(kind, name, why, long=False, cycles=False, **defines):
    """A search of the session of two boxes. `name` is also that of its defect or state."""
    mark = {"defect": dict(DEFECT=name), "reach": dict(REACH=name)}.get(kind, {})
    return Search(kind, "session-" + name.replace("_", "-"), why, {**mark, **defines}, long, not long, cycles, long,
                  "session")


# Whatever was ever sent comes at any time, as often as it likes: N handshakes in all, SEQS datagrams of a sender in each.
ONE_LIFE = dict(RESTARTS=0)
# What is under way comes or is lost, and faults are counted. N is names enough for handshakes.
ON_LINK = dict(LINK=1, N=6, RESTARTS=0)
RESTARTED = dict(ON_LINK, RESTARTS=1)
# A session stands and nothing fails: at any moment there is one on which each box sends and the other receives.
NO_GAP = dict(ON_LINK, STANDS=1, GAPLESS=1)
# One box begins, an attacker replays: no handshake fails.
PATIENT = dict(ON_LINK, BEGIN=1, REKEYS=1, REPLAYS=2, PATIENT=1)

HOLD += [
    session("hold", "window", "one session, four datagrams of each box", N=1, SEQS=4, **ONE_LIFE),
    session("hold", "two", "two handshakes, two restarts", N=2, RESTARTS=2),
    session("hold", "two-used", "two handshakes, two datagrams of each box in each, a restart with or without a BYE", True,
            N=2, SEQS=2, BYES=1),
    session("hold", "three", "three handshakes", N=3, **ONE_LIFE),
    session("hold", "three-restart", "three handshakes, a restart", True, N=3),
    session("hold", "three-restarts", "three handshakes, two restarts", True, N=3, RESTARTS=2),
    session("hold", "four", "four handshakes", True, N=4, **ONE_LIFE),
    session("hold", "ends", "both begin, a restart: in the end both are up, and nothing goes on for ever", cycles=True, **RESTARTED),
    session("hold", "ends-late", "a timer fires early", cycles=True, HASTES=1, **ON_LINK),
    session("hold", "ends-replayed", "an attacker replays a datagram of a handshake, a loss", cycles=True, REPLAYS=1, LOSSES=1,
            **ON_LINK),
    session("hold", "ends-repeated", "a datagram comes twice, a loss", cycles=True, DUPS=1, LOSSES=1, **ON_LINK),
    session("hold", "ends-restarted", "a restart, a loss", True, cycles=True, LOSSES=1, **RESTARTED),
    session("hold", "ends-rekeyed", "a datagram comes twice, two losses, a box wants another session", True, cycles=True, DUPS=1,
            LOSSES=2, REKEYS=1, **ON_LINK),
    session("hold", "ends-all", "a replay, a loss, a restart", True, cycles=True, REPLAYS=1, LOSSES=1, **RESTARTED),
    session("hold", "ends-hasty", "an early timer, a loss, a restart", True, cycles=True, LOSSES=1, HASTES=1,
            **{**RESTARTED, "N": 8}),
    session("hold", "patient", "one begins: replays make no handshake fail", **PATIENT),
    session("hold", "no-gap", "both want another session, at once or in turn", REKEYS=2, CHATS=2, **NO_GAP),
    session("hold", "rotation", "an operator rotates the key", cycles=True, ROTATION=1, CHATS=1, **NO_GAP),
    session("hold", "rotation-patient", "he waits until nothing has the old key any more; a session's hour is over meanwhile",
            cycles=True, ROTATION=2, REKEYS=1, **NO_GAP),
    session("hold", "rotation-first", "he does not: a session with the first key goes before one without", True, cycles=True,
            ROTATION=1, REKEYS=1, **NO_GAP),
    session("hold", "rotation-lossy", "he waits, a loss: in the end both are up", True, cycles=True, ROTATION=2, REKEYS=1,
            LOSSES=1, STANDS=1, **ON_LINK),
]

DEFECTS += [
    session("defect", "counter_unchecked", "a CONFIRM with an old counter makes a session", N=1, **ONE_LIFE),
    session("defect", "body_unchecked", "the RESPONSE's body in a CONFIRM is taken for the responder's own", N=1),
    session("defect", "window_unchecked", "sequence numbers are not checked", N=1, SEQS=2, **ONE_LIFE),
    session("defect", "confirm_renews", "a repeated CONFIRM begins its session anew", N=1, SEQS=3, **ONE_LIFE),
    session("defect", "tag_without_addresses", "a box takes its own INIT and RESPONSE, sent back, for the other's", N=1,
            **ONE_LIFE),
    session("defect", "token_unchecked", "a RESPONSE to an INIT of before is taken", N=2, **ONE_LIFE),
    session("defect", "former_life_kept", "another epoch ends nothing", N=2),
    session("defect", "confirming_kept", "another epoch does not end the handshake with the former one", N=2),
    session("defect", "epoch_by_init", "an INIT says that its sender has restarted", N=2),
    session("defect", "epoch_by_response", "a RESPONSE says so", N=2),
    session("defect", "stands_at_response", "the initiator's session stands before something has come on it", N=1, **ONE_LIFE),
    session("defect", "init_remembered", "the responder remembers one INIT: a replay takes its place", **PATIENT),
    session("defect", "counter_by_init", "the counter moves with each INIT", **PATIENT),
    session("defect", "data_before_answer", "the initiator sends on the new session at once", REKEYS=1, **NO_GAP),
    session("defect", "old_dropped_at_once", "a new session ends the older ones at once", REKEYS=1, **NO_GAP),
    session("defect", "bye_ends_all", "a BYE for a key ends the sessions with the other key", ROTATION=1, **NO_GAP),
    session("defect", "key_insisted", "a box wants another session until it sends on one with its first key", cycles=True,
            ROTATION=2, STANDS=1, **ON_LINK),
    session("defect", "old_for_3_s", "an older session ends after 3 s though the other sends on it: after crossed handshakes each "
            "ends what the other uses, they cross again, for ever", cycles=True, **ON_LINK),
    session("defect", "old-for-3-s-gap", "the same when both want another session", DEFECT="old_for_3_s", REKEYS=2, **NO_GAP),
    session("defect", "counter_by_confirm", "the counter moves with a CONFIRM only: one that was held back replaces a session that "
            "was made later", N=2, **ONE_LIFE),
    session("defect", "counter-by-confirm-former", "and one of a former life ends the session with the present one",
            DEFECT="counter_by_confirm", ANY_ORDER=1, N=2),
    session("defect", "bye_downs", "the peer is down after a BYE, though another session stands", ROTATION=1, **NO_GAP),
    session("defect", "operator_hurries", "the old key goes as soon as the new one is the first in both", ROTATION=1, **NO_GAP),
    session("defect", "unheard-first", "a KEEPALIVE that makes a session stand says that its sender hears nothing: not up, another "
            "handshake at once", cycles=True, DEFECT=0, FIRST_LIVES=0, LOSSES=1, **ON_LINK),
    session("defect", "rotation-crossed", "a box sends on the newest session, whatever its key; a session's hour is over while he waits "
            "until both send with the new key", DEFECT=0, PREFERS_FIRST=0, ROTATION=1, REKEYS=1, **NO_GAP),
    session("defect", "init_once", "an INIT is not repeated", BEGIN=1, LOSSES=1, **ON_LINK),
    session("defect", "confirm_once", "a CONFIRM is not repeated, and never given up", BEGIN=1, LOSSES=1, **ON_LINK),
]

REACHES += [
    session("reach", "crossed", "both hold two sessions, one of each", N=2, **ONE_LIFE),
    session("reach", "rekeyed", "a new session stands beside an older one", N=2, **ONE_LIFE),
    session("reach", "restarted_while_confirming", "a box restarts in the middle of a handshake", N=1),
    session("reach", "restart_learned", "another epoch ends what was of the former one", N=2),
    session("reach", "void_response_taken", "a RESPONSE whose counter has moved is taken", N=2, **ONE_LIFE),
    session("reach", "void_confirm_came", "a CONFIRM whose counter has moved comes", N=2, **ONE_LIFE),
    session("reach", "former_confirm_came", "a CONFIRM of a former life comes to who knows the present one", N=2),
    session("reach", "replay_dropped", "the window drops a replay", N=1, **ONE_LIFE),
    session("reach", "confirm_repeated", "a repeated CONFIRM comes", N=1, SEQS=2, **ONE_LIFE),
    session("reach", "bye_came", "a BYE comes", N=1, SEQS=2, BYES=1),
    session("reach", "gave_up", "CONFIRMs without an answer are given up", **RESTARTED),
    session("reach", "up_again", "what comes on a session makes the other up again", HASTES=1, **ON_LINK),
    session("reach", "unheard", "a KEEPALIVE says that its sender does not hear this box", HASTES=1, **ON_LINK),
    session("reach", "rotated", "a rotation comes to its end", ROTATION=1, **NO_GAP),
    session("reach", "apart", "in the end either box sends on another session", **ON_LINK),
]


def pair(kind, name, why, long=False, cycles=False, large=False, **defines):
    """A search of selective repeat. `name` is also that of its defect or state."""
    mark = {"defect": dict(DEFECT=name), "reach": dict(REACH=name)}.get(kind, {})
    return Search(kind, "pair-" + name.replace("_", "-"), why, {**mark, **defines}, long, not long, cycles, large or long,
                  "pair")


# Any order at any moment; the second is confirmed at the start, so that two PSNs are enough for a gap.
PAIR_ANY = dict(N=2)
PAIR_CONFIRMED = dict(N=3, START=1)
# Timers in the order of their lengths.
PAIR_TIMED = dict(N=3, EARLY=0)
PAIR_LIVES = dict(N=2, LOSSES=0, LIVES=1)
# The same with ordered timers, of which two fire early.
PAIR_HASTY = dict(PAIR_LIVES, EARLY=0, HASTES=2)
# Requests are lost, and nothing but a report and its repair may be needed.
PAIR_MENDS = dict(N=3, START=1, EARLY=0, LOSES=1, LOSSES=2, MENDS=1)
PAIR_LIAR = dict(N=3, START=1, EARLY=0, LOSES=1, LOSSES=1, LIES="FREE", HASTES=1)

HOLD += [
    pair("hold", "any", "two requests, losses without limit, timers at any moment", large=True, **PAIR_ANY),
    pair("hold", "confirmed", "the same for a flow that was answered before", **PAIR_CONFIRMED),
    pair("hold", "confirmed-twice", "a request or control datagram comes twice", True, DUPS=1,
         **{**PAIR_CONFIRMED, "LOSSES": 1}),
    pair("hold", "no-room", "the far box can hold one packet only", HOLD=1, LOSSES=2, **PAIR_TIMED),
    pair("hold", "mends", "lost requests and repairs, also of the tail, need no other timer and no NAK", **PAIR_MENDS),
    pair("hold", "ends", "two losses: all arrives, and nothing goes on for ever", cycles=True, LOSSES=2, **PAIR_TIMED),
    pair("hold", "ends-hosts", "losses beside both hosts, too", True, cycles=True, LOSSES=1, HOST_LOSSES=1,
         **PAIR_TIMED),
    pair("hold", "ends-plain", "custody of one packet: what passes plain never comes again by itself", True,
         cycles=True, CUSTODY=1, LOSSES=2, **PAIR_TIMED),
    pair("hold", "ends-hasty", "a timer fires early", True, cycles=True, HASTES=1, LOSSES=1, **PAIR_TIMED),
    pair("hold", "ends-crash", "the far box forgets everything", cycles=True, CRASHES=1, LOSSES=1,
         **{**PAIR_TIMED, "N": 2}),
    pair("hold", "ends-beliefs", "either box believes pair or alone", cycles=True, BELIEFS=2, LOSSES=1,
         **{**PAIR_TIMED, "N": 2}),
    pair("hold", "ends-lies", "reports of a liar", cycles=True, LIES=2, LOSSES=1, **PAIR_TIMED),
    pair("hold", "liar", "a liar reports anything at any moment: rule 1", True, N=2, LIES=1, LOSSES=1),
    pair("hold", "liar-delays", "a liar reports for ever: what is lost is resent", cycles=True, **PAIR_LIAR),
    pair("hold", "lives", "a second life of the QPs, at any moment", True, **PAIR_LIVES),
    pair("hold", "lives-hasty", "timers are ordered, and two fire early", **PAIR_HASTY),
    pair("hold", "lives-unbind-first", "nothing waits, and an UNBIND comes before what could fill a gap", True, WAITS=0,
         ARRIVES=1, **PAIR_LIVES),
    pair("hold", "lives-lossy", "losses without limit", True, **{**PAIR_LIVES, "LOSSES": "FREE"}),
    pair("hold", "lives-confirmed", "a second life of a confirmed flow", True, N=3, START=1, BINDINGS=1, CTL=1,
         LOSSES=0, LIVES=1),
    pair("hold", "lives-crash", "and a crash of the far box", True, CRASHES=1, **PAIR_LIVES),
    pair("hold", "lives-beliefs", "and changes of belief", True, BELIEFS=2, **PAIR_HASTY),
]

OPEN = [
    pair("open", "page-unbind-late", "UNBIND is lost or late: what is held of the first life goes on into the second",
         WAITS=0, **PAIR_HASTY),
    pair("open", "page-bind-late", "BIND comes after its UNBIND: the far box orders what the near box does not know",
         ONCE_BOUND=0, **PAIR_HASTY),
    pair("open", "page-unbind-newer", "UNBIND names a binding whose BIND was lost: the far box keeps an older one",
         ENDS_OLDER=0, **PAIR_HASTY),
    pair("open", "page-repairs-unconfirmed", "the first packet of a flow is repaired: a new responder takes it",
         CONFIRMED_ONLY=0, **PAIR_HASTY),
    pair("open", "page-liar-delays", "reports without end delay the near box's timer without end", cycles=True,
         REPORTS_BOUNDED=0, **PAIR_LIAR),
]
HOLD += OPEN

DEFECTS += [
    pair("defect", "report_releases", "a report releases custody", LOSSES=2, HOST_LOSSES=1, **PAIR_TIMED),
    pair("defect", "unbind_ignored", "the far box goes on ordering at another life", **PAIR_HASTY),
    pair("defect", "repairs_in_doubt", "the near box repairs in doubt", **PAIR_HASTY),
    pair("defect", "keeps_at_repeat", "UNBIND says keep where the QPs may live another life", **PAIR_HASTY),
    pair("defect", "never_gives_up", "the far box never gives a gap up", cycles=True, LOSSES=2, **PAIR_TIMED),
    pair("defect", "repairs_once", "a repair that is lost is not repaired", **PAIR_MENDS),
    pair("defect", "top_ignored", "a lost tail is not missed", **PAIR_MENDS),
    pair("defect", "custody_ignored", "the far box waits for what CLOCK says cannot come", **PAIR_MENDS),
    pair("defect", "drops_below_next", "the far box drops what it has handed on or given up", cycles=True, LOSSES=2,
         HOST_LOSSES=1, **PAIR_TIMED),
    pair("defect", "passes_behind_gap", "the far box does not hold", LOSSES=2, **PAIR_TIMED),
]

REACHES += [
    pair("reach", "held_and_handed_on", "what was held is handed on", LOSSES=1, **PAIR_TIMED),
    pair("reach", "repaired", "a report is followed by a repair", LOSSES=1, **PAIR_TIMED),
    pair("reach", "tail_repaired", "the last packet is lost and repaired", LOSSES=1, **PAIR_TIMED),
    pair("reach", "gap_given_up", "a gap is given up", LOSSES=1, **PAIR_TIMED),
    pair("reach", "cannot_come", "CLOCK says that a packet cannot come", LOSSES=1, **PAIR_TIMED),
    pair("reach", "unknown_binding", "the far box does not know the binding", BELIEFS=2, LOSSES=1, **PAIR_TIMED),
    pair("reach", "crashed_holding", "the far box crashes while it holds", CRASHES=1, LOSSES=1, **PAIR_TIMED),
    pair("reach", "near_alone_far_pair", "the near box believes alone, the far one pair", BELIEFS=2, LOSSES=1,
         **PAIR_TIMED),
    pair("reach", "doubt_resumed", "a doubt without another life", HOST_LOSSES=3, LOSSES=1, **PAIR_TIMED),
    pair("reach", "dropped_for_other_life", "what is held is dropped at an UNBIND", **PAIR_HASTY),
    pair("reach", "second_life_repaired", "the second life is bound, and repaired", **{**PAIR_LIVES, "N": 3}),
    pair("reach", "waited", "requests wait for the end of a binding", **PAIR_LIVES),
    pair("reach", "all_done", "everything arrives", LOSSES=1, **PAIR_TIMED),
]

# A defect's error must be the defect's: the same search without it finds nothing.
WITHOUT = [Search("hold", "without-" + s.name, "the same without the defect",
                  {k: v for k, v in s.defines.items() if k not in ("DEFECT", "FIRST_LIVES", "PREFERS_FIRST")}, quick=False, cycles=s.cycles, large=s.large,
                  model=s.model)
           for s in DEFECTS]

SEARCHES = HOLD + DEFECTS + WITHOUT + REACHES
