/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes: what happens at any moment, or where timers are ordered (EARLY=0) when nothing sooner is due. Faults
 * are counted then, so nothing may go on for ever. */

byte losses = 0, dups = 0, hastes = 0, crashed = 0;

#if LOSSES == FREE
#define may_lose(what) (LOSES & (what))
#define count_loss skip
#else
#define may_lose(what) ((LOSES & (what)) && losses < LOSSES)
#define count_loss losses++
#endif

/* What each timer waits for, the shortest first. */
#define unbind_due (n_pair && n_ended != 0 && (n_unbinds < TRIES || (n_waits && f_pair && !f_crashed)))
#define bind_due (n_pair && n_bind != 0 && !n_said && n_binds < TRIES)
#define clock_due (n_pair && n_bind != 0 && n_said && n_clocks < TRIES && n_una < n_top)
#define ctl_due (unbind_due || bind_due || clock_due)
#if DEFECT == never_gives_up
#define gap_due false
#else
#define gap_due (far_waits)
#endif
#define wait_due (n_waits && f_held == 0 && net[0] == 0)
#if LIES
#define held_up (n_gap && (!REPORTS_BOUNDED || n_delayed < TRIES))
#else
#define held_up false
#endif
#define rto_possible (owes && !n_doubt)
#define rto_due (rto_possible && !held_up)
#define retry_due (rq_una < rq_top && rq_snd > rq_una)
#define session_due (f_crashed || !n_pair || !f_pair)

#if EARLY
#define on_time(sooner) true
#define count_try(tries) skip
#define count_haste(sooner) skip
#else
#define count_try(tries) if :: tries < TRIES -> tries++ :: else fi
#if HASTES
#define on_time(sooner) (hastes < HASTES || (idle && !(sooner)))
#define count_haste(sooner) if :: idle && !(sooner) -> skip :: else -> hastes++ fi
#else
#define on_time(sooner) (idle && !(sooner))
#define count_haste(sooner) skip
#endif
#endif

/* Both ends come back, with the same QPNs and the same first PSN; nothing of theirs is under way any more. */
inline vanish() {
  say(qps, vanishes, 0);
  net[0] = 0; acked = 0; naked = 0;
  owed = lacks & ~told;
  life = 1;
  rq_una = 0; rq_snd = 0; rq_top = 0; rp_next = 0; rp_nak_sent = false; excused = true
}

hidden byte wn_at, wn_kind;
hidden int wn_code;

inline choose(what, below) {
  what = 0;
  do
  :: what + 1 < below -> what++
  :: break
  od
}
proctype Hosts() {
end_hosts:
  do
  :: atomic { rq_snd < N && n_top < N + 1 ->
       if :: rq_top <= rq_snd -> rq_top = rq_snd + 1 :: else fi;
       say(requester, sends, rq_snd);
       rq_snd++;
       near_request((rq_snd - 1)) }
  :: atomic { retry_due && on_time(ctl_due || gap_due || rto_due || wait_due) ->
       count_haste(ctl_due || gap_due || rto_due || wait_due);
       assert(!MENDS);
       say(requester, repeats, rq_una); rq_snd = rq_una }
#if LIVES
  :: atomic { life == 0 && !n_doubt && (!EMPTY_HOLD || f_held == 0) -> vanish() }
#endif
  od
}

proctype Near() {
end_near:
  do
  :: atomic { unbind_due && room_to_far && on_time(false) -> count_haste(false);
       count_try(n_unbinds);
       send_unbind() }
  :: atomic { bind_due && room_to_far && on_time(false) -> count_haste(false); count_try(n_binds); send_bind() }
  :: atomic { clock_due && room_to_far && on_time(false) -> count_haste(false); count_try(n_clocks); send_clock() }
  :: atomic { rto_possible && on_time(ctl_due || gap_due) -> count_haste(ctl_due || gap_due);
       assert(!MENDS); resend(n_head) }
  :: atomic { wait_due && on_time(ctl_due) -> n_waits = false; n_clean = true }
       /* the far box has given up whatever it held */
  od
}

proctype Far() {
end_far:
  do
#if !LIES
  :: atomic { gap_due && on_time(ctl_due) -> count_haste(ctl_due); assert(!MENDS); give_gap_up() }
#endif
#if CRASHES
  :: atomic { crashed < CRASHES && !f_crashed -> crashed++; far_crash() }
#endif
  /* A new session: the near box knows that the far one has restarted. */
  :: atomic { f_crashed -> say(far, has_session, 0); drop_all(); f_crashed = false; f_pair = true; n_pair = true;
       n_bind = 0; n_said = false; n_binds = 0; n_gap = false; ended() }
#if BELIEFS
  :: atomic { beliefs < BELIEFS && n_pair -> beliefs++; say(near, alone, 0);
       if :: f_pair && f_bound -> REACHED(near_alone_far_pair) :: else fi;
       n_pair = false; n_gap = false;
       if
       :: n_bind != 0 -> n_ended = n_bind; n_bind = 0; n_said = false; n_binds = 0; n_keep = true; n_unbinds = 0
       :: else
       fi }
  :: atomic { !n_pair && !f_crashed && on_time(false) -> say(near, pair, 0); n_pair = true }
  :: atomic { beliefs < BELIEFS && f_pair -> beliefs++; say(far, alone, 0); f_pair = false;
       hold_is_over(); forget_binding(); excused = true }
  :: atomic { !f_pair && !f_crashed && on_time(false) -> say(far, pair, 0); f_pair = true }
#endif
#if LIES
  :: atomic { lied < LIES && room_to_near && n_bind != 0 && n_una < n_top && on_time(ctl_due || rto_due || retry_due) ->
       count_haste(ctl_due || rto_due || retry_due);
       if :: LIES != FREE -> lied++ :: else fi;
       choose(wn_at, bit(N)); choose(wn_kind, bit(N));
       say(far, lies, wn_at);
       put(TO_NEAR, code(K_BOUND, n_bind, wn_kind, wn_at));
       wn_at = 0; wn_kind = 0 }
#endif
  od
}

inline choose_of(what, from) {
  what = 0;
  do
  :: (from) >> (what + 1) -> what++
  :: (from) & bit(what) -> break
  od
}
inline choose_row(what, first, room) {
  what = first;
  do
  :: what + 1 < (first) + (room) && datagram[what + 1] != 0 -> what++
  :: break
  od
}

inline near_state() {
  if
  :: code_kind(wn_code) == K_BOUND -> near_report(code_binding(wn_code), code_mask(wn_code), code_low(wn_code))
  :: code_kind(wn_code) == K_UNBOUND -> near_unbound(code_binding(wn_code))
  :: else
  fi
}

inline far_control() {
  if
  :: !f_pair
  :: f_pair && code_kind(wn_code) == K_BIND -> far_bind(code_binding(wn_code), code_low(wn_code))
  :: f_pair && code_kind(wn_code) == K_UNBIND ->
     far_unbind(code_binding(wn_code), code_low(wn_code)); unbound(code_binding(wn_code))
  :: f_pair && code_kind(wn_code) == K_CLOCK ->
     far_clock(code_binding(wn_code), code_mask(wn_code), code_lowest(wn_code), code_end(wn_code), code_top(wn_code))
  :: else
  fi
}

/* Requests of the second life do not overtake those of the first. */
#if ARRIVES
#define comes (f_bound == n_bind -> 15 : (f_bound == 0 -> 15 : between(0, f_next)))
#else
#define comes 15
#endif
#define may_come ((net[1] & comes) != 0 && net[0] == 0)

proctype Wan() {
end_wan:
  do
  :: atomic { net[0] != 0 -> choose_of(wn_at, net[0]); net[0] = net[0] & ~bit(wn_at); far_request(wn_at, 0); wn_at = 0 }
#if LIVES
  :: atomic { may_come -> wn_kind = net[1] & comes; choose_of(wn_at, wn_kind); wn_kind = 0;
       net[1] = net[1] & ~bit(wn_at); far_request(wn_at, 1); wn_at = 0 }
#endif
  :: atomic { acked != 0 -> choose_of(wn_at, acked); acked = acked & ~bit(wn_at); near_ack((wn_at + 1)); wn_at = 0 }
  :: atomic { naked != 0 -> choose_of(wn_at, naked); naked = naked & ~bit(wn_at); near_nak(wn_at); wn_at = 0 }
  :: atomic { any_to_far -> choose_row(wn_at, TO_FAR); wn_code = datagram[wn_at]; take_away(TO_FAR, wn_at);
       far_control(); wn_at = 0; wn_code = 0 }
  :: atomic { any_to_near -> choose_row(wn_at, TO_NEAR); wn_code = datagram[wn_at]; take_away(TO_NEAR, wn_at);
       near_state(); wn_at = 0; wn_code = 0 }
#if LOSSES
  :: atomic { net[life] != 0 && may_lose(1) -> count_loss; choose_of(wn_at, net[life]);
       say(wan, is_lost, wn_at); net[life] = net[life] & ~bit(wn_at); wn_at = 0 }
  :: atomic { acked != 0 && may_lose(2) -> count_loss; choose_of(wn_at, acked); acked = acked & ~bit(wn_at); wn_at = 0 }
  :: atomic { naked != 0 && may_lose(2) -> count_loss; choose_of(wn_at, naked); naked = naked & ~bit(wn_at); wn_at = 0 }
  :: atomic { any_to_far && may_lose(4) -> count_loss; choose_row(wn_at, TO_FAR); take_away(TO_FAR, wn_at); wn_at = 0 }
  :: atomic { any_to_near && may_lose(4) -> count_loss; choose_row(wn_at, TO_NEAR);
       take_away(TO_NEAR, wn_at); wn_at = 0 }
#endif
#if DUPS
  :: atomic { net[0] != 0 && dups < DUPS -> dups++; choose_of(wn_at, net[0]); far_request(wn_at, 0); wn_at = 0 }
  :: atomic { any_to_far && dups < DUPS -> dups++; choose_row(wn_at, TO_FAR); wn_code = datagram[wn_at]; far_control();
       wn_at = 0; wn_code = 0 }
#endif
  od
}

#define all_there (rq_una == N && rp_next == N && n_head == n_tail && (LIVES == life))
#define nothing_due (idle && !ctl_due && !gap_due && !wait_due && !rto_possible && !retry_due && !session_due && \
                     !(rq_snd < N))

proctype Watch() {
end_watch:
  do
  :: atomic { !RULE1 -> assert(false) }                      /* rule 1 */
#if !EARLY
  :: atomic { nothing_due && !(all_there || (LIVES > life)) -> assert(false) }  /* not all has come */
#endif
#if LIVES
  :: atomic { idle && life == 1 && all_there && !n_doubt && (owed & ~told & ~SAME) ->
       assert(false) }  /* lost in silence */
#endif
  :: atomic { REACH == all_done && all_there -> REACHED(all_done) }
  od
}
