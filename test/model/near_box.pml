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
hidden byte bx_forward, bx_blocked, bx_cover;

#define held_psn(x) ((x) + (kind[x] == READ2 && half_read[x]))
#define held_msn(x) (ends[after(x)] - ends[counted_from])
#define empty_queue (head == tail)
#define owes (head != tail && una != h)
#define can_send (unsent < tail && !hold && !(one_probe && probe_out) && room(to_responder, WCAP))
#define speaks_for_responder (acknowledged_any && !((phase == PLAIN || !trusted || !msn_known) && !owes))
#define may_nak_gap (phase == CONFIRMED && trusted && !draining)
/* Something of the box's own is due before any timer of a host. */
#define box_timer ((hold && !empty_queue) || \
                   (owes && phase != FAILED && phase != ENDED && !(unsent == head && !probe_out)))

/* ---- near_part.cpp, resend.cpp ---- */

inline release_all() { head = tail; unsent = tail; to_acknowledge = tail; fresh = tail }

inline report(upto) { if :: told_h < upto -> told_h = upto :: else fi; told = true }

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
  release_all()
}

inline end_flow() {
  if
  :: phase != ENDED ->
     if
     :: owes ->
        if :: DEFECT != close_uncounted -> report(h) :: else fi;
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

inline try_send() {
  do
  :: can_send ->
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
     to_responder!HELD, held_psn(unsent), bx_cover;
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

/* ---- answer.cpp ---- */

inline release_head() {
  msn_released = held_msn(head);
  half_read[head] = false;
  head = after(head);
  if :: unsent < head -> unsent = head :: else fi;
  if :: to_acknowledge < head -> to_acknowledge = head :: else fi;
  if :: fresh < head -> fresh = head :: else fi
}

inline progressed() { hold = false; settle_probe(); try_send() }

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

inline stale(psn) { bx_forward = (!speaks_for_responder || psn >= h) }

inline learn_msn(msn) {
  if
  :: phase == UNCONFIRMED && msn_base + msn_released == msn -> phase = CONFIRMED; msn_known = true
  :: phase == REJOINING ->
     msn_base = msn - msn_released;
     if
     :: !empty_queue && una < held_psn(head)
     :: else -> phase = CONFIRMED; msn_known = true; REACHED(rejoined)
     fi
  :: phase == CONFIRMED -> assert(msn_base + msn_released == msn)  /* counter msn_disagreed */
  :: else
  fi
}

inline answer_ack(psn, msn) {
  if
  :: psn < una -> stale(psn)
  :: else ->
     bx_h = h;
     if
     :: DEFECT == any_ack_releases && phase == CONFIRMED -> release_before(tail)
     :: else -> release_before(psn + 1)
     fi;
     if
     :: bx_blocked -> bx_forward = true
     :: else ->
        if :: !(DEFECT == any_ack_releases && phase == CONFIRMED) -> learn_msn(msn) :: else fi;
        bx_forward = (psn >= bx_h);
        if :: bx_forward -> msn_h = msn :: else fi
     fi
  fi
}

inline follow_failed(psn, msn) {
  if
  :: h <= psn && psn < sent_top ->
     h = psn + 1; msn_h = msn; REACHED(failed_follows);
     if :: fatal_nak_wanted -> fatal_psn = h :: else fi
  :: else
  fi
}

inline nak_forwarded(psn, msn) {
  release_before(psn);
  if :: !bx_blocked -> msn_h = msn :: else fi;
  bx_forward = true
}

inline answer_nak(psn, msn) {
  if
  :: psn < una -> stale(psn)
  :: psn >= una && psn >= h -> nak_forwarded(psn, msn)
  :: psn >= una && psn < h ->
     release_before(psn);
     bx_forward = false;
     if
     :: hold || rewound_to == psn  /* an RNR wait, or just resent: it says nothing new */
     :: !hold -> resend_for_nak()
     fi
  fi
}

inline answer_rnr(psn, msn) {
  if
  :: psn < una -> stale(psn)
  :: psn >= una && psn >= h -> nak_forwarded(psn, msn)
  :: psn >= una && psn < h ->
     release_before(psn);
     bx_forward = false;
     hold = true;
     REACHED(rnr_waited);
     resend_for_nak()
  fi
}

inline answer_fatal(psn, msn) {
  if
  :: psn < una -> stale(psn)
  :: psn >= una && psn >= h -> release_before(psn); release_all(); phase = ENDED; bx_forward = true
  :: psn >= una && psn < h -> release_before(psn); fail(); bx_forward = false
  fi
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
inline in_order(psn) {
  gap_nak_wanted = false; gap_nak_sent = false;
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
     tail = after(psn);
     bx_forward = false;
     try_send()
  fi
}

inline repeated(psn) {
  /* PacketQueue::find() */
  bx_at = psn;
  if :: kind[psn] == READ2_END && psn > head -> bx_at = psn - 1 :: else fi;
  if
  :: psn < h && !is_read(psn) && speaks_for_responder && read_again == NEVER -> reacknowledge = true; bx_forward = false
  :: else ->
     if
     :: psn >= una && bx_at >= head && bx_at < tail && psn >= held_psn(bx_at) ->
        if
        :: is_read(psn) ->
           if :: kind[bx_at] == READ2 -> half_read[bx_at] = (psn > bx_at) :: else fi;
           first_read_from(head, tail, bx_read);
           if :: bx_read == bx_at -> read_next = psn :: else fi
        :: else
        fi;
        bx_forward = (bx_at < fresh)
     :: else ->
        bx_forward = true;
        if
        :: is_read(psn) && DEFECT != repeat_ack_past_read && (read_again == NEVER || read_again < last_of(psn)) ->
           read_again = last_of(psn); REACHED(read_asked_again)
        :: else
        fi
     fi
  fi
}

inline request(psn) {
  if
  :: phase == FAILED ->
     if
     :: psn < h && (!fatal_nak_wanted || psn < fatal_psn) && DEFECT != fatal_nak_at_h -> fatal_psn = psn
     :: else -> if :: !fatal_nak_wanted -> fatal_psn = h :: else fi
     fi;
     if :: sent_top < after(psn) -> sent_top = after(psn) :: else fi;
     fatal_nak_wanted = true; bx_forward = false
  :: phase == ENDED -> pass_plain(psn)
  :: phase == PLAIN ->
     if
     :: sent_top <= psn && tail <= psn && empty_queue && trusted && !draining && psn == sent_top ->
        phase = REJOINING; msn_known = false;
        tail = psn; release_all();
        counted_from = psn; msn_base = 0; msn_released = 0;
        in_order(psn)
     :: else ->
        if :: psn < tail -> repeated(psn) :: else -> pass_plain(psn) fi
     fi
  :: phase == UNCONFIRMED || phase == CONFIRMED || phase == REJOINING ->
     if
     :: psn == tail -> in_order(psn)
     :: psn > tail ->
        if
        :: may_nak_gap -> if :: !gap_nak_sent -> gap_nak_wanted = true :: else fi; bx_forward = false
        :: else ->
           if :: phase != UNCONFIRMED -> phase = PLAIN :: else fi;
           pass_plain(psn)
        fi
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
     :: fatal_nak_wanted && DEFECT != no_fatal_nak ->
        told = (told || told_h > 0);  /* what a record said is counted now at the latest */
        send_made(FATAL, fatal_psn, msn_h);
        REACHED(fatal_nak_sent)
     :: else
     fi;
     fatal_nak_wanted = false; fatal_psn = 0
  :: phase == ENDED && DEFECT != ack_after_end -> reacknowledge = false; repair_nak_wanted = false
  :: else ->
     if
     :: (phase == CONFIRMED || phase == PLAIN) && trusted && !draining && msn_known && read_again == NEVER ->
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
     :: repair_nak_wanted && read_again == NEVER ->
        repair_nak_wanted = false;
        check_made_nak(h, msn_h);
        send_made(NAK, h, msn_h);
        REACHED(repair_nak_sent)
     :: else
     fi;
     if
     :: reacknowledge && read_again == NEVER ->
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
  acknowledged_any = false; trusted = true; draining = false; was_withheld = false;
  bx_at = 0;
  do :: bx_at < N -> half_read[bx_at] = false; bx_at++ :: else -> break od;
  touched = false; dreq_held = false; dreq_was_held = false; close_pending = false
}

/* Everything in memory is gone; the record is not. A flow that owed something is failed from the start. */
inline crash() {
  crashes++;
  if :: acknowledged_any -> REACHED(restarted_after_ack) :: else fi;
  if
  :: phase != FAILED -> forget();
     if
     :: record_owes ->
        phase = FAILED; h = record_h; msn_h = record_msn; sent_top = h; failed_h = h; failed_msn = msn_h;
        if :: told_h < h -> told_h = h; told = false :: else fi
     :: else -> phase = ENDED; learned = false
     fi
  :: else -> forget(); h = failed_h; msn_h = failed_msn; sent_top = h
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
#define CLEAR bx_type = 0; bx_psn = 0; bx_more = 0; bx_forward = false; check_rule1()

proctype NearBox() {
end_box:
idle:
  do
  /* from the requester */
  :: atomic { room(to_responder, WCAP) && len(to_box) > 0 ->
       to_box?bx_type, bx_psn, bx_more;
       if
       :: bx_type == REQUEST ->
          if :: is_read(bx_psn) && bx_psn < read_open -> read_open = bx_psn :: else fi;
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
             if :: bx_type == ACK -> follow_failed(bx_psn, bx_more) :: else fi;
             bx_forward = true
          :: phase == ENDED || (phase != FAILED && sent_top <= bx_psn) -> bx_forward = true
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
             fi;
             if :: bx_again != read_again && phase != FAILED -> bx_forward = true :: else fi
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
                      room(to_responder, WCAP)) ->
       probe(); DONE; CLEAR }
#if GIVE_UP
  :: atomic { ON_TIME(!empty_queue && !hold) ->
       if
       :: owes -> fail(); REACHED(given_up)
       :: else -> release_all(); trusted = false; phase = PLAIN
       fi;
       DONE; CLEAR }
#endif
  :: atomic { ON_TIME(dreq_held && room(to_responder, WCAP) && (EARLY || !box_timer || empty_queue)) ->
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
