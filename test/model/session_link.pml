/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes where what is under way comes, and timers wait for that. Faults are counted, so nothing may go on for
 * ever. There is no clock: each timer's condition is that what is sooner than it has happened. KEEPALIVEs are sent
 * where they change something. */

#if HASTES
byte hastes = 0;
#define in_time (idle || hastes < HASTES)
#define count_haste if :: idle -> skip :: else -> hastes++ fi
#else
#define in_time idle
#define count_haste skip
#endif

#define sends_on(me, h) (newest[me] != NONE && newest[me] == (h))
#define reaches(me) (newest[me] != NONE && receives(other(me), newest[me]))

#define begins(me) ((!up[me] || wants[me]) && (BEGIN & bit(me)) && confirming[me] == NONE && open[me] == NONE)
#define init_due(me) ((!up[me] || wants[me]) && open[me] != NONE && DEFECT != init_once)
#define confirm_due(me) (confirming[me] != NONE && said[me] < CONFIRMS && DEFECT != confirm_once)
#define keepalive_due(me) (reaches(me) && (!holds(other(me), newest[me]) || !hears[other(me)] || \
                                           (hears[me] && !up[other(me)])))
/* After 1 s: the other has had the time for a KEEPALIVE. */
#define give_up_due(me) (confirming[me] != NONE && said[me] == CONFIRMS && !sends_on(other(me), confirming[me]))
/* After 350 ms: no KEEPALIVEs come; none that say that the other hears this box. */
#define deaf_due(me) (hears[me] && !reaches(other(me)))
#define gone_due(me) (up[me] && !(reaches(other(me)) && hears[other(me)]))
/* After 3 s: whether the newer session stands at the other, too, is decided. */
#define last_of(me) (oldest[me] != NONE -> oldest[me] : older[me])
#define old_due(me) (older[me] != NONE && !holds(me, confirming[other(me)]) && !keepalive_due(0) && \
                     !keepalive_due(1) && !(DEFECT != old_for_3_s && sends_on(other(me), last_of(me))))
#define due(me) (begins(me) || init_due(me) || confirm_due(me) || keepalive_due(me) || give_up_due(me) || \
                 deaf_due(me) || gone_due(me) || old_due(me))

#define linked(me) (up[me] && reaches(me))
#define settled (linked(0) && linked(1) && epoch[0] == life[1] && epoch[1] == life[0])
#define over (idle && !due(0) && !due(1))

hidden byte ln_h;

#if RESTARTS
byte restarted = 0;
#endif
#if REKEYS
byte rekeys = 0;
#endif
#if CHATS
byte chats = 0;
#endif

proctype Box(byte me) {
end_box:
  do
  :: atomic { begins(me) -> begin(me); tidy() }
  :: atomic { in_time && init_due(me) -> count_haste; begin(me); tidy() }
  :: atomic { idle && confirm_due(me) ->
       said[me]++; say(CONFIRM, me, confirming[me]); send_confirm(me, confirming[me]) }
#if CHATS
  :: atomic { chats < CHATS && newest[me] != NONE -> chats++; say_keepalive(me, newest[me]) }
#endif
  :: atomic { idle && keepalive_due(me) -> say_keepalive(me, newest[me]) }
  :: atomic { idle && give_up_due(me) -> say(gives_up, me, confirming[me]); REACHED(gave_up); assert(!PATIENT);
       stop_confirming(me); tidy() }
#if HASTES
  :: atomic { hastes < HASTES && confirming[me] != NONE -> hastes++; say(gives_up, me, confirming[me]);
       stop_confirming(me); tidy() }
  :: atomic { hastes < HASTES && up[me] -> hastes++; say(is_gone, me, NONE); up[me] = false }
  :: atomic { hastes < HASTES && hears[me] -> hastes++; say(is_deaf, me, NONE); hears[me] = false }
#endif
  :: atomic { idle && deaf_due(me) -> say(is_deaf, me, NONE); hears[me] = false }
  :: atomic { idle && gone_due(me) -> say(is_gone, me, NONE); up[me] = false }
  :: atomic { idle && old_due(me) ->
       ln_h = last_of(me); say(ends, me, ln_h); end_session(me, ln_h); ln_h = 0; tidy() }
#if RESTARTS
  :: atomic { restarted < RESTARTS -> restarted++; say(restarts, me, NONE); restart(me); tidy() }
#endif
#if REKEYS
  :: atomic { rekeys < REKEYS && up[me] && !wants[me] -> rekeys++; say(wants_another, me, NONE); wants[me] = true }
#endif
  od
}

hidden byte ln_at, ln_kind, ln_role, ln_life, ln_old, ln_to;
hidden short ln_code;
#if LOSSES
byte losses = 0;
#endif
#if DUPS
byte dups = 0;
#endif
#if REPLAYS
byte replayed = 0;
#endif

inline choose_one() {
  ln_at = 0;
  do
  :: ln_at + 1 < ROOM && net[ln_at + 1] != 0 -> ln_at++
  :: break
  od;
  ln_code = net[ln_at]
}
inline chosen() { ln_at = 0; ln_code = 0 }

inline come() {
  ln_kind = code_kind(ln_code);
  ln_h = code_h(ln_code);
  ln_role = code_role(ln_code);
  ln_life = code_life(ln_code);
  ln_old = code_old(ln_code);
  ln_to = (ln_role == INITIATOR -> other(by[ln_h]) : by[ln_h]);
  if
  :: ln_kind == INIT -> take_init(ln_to, ln_h)
  :: ln_kind == RESPONSE -> take_response(ln_to, ln_h, ln_life, ln_old)
  :: ln_kind == CONFIRM ->
     if
     :: holds(ln_to, ln_h) || (is_own_body(ln_to, ln_h) && has_key(ln_to, ln_h)) ->
        say(accepts, ln_to, ln_h); take_confirm(ln_to, ln_h)
#if REPLAYS
     :: holds(ln_to, ln_h)  /* the window had it */
#endif
     :: else -> note_refused(ln_to, ln_h)
     fi
  :: ln_kind == KEEPALIVE -> say(accepts, ln_to, ln_h); take_keepalive(ln_to, ln_h, ln_old)
#if ROTATION
  :: ln_kind == BYE -> say(BYE, ln_to, ln_h); take_bye(ln_to, ln_h, false)
#endif
  fi;
  ln_kind = 0; ln_h = 0; ln_role = 0; ln_life = 0; ln_old = 0; ln_to = 0
}

proctype Wan() {
end_wan:
  do
  :: atomic { !idle -> choose_one(); take_away(ln_at); come(); chosen(); tidy() }
#if LOSSES
  :: atomic { !idle && losses < LOSSES -> losses++; choose_one();
       say(loses, code_role(ln_code), code_h(ln_code)); take_away(ln_at); chosen(); tidy() }
#endif
#if DUPS
  :: atomic { !idle && dups < DUPS -> dups++; choose_one();
       say(repeats, code_role(ln_code), code_h(ln_code)); come(); chosen(); tidy() }
#endif
#if REPLAYS
  :: atomic { !idle && record == 0 && replayed < REPLAYS && code_kind(net[0]) >= CONFIRM ->
       ln_at = 0;
       do
       :: ln_at + 1 < ROOM && code_kind(net[ln_at + 1]) >= CONFIRM -> ln_at++
       :: break
       od;
       record = net[ln_at];
       say(records, code_role(record), code_h(record)); chosen() }
  :: atomic { record != 0 ->
       replayed++;
       say(replays, code_role(record), code_h(record)); put(record);
       if
       :: record = 0
       :: replayed < REPLAYS
       fi }
#endif
  od
}

/* What must never be. */
proctype Watch() {
end_watch:
  do
  :: atomic { over && !settled -> assert(false) }  /* nothing more happens, and they are not up */
#if REACH == apart
  :: atomic { over && newest[0] != newest[1] -> REACHED(apart) }  /* either sends on another session */
#endif
#if GAPLESS
  :: atomic { !(linked(0) && linked(1)) -> assert(false) }  /* a gap */
#endif
  od
}

#if ROTATION
inline reload(me, step) {
  say(reloads, me, step);
  if
  :: step == 1 -> keys[me] = bit(OLD) | bit(NEW)
  :: step == 2 ->
     first[me] = NEW; wants[me] = true;
#if PREFERS_FIRST
     prefer_first(me)
#endif
  :: step == 3 ->
     keys[me] = bit(NEW);
     if :: open[me] != NONE && key[open[me]] == OLD -> open[me] = NONE :: else fi;
     if :: confirming[me] != NONE && key[confirming[me]] == OLD -> stop_confirming(me) :: else fi;
     end_old(me, oldest[me]);
     end_old(me, older[me]);
     end_old(me, newest[me])
  fi;
  tidy()
}
inline end_old(me, h) {
  if
  :: h != NONE && key[h] == OLD ->
     ln_h = h;
     put(code(BYE, role_of(me, ln_h), ln_h, 0, 0));
     end_session(me, ln_h);
     ln_h = 0
  :: else
  fi
}

#define is_old(h) ((h) != NONE && key[h] == OLD)
#define on_new(me) (up[me] && key[newest[me]] == NEW)
#define no_old(me) (on_new(me) && !is_old(older[me]) && !is_old(oldest[me]) && !is_old(open[me]) && \
                    !is_old(confirming[me]))
/* Before the old key goes. */
#define may_go_on (step < 3 || has_reloaded[0] || has_reloaded[1] || DEFECT == operator_hurries || \
                   (on_new(0) && on_new(1) && (ROTATION == 1 || (no_old(0) && no_old(1)))))

/* 7, Rotation of keys: each step in both files, in any order of the boxes, and both boxes reloaded before the next. */
proctype Operator() {
  byte step = 1;
  bool has_reloaded[2] = false;
end_operator:
  do
  :: atomic { step <= 3 && !has_reloaded[0] && may_go_on -> reload(0, step); has_reloaded[0] = true }
  :: atomic { step <= 3 && !has_reloaded[1] && may_go_on -> reload(1, step); has_reloaded[1] = true }
  :: atomic { has_reloaded[0] && has_reloaded[1] -> step++; has_reloaded[0] = false; has_reloaded[1] = false;
       if :: step == 4 -> REACHED(rotated) :: else fi }
  od
}
#endif
