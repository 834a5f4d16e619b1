/* SPDX-License-Identifier: BSD-3-Clause */
/* The WAN as an attacker without the key has it: whatever was ever sent may come, at any time, in any order, as often
 * as it likes, or never. So nothing is under way; what was sent is known for ever. */

byte made = 0;                /* INITs 0 .. made - 1 were sent */
byte restarted = 0;
short responses[N] = 0;       /* RESPONSEs to this INIT, two bits for each life of the responder: with the counter of
                               * now (the even bits), or with one of before. Those are all alike: none comes back. */
byte confirms[N] = 0;         /* CONFIRMs that were sent have the sequences 1 .. confirms */
byte sent[2 * N] = 0;         /* datagrams of a session that were sent, by session and sender's role */
byte window[2 * N] = 0;       /* ... and accepted by the one who holds it (7, Replay) */
#if BYES
byte byes[2 * N] = 0;         /* the sequence of the BYE that was sent, or 0 */
#endif
#if DEFECT == tag_without_addresses
bool own_response[N] = false;
#endif

#define way(h, role) (2 * (h) + (role))
#define CURRENT 21  /* the even bits, of three lives */

hidden byte al_h, al_seq, al_role, al_bit, al_to, al_each;

inline new_name(h) {
  h = made;
  made++;
  dead_before[h] = dead
}

inline outdate(me) {
  al_each = 0;
  do
  :: al_each < made ->
     if
     :: by[al_each] != (me) ->
        responses[al_each] = (responses[al_each] | (responses[al_each] << 1)) & ~CURRENT;
        outdated[al_each] = (open[by[al_each]] != al_each)
     :: else
     fi;
     al_each++
  :: else -> break
  od;
  al_each = 0
}

inline send_init(h) { skip }
inline send_response(me, h) {
#if DEFECT == tag_without_addresses
  if :: by[h] == (me) -> own_response[h] = true :: else fi;
#endif
  responses[h] = responses[h] | bit(2 * life[me])
}
inline send_confirm(me, h) { sent[way(h, INITIATOR)]++; confirms[h]++ }
inline say_keepalive(me, h) {
  if
  :: sent[way(h, role_of(me, h))] < SEQS -> sent[way(h, role_of(me, h))]++; say(KEEPALIVE, me, h)
  :: else
  fi
}

#if DEFECT == confirm_renews
inline renew_window(h) { window[way(h, INITIATOR)] = bit(al_seq) }
#endif

/* 7: the window of this session and sender. What is older than the window is not in so short a run. */
inline in_window(h, role, sequence) {
  bx_accepted = (!(window[way(h, role)] & bit(sequence)) || DEFECT == window_unchecked);
  window[way(h, role)] = window[way(h, role)] | bit(sequence)
}
