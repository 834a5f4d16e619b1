/* SPDX-License-Identifier: BSD-3-Clause */
/* The two hosts and the link between them. */

hidden mtype rq_type;
hidden byte rq_psn, rq_msn, rq_read;

/* Completes everything before `psn`; a READ that is not answered stands in the way: its response was lost, and the
 * requester goes back to it (IBTA vol. 1, 9.7.5.1.1, implied NAK). */
inline rq_complete(psn) {
  first_read_from(rq_una, psn, rq_read);
  if
  :: rq_read < psn -> rq_una = rq_read; snd = rq_read
  :: else -> rq_una = psn; if :: snd < psn -> snd = psn :: else fi
  fi;
  check_rule1()
}

#if LIVES
inline empty_channel(way) { do :: len(way) > 0 -> way?rq_type, rq_psn, rq_msn :: else -> break od }

/* Both ends come back, with the same QPNs and the same first PSN; nothing of theirs is under way any more. What the box
 * took and nothing holds back has been sent long ago. */
#define may_vanish (life == 0 && (!doubted || MID_DOUBT) && (unsent == tail || (HELD_BACK && (hold || (one_probe && probe_out)))) && !touched)
inline vanish() {
  empty_channel(to_box); empty_channel(to_responder); empty_channel(from_responder); empty_channel(to_requester);
  life = 1;
  owed1 = between(rp_next, rq_una);
  rq_una = 0; rq_top = 0; rq_error = false; rq_closed = false; snd = 0; dreq_sent = false;
  rp_next = 0; rp_closed = false; rp_dead = false; rp_nak_sent = false;
  told_h = 0; told = false;
  first_read_from(0, N, read_open);
  rq_type = 0; rq_psn = 0; rq_msn = 0
}
#endif

/* An RC requester that goes back: AckReq by kind, retries by timer, a READ's tail asked for alone. */
proctype Requester() {
  byte snd = 0;             /* next PSN to send */
  bool dreq_sent = false;
#if RETRY_COUNT
  byte retried = 0, retried_at = N;
#endif

live:
  do
  :: atomic { !rq_error && snd < N && room(to_box, QCAP) ->
       if :: rq_top < after(snd) -> rq_top = after(snd) :: else fi;
       to_box!REQUEST, snd, (kind[snd] == WRITE) + life * SECOND_LIFE + hop_mark;
       snd = after(snd) }
  :: atomic { to_requester?rq_type, rq_psn, rq_msn ->
       if
       :: rq_type == DREP -> goto over
       :: rq_type == DREQ ->
          if :: room(to_box, QCAP) -> to_box!DREP, 0, 0 :: else fi; goto over
       :: rq_type != DREQ && rq_type != DREP ->
          if
          :: rq_error || rq_msn == OTHER_MSN -> skip
          :: !rq_error && rq_msn != OTHER_MSN && rq_type == RESPONSE ->
             first_read_from(rq_una, rq_top, rq_read);
             if
             :: rq_read == rq_psn -> rq_una = rq_psn + 1; if :: snd < rq_una -> snd = rq_una :: else fi;
                assert(rq_psn < rp_next);  /* rule 5: only the responder answers a READ */
                check_rule1(); REACHED(read_completed)
             :: rq_read < rq_psn -> rq_una = rq_read; snd = rq_read; check_rule1()
             :: else
             fi
          :: !rq_error && rq_msn != OTHER_MSN && rq_type != RESPONSE && rq_una <= rq_psn && rq_psn < rq_top ->
             if
             :: rq_type == ACK -> rq_complete(rq_psn + 1)
             :: rq_type == NAK || rq_type == RNR -> rq_complete(rq_psn); snd = rq_una
             :: rq_type == FATAL -> rq_complete(rq_psn); rq_error = true; snd = N; REACHED(requester_failed)
             :: rq_type == UNKNOWN   /* ignored */
             fi
          :: else   /* not about anything under way: ignored, as real NICs do */
          fi
       fi;
       rq_type = 0; rq_psn = 0; rq_msn = 0 }
#if RETRIES
  :: atomic { ON_TIME(!rq_error && rq_una < rq_top && snd > rq_una && (EARLY || !box_timer)) -> snd = rq_una;
#if RETRY_COUNT
       if
       :: retried == RETRY_COUNT && retried_at == rq_una -> rq_error = true; snd = N
       :: retried_at != rq_una -> retried_at = rq_una; retried = 1
       :: else -> retried++
       fi;
#endif
       if :: snd < N && kind[snd] == READ2_END -> REACHED(read_tail_repeated) :: else fi }
#endif
#if EXHAUSTS
  :: atomic { !rq_error && rq_una < rq_top -> rq_error = true; snd = N }
#endif
#if LIVES
  :: atomic { may_vanish -> vanish() }
  :: atomic { ON_TIME(rq_una == N || rq_error) -> goto over }  /* nobody announces its end */
#else
  :: atomic { ON_TIME((rq_una == N || rq_error) && room(to_box, QCAP) &&
                      (EARLY || !dreq_sent || !(box_timer || dreq_held))) ->
       if :: rq_una == N -> REACHED(requester_finished) :: else fi;
       to_box!DREQ, 0, 0; dreq_sent = true }
#endif
  od;
over:
  atomic { rq_closed = true; rq_error = (rq_error || rq_una < N); snd = N; dreq_sent = true };
end_over:
  do
  :: atomic { to_requester?rq_type, rq_psn, rq_msn ->
       if :: rq_type == DREQ && room(to_box, QCAP) -> to_box!DREP, 0, 0 :: else fi }
#if LIVES
  :: atomic { may_vanish -> vanish(); goto live }
#endif
  od
}

hidden mtype rp_type;
hidden byte rp_psn, rp_ack_req;

/* Repeats and executes [psn, last_of(psn)]: as many responses as there is room for; the rest is as if lost. */
inline rp_respond(psn) {
  from_responder!RESPONSE, psn, ends[rp_next];
  if
  :: last_of(psn) > psn && room(from_responder, BCAP) -> from_responder!RESPONSE, psn + 1, ends[rp_next]
  :: else
  fi
}

#define is_request ((rp_type == REQUEST || rp_type == HELD) && !rp_dead && !goes_nowhere(rp_ack_req))
/* The bytes at rp_next are of this life, or equal. */
#define own_request (!LIVES || life_of(rp_ack_req) == life || ((SAME >> rp_psn) & 1))

proctype Responder() {
  byte rnrs = 0, unknowns = 0;

end_responder:
  do
  :: atomic { len(from_responder) + 2 - EARLY <= BCAP && len(to_responder) > 0 ->
       to_responder?rp_type, rp_psn, rp_ack_req;
       if
       :: rp_type == DREQ -> rp_dead = true; rp_closed = true; from_responder!DREP, 0, 0
       :: rp_type == DREP -> rp_dead = true; rp_closed = true
       :: (rp_type == REQUEST || rp_type == HELD) && (rp_dead || goes_nowhere(rp_ack_req))
       :: is_request && is_forged(rp_ack_req) && rp_psn >= rp_next  /* it is forged for the box */
       :: is_request && rp_psn == rp_next && !is_forged(rp_ack_req) ->
          if
          :: UNKNOWNS && unknowns < UNKNOWNS -> unknowns++; from_responder!UNKNOWN, rp_psn, ends[rp_psn]
          :: RNRS && rnrs < RNRS && !is_read(rp_psn) -> rnrs++; from_responder!RNR, rp_psn, ends[rp_psn]
          :: FATALS -> rp_dead = true; from_responder!FATAL, rp_psn, ends[rp_psn]
          :: true ->
             if
             :: !own_request -> assert(unseeable)  /* no byte of another life */
             :: else
             fi;
             rp_next = after(rp_psn); rp_nak_sent = false;
             if
             :: is_read(rp_psn) -> rp_respond(rp_psn)
             :: !is_read(rp_psn) && (rp_ack_req & ACK_REQ) -> from_responder!ACK, rp_psn, ends[rp_next]
             :: !is_read(rp_psn) && !(rp_ack_req & ACK_REQ)
             fi
          fi
       :: is_request && rp_psn > rp_next && !is_forged(rp_ack_req) ->
          if
          :: !rp_nak_sent -> rp_nak_sent = true; from_responder!NAK, rp_next, ends[rp_next]
          :: else
          fi
       :: is_request && rp_psn < rp_next ->
          if
          :: is_read(rp_psn) -> rp_respond(rp_psn)
          :: !is_read(rp_psn) -> from_responder!ACK, rp_next - 1, ends[rp_next]
          :: !is_read(rp_psn) && !(rp_ack_req & ACK_REQ)  /* no answer is owed */
          fi
       fi;
       rp_type = 0; rp_psn = 0; rp_ack_req = 0;
       check_rule1() }
#if CLOSES
  :: atomic { !rp_closed && room(from_responder, BCAP) -> rp_dead = true; rp_closed = true; from_responder!DREQ, 0, 0 }
#endif
  od
}

hidden mtype ln_type;
hidden byte ln_psn, ln_more;

#if LOSSES == FREE
#define may_lose true
#define count_loss skip
#else
#define may_lose (losses < LOSSES)
#define count_loss losses++
#endif
#if HOST_LOSSES == FREE
#define may_lose_host true
#define count_host_loss skip
#else
#define may_lose_host (host_losses < HOST_LOSSES)
#define count_host_loss host_losses++
#endif
#if DUPS == FREE
#define may_duplicate true
#define count_dup skip
#else
#define may_duplicate (dups < DUPS)
#define count_dup dups++
#endif

/* The front message repeated behind those after it. */
inline duplicate(way) {
  way?<ln_type, ln_psn, ln_more>; way!ln_type, ln_psn, ln_more; ln_type = 0; ln_psn = 0; ln_more = 0
}
inline overtake(way) {
  way?ln_type, ln_psn, ln_more; way!ln_type, ln_psn, ln_more; ln_type = 0; ln_psn = 0; ln_more = 0
}
inline lose(way) { way?ln_type, ln_psn, ln_more; ln_type = 0; ln_psn = 0; ln_more = 0 }

proctype Link() {
#if FORGED
  byte forged = 0;
#endif
#if STRANGERS
  byte strangers = 0;
#endif
  byte losses = 0, host_losses = 0, dups = 0, reorders = 0;
end_link:
  do
  :: false
#if LOSSES
#if HELD_LOSS_ONLY
  :: atomic { may_lose && h > 0 && to_responder?[HELD, eval(h - 1), ln_more] -> count_loss; lose(to_responder) }
#else
  :: atomic { may_lose && len(to_responder) > 0 -> count_loss; lose(to_responder) }
  :: atomic { may_lose && len(from_responder) > 0 -> count_loss; lose(from_responder) }
#endif
#endif
#if HOST_LOSSES
  :: atomic { may_lose_host && len(to_box) > 0 -> count_host_loss; lose(to_box) }
  :: atomic { may_lose_host && len(to_requester) > 0 -> count_host_loss; lose(to_requester) }
#endif
#if DUPS
  :: atomic { may_duplicate && len(to_responder) > 0 && room(to_responder, WCAP) -> count_dup; duplicate(to_responder) }
  :: atomic { may_duplicate && len(from_responder) > 0 && room(from_responder, BCAP) ->
       count_dup; duplicate(from_responder) }
#endif
#if STRANGERS
  :: atomic { strangers < STRANGERS && owes && room(from_responder, BCAP) ->
       strangers++; from_responder!ACK, h - 1, OTHER_MSN }
#endif
#if FORGED
  :: atomic { forged < FORGED && rq_top > 0 && room(to_box, QCAP) ->
       forged++;
       if
       :: to_box!REQUEST, 0, ACK_REQ + IS_FORGED
       :: rq_top > 1 -> to_box!REQUEST, 1, ACK_REQ + IS_FORGED
       :: rq_top > 2 -> to_box!REQUEST, 2, ACK_REQ + IS_FORGED
       fi }
#endif
#if FAILOVERS
  :: atomic { !moved -> moved = true }
#endif
#if REORDERS
  :: atomic { reorders < REORDERS && len(to_responder) > 1 -> reorders++; overtake(to_responder) }
  :: atomic { reorders < REORDERS && len(from_responder) > 1 -> reorders++; overtake(from_responder) }
#endif
  od
}
