/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ends and an observer of everything know, and the rules as assertions. */

/* The requester */
byte rq_una = START;     /* first PSN that it has not completed */
byte rq_snd = START;     /* next PSN to send */
byte rq_top = START;     /* first PSN that it never sent */

/* The responder */
byte rp_next = START;    /* first PSN that it has not accepted */
bool rp_nak_sent = false;  /* a gap is NAKed once */

/* The QPs' lives. Bit p is PSN p. */
byte life = 0;
byte owed = 0;           /* what the first life's requester had completed and its responder lacked */
byte told = 0;           /* what the near box has reported as unconfirmed */

/* The responder waits for something that the far box does not hold back: it gave it up, never ordered it, or the host
 * lost it. */
bool excused = true;

/* The near box (pair_near.pml) */
byte n_una = START;      /* first PSN that the responder has not answered */
byte n_head = START, n_tail = START;  /* custody has [n_head, n_tail) */
byte n_life = 0;         /* bit p: its copy of p is of the second life */

byte f_echo = 0;         /* the far box: what was last sent before the newest CLOCK that came */

#if HOST_LOSSES
byte host_losses = 0;
#endif
#if BELIEFS
byte beliefs = 0;
#endif
#if LIES
byte lied = 0;
#endif

#define custody between(n_head, n_tail)
/* Rule 1: what the requester takes for completed the responder has, or custody has it with these bytes. */
#define lacks between(rp_next, rq_una)
#define RULE1 ((lacks & ~(custody & ((life -> n_life : ~n_life) | SAME))) == 0)

/* Rule 2: the responder takes the bytes of its own life, or equal ones. Order is its own matter. */
inline check_bytes(psn, its_life) { assert((its_life) == life || (SAME & bit(psn))) }

/* What the far box hands on in order makes no gap. */
inline check_order(psn) { assert(LIVES || excused || (psn) <= rp_next) }
