/* SPDX-License-Identifier: BSD-3-Clause */
/* A WAN where what was sent is under way until it comes or is lost. Any datagram may overtake any other. */

/* Datagrams under way, the largest first: kind, handshake; of a RESPONSE, the responder's life and whether its counter
 * has moved since; of a KEEPALIVE, whether its sender does not hear the other. 0 is none. There are no sequence
 * numbers: session_all.pml is about them. */
short net[ROOM] = 0;
#if REPLAYS
short record = 0;   /* what the attacker has recorded */
#endif

hidden short uw_code;
hidden byte uw_at, uw_each, uw_h, uw_used;

/* The sender's role is told apart, as the keys do. */
#define kind_of(kind, role) (2 * (kind) + (role))
#define code(kind, role, h, life, old) ((((kind_of(kind, role) * N + (h)) * LIVES) + (life)) * 2 + (old))
#define code_old(x) ((x) % 2)
#define code_life(x) (((x) / 2) % LIVES)
#define code_h(x) (((x) / (2 * LIVES)) % N)
#define code_role(x) (((x) / (2 * LIVES * N)) % 2)
#define code_kind(x) ((x) / (4 * LIVES * N))
#define idle (net[0] == 0)

inline put(x) {
  uw_code = x;
  assert(net[ROOM - 1] == 0);  /* else the model wants more room */
  uw_at = 0;
  do
  :: net[uw_at] > uw_code -> uw_at++
  :: else -> break
  od;
  uw_each = ROOM - 1;
  do
  :: uw_each > uw_at -> net[uw_each] = net[uw_each - 1]; uw_each--
  :: else -> break
  od;
  net[uw_at] = uw_code;
  uw_code = 0; uw_at = 0; uw_each = 0
}

inline take_away(at) {
  uw_each = at;
  do
  :: uw_each + 1 < ROOM -> net[uw_each] = net[uw_each + 1]; uw_each++
  :: else -> break
  od;
  net[ROOM - 1] = 0;
  uw_each = 0
}

#define names_it(x, h) ((x) != 0 && code_h(x) == (h))

/* Anything refers to handshake h. */
inline find_name(h) {
  uw_used = (open[0] == h || open[1] == h || receives(0, h) || receives(1, h));
#if REPLAYS
  uw_used = (uw_used || names_it(record, h));
#endif
  uw_each = 0;
  do
  :: uw_each < ROOM && net[uw_each] != 0 -> uw_used = (uw_used || names_it(net[uw_each], h)); uw_each++
  :: else -> break
  od;
  uw_each = 0
}

/* Nothing of a handshake that nothing refers to any more stays in the state. */
inline tidy() {
  uw_h = 0;
  do
  :: uw_h < N ->
     find_name(uw_h);
     if
     :: !uw_used ->
        by[uw_h] = 0; life_i[uw_h] = 0; life_r[uw_h] = 0; outdated[uw_h] = false;
#if ROTATION
        key[uw_h] = OLD
#endif
     :: else
     fi;
     uw_h++
  :: else -> break
  od;
  uw_h = 0; uw_used = 0
}

inline new_name(h) {
  h = 0;
  do
  :: h < N -> find_name(h); if :: uw_used -> h++ :: else -> break fi
  :: else -> break
  od;
  uw_used = 0;
  assert(h < N)  /* else the model wants more names */
}

inline age(x, me) {
  if
  :: x != 0 && code_kind(x) == RESPONSE && by[code_h(x)] != (me) && !code_old(x) -> x = x + 1
  :: else
  fi
}

inline outdate(me) {
  uw_each = 0;
  do
  :: uw_each < ROOM -> age(net[uw_each], me); uw_each++
  :: else -> break
  od;
  uw_each = 0;
#if REPLAYS
  age(record, me);
#endif
  do
  :: uw_each < N ->
     if :: by[uw_each] != (me) && open[by[uw_each]] != uw_each -> outdated[uw_each] = true :: else fi;
     uw_each++
  :: else -> break
  od;
  uw_each = 0
}

inline send_init(h) { put(code(INIT, INITIATOR, h, 0, 0)) }
inline send_response(me, h) { put(code(RESPONSE, RESPONDER, h, life[me], 0)) }
inline send_confirm(me, h) { put(code(CONFIRM, INITIATOR, h, 0, 0)) }
/* A KEEPALIVE says whether its sender hears the other: in place of `old`. */
inline say_keepalive(me, h) { say(KEEPALIVE, me, h); put(code(KEEPALIVE, role_of(me, h), h, 0, !hears[me])) }
