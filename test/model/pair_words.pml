/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds, faults, rules, defects. Everything with a default can be set by -D. Numbers in comments are those of
 * docs/peer-protocol.md. */

#ifndef N
#define N 3          /* PSNs 0 .. N-1, at most 4: WRITEs of one packet */
#endif
#ifndef START
#define START 0      /* PSNs that the responder has answered at the start: with 1 the flow is confirmed */
#endif
#ifndef BINDINGS
#define BINDINGS 2   /* bindings of a run, at most 7; after them the near box works alone */
#endif
#ifndef CUSTODY
#define CUSTODY N    /* packets in custody at most; what comes beyond passes plain */
#endif
#ifndef HOLD
#define HOLD N       /* packets held in the far box at most */
#endif

/* Room for control datagrams under way: near to far, far to near. */
#ifndef CTL
#define CTL 2
#endif
#ifndef STATES
#define STATES 1
#endif

/* What may go wrong, counted, or as often as it likes. */
#define FREE 255
#ifndef LOSSES
#define LOSSES FREE      /* on the WAN */
#endif
#ifndef LOSES
#define LOSES 7          /* what: 1 requests, 2 answers, 4 control datagrams */
#endif
#ifndef DUPS
#define DUPS 0           /* on the WAN, of requests and control datagrams */
#endif
#ifndef HOST_LOSSES
#define HOST_LOSSES 0    /* between near box and requester (answers), far box and responder (requests) */
#endif
#ifndef CRASHES
#define CRASHES 0        /* of the far box; in the end the two have a new session */
#endif
#ifndef BELIEFS
#define BELIEFS 0        /* changes of what the boxes believe, pair or alone */
#endif
#ifndef LIES
#define LIES 0           /* reports of a far box that lies; it holds nothing, and what it drops is as lost */
#endif
#ifndef EARLY
#define EARLY 1          /* 1: each timer fires at any moment; 0: when nothing is under way, the shortest first */
#endif
#ifndef HASTES
#define HASTES 0         /* EARLY 0: timers that fire early all the same */
#endif
#ifndef TRIES
#define TRIES 2          /* EARLY 0: CLOCKs after a packet was sent, BINDs, UNBINDs */
#endif
#ifndef LIVES
#define LIVES 0          /* 1: once, both ends vanish and come back with the same QPNs and first PSN */
#endif
#ifndef SAME
#define SAME 0           /* bit p: the second life's bytes at PSN p are those of the first */
#endif
#ifndef EMPTY_HOLD
#define EMPTY_HOLD 0     /* 1: they come back when the far box holds nothing any more: 3 round trips are over */
#endif
#ifndef MENDS
#define MENDS 0          /* 1: no timer but those of control datagrams may be needed */
#endif
#ifndef ARRIVES
#define ARRIVES 0        /* 1: an UNBIND arrives before requests of the second life that are not below f_next */
#endif

/* Rules that the searches have made necessary (README.md, "What the searches of a pair have found"). 1 is the page. */
#ifndef WAITS
#define WAITS 1          /* 1: after a sign of another life requests pass when the far box has ended the binding */
#endif
#ifndef ONCE_BOUND
#define ONCE_BOUND 1     /* 1: a binding that has ended does not come back with a late BIND */
#endif
#ifndef ENDS_OLDER
#define ENDS_OLDER 1     /* 1: an UNBIND ends older bindings of its handle, too */
#endif
#ifndef CONFIRMED_ONLY
#define CONFIRMED_ONLY 1 /* 1: no repair before the responder has answered the flow */
#endif
#ifndef REPORTS_BOUNDED
#define REPORTS_BOUNDED 1  /* 1: reports delay the near box's timer once after each progress */
#endif

/* Deliberate defects (README.md); 0: the protocol with these rules. */
#ifndef DEFECT
#define DEFECT 0
#endif
#define report_releases 1
#define unbind_ignored 2
#define repairs_in_doubt 3
#define keeps_at_repeat 4
#define never_gives_up 5
#define repairs_once 6
#define top_ignored 7
#define drops_below_next 8
#define passes_behind_gap 9
#define custody_ignored 10

/* Interesting states that must be reachable: with -DREACH=... the search must end with an error. */
#ifndef REACH
#define REACH 0
#endif
#define held_and_handed_on 1
#define repaired 2
#define tail_repaired 4
#define gap_given_up 5
#define cannot_come 6
#define dropped_for_other_life 7
#define second_life_repaired 8
#define crashed_holding 9
#define unknown_binding 10
#define waited 11
#define all_done 12
#define near_alone_far_pair 13
#define doubt_resumed 14
#if REACH
#define REACHED(state) assert((state) != REACH)
#else
#define REACHED(state) skip
#endif

#define bit(x) (1 << (x))
/* Without conditional expressions: spin takes none as an inline's argument. */
#define between(from, end) ((bit(end) - 1) & ~(bit(from) - 1))
#define larger(x, y) ((x) * ((x) >= (y)) + (y) * ((x) < (y)))

/* Kinds of control datagrams, and what else a run tells when it is printed. */
mtype = { near, far, requester, responder, wan, qps, BIND, UNBIND, CLOCK, BOUND, UNBOUND,
          sends, repeats, repairs, resends, holds, hands_on, is_lost, discards, accepts, gives_up, skips, acks, naks,
          pseudo_acks, doubts, lets_go, begins_again, resumes, vanishes, crashes, has_session, alone, pair, ends,
          drops, lies, is_dropped }
#define say(who, what, number) printf("%e %e %d\n", who, what, number)
