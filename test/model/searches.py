# SPDX-License-Identifier: BSD-3-Clause
"""The searches that `run` makes: what is set by -D (words.pml says what each means), and why."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Search:
    kind: str  # hold, defect, reach
    name: str
    why: str
    defines: dict = field(default_factory=dict)
    long: bool = False    # worth an optimizing compiler, and not for tools/test
    quick: bool = True    # short, and for tools/test when not long
    cycles: bool = False  # looks for endless runs instead of dead ends: every cycle without progress is an error


def hold(name, why, long=False, cycles=False, **defines):
    return Search("hold", name, why, defines, long, not long, cycles)


ALL = "FREE"

# Where time is not modelled but ordered: a timer fires when nothing else can happen, the box's before the hosts'.
# Faults
# are counted, so nothing may go on for ever.
ORDERED = dict(EARLY=0, QCAP=2, WCAP=4, BCAP=4, ACAP=4)

HOLD = [
    hold("two-any", "any two requests; losses and duplicates without limit, timers at any moment", N=2),
    hold("two-host-loss", "the same with losses between requester and box", N=2, HOST_LOSSES=ALL, DUPS=0),
    hold("two-burst", "the end of a burst as a step of its own", N=2, DUPS=0, BURST=1),
    hold("two-reordered", "two packets of a direction change places", N=2, REORDERS=1, DUPS=0),
    hold("two-crash", "the box dies and starts again, also between record and pseudo-ACK", N=2, CRASHES=1, DUPS=0),
    hold("two-custody-limit", "custody of one packet: plain, rejoining", N=2, CUSTODY=1, DUPS=0, HOST_LOSSES=1),
    hold("two-window", "pseudo-ACKs withheld beyond one unanswered packet", N=2, WINDOW=1, DUPS=0),
    hold("two-rnr-fatal", "RNR and fatal NAKs", N=2, RNRS=1, FATALS=1, DUPS=0, LOSSES=1),
    hold("two-closing", "the responder closes, the box gives up, the requester gives up", N=2, READS=0, CLOSES=1,
         GIVE_UP=1,
         EXHAUSTS=1, LOSSES=1, DUPS=0),
    hold("two-drain", "drain begins at any moment", N=2, DRAINS=1, DUPS=0),
    hold("clean-three", "two faults, no crash: all arrives, nothing is counted as lost, nothing stands still",
         N=3, CLEAN=1, LOSSES=2, DUPS=0, **ORDERED),
    hold("clean-three-ends", "the same run has no endless repeat", cycles=True,
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
    hold("failed-ends",
         "a crash, a loss: without a retry count the requester ends all the same, done or by a fatal NAK",
         cycles=True, N=3, CRASHES=1, LOSSES=1, DUPS=0, **ORDERED),
    hold("three-host-loss", "three WRITEs, losses on every segment without limit", True, N=3, READS=0, HOST_LOSSES=ALL,
         DUPS=0),
    hold("three-crash-writes", "three WRITEs, a crash, losses on the long haul", True, N=3, READS=0, CRASHES=1, DUPS=0),
    hold("three-crash-any", "any three requests, a crash, two losses on the long haul", True, N=3, CRASHES=1, LOSSES=2, DUPS=0,
         **ORDERED),
    hold("three-custody-limit", "any three requests, custody of one packet", True, N=3, CUSTODY=1, DUPS=0),
    hold("clean-four", "four requests of any kind, a loss: all arrives", True, N=4, CLEAN=1, LOSSES=1, DUPS=0,
         **ORDERED),
    hold("clean-four-ends", "and nothing repeats for ever", True, True, N=4, CLEAN=1, LOSSES=1, DUPS=0, **ORDERED),
]


def defect(name, why, cycles=False, **defines):
    return Search("defect", name.replace("_", "-"), why, dict(DEFECT=name, **defines), cycles=cycles)


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
    defect("fatal_nak_at_h", "the fatal NAK names h to a requester that never heard of the packet before it",
         cycles=True,
           N=2, READS=0, CRASHES=1, LOSSES=1, DUPS=0, **ORDERED),
    defect("no_ackreq_on_resend", "no answer is owed for the end of a resend", cycles=True, N=4, K0="WRITE",
         K1="SILENT",
           K2="WRITE", K3="WRITE", LOSSES=1, HOST_LOSSES=1, DUPS=0, CLEAN=1, **ORDERED),
    defect("ack_after_end", "a repeated pseudo-ACK after the connection's end", N=2, BURST=1, DUPS=0),
]


def reach(name, why="", **defines):
    return Search("reach", name.replace("_", "-"), why or name.replace("_", " "), dict(REACH=name, DUPS=0, **defines))


REACHES = [
    reach("pseudo_ack_sent", N=2),
    reach("gap_nak_sent_once", N=3, HOST_LOSSES=1, LOSSES=0, **ORDERED),
    reach("repair_nak_sent", N=3, CUSTODY=1, LOSSES=1, READS=0, **ORDERED),
    reach("repeated_ack_sent", N=2, HOST_LOSSES=1),
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
    reach("failed_follows", N=3, CRASHES=1, LOSSES=2, **ORDERED),
]

# A defect's error must be the defect's: the same search without it finds nothing.
WITHOUT = [Search("hold", "without-" + s.name, "the same without the defect",
                  {k: v for k, v in s.defines.items() if k != "DEFECT"}, quick=False, cycles=s.cycles) for s in DEFECTS]

SEARCHES = HOLD + DEFECTS + WITHOUT + REACHES
