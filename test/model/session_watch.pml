/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two boxes remember, what an observer of both knows, and what docs/peer-protocol.md promises. */

/* What a box remembers, 0 or 1 */
byte life[2] = 0;            /* its epoch: one number for each life */
byte epoch[2] = UNKNOWN;     /* the peer's, as it has learned it */
byte open[2] = NONE;         /* the INIT that waits for a RESPONSE */
byte confirming[2] = NONE;   /* the session on which it says CONFIRM */
byte newest[2] = NONE, older[2] = NONE, oldest[2] = NONE;  /* sessions that stand, by when they came to */
#if LINK
bool up[2] = false;          /* a sign of life has come within the time of gone */
bool hears[2] = false;       /* the newest clock has: a KEEPALIVE, or there is none yet to come */
bool wants[2] = false;       /* a session, though one stands */
byte said[2] = 0;            /* CONFIRMs */
#endif
#if ROTATION
#define OLD 0
#define NEW 1
byte keys[2] = 1, first[2] = OLD;  /* the key file: a bit for each key; the one to initiate with */
#endif

/* Handshakes, each named by its INIT, which is the only one with its token and nonce. The responder's nonce depends on
 * its secret, its counter and the INIT, and an initiator takes one RESPONSE for an INIT. So the name and what stands
 * here are both bodies, and with them the session's keys. */
byte by[N] = 0;              /* the initiator; the other one is the responder */
byte life_i[N] = 0;          /* the initiator's epoch */
byte life_r[N] = 0;          /* the responder's, in the RESPONSE that was taken */
bool outdated[N] = false;    /* the responder's counter is not any more that of this RESPONSE. It never comes back. */
#if ROTATION
byte key[N] = OLD;
#define has_key(me, h) (keys[me] & bit(key[h]))
#else
#define has_key(me, h) true
#endif

#define holds(me, h) ((h) != NONE && (newest[me] == (h) || older[me] == (h) || oldest[me] == (h)))
/* What a box can verify: sessions that stand, and the one that waits for its first answer. */
#define receives(me, h) (holds(me, h) || ((h) != NONE && confirming[me] == (h)))
#define role_of(me, h) (by[h] == (me) -> INITIATOR : RESPONDER)
#define life_of_peer(me, h) (by[h] == (me) -> life_r[h] : life_i[h])

hidden byte bx_h, bx_life, bx_accepted, bx_at;

#if !LINK
byte stood[2] = 0;        /* sessions that have stood at a box, in any life of it: bit h */
byte dead = 0;            /* sessions that their initiator has ended or given up, or forgotten with its life */
byte dead_before[N] = 0;  /* ... when this handshake began */
byte once[2 * N] = 0;     /* datagrams of a session that were accepted, by session and sender's role: bit of sequence */
#endif

#if LINK
inline note_end(me, h) { skip }
#else
inline note_end(me, h) { if :: by[h] == (me) -> dead = dead | bit(h) :: else fi }
#endif

/* Who takes a life of the other for over is right: nothing replayed, delayed or reflected says so. */
inline check_over(me) { assert(life[other(me)] != epoch[me]) }

/* A RESPONSE that is taken was made by the other, for the INIT that is open. */
#define check_response(me, h, maker, init) assert((maker) == other(me) && (init) == (h))

inline check_stand(me, h) {
  /* The session was made with this life of the box, and its initiator has taken a RESPONSE. */
  assert((by[h] == (me) -> life_i[h] : life_r[h]) == life[me]);
  assert(open[by[h]] != (h));
  /* All sessions of a box are with one life of the other. */
  assert(newest[me] == NONE || life_of_peer(me, newest[me]) == life_of_peer(me, h));
#if !LINK
  /* None is established twice, and at the initiator none that is not at the responder. */
  assert(!(stood[me] & bit(h)));
  assert(by[h] != (me) || (stood[other(me)] & bit(h)));
  stood[me] = stood[me] | bit(h);
  /* None replaces one that was begun after its own end. */
  assert(ANY_ORDER || newest[me] == NONE || !(dead_before[newest[me]] & bit(h)));
#endif
}

/* What comes on a session that stands is of the life that the box knows. */
inline check_use(me, h) { assert(life_of_peer(me, h) == epoch[me]) }

#if !LINK
/* No datagram is accepted twice. */
inline check_once(h, role, sequence) {
  assert(!(once[2 * (h) + (role)] & bit(sequence)));
  once[2 * (h) + (role)] = once[2 * (h) + (role)] | bit(sequence)
}
#endif
