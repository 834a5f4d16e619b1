/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One flow, checked exhaustively by spin: a requester, its near box, a lossy link, the responder (design sections 3, 5
 * and 6). README.md beside this file maps each name here to the code's; `run` knows the configurations.
 */
#include "words.pml"
#include "watch.pml"
#include "near_box.pml"
#include "ends.pml"

/* When all is over: nothing acknowledged is missing unless told (rules 1 and 6). */
#define QUIET (rq_closed && !dreq_held && head == tail && !close_pending && !touched && \
               life == (LIVES > 0) && \
               empty(to_box) && empty(to_responder) && empty(from_responder) && empty(to_requester))
proctype Watch() {
end_watch:
  atomic {
    QUIET;
#if LIVES
    /* No completion of the second life lacks delivery, unless it was lost by the box, which said so. */
    assert(unseeable || (between(rp_next, rq_una) & ~told2) == 0);
    /* It ended well. */
    assert(unseeable || rq_una == N || told2 != 0 || FATALS);
    /* What the first life's requester took for completed was delivered (bytes that are equal to either responder), or told. */
    assert((owed1 & ~told1 & ~(SAME & between(0, rp_next))) == 0);
#else
    assert(rq_una <= rp_next || (told && rq_una <= told_h));
    assert(rq_una == N || rq_error || rp_closed);
#endif
    if
    :: CLEAN -> assert(rq_una == N && rp_next == N && (!told || unsure))
    :: else
    fi
  };
end_over:
progress_over:
  false
}

/* What each PSN carries: drawn where the configuration leaves it open, so one search covers every plan. */
inline draw(at, wanted) {
  if
  :: wanted != ANY -> kind[at] = wanted
  :: wanted == ANY && at > 0 && kind[at - 1] == READ2 -> kind[at] = READ2_END
  :: wanted == ANY && !(at > 0 && kind[at - 1] == READ2) ->
     if
     :: kind[at] = WRITE
     :: at + 1 < N -> kind[at] = SILENT
     :: at + 1 < N -> kind[at] = MIDDLE
     :: READS -> kind[at] = READ
     :: READS && at + 1 < N -> kind[at] = READ2
     fi
  fi
}

init {
  atomic {
    draw(0, K0);
#if N > 1
    draw(1, K1);
#endif
#if N > 2
    draw(2, K2);
#endif
#if N > 3
    draw(3, K3);
#endif
#if N > 4
    draw(4, K4);
#endif
    byte at = 0;
    do
    :: at < N -> ends[at + 1] = ends[at] + (kind[at] != MIDDLE && kind[at] != READ2); at++
    :: else -> break
    od;
    at = 0;
    first_read_from(0, N, read_open);
    run Requester();
    run NearBox();
    run Responder();
    run Link();
    run Watch()
  }
}
