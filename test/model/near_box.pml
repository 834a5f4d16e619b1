/* SPDX-License-Identifier: BSD-3-Clause */
/* The near box: lib/custody and lib/engine/teardown.cpp, function by function, with their names. */

#define UNCONFIRMED 0
#define CONFIRMED 1
#define PLAIN 2
#define REJOINING 3
#define FAILED 4
#define ENDED 5
#define NEVER 255

/* NearFlow. Custody is the PSNs [head, tail); each cursor of PacketQueue is a PSN, at tail when it stands nowhere. */
byte phase = UNCONFIRMED;
byte una = 0, h = 0, sent_top = 0;
byte unsent = 0, to_acknowledge = 0;
byte fresh = 0;                 /* first PSN in custody that the port never accepted: Held::sent of all before it */
byte read_next = 0;
bool half_read[N];              /* the copy of this READ2 asks for its second response only */
byte counted_from = 0;          /* where msn_tail, msn_released and Held::msn began at zero */
byte msn_base = 0, msn_released = 0, msn_h = 0;
bool msn_known = false;
bool hold = false;              /* hold_until: an RNR wait */
bool one_probe = false, probe_out = false, resending = false;
byte probe_end = 0, resume_psn = 0, resend_end = 0, rewound_to = NEVER;
bool reacknowledge = false, gap_nak_wanted = false, gap_nak_sent = false;
bool repair_nak_wanted = false, fatal_nak_wanted = false;
byte fatal_psn = 0;
byte failed_h = 0, failed_msn = 0;  /* what the record says of a failed flow */
byte read_again = NEVER;         /* a READ below una was asked for again: its last PSN */
bool doubted = false;            /* kDoubted of `silent` */
bool came_again = false;         /* kRepeated of `silent` */
byte newcomer = 0;               /* the runs of PsnRuns: bit p is PSN p; what touches is one run there as well */
byte vouched = 0;                /* bit p: Held::vouched of PSN p is this doubt's number */
bool contradicted = false;       /* contradicted_at is set */
byte lowest = 0;                 /* RecentRequests: of all that was ever in newcomer */
bool forgot = false;             /* and whether something no longer is */
bool behind = false, shared = false, from_record = false;
byte behind_at = 0, gap_top = 0;
bool acknowledged_any = false, trusted = true, draining = false, was_withheld = false;

/* Engine::Impl::Connection */
bool learned = true, touched = false;
bool dreq_held = false, dreq_was_held = false, close_pending = false;

/* The restart record, in file-backed memory. */
byte record_h = 0, record_msn = 0;
bool record_owes = false;
byte crashes = 0;

hidden byte bx_psn, bx_more, bx_at, bx_read, bx_before, bx_reached, bx_h, bx_msn, bx_again;
hidden mtype bx_type;
hidden byte bx_forward, bx_blocked, bx_cover, bx_found, bx_go, bx_end, bx_proved, bx_top;
hidden short bx_counted;

#define held_psn(x) ((x) + (kind[x] == READ2 && half_read[x]))
#define held_msn(x) (ends[after(x)] - ends[counted_from])
#define empty_queue (head == tail)
#define owes (head != tail && una != h)
#define may_be_idle (IDLES && empty_queue && phase == CONFIRMED)  /* idle_for_long(), or not */
#define long_silence ((rq_una >= rq_top || rq_error || rq_closed) && empty(to_box) && empty(to_responder) && \
                      empty(from_responder) && empty(to_requester))
#define can_send (unsent < tail && !hold && !(one_probe && probe_out) && room(to_responder, WCAP))
#define silent (read_again != NEVER || doubted || came_again)
#define may_nak_gap (phase == CONFIRMED && trusted && !draining && !doubted)
#define bit(x) (1 << (x))
#define in_run(x) ((newcomer >> (x)) & 1)
#define touches(x) (((newcomer | (newcomer << 1)) >> (x)) & 1)
#define may_resend(x) (!doubted || !touches(held_psn(x)) || ((vouched >> (x)) & 1) || \
                       DEFECT == resend_in_doubt)
/* The frame's bytes are those of the copy of PSN `x`. */
#define same_request(x) (!is_forged(bx_more) && (life_of(bx_more) == ((held_life >> (x)) & 1) || ((SAME >> (x)) & 1)))
/* Something of the box's own is due before any timer of a host. */
#define box_timer ((hold && !empty_queue) || \
                   (owes && phase != FAILED && phase != ENDED && !(unsent == head && !probe_out) && may_resend(head)))

/* ---- near_part.cpp, resend.cpp ---- */

inline release_all() { came_again = false; head = tail; unsent = tail; to_acknowledge = tail; fresh = tail }

inline report(upto) {
  if :: told_h < upto -> told_h = upto :: else fi;
  told = true;
  told_lives(upto)
}

inline record_if_owed() { record_owes = (owes && phase != FAILED && phase != ENDED) }

inline fail() {
  if
  :: DEFECT != silent_give_up -> report(h)
  :: else
  fi;
  fatal_nak_wanted = (h < sent_top || h < tail);
  fatal_psn = h;
  failed_h = h; failed_msn = msn_h;
  phase = FAILED;
  msn_base = msn_base + msn_released; msn_released = 0;
  release_all()
}

inline give_up() {
  if
  :: doubted -> end_unconfirmed(); REACHED(given_up_in_doubt)
  :: !doubted && owes ->
     fail();
     if :: DEFECT != fatal_nak_unasked -> fatal_nak_wanted = false :: else fi;
     REACHED(given_up)
  :: else -> release_all(); trusted = false; phase = PLAIN
  fi
}

inline end_flow() {
  if
  :: phase != ENDED ->
     if
     :: owes ->
        if :: DEFECT != close_uncounted -> report(h); unsure = (unsure || doubted) :: else fi;
        REACHED(closed_unconfirmed)
     :: else
     fi;
     if
     :: told_h > 0 && !told -> told = true; REACHED(loss_told_at_close)  /* the record's loss, not told before */
     :: else
     fi;
     release_all();
     phase = ENDED
  :: else
  fi
}

inline drop_never_sent() {
  tail = fresh;
  if :: unsent > tail -> unsent = tail :: else fi;
  if :: to_acknowledge > tail -> to_acknowledge = tail :: else fi;
  if :: tail < resend_end -> resend_end = tail :: else fi;
  if :: unsent == tail -> resending = false; one_probe = false; probe_out = false :: else fi
}

inline try_send() {
  do
  :: can_send && unsent < fresh && !may_resend(unsent) ->  /* skip_resends() */
     unsent = fresh;
     resending = false; one_probe = false; probe_out = false;
     REACHED(resend_skipped)
  :: can_send && unsent >= fresh && !may_resend(unsent) && DEFECT != first_send_in_doubt ->
     drop_never_sent();
     REACHED(never_sent_dropped)
  :: can_send && (may_resend(unsent) || (unsent >= fresh && DEFECT == first_send_in_doubt)) ->
     bx_cover = (kind[unsent] == WRITE);
     if
     :: resending ->
        if
        :: (resend_end <= after(unsent) || one_probe) && !is_read(unsent) && DEFECT != no_ackreq_on_resend ->
           bx_cover = true
        :: else
        fi;
        if :: resend_end <= after(unsent) -> resending = false :: else fi
     :: else
     fi;
     to_responder!HELD, held_psn(unsent), held_bits(unsent, bx_cover);
     /* on_sent() */
     if :: fresh < after(unsent) -> fresh = after(unsent) :: else fi;
     if :: sent_top < after(unsent) -> sent_top = after(unsent) :: else fi;
     unsent = after(unsent);
     if :: one_probe -> probe_out = true :: else fi
  :: else -> break
  od
}

inline rewind() {
  if
  :: !empty_queue ->
     if :: resending && unsent < resend_end -> skip :: else -> resend_end = unsent fi;
     resending = true;
     rewound_to = una;
     unsent = head;
     probe_out = false;
     try_send()
  :: else
  fi
}

inline resend_for_nak() {
  one_probe = false;
  rewind();
  if
  :: tail < sent_top && DEFECT != no_repair_nak -> repair_nak_wanted = true
  :: else
  fi
}

inline probe() {
  if :: !one_probe -> resume_psn = unsent :: else fi;
  one_probe = true;
  probe_end = after(head);
  rewind();
  REACHED(probed)
}

inline settle_probe() {
  if
  :: one_probe ->
     one_probe = false; probe_out = false;
     if
     :: una == probe_end  /* the answer came late enough: the probe was missed */
     :: if :: unsent < resume_psn -> unsent = resume_psn :: else fi;
        if :: unsent > tail -> unsent = tail :: else fi;
        if :: resend_end <= resume_psn -> resending = false :: else fi
     fi
  :: else
  fi;
  probe_end = 0; resume_psn = 0
}

/* ---- identity.cpp ---- */

/* bx_found: the requester waits for what the responder says. */
inline is_behind() {
  if :: behind && behind_at != first_unused -> behind = false; behind_at = 0 :: else fi;
  bx_found = (behind || shared)
}

inline let_go() {
  phase = PLAIN;
  if
  :: !empty_queue && unsent == tail ->
     msn_released = held_msn(tail - 1);
     tail = una; release_all();
     resending = false; one_probe = false; probe_out = false;
     REACHED(let_go_of_custody)
  :: else
  fi
}

inline widen_doubt(psn) {
  if
  :: psn == first_unused && !touches(psn) && newcomer != 0
  :: else ->
     if :: newcomer == 0 || psn < lowest -> lowest = psn :: else fi;
     /* RecentRequests: what does not come again while others do. What its requester waits for comes again sooner, and
      * what it does not wait for any more is under way for less long. */
     if
     :: rq_una <= psn && psn < rq_top && (newcomer & ~between(rq_una, rq_top)) != 0 -> newcomer = newcomer & between(rq_una, rq_top); forgot = true
     :: true
     fi;
     newcomer = newcomer | bit(psn) | bit(last_of(psn))
  fi
}

inline doubt(psn) {
  if
  :: phase == ENDED
  :: else ->
     if
     :: !doubted ->
        doubted = true; contradicted = false; newcomer = 0; lowest = 0; forgot = false; vouched = 0;
        reacknowledge = false; gap_nak_wanted = false; fatal_nak_wanted = false;
        REACHED(doubt_raised)
     :: else
     fi;
     if :: DEFECT != old_voucher -> vouched = 0 :: else fi;
     widen_doubt(psn);
     if :: phase != FAILED && !owes -> let_go() :: else fi
  fi
}

/* A REP names the responder's QPN, and its REQ may be forged. A failed flow stays. */
inline announced_anew() {
  if
  :: DEFECT == rep_ends || (DEFECT == rep_ends_failed && phase == FAILED) -> close()
  :: DEFECT != rep_ends && phase != FAILED -> doubt(0)
  :: else
  fi
}

/* bx_go: `msn` is what was counted at `end`; beyond custody each PSN may have ended a message. */
inline agrees(end, msn) {
  bx_counted = msn_base + msn_released;
  bx_end = (empty_queue -> una : end);
  if
  :: !empty_queue && end > head -> bx_counted = msn_base + ends[(end < tail -> end : tail)] - ends[counted_from];
     if :: end > tail -> bx_end = tail :: else fi
  :: else
  fi;
  bx_go = (DEFECT == answer_without_msn || (msn >= bx_counted && msn - bx_counted <= (end > bx_end -> end - bx_end : 0)))
}

inline proves(end, msn) {
  agrees(end, msn);
  bx_proved = (bx_go && end >= una &&
               (!(end > 0 && in_run(end - 1)) && (end <= lowest || !forgot) -> msn > 0 : msn > end - lowest));
  if :: DEFECT == any_answer_resumes -> bx_proved = true :: else fi
}

inline response_proves(psn, msn) {
  bx_proved = false;
  first_read_from(head, tail, bx_read);
  if
  :: bx_read < N && bx_read < fresh && psn >= held_psn(bx_read) && psn <= last_of(bx_read) ->
     bx_proved = ((!in_run(psn) && !forgot) ||
                  (msn == msn_base + held_msn(bx_read) && msn > (after(bx_read) > lowest -> after(bx_read) - lowest : 0)))
  :: else
  fi
}

inline resume() {
  bx_proved = true;
  if
  :: phase == FAILED ->
     if
     :: una < lowest -> fatal_psn = (lowest < h -> lowest : h); fatal_nak_wanted = true
     :: else -> bx_proved = false
     fi
  :: else
  fi;
  if
  :: bx_proved ->
     doubted = false; came_again = false; contradicted = false; newcomer = 0; lowest = 0; forgot = false; vouched = 0;
     REACHED(resumed)
  :: else
  fi
}

inline begin_again(end, msn) {
  if
  :: phase == FAILED -> told = (told || told_h > 0)  /* count_untold() */
  :: else
  fi;
  doubted = false; read_again = NEVER;
  phase = PLAIN;
  una = end; h = end; tail = end; release_all();
  bx_top = N;
  do :: !in_run(bx_top - 1) -> bx_top-- :: else -> break od;
  sent_top = bx_top;
  msn_h = msn; msn_known = false;
  acknowledged_any = false; behind = false; behind_at = 0; trusted = true;
  resending = false; one_probe = false; probe_out = false; hold = false; repair_nak_wanted = false;
  contradicted = false; newcomer = 0; lowest = 0; forgot = false; vouched = 0;
  REACHED(began_again)
}

/* Custody before `end` was acknowledged. */
inline count_unconfirmed(end) {
  if
  :: head < end && !empty_queue -> report(end); unsure = true; REACHED(unconfirmed_in_doubt)
  :: else
  fi
}

inline end_unconfirmed() {
  if
  :: phase != FAILED ->
     if :: owes -> count_unconfirmed(h) :: else fi;
     bx_top = (h < tail -> tail : h);
     tail = bx_top; release_all();
     una = bx_top; h = bx_top;
     if :: sent_top < bx_top -> sent_top = bx_top :: else fi;
     resending = false; one_probe = false; probe_out = false; hold = false;
     phase = PLAIN
  :: else
  fi
}

/* bx_go: the answer is dealt with as ever. */
inline resolve(type, psn, msn) {
  if
  :: type == RESPONSE ->
     if
     :: phase != FAILED && !owes -> bx_go = true
     :: else ->
        response_proves(psn, msn);
        if :: bx_proved -> resume() :: else fi;
        bx_go = (bx_proved && phase != FAILED)
     fi
  :: type != RESPONSE && phase != FAILED && !owes ->
     if
     :: type == ACK && in_run(psn) && psn + 1 < una && empty_queue && phase == PLAIN ->
        begin_again(psn + 1, msn); bx_go = false
     :: else -> bx_go = true
     fi
  :: else ->
     bx_cover = psn + (type == ACK);  /* acknowledged_end() */
     proves(bx_cover, msn);
     if
     :: bx_proved -> resume(); bx_go = (bx_proved && phase != FAILED)
     :: else ->
        if
        :: bx_cover < una ->
           if
           :: !contradicted -> contradicted = true
           :: contradicted && type == ACK && in_run(psn) -> end_unconfirmed(); begin_again(bx_cover, msn)
           :: contradicted  /* not for long enough */
           fi
        :: else ->
           if
           :: phase != FAILED && una < bx_cover && bx_go ->
              bx_top = (bx_cover < h -> bx_cover : h);
              count_unconfirmed(bx_top);
              release_before(bx_cover)
           :: else
           fi
        fi;
        bx_go = false
     fi
  fi
}

/* ---- answer.cpp ---- */

inline release_head() {
  msn_released = held_msn(head);
  half_read[head] = false;
  vouched = vouched & ~bit(head);
  head = after(head);
  if :: unsent < head -> unsent = head :: else fi;
  if :: to_acknowledge < head -> to_acknowledge = head :: else fi;
  if :: fresh < head -> fresh = head :: else fi
}

inline progressed() { came_again = false; hold = false; settle_probe(); try_send() }

inline advance_h(psn) {
  if :: h < psn -> reacknowledge = false; h = psn; msn_h = msn_base + msn_released :: else fi
}

/* bx_blocked: an unfinished READ stands before `psn`. */
inline release_before(psn) {
  bx_before = una;
  do
  :: head < tail && last_of(head) < psn && !is_read(head) -> release_head(); bx_blocked = false;
     first_read_from(head, tail, bx_read);
     if :: bx_read < N -> read_next = held_psn(bx_read) :: else fi
  :: else -> break
  od;
  bx_blocked = (head < tail && is_read(head) && held_psn(head) < psn);
  bx_reached = (bx_blocked -> held_psn(head) : psn);
  if :: una < bx_reached -> una = bx_reached :: else fi;
  if
  :: tail < una -> tail = una; release_all(); phase = PLAIN
  :: else
  fi;
  advance_h(una);
  if :: una != bx_before -> progressed() :: else fi
}

/* Nothing depends on it. */
inline stale() { bx_forward = (DEFECT != stale_eaten) }

/* Another connection's requester has the same QPN, or so it seems: what is released is counted as unconfirmed. */
inline share(end) {
  if
  :: !owes -> shared = false
  :: owes && una < end -> bx_top = (end < h -> end : h); count_unconfirmed(bx_top)
  :: else
  fi
}

inline learn_msn(msn) {
  if
  :: phase == UNCONFIRMED && msn_base + msn_released == msn -> phase = CONFIRMED; msn_known = true
  :: phase == UNCONFIRMED && msn_base + msn_released != msn -> let_go()
  :: phase == REJOINING ->
     msn_base = msn - msn_released;
     if
     :: !empty_queue && una < held_psn(head)
     :: else -> doubted = false; phase = CONFIRMED; msn_known = true; REACHED(rejoined)
     fi
  :: phase == CONFIRMED -> assert(unseeable || msn_base + msn_released == msn)  /* counter msn_disagreed */
  :: else
  fi
}

inline answer_ack(psn, msn) {
  agrees(psn + 1, msn);
  if
  :: psn < una ->
     if
     :: psn + 1 != una || !bx_go ->  /* note_stray(): late enough, or not */
        is_behind();
        if
        :: STRAYS && owes && !doubted && read_again == NEVER && !bx_found -> shared = true
        :: STRAYS && !owes && !empty_queue && !doubted && read_again == NEVER && !bx_found -> let_go()
        :: true
        fi
     :: else
     fi;
     stale()
  :: psn >= una && owes && !bx_go -> bx_forward = true; REACHED(answer_disagreed)
  :: else ->
     if :: shared -> share(psn + 1) :: else fi;
     bx_h = h;
     if
     :: DEFECT == any_ack_releases && phase == CONFIRMED -> release_before(tail)
     :: else -> release_before(psn + 1)
     fi;
     if
     :: bx_blocked -> bx_forward = true; repair_nak_wanted = false
     :: else ->
        if :: !(DEFECT == any_ack_releases && phase == CONFIRMED) -> learn_msn(msn) :: else fi;
        is_behind();
        bx_forward = (psn >= bx_h || bx_found);
        if
        :: CREDITS && !bx_forward -> reacknowledge = true  /* note_credits() */
        :: true
        fi;
        if :: psn >= bx_h -> msn_h = msn :: else fi
     fi
  fi
}

inline follow_failed(psn, msn) {
  if
  :: h <= psn && psn < sent_top ->
     h = psn + 1; fatal_psn = h; msn_h = msn;
     if :: tail < h -> tail = h; release_all() :: else fi
  :: else
  fi
}

inline nak_forwarded(psn, msn) {
  agrees(psn, msn);
  if
  :: owes && !bx_go
  :: else ->
     if :: shared -> share(psn) :: else fi;
     release_before(psn);
     if :: !bx_blocked -> msn_h = msn :: else fi
  fi;
  bx_forward = true
}

/* Of psn_nak(), rnr_nak(), fatal_nak() below h: bx_go when it is of custody's life, and no other connection's. */
inline nak_agrees(psn, msn) {
  agrees(psn, msn);
  if
  :: !bx_go -> bx_forward = true
  :: bx_go && shared -> share(psn); release_before(psn); bx_forward = true; bx_go = false
  :: bx_go && !shared -> bx_forward = false
  fi
}

inline answer_nak(psn, msn) {
  if
  :: psn < una -> stale()
  :: psn >= una && psn >= h -> nak_forwarded(psn, msn)
  :: psn >= una && psn < h ->
     nak_agrees(psn, msn);
     if
     :: bx_go ->
        release_before(psn);
        if
        :: hold || rewound_to == psn  /* an RNR wait, or just resent: it says nothing new */
        :: !hold -> resend_for_nak()
        fi
     :: else
     fi
  fi
}

inline answer_rnr(psn, msn) {
  if
  :: psn < una -> stale()
  :: psn >= una && psn >= h -> nak_forwarded(psn, msn)
  :: psn >= una && psn < h ->
     nak_agrees(psn, msn);
     if
     :: bx_go ->
        release_before(psn);
        hold = true;
        REACHED(rnr_waited);
        resend_for_nak()
     :: else
     fi
  fi
}

inline answer_fatal(psn, msn) {
  if
  :: psn < una -> stale()
  :: psn >= una && psn >= h ->
     agrees(psn, msn);
     if
     :: owes && !bx_go
     :: else -> release_before(psn); release_all(); phase = ENDED
     fi;
     bx_forward = true
  :: psn >= una && psn < h ->
     nak_agrees(psn, msn);
     if :: bx_go -> release_before(psn); fail() :: else fi
  fi
}

inline answer_unknown(psn, msn) {
  agrees(psn, msn);
  if
  :: DEFECT == unknown_nak_fails && una <= psn && psn < h -> release_before(psn); fail(); bx_forward = false
  :: else -> bx_forward = !(una <= psn && psn < h && bx_go)
  fi;
  REACHED(unknown_nak_came)
}

inline answer_response(psn, msn) {
  bx_forward = true;
  first_read_from(head, tail, bx_read);
  bx_at = bx_read;
  if
  :: bx_at == N ->
     if :: una < psn -> release_before(psn) :: else fi;
     if
     :: empty_queue && kind[psn] != READ2 && una <= psn ->
        release_before(psn + 1);
        if :: !bx_blocked -> msn_h = msn :: else fi
     :: else
     fi
  :: bx_at != N && (bx_at >= fresh || psn < held_psn(bx_at) || last_of(bx_at) < psn)
  :: bx_at != N && !(bx_at >= fresh || psn < held_psn(bx_at) || last_of(bx_at) < psn) ->
     release_before(held_psn(bx_at));
     if
     :: psn == read_next ->
        read_next = psn + 1;
        if
        :: psn == last_of(bx_at) ->
           release_head();
           first_read_from(head, tail, bx_read);
           if :: bx_read < N -> read_next = held_psn(bx_read) :: else fi;
           una = psn + 1;
           advance_h(una);
           progressed();
           if
           :: phase == UNCONFIRMED && msn == msn_base + msn_released -> phase = CONFIRMED; msn_known = true
           :: else
           fi;
           msn_h = msn_base + msn_released
        :: else
        fi
     :: else
     fi
  fi
}

/* ---- request.cpp ---- */

inline pass_plain(psn) {
  if :: sent_top < after(psn) -> sent_top = after(psn) :: else fi;
  bx_forward = true
}

/* in_order(), with take() and count_new() */
inline start_rejoining(psn) {
  phase = REJOINING; msn_known = false;
  tail = psn; release_all();
  counted_from = psn; msn_base = 0; msn_released = 0
}

inline in_order(psn) {
  gap_nak_wanted = false; gap_nak_sent = false; gap_top = 0;
  if
  :: may_be_idle -> start_rejoining(psn)
  :: true
  fi;
  if
  :: !trusted || (draining && unsent == tail) || after(psn) - head > CUSTODY ->
     if
     :: may_nak_gap && unsent < tail -> gap_nak_wanted = true; bx_forward = false
     :: else ->
        phase = PLAIN; pass_plain(psn);
        if
        :: DEFECT == ack_without_custody && msn_known && room(to_requester, ACAP) ->
           check_made_ack(last_of(psn), ends[after(psn)]); to_requester!ACK, last_of(psn), ends[after(psn)]
        :: else
        fi
     fi
  :: else ->
     first_read_from(head, tail, bx_read);
     if :: is_read(psn) && bx_read == N -> read_next = psn :: else fi;
     half_read[psn] = false;
     take_life(psn);
     take_hop(psn);
     if :: doubted -> vouched = vouched | bit(psn) :: else fi;
     tail = after(psn);
     bx_forward = false;
     try_send()
  fi
}

/* PacketQueue::find(): bx_at, and bx_found whether it is there. */
inline find(psn) {
  bx_at = psn;
  if :: kind[psn] == READ2_END && psn > head && psn > 0 -> bx_at = psn - 1 :: else fi;
  bx_found = (psn >= una && bx_at >= head && bx_at < tail && psn >= held_psn(bx_at))
}

inline read_repeated(psn) {
  if
  :: !bx_found ->
     bx_top = (sent_top - 1 < last_of(psn) -> sent_top - 1 : last_of(psn));
     if
     :: DEFECT == repeat_ack_past_read
     :: DEFECT != repeat_ack_past_read ->
        if :: read_again == NEVER || read_again < bx_top -> read_again = bx_top; REACHED(read_asked_again) :: else fi;
        if :: psn < una -> doubt(psn) :: else fi
     fi
  :: bx_found && (psn == held_psn(bx_at) && !same_request(bx_at)) -> doubt(psn)
  :: else ->
     if :: kind[bx_at] == READ2 -> half_read[bx_at] = (psn > bx_at) :: else fi;
     first_read_from(head, tail, bx_read);
     if :: bx_read == bx_at -> read_next = psn :: else fi
  fi
}

inline repeated(psn) {
  if
  :: phase == UNCONFIRMED && DEFECT != keeps_unconfirmed -> drop_never_sent(); let_go()  /* let_go_unconfirmed() */
  :: else
  fi;
  find(psn);
  bx_forward = true;
  if
  :: psn < h -> behind = true; behind_at = first_unused  /* fall_behind() */
  :: else
  fi;
  if
  :: DEFECT == reack_repeats && psn < h && !is_read(psn) && acknowledged_any && read_again == NEVER ->
     reacknowledge = true; bx_forward = false
  :: else ->
     if
     :: is_read(psn) -> read_repeated(psn)
     :: !is_read(psn) && !bx_found && psn < una -> doubt(psn)
     :: !is_read(psn) && bx_found && !same_request(bx_at) -> doubt(psn); REACHED(other_bytes)
     :: !is_read(psn) && bx_found && same_request(bx_at) && !doubted ->
        if :: psn < h && DEFECT != speaks_after_repeat -> came_again = true :: else fi;
        if
        :: bx_at >= fresh -> bx_forward = false
        :: bx_at < fresh && psn < h -> bx_forward = false; REACHED(repeat_absorbed)  /* sent lately */
        :: bx_at < fresh
        fi
     :: else
     fi;
     if
     :: doubted && !is_read(psn) && bx_forward ->
        find(psn);
        if
        :: bx_found && same_request(bx_at) -> vouched = vouched | bit(bx_at)
        :: bx_found && !same_request(bx_at) -> vouched = vouched & ~bit(bx_at)
        :: else
        fi
     :: else
     fi
  fi
}

inline note_leap(psn) {
  if :: owes && first_unused < psn -> doubt(psn) :: else fi
}

inline beyond_gap(psn) {
  if
  :: may_nak_gap && (may_be_idle || ((gap_nak_wanted || gap_nak_sent) && psn < gap_top)) -> doubt(psn)
  :: !(may_nak_gap && (gap_nak_wanted || gap_nak_sent) && psn < gap_top)
  fi;
  if
  :: may_nak_gap ->
     gap_top = after(psn);
     if :: !gap_nak_sent -> gap_nak_wanted = true :: else fi;
     bx_forward = false
  :: else ->
     if :: phase != UNCONFIRMED -> phase = PLAIN :: else fi;
     note_leap(psn);
     pass_plain(psn)
  fi
}

inline of_failed(psn) {
  if :: psn < h && DEFECT != failed_tells_anyone -> doubt(psn) :: else fi;
  if
  :: DEFECT != failed_tells_anyone && (doubted || !(from_record || psn <= sent_top)) -> bx_forward = true
  :: else ->
     if :: psn < fatal_psn && DEFECT == failed_tells_anyone -> fatal_psn = psn :: else fi;
     if :: sent_top < after(psn) -> sent_top = after(psn) :: else fi;
     fatal_nak_wanted = true; bx_forward = false
  fi
}

inline request(psn) {
  if :: doubted -> widen_doubt(psn) :: else fi;
  if
  :: phase == FAILED -> of_failed(psn)
  :: phase == ENDED -> pass_plain(psn)
  :: phase == PLAIN ->
     if
     :: sent_top <= psn && tail <= psn && empty_queue && trusted && !draining && psn == sent_top && una > 0 ->
        start_rejoining(psn);
        in_order(psn)
     :: else ->
        if :: psn < tail -> repeated(psn) :: else -> note_leap(psn); pass_plain(psn) fi
     fi
  :: phase == UNCONFIRMED || phase == CONFIRMED || phase == REJOINING ->
     if
     :: psn == tail -> in_order(psn)
     :: psn > tail -> beyond_gap(psn)
     :: psn < tail -> repeated(psn)
     fi
  fi
}

/* ---- acknowledge.cpp ---- */

/* A frame the box makes: where there is no room, as if lost on the way (made_frames_lost). */
inline send_made(type, psn, msn) {
  if :: room(to_requester, ACAP) -> to_requester!type, psn, msn :: else fi
}

inline write_record() { record_h = h; record_msn = msn_h; record_owes = true }

/* The box dies between two steps of its own and starts again. */
inline may_crash() {
#if CRASHES
  if
  :: crashes < CRASHES -> crash(); goto idle
  :: true
  fi
#else
  skip
#endif
}

inline acknowledge() {
  if
  :: phase == FAILED ->
     if
     :: fatal_nak_wanted && !doubted && DEFECT != no_fatal_nak ->
        told = (told || told_h > 0);  /* what a record said is counted now at the latest */
        send_made(FATAL, fatal_psn, msn_h);
        REACHED(fatal_nak_sent)
     :: else
     fi;
     fatal_nak_wanted = false;
     fatal_psn = h
  :: phase == ENDED && DEFECT != ack_after_end ->
     reacknowledge = false; repair_nak_wanted = false; gap_nak_wanted = false
  :: else ->
     if
     :: (phase == CONFIRMED || phase == PLAIN) && trusted && !draining && msn_known && !silent ->
        do
        :: to_acknowledge < tail && (to_acknowledge < fresh || DEFECT == ack_before_port) &&
           (!is_read(to_acknowledge) || DEFECT == ack_past_read) && after(to_acknowledge) - una <= WINDOW ->
           bx_at = to_acknowledge;
           to_acknowledge = after(to_acknowledge);
           if
           :: kind[bx_at] == WRITE || is_read(bx_at) ->
              h = after(bx_at);
              msn_h = msn_base + held_msn(bx_at);
              acknowledged_any = true;
              reacknowledge = false;
              if
              :: DEFECT == record_after_ack || DEFECT == no_record
              :: else -> write_record(); may_crash()
              fi;
              check_made_ack(h - 1, msn_h);
              if :: was_withheld -> REACHED(withheld_then_sent) :: else fi;
              send_made(ACK, h - 1, msn_h);
              REACHED(pseudo_ack_sent);
              if :: DEFECT == record_after_ack -> may_crash(); write_record() :: else fi
           :: else
           fi
        :: else -> break
        od;
#if WINDOW < N
        was_withheld = (to_acknowledge < fresh && !is_read(to_acknowledge));
#endif
        if
        :: gap_nak_wanted && phase == CONFIRMED && (to_acknowledge == tail || DEFECT == gap_nak_past_read) ->
           gap_nak_wanted = false;
           gap_nak_sent = true;
           h = tail;
           msn_h = msn_base + ends[tail] - ends[counted_from];
           acknowledged_any = true;
           if
           :: DEFECT != no_record && DEFECT != no_record_at_gap_nak && owes -> write_record(); may_crash()
           :: else
           fi;
           check_made_nak(tail, msn_h);
           send_made(NAK, tail, msn_h);
           REACHED(gap_nak_sent_once)
        :: else
        fi
     :: else
     fi;
     if
     :: repair_nak_wanted && !silent ->
        repair_nak_wanted = false;
        if
        :: h < sent_top -> check_made_nak(h, msn_h); send_made(NAK, h, msn_h); REACHED(repair_nak_sent)
        :: else
        fi
     :: else
     fi;
     if
     :: reacknowledge && !silent ->
        check_made_ack(h - 1, msn_h);
        send_made(ACK, h - 1, msn_h);
        REACHED(repeated_ack_sent)
     :: else
     fi;
     reacknowledge = false
  fi
}

/* ---- engine: teardown, end of burst, restart ---- */

inline release_dreq() {
  if
  :: dreq_held ->
     dreq_held = false;
     if :: room(to_responder, WCAP) -> to_responder!DREQ, 0, 0 :: else fi  /* no room: CM repeats it */
  :: else
  fi
}

inline close() { release_dreq(); end_flow(); close_pending = false; learned = false }

/* The watch sees what ends the requester's wait for a READ: its responses, or the responder's word that they are lost
 * (its own ACK or NAK beyond them). */
inline forward_to_requester() {
  if
  :: bx_type == RESPONSE && bx_psn == read_open -> first_read_from(bx_psn + 1, N, read_open)
  :: bx_type == ACK && bx_psn >= read_open -> first_read_from(bx_psn + 1, N, read_open)
  :: (bx_type == NAK || bx_type == RNR) && bx_psn > read_open -> first_read_from(bx_psn, N, read_open)
  :: else
  fi;
  to_requester!bx_type, bx_psn, bx_more
}

inline forget() {
  una = 0; h = 0; sent_top = 0; tail = 0; release_all();
  read_next = 0; counted_from = 0; msn_base = 0; msn_released = 0; msn_h = 0; msn_known = false;
  hold = false; one_probe = false; probe_out = false; resending = false;
  probe_end = 0; resume_psn = 0; resend_end = 0; rewound_to = NEVER;
  reacknowledge = false; gap_nak_wanted = false; gap_nak_sent = false;
  repair_nak_wanted = false; fatal_nak_wanted = false; fatal_psn = 0; read_again = NEVER;
  doubted = false; came_again = false; newcomer = 0; lowest = 0; forgot = false; vouched = 0; contradicted = false;
  behind = false; behind_at = 0; gap_top = 0; shared = false; from_record = false;
  acknowledged_any = false; trusted = true; draining = false; was_withheld = false;
  bx_at = 0;
  do :: bx_at < N -> half_read[bx_at] = false; bx_at++ :: else -> break od;
  touched = false; dreq_held = false; dreq_was_held = false; close_pending = false
}

inline begin_failed(promised, msn) {
  una = promised; h = promised; sent_top = promised; tail = promised; release_all();
  fatal_psn = promised; msn_h = msn; msn_base = msn; from_record = true
}

/* Everything in memory is gone; the record is not. A flow that owed something is failed from the start. */
inline crash() {
  crashes++;
  if :: acknowledged_any -> REACHED(restarted_after_ack) :: else fi;
  if
  :: phase != FAILED ->
     if :: record_owes -> told_lives(record_h) :: else fi;
     forget();
     if
     :: record_owes ->
        phase = FAILED; begin_failed(record_h, record_msn); failed_h = h; failed_msn = msn_h;
        if :: told_h < h -> told_h = h; told = false :: else fi
     :: else -> phase = ENDED; learned = false
     fi
  :: else -> forget(); begin_failed(failed_h, failed_msn)
  fi;
  record_owes = false; record_h = 0; record_msn = 0
}

inline end_of_burst() {
  acknowledge();
  if
  :: dreq_held && empty_queue && DEFECT != dreq_never_released ->
     release_dreq(); REACHED(dreq_held_and_released)
  :: else
  fi;
  record_if_owed();
  if :: !record_owes -> record_h = 0; record_msn = 0 :: else fi
}

#if BURST
#define DONE touched = true
#else
#define DONE end_of_burst()
#endif
#define CLEAR bx_type = 0; bx_psn = 0; bx_more = 0; bx_forward = false; bx_go = false; check_rule1()

proctype NearBox() {
#if ANNOUNCED
  bool announced = false;
#endif
end_box:
idle:
  do
  /* from the requester */
  :: atomic { room(to_responder, WCAP) && len(to_box) > 0 ->
       to_box?bx_type, bx_psn, bx_more;
       if
       :: bx_type == REQUEST ->
          if
          :: is_read(bx_psn) && bx_psn < read_open && !is_forged(bx_more) -> read_open = bx_psn
          :: else
          fi;
          see_life();
          request(bx_psn);
          if :: bx_forward -> to_responder!REQUEST, bx_psn, bx_more :: else fi
       :: bx_type == DREQ && !learned -> to_responder!DREQ, 0, 0
       :: bx_type == DREQ && learned ->
          close_pending = true;
          if
          :: dreq_held  /* absorbed */
          :: !dreq_held && (dreq_was_held || empty_queue || DEFECT == dreq_not_held) -> to_responder!DREQ, 0, 0
          :: else -> dreq_held = true; dreq_was_held = true
          fi
       :: bx_type == DREP -> if :: learned && !dreq_held -> close() :: else fi; to_responder!DREP, 0, 0
       fi;
       DONE; CLEAR }
  /* from the responder */
  :: atomic { room(to_requester, ACAP) && len(from_responder) > 0 ->
       from_responder?bx_type, bx_psn, bx_more;
       if
       :: bx_type == DREQ ->
          if :: learned -> close_pending = true; end_flow(); release_dreq() :: else fi;
          bx_forward = true
       :: bx_type == DREP ->
          if :: learned -> close() :: else fi;
          bx_forward = true
       :: bx_type != DREQ && bx_type != DREP ->
          if
          :: phase == FAILED ->
             if
             :: doubted -> resolve(bx_type, bx_psn, bx_more)
             :: !doubted && bx_type == ACK -> follow_failed(bx_psn, bx_more)
             :: else
             fi;
             bx_forward = true
          :: phase == ENDED || (phase != FAILED && sent_top <= bx_psn) -> bx_forward = true
          :: else ->
             bx_go = true;
             if :: doubted -> resolve(bx_type, bx_psn, bx_more) :: else fi;
             if
             :: !bx_go -> bx_forward = true
             :: else ->
                bx_again = read_again;
                if
                :: read_again != NEVER && bx_type == ACK && bx_psn >= read_again -> read_again = NEVER
                :: else
                fi;
                if
                :: bx_type == RESPONSE -> answer_response(bx_psn, bx_more)
                :: bx_type == ACK -> answer_ack(bx_psn, bx_more)
                :: bx_type == NAK -> answer_nak(bx_psn, bx_more)
                :: bx_type == RNR -> answer_rnr(bx_psn, bx_more)
                :: bx_type == FATAL -> answer_fatal(bx_psn, bx_more)
                :: bx_type == UNKNOWN -> answer_unknown(bx_psn, bx_more)
                fi;
                if :: bx_again != read_again && phase != FAILED -> bx_forward = true :: else fi
             fi
          fi
       fi;
       if :: bx_forward -> forward_to_requester() :: else fi;
       DONE; CLEAR }
#if BURST
  :: atomic { touched -> touched = false; end_of_burst(); CLEAR }
#endif
  /* the backlog: a port or the pace said no */
  :: atomic { can_send -> try_send(); DONE; CLEAR }
  /* timers */
  :: atomic { ON_TIME(hold && !empty_queue) -> hold = false; try_send(); DONE; CLEAR }
  :: atomic { ON_TIME(owes && !hold && phase != FAILED && phase != ENDED && !(unsent == head && !probe_out) &&
                      may_resend(head) && room(to_responder, WCAP)) ->
       probe(); DONE; CLEAR }
#if GIVE_UP
  :: atomic { ON_TIME(!empty_queue && (!hold || DEFECT == gives_up_in_rnr) && (!LIVES || long_silence)) ||
              (DEFECT == timers_first && !empty_queue && len(from_responder) > 0) -> give_up(); DONE; CLEAR }
#endif
#if ANNOUNCED
  :: atomic { !announced && learned && (ANNOUNCED != WHEN_FAILED || phase == FAILED) ->
       announced = true; announced_anew(); DONE; CLEAR }
#endif
  :: atomic { ON_TIME(dreq_held && !(PATIENT && !empty_queue) && room(to_responder, WCAP) && (EARLY || !box_timer || empty_queue)) ->
       assert(BURST || !empty_queue);  /* it goes as soon as custody is empty, not by time */
       REACHED(dreq_released_late);
       release_dreq(); DONE; CLEAR }
  :: atomic { ON_TIME(close_pending && room(to_responder, WCAP) &&
                      (EARLY || (!box_timer && !dreq_held && rq_closed))) ->
       close(); DONE; CLEAR }
#if DRAINS
  :: atomic { !draining -> draining = true; DONE; CLEAR }
#endif
#if CRASHES
  :: atomic { crashes < CRASHES -> crash(); CLEAR }
#endif
  od
}
