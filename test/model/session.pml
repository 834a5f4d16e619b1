/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The session of two boxes (docs/peer-protocol.md), checked exhaustively by spin: two boxes, each initiator and
 * responder, and a WAN that belongs to an attacker without the key. README.md beside this file says what is checked and
 * what is left out; `run` knows the configurations.
 */
#include "session_words.pml"
#include "session_watch.pml"
#if LINK
#include "session_under_way.pml"
#include "session_box.pml"
#include "session_link.pml"
#else
#include "session_sent.pml"
#include "session_box.pml"
#include "session_all.pml"
#endif

init {
  atomic {
    run Box(0);
    run Box(1);
#if LINK
#if STANDS
    life_i[0] = 0; outdated[0] = true;
    newest[0] = 0; newest[1] = 0;
    epoch[0] = 0; epoch[1] = 0;
    up[0] = true; up[1] = true; hears[0] = true; hears[1] = true;
#endif
    run Wan();
    run Watch()
#if ROTATION
    ; run Operator()
#endif
#else
    byte h = 0;
    do
    :: h < N -> run Wan(h); h++
    :: else -> break
    od
#endif
  }
}
