/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes where whatever was ever sent may come. There is no time: each timer may fire at any moment. */

proctype Box(byte me) {
end_box:
  do
  :: atomic { made < N && (made > 0 || me == 0) -> begin(me) }  /* the boxes are alike: 0 is that which begins */
  :: atomic { confirming[me] != NONE -> say(gives_up, me, confirming[me]); stop_confirming(me) }
#if SEQS > 1
  :: atomic { confirming[me] != NONE && sent[way(confirming[me], INITIATOR)] < SEQS ->
       say(CONFIRM, me, confirming[me]); send_confirm(me, confirming[me]) }
  :: atomic { newest[me] != NONE && sent[way(newest[me], role_of(me, newest[me]))] < SEQS ->
       say_keepalive(me, newest[me]) }
#endif
  :: atomic { older[me] != NONE ->   /* 3 s are over */
       al_h = (oldest[me] != NONE -> oldest[me] : older[me]);
       say(ends, me, al_h);
       end_session(me, al_h); al_h = 0 }
  :: atomic { newest[me] != NONE && older[me] == NONE ->   /* its life is over */
       al_h = newest[me];
       say(ends, me, al_h);
       end_session(me, al_h); al_h = 0 }
  :: atomic { restarted < RESTARTS && made > 0 ->
       restarted++;
#if BYES
       if
       :: newest[me] != NONE && sent[way(newest[me], role_of(me, newest[me]))] < SEQS ->
          say(BYE, me, newest[me]);
          sent[way(newest[me], role_of(me, newest[me]))]++;
          byes[way(newest[me], role_of(me, newest[me]))] = sent[way(newest[me], role_of(me, newest[me]))]
       :: skip
       fi;
#endif
       say(restarts, me, NONE);
       restart(me) }
  od
}

inline choose(what, below) {
  what = 0;
  do
  :: what + 1 < below -> what++
  :: break
  od
}

/* Datagram `al_seq` of the session `h`, of the sender with `al_role`, comes to `me`. */
#define is_confirm (al_role == INITIATOR && al_seq <= confirms[h])
inline deliver(me, h) {
  if
  :: receives(me, h) -> in_window(h, al_role, al_seq)
  :: !receives(me, h) && is_confirm && is_own_body(me, h) -> bx_accepted = true; window[way(h, al_role)] = bit(al_seq)
  :: else -> bx_accepted = false
  fi;
  if
  :: bx_accepted -> say(accepts, me, h); check_once(h, al_role, al_seq)
  :: !bx_accepted && receives(me, h) -> REACHED(replay_dropped)
  :: !bx_accepted && !receives(me, h) && is_confirm -> note_refused(me, h)
  :: else
  fi;
  if
  :: bx_accepted && is_confirm -> take_confirm(me, h)
#if BYES
  :: bx_accepted && !is_confirm && byes[way(h, al_role)] == al_seq -> take_bye(me, h, true)
  :: bx_accepted && !is_confirm && byes[way(h, al_role)] != al_seq -> take_keepalive(me, h, false)
#else
  :: bx_accepted && !is_confirm -> take_keepalive(me, h, false)
#endif
  :: else
  fi
}

/* What belongs to handshake h. */
proctype Wan(byte h) {
end_wan:
  do
  :: atomic { h < made && !(responses[h] & bit(2 * life[other(by[h])])) ->
       al_to = other(by[h]); take_init(al_to, h); al_to = 0 }
#if DEFECT == tag_without_addresses
  :: atomic { h < made && !own_response[h] -> al_to = by[h]; take_init(al_to, h); al_to = 0 }
  :: atomic { h < made && open[by[h]] == h && own_response[h] -> check_response(by[h], h, by[h], h) }
#endif
#if DEFECT == token_unchecked
  :: atomic { h > 0 && h < made && by[h] == by[h - 1] && open[by[h]] == h && responses[h - 1] ->
       check_response(by[h], h, other(by[h]), h - 1) }
#endif
  :: atomic { h < made && open[by[h]] == h && responses[h] ->
       choose(al_bit, 2 * LIVES);
       al_to = by[h];
       if
       :: responses[h] & bit(al_bit) ->
          check_response(al_to, h, other(by[h]), h);
          take_response(al_to, h, al_bit / 2, al_bit % 2)
       :: else
       fi;
       al_bit = 0; al_to = 0 }
  :: atomic { h < made && sent[way(h, INITIATOR)] > 0 ->
       if :: al_role = INITIATOR :: al_role = RESPONDER fi;
       al_to = (al_role == INITIATOR -> other(by[h]) : by[h]);
       if
       :: sent[way(h, al_role)] > 0 ->
          choose(al_seq, sent[way(h, al_role)]);
          al_seq++;
          deliver(al_to, h)
       :: else
       fi;
       al_role = 0; al_seq = 0; al_to = 0 }
  od
}
