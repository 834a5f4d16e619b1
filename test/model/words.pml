/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds, kinds of packets, messages on the wire. Everything with a default can be set by -D. */

#ifndef N
#define N 3          /* PSNs 0 .. N-1, at most 5 */
#endif
#ifndef READS
#define READS 1      /* READs may be drawn */
#endif
#ifndef ANY
#define ANY 0
#endif
#ifndef K0
#define K0 ANY
#endif
#ifndef K1
#define K1 ANY
#endif
#ifndef K2
#define K2 ANY
#endif
#ifndef K3
#define K3 ANY
#endif
#ifndef K4
#define K4 ANY
#endif

/* Channel sizes: requester to box, box to responder, responder to box, box to requester. */
#ifndef QCAP
#define QCAP 1
#endif
#ifndef WCAP
#define WCAP 2
#endif
#ifndef BCAP
#define BCAP 2
#endif
#ifndef ACAP
#define ACAP 2
#endif

/* What may go wrong. FREE: as often as it likes, without a count in the state. */
#define FREE 255
#ifndef LOSSES
#define LOSSES FREE      /* on the long haul */
#endif
#ifndef HOST_LOSSES
#define HOST_LOSSES 0    /* between requester and box */
#endif
#ifndef DUPS
#define DUPS FREE
#endif
#ifndef REORDERS
#define REORDERS 0
#endif
#ifndef CRASHES
#define CRASHES 0        /* of the box, which starts again at once */
#endif
#ifndef RNRS
#define RNRS 0
#endif
#ifndef FATALS
#define FATALS 0
#endif
#ifndef CLOSES
#define CLOSES 0         /* 1: the responder's side may send a DREQ of its own */
#endif
#ifndef GIVE_UP
#define GIVE_UP 0        /* 1: the box may give up (time is not modelled: whenever something is in custody) */
#endif
#ifndef DRAINS
#define DRAINS 0         /* 1: drain may begin */
#endif
#ifndef CUSTODY
#define CUSTODY N        /* custody limit, PSNs */
#endif
#ifndef WINDOW
#define WINDOW N         /* unanswered window, PSNs */
#endif
#ifndef BURST
#define BURST 0          /* 1: the end of a burst is a step of its own */
#endif
#ifndef EARLY
#define EARLY 1          /* 1: timers fire at any moment; 0: when nothing else can happen, the shortest first */
#endif
#ifndef RETRIES
#define RETRIES 1        /* 0: the requester has no ACK timer */
#endif
#ifndef EXHAUSTS
#define EXHAUSTS 0       /* 1: the requester's retry count may be exhausted at any moment */
#endif
#ifndef RETRY_COUNT
#define RETRY_COUNT 0    /* EARLY 0: timeouts in a row before its QP goes into error; 0: no limit */
#endif
#ifndef CLEAN
#define CLEAN 0          /* 1: whatever happens, all must arrive and nothing may be counted as lost */
#endif
#ifndef CREDITS
#define CREDITS 0        /* 1: an ACK that is absorbed may have announced receives */
#endif
#ifndef STRANGERS
#define STRANGERS 0      /* ACKs of another connection's responder, whose requester has the same QPN: not with this MSN */
#endif
#define OTHER_MSN 64
#ifndef UNKNOWNS
#define UNKNOWNS 0       /* NAKs of a code that IBTA does not define */
#endif
#ifndef STRAYS
#define STRAYS 0         /* 1: an ACK for what was answered before may come late enough to be another connection's */
#endif
#ifndef IDLES
#define IDLES 0          /* 1: a flow without custody may have been idle for longer than confirm_again */
#endif
#ifndef PATIENT
#define PATIENT 0        /* 1: a held DREQ waits for as long as custody is there */
#endif
#ifndef FORGED
#define FORGED 0         /* requests that the requester never sent, of PSNs that it has used */
#endif
#ifndef ANNOUNCED
#define ANNOUNCED 0      /* 1: once, a REP announces the responder's QPN anew; its REQ may be forged */
#endif
#define WHEN_FAILED 2    /* ANNOUNCED: the same, of a failed flow only */
#ifndef FAILOVERS
#define FAILOVERS 0      /* 1: once, the requester's next hop gets another MAC address, and ARP says so */
#endif
#ifndef LIVES
#define LIVES 0          /* 1: once, both ends vanish and come back with the same QPNs and first PSN */
#endif
#ifndef SAME
#define SAME 0           /* bit p: the second life's bytes at PSN p are those of the first */
#endif
#ifndef MID_DOUBT
#define MID_DOUBT 0      /* 1: the first life may vanish while the box doubts it */
#endif
#ifndef HELD_BACK
#define HELD_BACK 0      /* 1: ... while a probe or an RNR wait holds back packets that were never sent */
#endif
#ifndef HELD_LOSS_ONLY
#define HELD_LOSS_ONLY 0 /* 1: the long haul loses only packet h - 1, acknowledged and in custody */
#endif

/* Deliberate defects (README.md); 0: the code as it is. */
#ifndef DEFECT
#define DEFECT 0
#endif
#define ack_without_custody 1
#define ack_before_port 2
#define ack_past_read 3
#define gap_nak_past_read 4
#define repeat_ack_past_read 5
#define dreq_not_held 6
#define no_record 7
#define record_after_ack 8
#define no_record_at_gap_nak 9
#define any_ack_releases 10
#define no_repair_nak 11
#define silent_give_up 12
#define no_fatal_nak 13
#define no_ackreq_on_resend 14
#define close_uncounted 15
#define dreq_never_released 16
#define ack_after_end 17
#define reack_repeats 18
#define resend_in_doubt 20
#define any_answer_resumes 21
#define answer_without_msn 22
#define failed_tells_anyone 23
#define fatal_nak_unasked 24
#define unknown_nak_fails 25
#define first_send_in_doubt 26
#define old_voucher 27
#define keeps_unconfirmed 28
#define speaks_after_repeat 29
#define stale_eaten 30
#define rep_ends 31
#define rep_ends_failed 32
#define old_next_hop 33
#define timers_first 34
#define gives_up_in_rnr 35

/* Interesting states that must be reachable: with -DREACH=... the search must end with an error. */
#ifndef REACH
#define REACH 0
#endif
#define pseudo_ack_sent 1
#define gap_nak_sent_once 2
#define repair_nak_sent 3
#define repeated_ack_sent 4
#define fatal_nak_sent 5
#define read_completed 6
#define read_tail_repeated 7
#define dreq_held_and_released 8
#define dreq_released_late 9
#define restarted_after_ack 10
#define rejoined 11
#define probed 12
#define rnr_waited 13
#define given_up 14
#define closed_unconfirmed 15
#define requester_finished 16
#define requester_failed 17
#define withheld_then_sent 18
#define loss_told_at_close 19
#define read_asked_again 21
#define doubt_raised 22
#define resumed 23
#define began_again 24
#define unconfirmed_in_doubt 25
#define let_go_of_custody 26
#define resend_skipped 27
#define other_bytes 28
#define repeat_absorbed 29
#define given_up_in_doubt 32
#define answer_disagreed 35
#define unknown_nak_came 36
#define never_sent_dropped 37
#if REACH
#define REACHED(state) assert((state) != REACH)
#else
#define REACHED(state) skip
#endif

/* Kinds of packets, one per PSN; a READ uses up the PSNs of its responses. */
#define WRITE 1      /* WRITE only: ends a message, AckReq */
#define SILENT 2     /* the same without AckReq */
#define MIDDLE 3     /* WRITE first or middle: ends no message, no AckReq */
#define READ 4       /* one response */
#define READ2 5      /* two responses: this PSN and the next */
#define READ2_END 6  /* the second; as a request, a READ that asks for the tail of its range */
byte kind[N];
byte ends[N + 1];    /* messages that end before a PSN: the responder's MSN there */

#define is_read(x) (kind[x] >= READ)
#define last_of(x) ((x) + (kind[x] == READ2))
#define after(x) (last_of(x) + 1)

/* The first READ PSN in [from, to), else N. */
inline first_read_from(from, to, found) {
  found = from;
  do
  :: found < to && !is_read(found) -> found++
  :: else -> break
  od;
  if
  :: found >= to -> found = N
  :: else
  fi
}

mtype = { REQUEST, HELD, ACK, NAK, RNR, FATAL, UNKNOWN, RESPONSE, DREQ, DREP };
/* Requests: type, PSN, marks; HELD is a request that custody has a copy of. Answers: type, PSN, MSN. */
#define ACK_REQ 1
#define SECOND_LIFE 2
#define IS_FORGED 4
#define NEW_HOP 8
#define life_of(marks) (((marks) >> 1) & 1)
#define is_forged(marks) ((marks) & IS_FORGED)
chan to_box = [QCAP] of { mtype, byte, byte };
chan to_responder = [WCAP] of { mtype, byte, byte };
chan from_responder = [BCAP] of { mtype, byte, byte };
chan to_requester = [ACAP] of { mtype, byte, byte };

/* Written out: spin allows no `else` beside nfull(). */
#define room(way, size) (len(way) < size)

#define ON_TIME(condition) ((condition) && (EARLY || timeout))
