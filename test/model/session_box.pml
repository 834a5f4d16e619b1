/* SPDX-License-Identifier: BSD-3-Clause */
/* A box: what it does with each datagram. `me` is the box, 0 or 1. */

inline remove(me, h) {
  if
  :: newest[me] == (h) -> newest[me] = older[me]; older[me] = oldest[me]; oldest[me] = NONE
  :: newest[me] != (h) && older[me] == (h) -> older[me] = oldest[me]; oldest[me] = NONE
  :: newest[me] != (h) && older[me] != (h) && oldest[me] == (h) -> oldest[me] = NONE
  :: else
  fi
}

inline end_session(me, h) {
  note_end(me, h);
  remove(me, h);
#if LINK
  if :: newest[me] == NONE -> up[me] = false :: else fi   /* 7: down at once after the last session has ended */
#endif
}

inline end_sessions(me) {
  do
  :: newest[me] != NONE -> bx_at = newest[me]; end_session(me, bx_at)
  :: else -> break
  od
}

inline stop_confirming(me) {
  if :: confirming[me] != NONE -> note_end(me, confirming[me]) :: else fi;
  confirming[me] = NONE;
#if LINK
  said[me] = 0
#endif
}

/* 7: another epoch ends all sessions of the former one, and the one that is about to become one. */
inline learn(me, its_life) {
  if
  :: epoch[me] != UNKNOWN && epoch[me] != (its_life) ->
     check_over(me);
     REACHED(restart_learned);
#if DEFECT != former_life_kept
     end_sessions(me);
#endif
  :: else
  fi;
#if LINK
  if :: epoch[me] != (its_life) -> hears[me] = true :: else fi;  /* nothing yet to echo */
#endif
  epoch[me] = its_life;
#if DEFECT != confirming_kept
  if
  :: confirming[me] != NONE && life_r[confirming[me]] != (its_life) -> stop_confirming(me)
  :: else
  fi
#endif
}

#if PREFERS_FIRST
inline prefer_first(me) {
  if
  :: newest[me] != NONE && key[newest[me]] != first[me] ->
     if
     :: older[me] != NONE && key[older[me]] == first[me] ->
        bx_at = newest[me]; newest[me] = older[me]; older[me] = bx_at
     :: older[me] != NONE && key[older[me]] != first[me] && oldest[me] != NONE && key[oldest[me]] == first[me] ->
        bx_at = newest[me]; newest[me] = oldest[me]; oldest[me] = older[me]; older[me] = bx_at
     :: else
     fi
  :: else
  fi
}
#endif

/* 6: a session is established: at the responder with the CONFIRM, at the initiator with what comes first on it. */
inline stand(me, h) {
  bx_life = life_of_peer(me, h);
  learn(me, bx_life);
  bx_life = 0;
  check_stand(me, h);
#if DEFECT == old_dropped_at_once
  end_sessions(me);
#endif
  if :: oldest[me] != NONE -> note_end(me, oldest[me]) :: else fi;  /* room for three */
  oldest[me] = older[me]; older[me] = newest[me]; newest[me] = h;
  if :: by[h] == (me) -> confirming[me] = NONE :: else fi;
  if :: by[h] != (me) || DEFECT != counter_by_confirm -> outdate(me) :: else fi;
#if LINK
  if :: by[h] == (me) -> said[me] = 0 :: else fi;
#if ROTATION
#if PREFERS_FIRST
  prefer_first(me);
#endif
  if
  :: key[h] == first[me] -> wants[me] = false  /* a reload wants one session, and no more */
  :: key[h] != first[me] && DEFECT == key_insisted -> wants[me] = true
  :: else
  fi;
#else
  wants[me] = false;
#endif
#endif
  if
  :: older[me] != NONE && by[h] == by[older[me]] -> REACHED(rekeyed)
  :: older[me] != NONE && by[h] != by[older[me]] && holds(other(me), h) && holds(other(me), older[me]) ->
     REACHED(crossed)
  :: else
  fi
}

/* 7: a sign of life. */
#if LINK
inline live(me) { up[me] = true }
#define is_up(me) up[me]
#else
inline live(me) { skip }
#define is_up(me) true
#endif

inline begin(me) {
  stop_confirming(me);
  new_name(bx_h);
  by[bx_h] = me;
  life_i[bx_h] = life[me];
#if ROTATION
  key[bx_h] = first[me];
#endif
  open[me] = bx_h;
  say(INIT, me, bx_h);
  send_init(bx_h);
  bx_h = 0
}

/* 6: the responder remembers nothing of an INIT. */
inline take_init(me, h) {
  if
  :: (by[h] != (me) || DEFECT == tag_without_addresses) && has_key(me, h) ->
#if DEFECT == init_remembered
     remembered[me] = h;
#endif
#if DEFECT == counter_by_init
     outdate(me);
#endif
#if DEFECT == epoch_by_init
     learn(me, life_i[h]);
#endif
     say(RESPONSE, me, h);
     send_response(me, h)
  :: else
  fi
}

inline take_response(me, h, its_life, its_counter_is_old) {
  if
  :: open[me] == (h) ->
#if DEFECT == epoch_by_response
     learn(me, its_life);
#endif
     open[me] = NONE;
     confirming[me] = h;
     life_r[h] = its_life;
     outdated[h] = its_counter_is_old;
     if :: its_counter_is_old -> REACHED(void_response_taken) :: else fi;
#if LINK
     said[me] = 1;
#endif
     say(CONFIRM, me, h);
     send_confirm(me, h);
#if DEFECT == stands_at_response || DEFECT == data_before_answer
     stand(me, h)
#endif
  :: else
  fi
}

/* The responder makes its own body anew, and compares: its secret is that of its life, its counter that of now. */
#if DEFECT == init_remembered
byte remembered[2] = NONE;
#define is_own_body(me, h) (life_r[h] == life[me] && !outdated[h] && remembered[me] == (h))
#elif DEFECT == counter_unchecked
#define is_own_body(me, h) (life_r[h] == life[me])
#elif DEFECT == body_unchecked
#define is_own_body(me, h) (life_r[h] != life[me] || !outdated[h])  /* another life's counter may be the same number */
#else
#define is_own_body(me, h) (life_r[h] == life[me] && !outdated[h])
#endif

inline note_refused(me, h) {
  if :: outdated[h] && life_r[h] == life[me] -> REACHED(void_confirm_came) :: else fi;
  if
  :: epoch[me] != UNKNOWN && life_i[h] != epoch[me] && life_r[h] == life[me] -> REACHED(former_confirm_came)
  :: else
  fi
}

/* A sign of life is the CONFIRM that makes a session; a repeated one is none. */
inline take_confirm(me, h) {
  if
  :: holds(me, h) ->
     check_use(me, h);
     REACHED(confirm_repeated);
#if DEFECT == confirm_renews
     renew_window(h)
#endif
  :: else -> stand(me, h); live(me)
  fi;
  say_keepalive(me, h)
}

/* 7: it is no sign of life when it says that its sender does not hear this box. */
inline take_keepalive(me, h, unheard_by) {
  if
  :: holds(me, h) ->
     check_use(me, h);
     if
     :: !(unheard_by) && is_up(me) -> live(me)
     :: !(unheard_by) && !is_up(me) -> REACHED(up_again); live(me)
     :: else -> REACHED(unheard)
     fi
  :: !holds(me, h) && confirming[me] == (h) ->
     stand(me, h);
     if :: FIRST_LIVES || !(unheard_by) -> live(me) :: else fi;
     say_keepalive(me, h)
  :: else
  fi;
#if LINK
  if :: holds(me, h) -> hears[me] = true :: else fi
#endif
}

/* A BYE ends what its sender has ended: with its life all sessions of that; with a key those that have it, and each of
 * them gets a BYE of its own. */
inline take_bye(me, h, ends_life) {
  if
  :: holds(me, h) ->
     REACHED(bye_came);
     check_use(me, h);
     if
     :: ends_life -> check_over(me); end_sessions(me)
     :: !(ends_life) && DEFECT == bye_ends_all -> end_sessions(me)
     :: !(ends_life) && DEFECT != bye_ends_all -> end_session(me, h)
     fi;
#if LINK
     if :: DEFECT == bye_downs -> up[me] = false :: else fi
#endif
  :: !holds(me, h) && confirming[me] == (h) -> stop_confirming(me)
  :: else
  fi
}

/* All is forgotten, also the responder's secret, and with it its counter. */
inline restart(me) {
  if
  :: confirming[other(me)] != NONE && by[confirming[other(me)]] == other(me) -> REACHED(restarted_while_confirming)
  :: else
  fi;
  stop_confirming(me);
  end_sessions(me);
  outdate(me);
  open[me] = NONE;
  epoch[me] = UNKNOWN;
  life[me]++;
#if LINK
  wants[me] = false;
  hears[me] = false
#endif
}
