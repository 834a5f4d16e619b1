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
  X(forwarded_host, "received frames sent out of the host port")                                                       \
  X(forwarded_wan, "received frames sent out of the WAN port")                                                         \
  X(absorbed_acks, "real ACKs not forwarded: the requester had been told already")                                     \
  X(absorbed_psn_naks, "PSN NAKs not forwarded: answered by a resend from custody")                                    \
  X(absorbed_rnr_naks, "RNR NAKs not forwarded: answered by a later resend from custody")                              \
  X(absorbed_fatal_naks, "fatal NAKs not forwarded: told to the requester in its own terms")                           \
  X(absorbed_duplicates, "repeated requests not forwarded: already acknowledged")                                      \
  X(absorbed_queued_duplicates, "repeated requests not forwarded: the first copy is still to be sent")                 \
  X(absorbed_failed, "requests not forwarded: their flow has failed")                                                  \
  X(dropped_beyond_gap, "requests not forwarded: beyond a gap in the requester's PSNs")                                \
  X(dropped_behind_backlog,                                                                                            \
    "requests not forwarded: no custody, and earlier ones of their flow still wait to be sent")                        \
  X(dropped_unsent, "requests dropped: their flow ended or failed before its turn to send came")                       \
  X(dropped_port_full, "frames dropped: a port refused them for too long")                                             \
  /* time */                                                                                                           \
  X(pauses, "times that the worker stood still for 50 ms or more, with its process or machine: no timer counts it")    \
  X(paused_ns, "for how long it did")                                                                                  \
  /* between workers, when a box has several: what its ports received is frames_* of all workers                   */  \
  /* + dropped_ring_full + dropped_unshown - cm_requests_shown */                                                      \
  X(handed_home, "frames handed to the worker that is home to their two hosts: another had received them")             \
  X(handed_over, "frames handed by their home worker to the worker that owns their connection")                        \
  X(dropped_ring_full, "frames dropped: the ring to the worker they belong to was full")                               \
  X(dropped_unshown, "RDMA-CM replies dropped: no buffer to show their request to the connection's owner")             \
  X(connections_spread, "connections whose home worker gave them to another worker")                                   \
  X(connections_at_home, "connections that stay with their home worker: its table of owners was full")                 \
  X(cm_requests_shown, "RDMA-CM requests shown to a connection's owner after their home worker had sent them on")      \
  /* why frames passed through unlearned */                                                                            \
  X(bypassed, "frames passed without a look, because bypass was on")                                                   \
  X(icrc_bad, "RoCE frames of learned flows or RDMA-CM whose ICRC is wrong: passed through, no state changed")         \
  X(requests_implausible, "requests with a PSN far from all that is under way: not their connection's, passed")        \
  X(answers_implausible, "answers with a PSN far from all that is under way: not their connection's, passed")          \
  X(header_checksum_bad, "RoCE frames of learned flows whose IPv4 or UDP checksum is wrong: passed through")           \
  X(mbuf_chained, "frames in more than one buffer: passed through")                                                    \
  X(requests_unlearned, "RC requests of connections that are not known")                                               \
  X(responses_unlearned, "RC responses of connections that are not known")                                             \
  X(unreliable, "UC and UD frames")                                                                                    \
  /* RDMA-CM */                                                                                                        \
  X(cm_messages, "RDMA-CM messages understood")                                                                        \
  X(cm_unmatched, "RDMA-CM messages of no known exchange")                                                             \
  X(cm_table_full, "RDMA-CM exchanges not followed: table full")                                                       \
  X(connections_learned, "connections learned, from RDMA-CM or traffic")                                               \
  X(connections_from_traffic, "connections learned from their traffic alone, of connections_learned")                  \
  X(traffic_ambiguous, "real ACKs that fitted more than one connection to be learned from traffic: not used")          \
  X(traffic_contradicted, "real ACKs that did not agree with earlier ones: learning from that traffic began anew")     \
  X(traffic_table_full, "requests whose connection could not be watched to be learned from traffic: table full")       \
  X(flows_learned, "flows learned: directions of connections, two for each")                                           \
  X(flows_confirmed, "flows whose first real answer agreed in QPN, PSN and MSN")                                       \
  X(flows_rejoined, "flows taken into custody again after a stretch of plain RoCE")                                    \
  X(flows_unanswered, "flows given back to plain RoCE: nothing promised, and no answer for give_up")                   \
  X(confirm_disagreed, "real answers of an unconfirmed flow that did not agree: flow not accelerated")                 \
  X(connections_closed, "connections closed")                                                                          \
  X(connection_table_full, "connections not followed: table full")                                                     \
  X(connection_qpn_held, "connections not followed: their QPN is of one with packets in custody or answered just now") \
  X(dreqs_held, "DREQs held until custody was empty or dreq_hold had passed")                                          \
  X(absorbed_dreqs, "DREQs not forwarded: one of their connection was held already, or its QPs live another life")     \
  X(dreqs_released_late, "held DREQs forwarded with custody left: dreq_hold had passed or the WAN closed first")       \
  /* the near part */                                                                                                  \
  X(requests, "RC requests of learned flows from their requester, new PSNs only")                                      \
  X(eligible_requests, "SEND and WRITE requests with AckReq, new PSNs, of flows that were confirmed")                  \
  X(pseudo_acks, "pseudo-ACKs made for requests, one each")                                                            \
  X(pseudo_acks_withheld, "pseudo-ACKs that had to wait for a limit on unanswered bytes or for credits")               \
  X(read_stalls, "times that SENDs and WRITEs waited behind an unfinished READ or atomic to be acknowledged")          \
  X(read_stall_ns, "for how long they did, added up over flows, waits that are over only")                             \
  X(pseudo_acks_repeated, "pseudo-ACKs made again for repeated requests, one a burst")                                 \
  X(pseudo_naks, "PSN NAKs made for gaps in the requester's PSNs")                                                     \
  X(repair_naks, "PSN NAKs made because requests that were not in custody were lost")                                  \
  X(fatal_naks, "fatal NAKs made to tell a requester that its flow has failed")                                        \
  X(made_frames_lost, "frames of the box's own lost: no buffer, or a port refused them")                               \
  X(resends, "packets sent again from custody")                                                                        \
  X(resends_to_new_next_hop, "of resends, packets given other MAC addresses: their host has another next hop now")     \
  X(resends_psn_nak, "rewinds of custody because of a PSN NAK")                                                        \
  X(resends_rnr_nak, "rewinds of custody because of an RNR NAK")                                                       \
  X(resends_timer, "rewinds of custody because no answer came")                                                        \
  X(custody_refused_flow, "requests passed without custody: the flow's limit was reached")                             \
  X(custody_refused_box, "requests passed without custody: the box's limit was reached")                               \
  X(custody_refused_mbufs, "requests passed without custody: no buffers to spare")                                     \
  X(plain_requests, "requests of learned flows passed without custody, for any reason")                                \
  X(duplicates_forwarded, "repeated requests forwarded: not acknowledged yet, or READ or atomic")                      \
  X(paced, "requests that custody held back when they came: for the WAN rate, a resend, losses or a full port")        \
  X(small_buffers_exhausted, "small frames held in large buffers: no small one was free")                              \
  /* answers */                                                                                                        \
  X(real_acks, "real ACKs (not NAKs) for learned flows from beyond the box")                                           \
  X(real_naks, "real NAKs and RNR NAKs for learned flows from beyond the box")                                         \
  X(real_responses, "READ and atomic responses for learned flows from beyond the box")                                 \
  X(answers_forwarded, "real answers forwarded to the requester")                                                      \
  X(answers_not_sent, "real answers for PSNs never forwarded: changed nothing")                                        \
  X(answers_stale, "real answers older than what has been answered")                                                   \
  X(answers_disagreed, "real answers whose MSN is not that of what is in custody: changed nothing, forwarded")         \
  X(absorbed_unknown_naks,                                                                                             \
    "NAKs of a code that IBTA does not define, for what the box has acknowledged: nothing done")                       \
  X(answers_ignored, "NAKs that changed nothing: repeats during a wait or a resend")                                   \
  X(responses_lost, "real ACKs beyond an unfinished READ or atomic: forwarded")                                        \
  X(responses_unfit, "READ or atomic responses that cannot answer the request of their PSN: changed nothing")          \
  X(msn_disagreed, "real ACKs whose MSN was not what was counted: their flow is no longer accelerated")                \
  X(credits_seen, "real ACKs that carried end-to-end credits")                                                         \
  /* the same connection, or another life of its QPs? */                                                               \
  X(flows_doubted, "times that a flow's QPs may have begun another life: nothing is said for it until answers decide") \
  X(flows_resumed, "doubted flows whose responder's answers went on as before: they are accelerated again")            \
  X(flows_began_again, "doubted flows whose responder's answers were of another life: followed anew")                  \
  X(next_hops_moved, "IP addresses beyond the box that ARP or Neighbour Advertisements gave another MAC address")      \
  X(cnps, "congestion notification packets")                                                                           \
  X(ecn_marked, "frames of learned flows marked congestion experienced")                                               \
  /* how custody ended other than by the responder's answer */                                                         \
  X(flows_failed, "flows that failed with acknowledged data undelivered")                                              \
  X(failed_bytes,                                                                                                      \
    "bytes acknowledged to a requester and not delivered: frame bytes in custody when their flow failed")              \
  X(flows_failed_by_restart,                                                                                           \
    "flows of an earlier process that the restart record gave as failed, when this one started")                       \
  X(failed_by_restart_bytes, "bytes that it had acknowledged to their requesters and not delivered: frame bytes")      \
  X(record_slots_damaged, "slots of the restart record that are not what a box wrote: nothing is known of them")       \
  X(closed_untold_bytes, "bytes lost of flows that closed before their requester could be told by a fatal NAK")        \
  X(unconfirmed_in_doubt_packets, "packets in custody of doubted flows that no answer has shown to be delivered")      \
  X(unconfirmed_in_doubt_bytes, "their frame bytes")                                                                   \
  X(unconfirmed_at_close_packets, "packets in custody whose responder closed the connection before answering")         \
  X(unconfirmed_at_close_bytes, "their frame bytes")

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
    Counter::absorbed_acks,         Counter::absorbed_psn_naks,   Counter::absorbed_rnr_naks,
    Counter::absorbed_fatal_naks,   Counter::absorbed_duplicates, Counter::absorbed_queued_duplicates,
    Counter::absorbed_failed,       Counter::dropped_beyond_gap,  Counter::dropped_port_full,
    Counter::absorbed_dreqs,        Counter::dropped_unsent,      Counter::dropped_behind_backlog,
    Counter::absorbed_unknown_naks,
};

}  // namespace longhaul::metrics
