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

/* What the box has told: counters and log of rule 6 */
byte told_h = 0;        /* acknowledged PSNs before it are reported, or recorded in file-backed memory to be */
bool told = false;      /* ... and reported: a counter, a log line */

byte read_open;         /* first READ PSN that the requester waits for: asked, and not answered in order since */

/* The box's custody (near_box.pml) */
byte head = 0, tail = 0;

/* Rule 1: what the requester believes completed, the responder has, or custody, or it is told as lost. */
#define RULE1 (rq_una <= rp_next || (head <= rp_next && rq_una <= tail) || rq_una <= told_h)
inline check_rule1() { assert(RULE1) }

/* Rules 1, 4 and 5 for an ACK that the box makes: it covers everything up to `psn`. */
inline check_made_ack(psn, msn) {
  assert(psn < rp_next || (head <= rp_next && psn < tail)); /* rule 1 */
  assert(psn < sent_top);                                   /* the WAN port accepted it before */
  assert(psn < read_open);                                  /* rule 5 */
  assert((msn) == ends[(psn) + 1])                          /* rule 4 */
}
/* A PSN NAK covers everything before `psn`. */
inline check_made_nak(psn, msn) {
  assert(psn <= rp_next || (head <= rp_next && psn <= tail));
  assert(psn <= read_open);
  assert((msn) == ends[psn])
}
