/* SPDX-License-Identifier: BSD-3-Clause */
/* What outside observers know, and the rules of design section 3 as assertions over it. */

/* The requester (ends.pml) */
byte rq_una = 0;        /* first PSN it has not completed */
byte rq_top = 0;        /* first PSN it never sent */
bool rq_error = false;  /* its QP is in error: it has seen a failure */
bool rq_closed = false; /* its connection is closed */

/* The responder */
byte rp_next = 0;       /* first PSN it has not received */
bool rp_closed = false;
bool rp_nak_sent = false;   /* a gap is NAKed once */
bool rp_dead = false;       /* its QP is in error */

/* What the box has told: counters and log of rule 6 */
byte told_h = 0;        /* acknowledged PSNs before it are reported, or recorded in file-backed memory to be */
bool told = false;      /* ... and reported: a counter, a log line */
bool unsure = false;    /* ... some of it as unconfirmed, because a doubt left open whether it was delivered */

byte read_open;         /* first READ PSN that the requester waits for: asked, and not answered in order since */

/* The box's custody (near_box.pml) */
byte head = 0, tail = 0;

/* The QPs' second life (LIVES). What a life's requester takes for completed and its responder lacks is owed. Bit p is PSN p. */
byte life = 0;          /* 0, 1 */
byte owed1 = 0;         /* by the first life when it vanished */
byte told1 = 0, told2 = 0;  /* reported packets of either life */
byte held_life = 0;     /* custody's copy is of the second life */
bool aware = false;     /* the box has seen a request of the second life */
bool unseeable = false; /* and that began at the flow's next PSN or beyond: all before was lost before the box */
/* NearPart::first_unused() */
#define first_unused (tail < sent_top -> sent_top : tail)
#define between(from, end) ((from) < (end) -> (1 << (end)) - (1 << (from)) : 0)

#if FAILOVERS
bool moved = false;     /* frames to the old next hop go nowhere */
byte held_hop = 0;      /* custody's copy of PSN p was sent to the new one */
#define hop_mark (moved * NEW_HOP)
#define hop_bits(x) ((DEFECT == old_next_hop -> (held_hop >> (x)) & 1 : moved) * NEW_HOP)
#define goes_nowhere(marks) (moved && !((marks) & NEW_HOP))
inline take_hop(psn) {
  held_hop = (held_hop & ~(1 << (psn))) | (bx_more & NEW_HOP -> 1 << (psn) : 0)
}
#else
#define hop_mark 0
#define hop_bits(x) 0
#define goes_nowhere(marks) false
inline take_hop(psn) { skip }
#endif

#if LIVES
inline told_lives(upto) {
  told1 = told1 | (between(head, upto) & ~held_life);
  told2 = told2 | (between(head, upto) & (held_life | SAME))
}
inline take_life(psn) {
  held_life = (held_life & ~(1 << (psn))) | ((bx_more & SECOND_LIFE) && !is_forged(bx_more) -> 1 << (psn) : 0)
}
inline see_life() {
  if
  :: life_of(bx_more) && !aware && !is_forged(bx_more) ->
     aware = true; unseeable = (first_unused > 0 && bx_psn >= first_unused)
  :: else
  fi
}
#define held_bits(x, ack_req) ((ack_req) + (((held_life >> (x)) & 1) * SECOND_LIFE) + hop_bits(x))
#else
inline told_lives(upto) { skip }
inline take_life(psn) { skip }
inline see_life() { skip }
#define held_bits(x, ack_req) ((ack_req) + hop_bits(x))
#endif
/* No copy of the other life's bytes stands in custody for [from, end). */
#define own_bytes(from, end) (!LIVES || life == 0 || (between(from, end) & ~held_life & ~SAME) == 0)

/* Rule 1: what the requester believes completed, the responder has, or custody, or it is told as lost. */
#define RULE1 (life == 1 || rq_una <= rp_next || (head <= rp_next && rq_una <= tail) || rq_una <= told_h)
inline check_rule1() { assert(RULE1) }

/* Rules 1, 4 and 5 for an ACK that the box makes: it covers everything up to `psn`. */
inline check_made_ack(psn, msn) {
  assert(unseeable || psn < rp_next ||
         (head <= rp_next && psn < tail && own_bytes(rp_next, (psn) + 1))); /* rule 1 */
  assert(psn < sent_top);                                   /* the WAN port accepted it before */
  assert(unseeable || psn < read_open);                     /* rule 5 */
  assert(unseeable || (msn) == ends[(psn) + 1])             /* rule 4 */
}
/* A PSN NAK covers everything before `psn`. */
inline check_made_nak(psn, msn) {
  assert(unseeable || psn <= rp_next || (head <= rp_next && psn <= tail && own_bytes(rp_next, psn)));
  assert(unseeable || psn <= read_open);
  assert(unseeable || (msn) == ends[psn])
}
