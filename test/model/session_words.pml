/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds, faults, rules, defects. Everything with a default can be set by -D. Numbers in comments are those of
 * docs/peer-protocol.md. */

#ifndef LINK
#define LINK 0       /* 0: what was ever sent may come, at any time, as often as it likes (session_sent, session_all);
                      * 1: what is under way comes unless lost, and timers wait (session_under_way, session_link) */
#endif
#ifndef N
#define N 3          /* handshakes: LINK 0: of a whole run; LINK 1: names for them, which are used again */
#endif
#define NONE N
#ifndef RESTARTS
#define RESTARTS 1   /* of either box, together, at most two */
#endif
#if RESTARTS > 2
#error "session_sent.pml has bits for three lives"
#endif
#define LIVES (RESTARTS + 1)
#define UNKNOWN LIVES  /* no epoch heard yet */

/* LINK 0 */
#ifndef SEQS
#define SEQS 1       /* sequence numbers of each sender in each session */
#endif
#ifndef ANY_ORDER
#define ANY_ORDER 0  /* 1: a session may replace one begun after its own end: to see what else goes wrong */
#endif
#ifndef BYES
#define BYES 0       /* 1: a box that ends may say BYE */
#endif

/* LINK 1: what may go wrong, counted, so that nothing goes wrong for ever */
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef DUPS
#define DUPS 0
#endif
#ifndef REPLAYS
#define REPLAYS 0    /* of the one datagram of a handshake that the attacker has recorded; it may record another */
#endif
#ifndef HASTES
#define HASTES 0     /* timers that fire though something is under way: INIT again, CONFIRM given up, gone */
#endif
#ifndef REKEYS
#define REKEYS 0     /* a box wants a new session though one stands: the session's hour is over */
#endif
#ifndef CHATS
#define CHATS 0      /* KEEPALIVEs at any moment, also where they change nothing by themselves */
#endif
#ifndef ROTATION
#define ROTATION 0   /* an operator rotates the key (7), and deletes the old one when 1: both boxes send with the new;
                      * 2: nothing has the old one any more */
#endif
#ifndef STANDS
#define STANDS 0     /* 1: a session stands at the start, begun by box 0 */
#endif
#ifndef BEGIN
#define BEGIN 3      /* which boxes may begin a handshake, a bit for each */
#endif
#ifndef CONFIRMS
#define CONFIRMS 2   /* CONFIRMs before the initiator gives up */
#endif
#ifndef ROOM
#define ROOM 8       /* datagrams under way */
#endif
#ifndef GAPLESS
#define GAPLESS 0    /* 1: at any moment either box sends on what the other receives (with STANDS) */
#endif
#ifndef PATIENT
#define PATIENT 0    /* 1: no handshake may fail */
#endif

/* Rules that the searches have made necessary (README.md, "What the searches have found"). 1 is the page. */
#ifndef FIRST_LIVES
#define FIRST_LIVES 1    /* 1: what comes first on a session is a sign of life: it answers the CONFIRM */
#endif
#ifndef PREFERS_FIRST
#define PREFERS_FIRST 1  /* 1: a session with the first key goes before one without */
#endif

/* Deliberate defects (README.md); 0: the protocol as it is. */
#ifndef DEFECT
#define DEFECT 0
#endif
#define counter_unchecked 1
#define body_unchecked 2
#define window_unchecked 3
#define confirm_renews 4
#define tag_without_addresses 5
#define token_unchecked 6
#define former_life_kept 7
#define confirming_kept 8
#define epoch_by_init 9
#define epoch_by_response 10
#define stands_at_response 11
#define init_remembered 12
#define counter_by_init 13
#define data_before_answer 14
#define old_dropped_at_once 15
#define bye_ends_all 16
#define key_insisted 17
#define init_once 18
#define confirm_once 19
#define old_for_3_s 20
#define counter_by_confirm 21
#define bye_downs 22
#define operator_hurries 23

/* Interesting states that must be reachable: with -DREACH=... the search must end with an error. */
#ifndef REACH
#define REACH 0
#endif
#define crossed 1
#define rekeyed 2
#define restarted_while_confirming 3
#define restart_learned 4
#define void_response_taken 5
#define void_confirm_came 6
#define former_confirm_came 7
#define replay_dropped 8
#define confirm_repeated 9
#define bye_came 10
#define gave_up 11
#define up_again 12
#define rotated 13
#define apart 14
#define unheard 15
#if REACH
#define REACHED(state) assert((state) != REACH)
#else
#define REACHED(state) skip
#endif

#define say(what, me, h) printf("box %d %e %d\n", me, what, h)

#define other(me) (1 - (me))
#define bit(x) (1 << (x))

#define INITIATOR 0
#define RESPONDER 1

/* Kinds of datagrams (each is greater than the next), and what else a run tells when it is printed */
mtype = { INIT, RESPONSE, CONFIRM, KEEPALIVE, BYE, loses, repeats, records, replays,
          accepts, makes, ends, gives_up, restarts, is_deaf, is_gone, wants_another, reloads }
