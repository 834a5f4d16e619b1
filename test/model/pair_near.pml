/* SPDX-License-Identifier: BSD-3-Clause */
/* The near box, as far as it matters here: near_box.pml has the rest. An answer tells here whose life it is of: how a
 * box finds that out is near_box.pml's matter, too. */

byte n_top = START;       /* first PSN never sent */
byte n_h = START;         /* it has acknowledged all before */
byte n_base = 0;          /* where custody began (again) */
bool n_confirmed = (START > 0);
bool n_doubt = false;
bool n_pair = true;       /* believes the far box up */
byte n_newest = 0;        /* binding numbers used */
byte n_bind = 0;          /* the binding, 0: none */
bool n_said = false;      /* the far box has answered BIND */
byte n_ended = 0;         /* a binding that was ended, of which the far box has not said that it is */
bool n_keep = false;
bool n_waits = false;     /* requests wait for that, or until the far box has given up what it holds */
#define ANYTHING 7
byte n_due = ANYTHING;    /* after a wait what lies above is dropped until the request that gave the sign has passed */
bool n_clean = false;     /* nothing was sent since that */
byte n_clocks = (EARLY -> 0 : TRIES), n_binds = 0, n_unbinds = 0;
bool n_asked = false;     /* the far box waits for what custody does not have, and was told so since the last sending */
bool n_gap = false;       /* the last report named a gap: it delays the timer */
#if LIES
byte n_delayed = 0;       /* how often since the last progress */
#endif
#if DEFECT == repairs_once
byte n_repaired = 0;
#endif

/* What is acknowledged and not answered */
#define owes (n_head < n_tail && n_una < n_h)

hidden byte nr_at, nr_end, nr_lost;

/* ---- to the requester, at once ---- */

inline tell_ack(upto) {
  if
  :: rq_una < (upto) && (upto) <= rq_top ->
     if
     :: rq_una = upto; if :: rq_snd < rq_una -> rq_snd = rq_una :: else fi
#if HOST_LOSSES
     :: host_losses < HOST_LOSSES -> host_losses++; say(requester, is_lost, upto)
#endif
     fi
  :: else
  fi
}

inline tell_nak(psn) {
  if
  :: rq_una <= (psn) && (psn) < rq_top ->
     if
     :: rq_una = psn; rq_snd = psn
#if HOST_LOSSES
     :: host_losses < HOST_LOSSES -> host_losses++; say(requester, is_lost, psn)
#endif
     fi
  :: else
  fi
}

/* ---- to the WAN ---- */

inline forget_times(bits) {
  take_out(bits);
  f_echo = f_echo & ~(bits)
}

inline send(psn, its_life) {
  net[its_life] = net[its_life] | bit(psn);
  forget_times(bit(psn));
  n_clocks = 0; n_asked = false; n_clean = false
}

inline resend(psn) { say(near, resends, psn); send(psn, (n_life >> (psn)) & 1) }

inline send_bind() { put(TO_FAR, code(K_BIND, n_bind, 0, n_top)); say(near, BIND, n_bind) }
inline send_unbind() { put(TO_FAR, code(K_UNBIND, n_ended, 0, n_keep)); say(near, UNBIND, n_ended) }
inline send_clock() {
  say(near, CLOCK, n_bind);
  put(TO_FAR, code(K_CLOCK, n_bind, custody, three(n_head, n_tail, n_top)))
}

/* 9.2: custody ends (keep), or the flow is in doubt. */
inline end_binding(keep) {
  if
  :: n_bind != 0 -> n_ended = n_bind; n_bind = 0; n_said = false; n_binds = 0; n_gap = false
  :: else
  fi;
  if
  :: n_ended != 0 ->
     n_keep = keep;
     n_unbinds = !EARLY;
     if :: n_pair -> send_unbind() :: else fi;
     if :: WAITS && !(keep) && !n_clean -> n_waits = true :: else fi
  :: else
  fi
}

inline ended() { n_ended = 0; n_unbinds = 0; n_keep = false; n_waits = false; n_clean = false }

/* ---- from the requester ---- */

/* Design 4.5, 4.6: custody of which nothing is acknowledged is let go, other custody is in doubt. */
inline sign_of_another_life(psn) {
  if
  :: owes -> if :: !n_doubt -> n_doubt = true; say(near, doubts, n_una) :: else fi
  :: else ->
     if :: n_head < n_tail -> say(near, lets_go, n_head) :: else fi;
     forget_times(custody);
     n_life = n_life & ~custody;
     n_tail = n_head; n_confirmed = false
  fi;
  end_binding(DEFECT == keeps_at_repeat);
  if :: n_waits && !n_clean -> n_due = psn :: else fi
}

#define same_bytes(psn) (((n_life >> (psn)) & 1) == life || (SAME & bit(psn)))

#define takes_next (!n_doubt && (n_head == n_tail || n_tail == n_top) && n_tail - n_head < CUSTODY)

inline near_request(psn) {
  if
  :: n_doubt
  :: !n_doubt && psn < n_una -> sign_of_another_life(psn)
  :: !n_doubt && psn >= n_una && psn < n_top ->
     if
     :: !n_confirmed || (n_head <= psn && psn < n_tail && !same_bytes(psn)) -> sign_of_another_life(psn)
     :: else
     fi
  :: else
  fi;
  if
  :: n_waits || psn > n_due -> say(near, is_dropped, psn); REACHED(waited)
  :: !n_waits && psn <= n_due && psn == n_top && takes_next ->
     if
     :: n_head == n_tail ->
        if :: n_tail != n_top -> n_confirmed = false :: else fi;
        if :: !n_confirmed -> n_base = psn :: else fi;
        n_head = psn
     :: else
     fi;
     if
     :: n_bind == 0 && n_pair && n_newest < BINDINGS ->
        n_newest++; n_bind = n_newest; n_said = false; n_binds = !EARLY; send_bind()
     :: else
     fi;
     n_due = ANYTHING;
     n_tail = psn + 1;
     n_top = psn + 1;
     n_life = (n_life & ~bit(psn)) | (life << psn);
     send(psn, life);
     if :: n_confirmed -> n_h = n_tail; tell_ack(n_h) :: else fi
  :: else ->
     n_due = ANYTHING;
     if :: psn == n_top -> n_top = psn + 1 :: else fi;
     if
     :: n_head <= psn && psn < n_tail && same_bytes(psn) -> send(psn, life)
     :: else -> net[life] = net[life] | bit(psn); n_clean = false
     fi
  fi
}

/* ---- from the responder ---- */

inline answered(upto) {
  forget_times(custody & between(0, upto));
  n_life = n_life & ~(custody & between(0, upto));
  n_una = upto;
  if :: n_h < n_una -> n_h = n_una :: else fi;
  if :: n_head < n_una -> n_head = n_una :: else fi;
  if :: n_tail < n_head -> n_tail = n_head :: else fi;
  n_gap = false;
#if LIES
  n_delayed = 0
#endif
}

/* Custody ends when a stretch without it has begun. */
inline custody_over() {
  if
  :: n_head == n_tail && n_tail != n_top && n_bind != 0 -> end_binding(true)
  :: else
  fi
}

inline settle_doubt(upto) {
  n_doubt = false;
  if
  :: life == 0 -> say(near, resumes, upto); REACHED(doubt_resumed)
  :: else ->   /* custody is the first life's: it ends, loudly */
     say(near, begins_again, rq_top);
     told = told | custody;
     forget_times(custody);
     n_life = 0; n_una = upto; n_head = rq_top; n_tail = rq_top; n_top = rq_top; n_h = n_una;
     n_confirmed = false; n_base = rq_top
  fi
}

inline near_ack(upto) {
  say(near, acks, upto);
  if :: upto > n_due -> n_due = ANYTHING :: else fi;
  if :: n_doubt -> settle_doubt(upto) :: else fi;
  if
  :: n_una < upto && upto <= n_top ->
     answered(upto);
     if :: !n_confirmed && upto >= n_base -> n_confirmed = true; n_h = larger(n_h, n_tail) :: else fi;
     custody_over()
  :: else
  fi;
  tell_ack(upto);
  if :: n_confirmed && n_h > upto -> tell_ack(n_h) :: else fi
}

/* Custody is sent again, as without a peer; what passed without custody the requester is asked for. */
inline near_nak(psn) {
  say(near, naks, psn);
  if :: psn > n_due -> n_due = ANYTHING :: else fi;
  if
  :: n_doubt -> tell_nak(psn)
  :: !n_doubt && psn < n_una -> tell_nak(psn)
  :: !n_doubt && n_una <= psn && psn < n_top ->
     if
     :: !n_confirmed -> sign_of_another_life(psn); if :: n_una < psn -> answered(psn) :: else fi; tell_nak(psn)
     :: else ->
        if :: n_una < psn -> answered(psn) :: else fi;
        nr_at = n_head; nr_end = n_tail;
        do
        :: nr_at < nr_end -> resend(nr_at); nr_at++
        :: else -> break
        od;
        nr_at = 0; nr_end = 0;
        custody_over();
        if :: n_h <= psn -> tell_nak(psn) :: else -> tell_nak(n_h) fi
     fi
  :: else
  fi
}

/* ---- from the far box ---- */

#define has_binding(binding) ((binding) != 0 && (n_bind == (binding) || (DEFECT == repairs_in_doubt && n_doubt)))

/* 9.3 */
inline near_report(binding, echo, missing) {
  if
  :: n_pair && has_binding(binding) ->
     n_said = true;
     n_gap = ((missing) != 0);
#if LIES
     if :: n_gap && n_delayed < TRIES && REPORTS_BOUNDED -> n_delayed++ :: else fi;
#endif
     nr_lost = (missing) & (echo) & custody;
#if CONFIRMED_ONLY
     if :: !n_confirmed -> nr_lost = 0 :: else fi;
#endif
#if DEFECT == repairs_once
     nr_lost = nr_lost & ~n_repaired; n_repaired = n_repaired | nr_lost;
#endif
     if
     :: ((missing) & ~custody) && !n_asked -> n_clocks = 0; n_asked = true
     :: else
     fi;
     nr_at = 0;
     do
     :: nr_at < N ->
        if
        :: nr_lost & bit(nr_at) ->
           say(near, repairs, nr_at);
           REACHED(repaired);
           if :: life -> REACHED(second_life_repaired) :: else fi;
           if :: nr_at + 1 == n_top -> REACHED(tail_repaired) :: else fi;
           send(nr_at, (n_life >> nr_at) & 1)
        :: else
        fi;
        nr_at++
     :: else -> break
     od;
     nr_at = 0; nr_lost = 0;
#if DEFECT == report_releases
     if
     :: !((missing) & bit(n_head)) && ((echo) & bit(n_head)) && n_head < n_tail -> answered(n_head + 1)
     :: else
     fi
#endif
  :: else
  fi
}

inline near_unbound(binding) {
  if
  :: !n_pair || (binding) == 0
  :: n_pair && (binding) != 0 && n_bind == (binding) ->
     n_bind = 0; n_said = false; n_binds = 0; n_gap = false;
     REACHED(unknown_binding)
  :: n_pair && (binding) != 0 && n_bind != (binding) && n_ended == (binding) -> ended()
  :: else
  fi
}
