/* SPDX-License-Identifier: BSD-3-Clause */
/* What is under way on the WAN: sets, so that anything may overtake anything. */

byte net[2] = 0;             /* requests of either life: bit p is PSN p */
byte acked = 0, naked = 0;   /* answers: bit p: an ACK of all before p + 1, a NAK for p */
/* Control datagrams: BIND, UNBIND, CLOCK in the first CTL places, STATEs in the others, the largest first; 0 is none.
 */
int datagram[CTL + STATES] = 0;
#define TO_FAR 0, CTL
#define TO_NEAR CTL, STATES

/* There are no times. A CLOCK carries, and its echo gives back, which of custody's packets were last sent before it:
 * the bits `mask`. A packet that is sent again is taken out of all of them. So "sent before the report's echo" is the
 * bit. */
#define K_BIND 1     /* low: PSN */
#define K_UNBIND 2   /* low: keep */
#define K_CLOCK 3    /* lowest, end, top */
#define K_BOUND 1    /* low: what is missing */
#define K_UNBOUND 2  /* the far box has no such binding */
#define code(kind, binding, mask, low) (((kind) << 16) | ((binding) << 13) | ((mask) << 9) | (low))
#define three(lowest, end, top) (((lowest) << 6) | ((end) << 3) | (top))
#define code_kind(x) ((x) >> 16)
#define code_binding(x) (((x) >> 13) & 7)
#define code_mask(x) (((x) >> 9) & 15)
#define code_low(x) ((x) & 511)
#define code_lowest(x) (((x) >> 6) & 7)
#define code_end(x) (((x) >> 3) & 7)
#define code_top(x) ((x) & 7)

#define any_to_far (datagram[0] != 0)
#define any_to_near (datagram[CTL] != 0)
#define idle (net[0] == 0 && net[1] == 0 && acked == 0 && naked == 0 && !any_to_far && !any_to_near)
#define room_to_far (datagram[CTL - 1] == 0)
#define room_to_near (datagram[CTL + STATES - 1] == 0)

hidden byte se_at;
hidden int se_code, se_other;

/* A datagram for which there is no room is lost. */
inline put(first, room, x) {
  se_code = x;
  se_at = first;
  do
  :: se_at < (first) + (room) && datagram[se_at] != se_code ->
     if
     :: datagram[se_at] < se_code -> se_other = datagram[se_at]; datagram[se_at] = se_code; se_code = se_other
     :: else
     fi;
     if :: se_code == 0 -> break :: else -> se_at++ fi
  :: else -> break
  od;
  se_at = 0; se_code = 0; se_other = 0
}

inline take_away(first, room, at) {
  se_at = at;
  datagram[se_at] = 0;
  do
  :: se_at + 1 < (first) + (room) -> datagram[se_at] = datagram[se_at + 1]; datagram[se_at + 1] = 0; se_at++
  :: else -> break
  od;
  se_at = 0
}

/* Sorted again, and none twice: places x and y, neighbours. */
inline sort_two(x, y) {
  if
  :: datagram[x] < datagram[y] -> se_code = datagram[x]; datagram[x] = datagram[y]; datagram[y] = se_code; se_code = 0
  :: datagram[x] == datagram[y] -> datagram[y] = 0
  :: else
  fi
}

#define without(x, bits) ((x) & ~((bits) << 9))
inline take_out(bits) {
  do
  :: se_at < CTL + STATES -> datagram[se_at] = without(datagram[se_at], bits); se_at++
  :: else -> break
  od;
  se_at = 0;
#if CTL > 1
  sort_two(0, 1);
#endif
#if STATES > 1
  sort_two(CTL, CTL + 1);
#endif
#if CTL > 2 || STATES > 2
#error "sort_two for more"
#endif
}
