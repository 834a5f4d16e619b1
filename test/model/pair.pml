/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Selective repeat of a pair of boxes (docs/peer-protocol.md, 9), checked exhaustively by spin: a requester, its near
 * box, a WAN that loses and reorders, the far box, the responder. README.md beside this file says what is checked and
 * what is left out; `run` knows the configurations.
 */
#include "pair_words.pml"
#include "pair_watch.pml"
#include "pair_sent.pml"
#include "pair_near.pml"
#include "pair_far.pml"
#include "pair_steps.pml"

init {
  atomic {
    run Hosts();
    run Near();
    run Far();
    run Wan();
    run Watch()
  }
}
