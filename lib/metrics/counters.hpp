// SPDX-License-Identifier: BSD-3-Clause
// Every event that longhaul counts has one name, used in code, statistics files and docs. The list is the table below;
// longhaul counts nothing else. Counters belong to one worker: no atomics, no locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul::metrics {

// X(name, "what it means")
#define LONGHAUL_COUNTERS(X)                                                                                           \
  /* what came in and went on: frames_host + frames_wan = forwarded_* + every "not forwarded" below + waiting */       \
  X(frames_host, "frames received on the host port")                                                                   \
  X(frames_wan, "frames received on the WAN port")                                                                     \
  X(bytes_host, "bytes received on the host port, FCS not counted")                                                    \
  X(bytes_wan, "bytes received on the WAN port, FCS not counted")                                                      \
  X(roce_host, "RoCEv2 frames received on the host port")                                                              \
  X(roce_wan, "RoCEv2 frames received on the WAN port")                                                                \
  X(forwarded_host, "received frames sent out of the host port")                                                       \
  X(forwarded_wan, "received frames sent out of the WAN port")                                                         \
  X(absorbed_acks, "real ACKs not forwarded: a pseudo-ACK had already told the requester")                             \
  X(absorbed_psn_naks, "PSN NAKs not forwarded: the box resends from custody instead")                                 \
  X(absorbed_rnr_naks, "RNR NAKs not forwarded: the box resends from custody later")                                   \
  X(absorbed_fatal_naks, "fatal NAKs not forwarded: the box reports the failure to the requester itself")              \
  X(absorbed_duplicates, "repeated requests not forwarded: already acknowledged")                                      \
  X(absorbed_unanswerable, "repeated requests not forwarded: two copies are under way, and no answer can be back yet") \
  X(absorbed_queued_duplicates, "repeated requests not forwarded: the first copy still waits to be sent")              \
  X(absorbed_failed, "requests not forwarded: their flow has failed")                                                  \
  X(dropped_beyond_gap, "requests not forwarded: beyond a gap in the requester's PSNs")                                \
  X(dropped_behind_backlog,                                                                                            \
    "requests not forwarded: not in custody, and earlier requests of their flow still wait to be sent")                \
  X(dropped_unsent, "requests dropped: their flow ended or failed before they were sent")                              \
  X(dropped_port_full, "frames dropped: a port refused them for too long")                                             \
  X(own_frames, "frames from the WAN that were for the box itself, and went no further")                               \
  X(absorbed_held_repeats, "requests from the WAN not forwarded: the same one is held already behind a gap")           \
  X(absorbed_host_naks, "PSN NAKs of the host not forwarded: copies of what it had lost went again")                   \
  X(dropped_far_full, "requests from the WAN dropped behind a gap: there was no room to hold them")                    \
  X(absorbed_early_repeats, "answers not forwarded: they came twice while they waited for what they had overtaken")    \
  X(dropped_early_full, "answers dropped that had overtaken a READ response: no room to let them wait for a peer")     \
  X(dropped_for_peer,                                                                                                  \
    "frames dropped that may be another life's: a peer may hold some of the former life, and has not answered yet")    \
  X(dropped_other_life, "frames from the WAN dropped that had been held: their queue pairs may live another life")     \
  /* time */                                                                                                           \
  X(pauses,                                                                                                            \
    "pauses of 50 ms or more in which a worker, its process or the machine stood still; timers do not count them")     \
  X(paused_ns, "total length of pauses of 50 ms or more, all workers added up")                                        \
  /* between workers, when a box has several: what its ports received is frames_* of all workers                   */  \
  /* + dropped_ring_full + dropped_unshown - cm_requests_shown */                                                      \
  X(handed_home, "frames received by another worker and handed to the home worker of their two hosts")                 \
  X(handed_over, "frames handed by the home worker to the worker that owns their connection")                          \
  X(dropped_ring_full, "frames dropped: the ring to the worker that they belong to was full")                          \
  X(dropped_unshown, "RDMA-CM replies dropped: no buffer to show the matching request to the connection's owner")      \
  X(connections_spread, "connections that their home worker gave to another worker")                                   \
  X(connections_at_home, "connections that stayed with their home worker because its table of owners was full")        \
  X(cm_requests_shown, "RDMA-CM requests shown to the connection's owner after the home worker had forwarded them")    \
  X(lane_frames, "requests and ACKs that took the lane: usual packets of usual flows, in order")                       \
  /* why frames passed through unlearned */                                                                            \
  X(bypassed, "frames passed through without inspection because bypass was on")                                        \
  X(icrc_bad, "RoCE frames of learned flows or of RDMA-CM with a wrong ICRC: passed through, no state changed")        \
  X(requests_implausible,                                                                                              \
    "requests with a PSN far from all that their connection has under way: passed through as foreign")                 \
  X(answers_implausible,                                                                                               \
    "answers with a PSN far from all that their connection has under way: passed through as foreign")                  \
  X(header_checksum_bad, "RoCE frames of learned flows with a wrong IPv4 or UDP checksum: passed through")             \
  X(mbuf_chained, "frames that span more than one buffer: passed through")                                             \
  X(requests_unlearned, "RC requests of unknown connections")                                                          \
  X(responses_unlearned, "RC responses of unknown connections")                                                        \
  X(unreliable, "UC and UD frames")                                                                                    \
  /* RDMA-CM */                                                                                                        \
  X(cm_messages, "RDMA-CM messages understood")                                                                        \
  X(cm_unmatched, "RDMA-CM messages that belong to no known exchange")                                                 \
  X(cm_table_full, "RDMA-CM exchanges not followed: table full")                                                       \
  X(connections_learned, "connections learned from RDMA-CM or from traffic")                                           \
  X(connections_from_traffic, "connections learned from their traffic alone; connections_learned includes them")       \
  X(traffic_ambiguous, "real ACKs not used to learn a connection from traffic: they fitted more than one candidate")   \
  X(traffic_contradicted, "real ACKs that contradicted earlier ones: learning from that traffic started over")         \
  X(traffic_table_full, "requests whose connection could not be watched to learn it from traffic: table full")         \
  X(flows_learned, "flows learned; a connection is two flows, one in each direction")                                  \
  X(flows_confirmed, "flows whose first real answer agreed in QPN, PSN and MSN")                                       \
  X(flows_rejoined, "flows that returned to custody after a stretch of plain RoCE")                                    \
  X(flows_unanswered, "flows returned to plain RoCE: no answer within give_up, and no acknowledged data at stake")     \
  X(confirm_disagreed, "real answers that contradicted an unconfirmed flow: the flow is not accelerated")              \
  X(connections_closed, "connections closed")                                                                          \
  X(connection_table_full, "connections not followed: table full")                                                     \
  X(connection_pair_full, "connections not followed: their two hosts have their share of the table")                   \
  X(connections_made_room,                                                                                             \
    "connections no longer followed: other hosts, with fewer connections, needed a place in the full table")           \
  X(connection_qpn_held,                                                                                               \
    "connections not followed: their QPN belongs to a connection with packets in custody or with a recent answer")     \
  X(dreqs_held, "DREQs held until custody was empty or dreq_hold had passed")                                          \
  X(absorbed_dreqs,                                                                                                    \
    "DREQs not forwarded: the box already held a copy or as many as it can, or the QPs have a new connection")         \
  X(dreqs_released_late,                                                                                               \
    "held DREQs forwarded before custody was empty: dreq_hold had passed, or the WAN side closed first")               \
  /* the near part */                                                                                                  \
  X(requests, "RC requests of learned flows, repeated PSNs not counted")                                               \
  X(eligible_requests, "SEND and WRITE requests with AckReq of confirmed flows, repeated PSNs not counted")            \
  X(pseudo_acks, "pseudo-ACKs made for new requests, one for each request")                                            \
  X(pseudo_acks_withheld, "pseudo-ACKs delayed by the limit on unanswered bytes or by a lack of credits")              \
  X(read_stalls, "times that an unfinished READ or atomic delayed the pseudo-ACKs of SENDs and WRITEs behind it")      \
  X(read_stall_ns,                                                                                                     \
    "time that unfinished READs or atomics delayed pseudo-ACKs, all flows added up, finished delays only")             \
  X(pseudo_acks_unasked, "of pseudo_acks, those for messages whose requester had not asked (timers.ack_unasked)")      \
  X(pseudo_acks_repeated, "pseudo-ACKs made again for repeated requests, one for each burst")                          \
  X(pseudo_naks, "PSN NAKs made for gaps in the requester's PSNs")                                                     \
  X(repair_naks, "PSN NAKs made because requests outside custody were lost")                                           \
  X(rnr_naks_made, "RNR NAKs of a responder made for a requester that waits behind custody")                           \
  X(fatal_naks, "fatal NAKs made to tell a requester that its flow has failed")                                        \
  X(made_frames_lost, "frames made by the box that were lost: no buffer, or a port refused them")                      \
  X(resends, "packets sent again from custody")                                                                        \
  X(resends_to_new_next_hop, "packets resent with new MAC addresses because the next hop of their host has changed")   \
  X(resends_psn_nak, "rewinds of custody caused by a PSN NAK")                                                         \
  X(resends_rnr_nak, "rewinds of custody caused by an RNR NAK")                                                        \
  X(resends_timer, "rewinds of custody by timer: no answer came")                                                      \
  X(custody_refused_flow, "requests passed without custody: the flow's limit was reached")                             \
  X(custody_refused_box, "requests passed without custody: the box's limit was reached")                               \
  X(custody_refused_pair, "requests passed without custody: their two hosts have their share of it")                   \
  X(custody_refused_mbufs, "requests passed without custody: no buffers to spare")                                     \
  X(custody_made_room, "flows that let go of custody, of which nothing was acknowledged, for flows of other hosts")    \
  X(plain_requests, "requests of learned flows passed without custody, for any reason")                                \
  X(duplicates_forwarded, "repeated requests forwarded: not acknowledged, READ or atomic, sent long ago, or in doubt") \
  X(paced, "requests that custody held back when they came: for the WAN rate, a resend, losses or a full port")        \
  X(small_buffers_exhausted, "small frames held in large buffers because no small buffer was free")                    \
  /* a pair of boxes: the near part */                                                                                 \
  X(flows_bound, "times that a peer took on the order of a flow's requests at the far end (peers:)")                   \
  X(repairs, "packets sent again from custody because a peer missed them; resends includes them and their copies")     \
  X(repair_copies, "more copies of repairs, where the loss rate demands them")                                         \
  /* a pair of boxes: the far part */                                                                                  \
  X(far_held, "requests from the WAN held behind a gap")                                                               \
  X(far_gaps, "gaps in the requests from the WAN")                                                                     \
  X(far_gaps_given_up, "gaps in the requests from the WAN that were not mended in time: what was held went on")        \
  X(request_copies_sent, "requests sent to the host once more, from copies")                                           \
  X(silent_hosts, "times that a host was silent, and a copy of what asks it for an answer went again")                 \
  X(answer_repairs, "responses sent to the WAN once more because a peer missed them")                                  \
  X(answer_repair_copies, "more copies of those, where the loss rate demands them")                                    \
  X(acks_sent_again, "ACKs of responders sent to the WAN once more because a peer missed them")                        \
  X(answers_not_kept, "responses to the WAN of which no copy is kept for a peer: there is no room")                    \
  /* answers */                                                                                                        \
  X(real_acks, "real ACKs (not NAKs) for learned flows from beyond the box")                                           \
  X(real_naks, "real NAKs and RNR NAKs for learned flows from beyond the box")                                         \
  X(real_responses, "READ and atomic responses for learned flows from beyond the box")                                 \
  X(answers_forwarded, "real answers forwarded to the requester")                                                      \
  X(answers_waited, "answers that had overtaken a READ response, and waited for it")                                   \
  X(answers_waited_in_vain, "of those, answers that went on because the response did not come")                        \
  X(responses_repeated, "READ responses that had passed already")                                                      \
  X(answers_not_sent, "real answers to PSNs that were never forwarded: no effect")                                     \
  X(answers_stale, "real answers to what has already been answered: no effect")                                        \
  X(answers_disagreed, "real answers whose MSN does not match what is in custody: forwarded, no other effect")         \
  X(absorbed_unknown_naks,                                                                                             \
    "NAKs not forwarded: they reject what the box has acknowledged, with a code that IBTA does not define")            \
  X(answers_ignored, "NAKs repeated during a wait or a resend: no effect")                                             \
  X(responses_lost, "real ACKs beyond an unfinished READ or atomic, whose response was lost: forwarded")               \
  X(reads_passed, "READs or atomics counted as finished: an ACK went beyond, and the requester did not repeat")        \
  X(responses_unfit, "READ or atomic responses that do not fit the request of their PSN: no effect")                   \
  X(msn_disagreed, "real ACKs whose MSN differs from the count of the box: their flow is no longer accelerated")       \
  X(credits_seen, "real ACKs that carried end-to-end credits")                                                         \
  /* the same connection, or another life of its QPs? */                                                               \
  X(flows_doubted,                                                                                                     \
    "times that a flow's QPs may have a new connection: the box does not answer for it until real answers decide")     \
  X(flows_resumed, "doubted flows whose real answers continued as before: accelerated again")                          \
  X(flows_began_again, "doubted flows whose real answers showed a new connection: followed from its start")            \
  X(next_hops_moved,                                                                                                   \
    "IP addresses beyond the box that moved to another MAC address, by ARP or Neighbour Advertisement")                \
  X(cnps, "congestion notification packets (CNPs)")                                                                    \
  X(cnps_made, "CNPs made by the box: requesters of this side send faster than the WAN takes it")                      \
  X(absorbed_cnps, "CNPs from the WAN not forwarded: they are about what the box has acknowledged")                    \
  X(ecn_marked, "frames of learned flows with an ECN mark (congestion experienced)")                                   \
  /* how custody ended other than by the responder's answer */                                                         \
  X(flows_failed, "flows that failed with data acknowledged but not delivered")                                        \
  X(flows_failed_silent,                                                                                               \
    "flows among flows_failed, not set up by RDMA-CM, whose two ends had both been silent since: perhaps both are "    \
    "gone")                                                                                                            \
  X(failed_silent_bytes, "frame bytes of these, among failed_bytes")                                                   \
  X(failed_bytes, "frame bytes acknowledged to requesters but not delivered, because their flow failed")               \
  X(flows_failed_by_restart, "failed flows of an earlier process, found in the restart record at the start")           \
  X(failed_by_restart_bytes, "frame bytes that an earlier process had acknowledged to requesters but not delivered")   \
  X(record_slots_damaged, "damaged slots of the restart record: what they recorded is unknown")                        \
  X(closed_untold_bytes, "frame bytes lost by flows that closed before a fatal NAK could tell their requester")        \
  X(unconfirmed_in_doubt_packets, "packets in custody of doubted flows that no answer has confirmed as delivered")     \
  X(unconfirmed_in_doubt_bytes, "frame bytes in custody of doubted flows that no answer has confirmed as delivered")   \
  X(unconfirmed_at_close_packets,                                                                                      \
    "packets in custody when their responder closed the connection without answering them")                            \
  X(unconfirmed_at_close_bytes,                                                                                        \
    "frame bytes in custody when their responder closed the connection without answering them")

enum class Counter : std::uint16_t {
#define LONGHAUL_COUNTER_ENUM(name, help) name,
  LONGHAUL_COUNTERS(LONGHAUL_COUNTER_ENUM)
#undef LONGHAUL_COUNTER_ENUM
      count_
};

inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::count_);

struct CounterInfo {
  std::string_view name;
  std::string_view help;
};

inline constexpr std::array<CounterInfo, kCounterCount> kCounterInfo = {{
#define LONGHAUL_COUNTER_INFO(name, help) CounterInfo{#name, help},
    LONGHAUL_COUNTERS(LONGHAUL_COUNTER_INFO)
#undef LONGHAUL_COUNTER_INFO
}};

/// Counters of frames that came in and did not leave. At any time: frames in = forwarded + these + waiting.
inline constexpr std::array kNotForwarded = {
    Counter::absorbed_acks,          Counter::absorbed_psn_naks,
    Counter::absorbed_rnr_naks,      Counter::absorbed_fatal_naks,
    Counter::absorbed_duplicates,    Counter::absorbed_queued_duplicates,
    Counter::absorbed_failed,        Counter::dropped_beyond_gap,
    Counter::dropped_port_full,      Counter::absorbed_dreqs,
    Counter::dropped_unsent,         Counter::dropped_behind_backlog,
    Counter::absorbed_unknown_naks,  Counter::absorbed_cnps,
    Counter::absorbed_unanswerable,  Counter::own_frames,
    Counter::dropped_far_full,       Counter::absorbed_held_repeats,
    Counter::dropped_other_life,     Counter::dropped_for_peer,
    Counter::absorbed_early_repeats, Counter::dropped_early_full,
    Counter::absorbed_host_naks,
};

}  // namespace longhaul::metrics
