/* SPDX-License-Identifier: BSD-3-Clause */
/* The far box and the responder behind it, which gets what is handed on at once. */

byte f_seen = 0;      /* bindings up to this one have been, or are */
byte f_bound = 0;     /* the binding, 0: passing */
byte f_next = 0;      /* first PSN not handed on */
byte f_held = 0;      /* bit p: p is held */
byte f_life = 0;      /* ... and is of the second life */
byte f_top = 0;       /* the near box has sent all before, as CLOCK says */
bool f_pair = true;   /* believes the near box up */
bool f_crashed = false;

hidden byte fr_at, fr_end;

/* Below what is held, or what the near box has sent. */
#define below_held ((f_held >> 1) | (f_held >> 2) | (f_held >> 3))
#define f_missing ((between(f_next, f_top) | (below_held & ~(bit(f_next) - 1))) & ~f_held)

/* ---- the responder ---- */

inline come_to_responder(psn, its_life) {
  if
  :: (psn) == rp_next ->
     check_bytes(psn, its_life);
     rp_next++; rp_nak_sent = false;
     say(responder, accepts, psn);
     acked = acked | bit(rp_next - 1);
     if :: rp_next >= f_next -> excused = false :: else fi
  :: (psn) < rp_next -> acked = acked | bit(rp_next - 1)
  :: (psn) > rp_next ->
     say(responder, discards, psn);
     excused = true;
     if :: !rp_nak_sent -> rp_nak_sent = true; naked = naked | bit(rp_next) :: else fi
  fi
}

inline hand_on(psn, its_life) {
  say(far, hands_on, psn);
#if HOST_LOSSES
  if
  :: come_to_responder(psn, its_life)
  :: host_losses < HOST_LOSSES -> host_losses++; say(responder, is_lost, psn); excused = true
  fi
#else
  come_to_responder(psn, its_life)
#endif
}

/* ---- order ---- */

inline hand_on_held() {
  do
  :: f_held & bit(f_next) ->
     fr_at = (f_life >> f_next) & 1;
     f_held = f_held & ~bit(f_next); f_life = f_life & ~bit(f_next);
     check_order(f_next);
     f_next++;
     REACHED(held_and_handed_on);
     hand_on(f_next - 1, fr_at)
  :: else -> break
  od;
  fr_at = 0
}

inline forget_binding() { f_bound = 0; f_next = 0; f_held = 0; f_life = 0; f_top = 0 }

/* What is held goes on, behind its gaps. */
inline release_held() {
  do
  :: f_held != 0 ->
     if :: f_held & bit(f_next) -> hand_on_held() :: else -> excused = true; f_next++ fi
  :: else -> break
  od
}

/* The page does not say, and it is the same for the rules: it goes on, or is dropped. */
inline hold_is_over() {
  if
  :: f_held != 0 -> release_held()
  :: true
  fi
}

inline far_request(psn, its_life) {
#if LIES
  hand_on(psn, its_life)   /* what it drops is as lost */
#else
  if
  :: f_bound == 0 -> hand_on(psn, its_life)
  :: f_bound != 0 && (psn) < f_next ->
     if :: DEFECT == drops_below_next -> say(far, drops, psn) :: else -> hand_on(psn, its_life) fi
  :: f_bound != 0 && (psn) == f_next ->
     check_order(psn);
     f_next++;
     hand_on(psn, its_life);
     hand_on_held()
  :: f_bound != 0 && (psn) > f_next && (f_held & bit(psn)) ->
     if
     :: ((f_life >> (psn)) & 1) == (its_life) || (SAME & bit(psn)) -> skip
     :: else ->   /* 9.4: another life */
        forget_binding();
        hand_on(psn, its_life)
     fi
  :: f_bound != 0 && (psn) > f_next && !(f_held & bit(psn)) ->
     if
     :: DEFECT == passes_behind_gap -> f_next = (psn) + 1; check_order(psn); hand_on(psn, its_life)
     :: DEFECT != passes_behind_gap && (HOLD == N || f_held == 0) ->
        say(far, holds, psn);
        f_held = f_held | bit(psn);
        f_life = f_life | ((its_life) << (psn))
     :: else -> say(far, drops, psn)   /* no room: as if lost */
     fi
  fi
#endif
}

/* After max(3 round trips, 20 ms): what is missing is given up as far as the first that is held, or all of it. */
#if LIES
#define far_waits false
#else
#define far_waits (f_missing != 0)
#endif
inline give_gap_up() {
  say(far, gives_up, f_next);
  REACHED(gap_given_up);
  excused = true;
  fr_end = f_missing;
  do
  :: fr_end & bit(f_next) -> f_next++
  :: else -> break
  od;
  fr_end = 0;
  hand_on_held()
}

/* ---- from the near box ---- */

inline report() {
  say(far, BOUND, f_missing);
#if LIES
  put(TO_NEAR, code(K_BOUND, f_bound, 0, 0))
#else
  put(TO_NEAR, code(K_BOUND, f_bound, f_echo, f_missing))
#endif
}
inline unbound(binding) {
  say(far, UNBOUND, binding);
#if ONCE_BOUND
  if :: f_seen < (binding) -> f_seen = binding :: else fi;
#endif
  put(TO_NEAR, code(K_UNBOUND, binding, 0, 0))
}

/* 9.1: it has one binding for a flow at most; a newer one takes its place. */
inline far_bind(binding, psn) {
  if
  :: f_bound == (binding) -> report()
  :: f_bound != (binding) && f_seen < (binding) ->
     hold_is_over();
     forget_binding();
     f_bound = binding; f_next = psn; f_top = psn;
#if ONCE_BOUND
     f_seen = binding;
#endif
     excused = true;
     report()
  :: f_bound != (binding) && f_seen >= (binding) -> unbound(binding)
  fi
}

inline far_unbind(binding, keep) {
#if ONCE_BOUND
  if :: f_seen < (binding) -> f_seen = binding :: else fi;
#endif
  if
  :: DEFECT != unbind_ignored && f_bound != 0 && (f_bound == (binding) || (ENDS_OLDER && f_bound < (binding))) ->
     if
     :: keep -> release_held()
     :: else -> if :: f_held -> REACHED(dropped_for_other_life) :: else fi
     fi;
     say(far, ends, f_bound);
     forget_binding()
  :: else
  fi
}

inline far_clock(binding, mask, lowest, end, top) {
  f_echo = f_echo | (mask);
  if
  :: f_bound == (binding) ->
#if DEFECT != top_ignored
     if :: f_top < (top) -> f_top = top :: else fi;
#endif
#if DEFECT != custody_ignored
     fr_end = larger(f_top, f_next);
     do
     :: f_next < (top) && !(f_held & bit(f_next)) && !((lowest) <= f_next && f_next < (end)) ->
        say(far, skips, f_next); REACHED(cannot_come);
        excused = (excused || f_next >= rp_next);
        f_next++; hand_on_held()
     :: else -> break
     od;
     fr_end = 0;
#endif
#if LIES
     skip
#else
     report()
#endif
  :: else -> unbound(binding)
  fi
}

inline far_crash() {
  if :: f_held -> REACHED(crashed_holding) :: else fi;
  say(far, crashes, 0);
  excused = true;
  forget_binding(); f_seen = 0; f_echo = 0; f_pair = false; f_crashed = true;
  drop_all()
}
/* With it the session: nothing of that comes any more. */
inline drop_all() {
  do :: any_to_far -> take_away(TO_FAR, 0) :: else -> break od;
  do :: any_to_near -> take_away(TO_NEAR, CTL) :: else -> break od
}
