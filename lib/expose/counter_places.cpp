// SPDX-License-Identifier: BSD-3-Clause
#include "expose/counter_places.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace longhaul::expose {
namespace {

using enum metrics::Counter;

constexpr CounterFamily kFamilies[] = {
    {"longhaul_received_frames_total", "frames received on a port"},
    {"longhaul_received_bytes_total", "bytes of frames received on a port, FCS not counted"},
    {"longhaul_roce_frames_total", "RoCEv2 frames received on a port"},
    {"longhaul_forwarded_frames_total", "received frames sent out of a port"},
    {"longhaul_absorbed_frames_total", "received frames not forwarded because the box handles them itself"},
    {"longhaul_dropped_frames_total", "received frames dropped by the box; their connections repeat them"},
    {"longhaul_handed_frames_total", "frames handed from one worker to another"},
    {"longhaul_connections_placed_total", "connections of a box with several workers, by the worker that follows them"},
    {"longhaul_passed_frames_total", "frames passed through untouched, by reason"},
    {"longhaul_tables_full_total", "exchanges, candidates or connections not followed because a table was full"},
    {"longhaul_connections_learned_total", "connections learned, by what the box learned them from"},
    {"longhaul_traffic_unlearned_total", "real ACKs from which no connection could be learned, by reason"},
    {"longhaul_dreqs_total",
     "DREQs (requests to close a connection) held for custody, and of these the ones released late"},
    {"longhaul_naks_made_total", "NAKs made by the box, by kind"},
    {"longhaul_rewinds_total", "times that custody of a flow was sent again, by cause"},
    {"longhaul_custody_refused_total", "requests passed without custody, by the limit that was reached"},
    {"longhaul_real_answers_total", "answers of responders for learned flows, by kind"},
    {"longhaul_answers_without_effect_total", "real answers without effect on custody, by reason"},
    {"longhaul_flows_failed_total", "flows that failed with data acknowledged but not delivered, by cause"},
    {"longhaul_lost_bytes_total",
     "frame bytes acknowledged to requesters but not delivered because their flow failed, by cause"},
};

constexpr CounterPlace kPlaces[] = {
    {frames_host, "longhaul_received_frames_total", "port", "host"},
    {frames_wan, "longhaul_received_frames_total", "port", "wan"},
    {bytes_host, "longhaul_received_bytes_total", "port", "host"},
    {bytes_wan, "longhaul_received_bytes_total", "port", "wan"},
    {roce_host, "longhaul_roce_frames_total", "port", "host"},
    {roce_wan, "longhaul_roce_frames_total", "port", "wan"},
    {forwarded_host, "longhaul_forwarded_frames_total", "port", "host"},
    {forwarded_wan, "longhaul_forwarded_frames_total", "port", "wan"},
    {absorbed_acks, "longhaul_absorbed_frames_total", "reason", "ack"},
    {absorbed_psn_naks, "longhaul_absorbed_frames_total", "reason", "psn_nak"},
    {absorbed_rnr_naks, "longhaul_absorbed_frames_total", "reason", "rnr_nak"},
    {absorbed_fatal_naks, "longhaul_absorbed_frames_total", "reason", "fatal_nak"},
    {absorbed_unknown_naks, "longhaul_absorbed_frames_total", "reason", "unknown_nak"},
    {absorbed_duplicates, "longhaul_absorbed_frames_total", "reason", "duplicate"},
    {absorbed_unanswerable, "longhaul_absorbed_frames_total", "reason", "unanswerable"},
    {absorbed_queued_duplicates, "longhaul_absorbed_frames_total", "reason", "queued_duplicate"},
    {absorbed_failed, "longhaul_absorbed_frames_total", "reason", "failed"},
    {absorbed_dreqs, "longhaul_absorbed_frames_total", "reason", "dreq"},
    {absorbed_cnps, "longhaul_absorbed_frames_total", "reason", "cnp"},
    {own_frames, "longhaul_absorbed_frames_total", "reason", "own"},
    {dropped_beyond_gap, "longhaul_dropped_frames_total", "reason", "beyond_gap"},
    {dropped_behind_backlog, "longhaul_dropped_frames_total", "reason", "behind_backlog"},
    {dropped_unsent, "longhaul_dropped_frames_total", "reason", "unsent"},
    {dropped_port_full, "longhaul_dropped_frames_total", "reason", "port_full"},
    {dropped_ring_full, "longhaul_dropped_frames_total", "reason", "ring_full"},
    {dropped_unshown, "longhaul_dropped_frames_total", "reason", "unshown"},
    {pauses, "longhaul_pauses_total"},
    {paused_ns, "longhaul_paused_seconds_total", "", "", 1e-9},
    {handed_home, "longhaul_handed_frames_total", "to", "home"},
    {handed_over, "longhaul_handed_frames_total", "to", "owner"},
    {connections_spread, "longhaul_connections_placed_total", "worker", "other"},
    {connections_at_home, "longhaul_connections_placed_total", "worker", "home"},
    {cm_requests_shown, "longhaul_cm_requests_shown_total"},
    {lane_frames, "longhaul_lane_frames_total"},
    {bypassed, "longhaul_passed_frames_total", "reason", "bypass"},
    {icrc_bad, "longhaul_passed_frames_total", "reason", "icrc_bad"},
    {requests_implausible, "longhaul_passed_frames_total", "reason", "request_implausible"},
    {answers_implausible, "longhaul_passed_frames_total", "reason", "answer_implausible"},
    {header_checksum_bad, "longhaul_passed_frames_total", "reason", "header_checksum_bad"},
    {mbuf_chained, "longhaul_passed_frames_total", "reason", "chained"},
    {requests_unlearned, "longhaul_passed_frames_total", "reason", "request_unlearned"},
    {responses_unlearned, "longhaul_passed_frames_total", "reason", "response_unlearned"},
    {unreliable, "longhaul_passed_frames_total", "reason", "unreliable"},
    {cm_messages, "longhaul_cm_messages_total"},
    {cm_unmatched, "longhaul_cm_unmatched_total"},
    {cm_table_full, "longhaul_tables_full_total", "table", "cm"},
    {traffic_table_full, "longhaul_tables_full_total", "table", "candidates"},
    {connection_table_full, "longhaul_tables_full_total", "table", "connections"},
    {connection_pair_full, "longhaul_tables_full_total", "table", "connections_of_pair"},
    {connections_made_room, "longhaul_connections_made_room_total"},
    {connections_learned, "longhaul_connections_learned_total", "source", "cm", 1, connections_from_traffic},
    {connections_from_traffic, "longhaul_connections_learned_total", "source", "traffic"},
    {traffic_ambiguous, "longhaul_traffic_unlearned_total", "reason", "ambiguous"},
    {traffic_contradicted, "longhaul_traffic_unlearned_total", "reason", "contradicted"},
    {connection_qpn_held, "longhaul_connections_qpn_held_total"},
    {connections_closed, "longhaul_connections_closed_total"},
    {flows_learned, "longhaul_flows_learned_total"},
    {flows_confirmed, "longhaul_flows_confirmed_total"},
    {flows_rejoined, "longhaul_flows_rejoined_total"},
    {flows_unanswered, "longhaul_flows_unanswered_total"},
    {flows_doubted, "longhaul_flows_doubted_total"},
    {flows_resumed, "longhaul_flows_resumed_total"},
    {flows_began_again, "longhaul_flows_began_again_total"},
    {confirm_disagreed, "longhaul_flows_not_confirmed_total"},
    {dreqs_held, "longhaul_dreqs_total", "what", "held"},
    {dreqs_released_late, "longhaul_dreqs_total", "what", "released_late"},
    {requests, "longhaul_requests_total"},
    {eligible_requests, "longhaul_eligible_requests_total"},
    {plain_requests, "longhaul_plain_requests_total"},
    {duplicates_forwarded, "longhaul_duplicates_forwarded_total"},
    {paced, "longhaul_paced_requests_total"},
    {pseudo_acks, "longhaul_pseudo_acks_total"},
    {pseudo_acks_withheld, "longhaul_pseudo_acks_withheld_total"},
    {pseudo_acks_unasked, "longhaul_pseudo_acks_unasked_total"},
    {pseudo_acks_repeated, "longhaul_pseudo_acks_repeated_total"},
    {read_stalls, "longhaul_read_stalls_total"},
    {read_stall_ns, "longhaul_read_stall_seconds_total", "", "", 1e-9},
    {pseudo_naks, "longhaul_naks_made_total", "kind", "psn"},
    {repair_naks, "longhaul_naks_made_total", "kind", "repair"},
    {rnr_naks_made, "longhaul_naks_made_total", "kind", "rnr"},
    {fatal_naks, "longhaul_naks_made_total", "kind", "fatal"},
    {made_frames_lost, "longhaul_made_frames_lost_total"},
    {resends, "longhaul_resent_packets_total"},
    {resends_to_new_next_hop, "longhaul_resent_to_new_next_hop_packets_total"},
    {resends_psn_nak, "longhaul_rewinds_total", "cause", "psn_nak"},
    {resends_rnr_nak, "longhaul_rewinds_total", "cause", "rnr_nak"},
    {resends_timer, "longhaul_rewinds_total", "cause", "timer"},
    {custody_refused_flow, "longhaul_custody_refused_total", "limit", "flow"},
    {custody_refused_box, "longhaul_custody_refused_total", "limit", "box"},
    {custody_refused_pair, "longhaul_custody_refused_total", "limit", "pair"},
    {custody_refused_mbufs, "longhaul_custody_refused_total", "limit", "buffers"},
    {custody_made_room, "longhaul_custody_made_room_total"},
    {small_buffers_exhausted, "longhaul_small_buffers_exhausted_total"},
    {real_acks, "longhaul_real_answers_total", "kind", "ack"},
    {real_naks, "longhaul_real_answers_total", "kind", "nak"},
    {real_responses, "longhaul_real_answers_total", "kind", "response"},
    {answers_forwarded, "longhaul_answers_forwarded_total"},
    {answers_not_sent, "longhaul_answers_without_effect_total", "reason", "not_sent"},
    {answers_stale, "longhaul_answers_without_effect_total", "reason", "stale"},
    {answers_disagreed, "longhaul_answers_without_effect_total", "reason", "disagreed"},
    {answers_ignored, "longhaul_answers_without_effect_total", "reason", "repeated_nak"},
    {responses_unfit, "longhaul_answers_without_effect_total", "reason", "unfit"},
    {responses_lost, "longhaul_responses_lost_total"},
    {reads_passed, "longhaul_reads_passed_total"},
    {msn_disagreed, "longhaul_msn_disagreed_total"},
    {credits_seen, "longhaul_credits_seen_total"},
    {next_hops_moved, "longhaul_next_hops_moved_total"},
    {cnps, "longhaul_cnps_total"},
    {cnps_made, "longhaul_cnps_made_total"},
    {ecn_marked, "longhaul_ecn_marked_frames_total"},
    {flows_failed, "longhaul_flows_failed_total", "cause", "undelivered", 1, flows_failed_silent},
    {flows_failed_silent, "longhaul_flows_failed_total", "cause", "both_silent"},
    {flows_failed_by_restart, "longhaul_flows_failed_total", "cause", "restart"},
    {failed_bytes, "longhaul_lost_bytes_total", "cause", "undelivered", 1, failed_silent_bytes},
    {failed_silent_bytes, "longhaul_lost_bytes_total", "cause", "both_silent"},
    {failed_by_restart_bytes, "longhaul_lost_bytes_total", "cause", "restart"},
    {closed_untold_bytes, "longhaul_closed_untold_bytes_total"},
    {unconfirmed_in_doubt_packets, "longhaul_unconfirmed_in_doubt_packets_total"},
    {unconfirmed_in_doubt_bytes, "longhaul_unconfirmed_in_doubt_bytes_total"},
    {unconfirmed_at_close_packets, "longhaul_unconfirmed_at_close_packets_total"},
    {unconfirmed_at_close_bytes, "longhaul_unconfirmed_at_close_bytes_total"},
    {record_slots_damaged, "longhaul_record_slots_damaged_total"},
};
static_assert(std::size(kPlaces) == metrics::kCounterCount, "a counter has no place, or two");

}  // namespace

std::span<const CounterPlace> counter_places() { return kPlaces; }

std::string series_name(const CounterPlace& place) {
  if (place.label.empty()) return std::string(place.family);
  return fmt::format("{}{{{}=\"{}\"}}", place.family, place.label, place.value);
}

std::string_view family_help(std::string_view family) {
  const auto* found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const auto& f) { return f.name == family; });
  return found == std::end(kFamilies) ? std::string_view() : found->help;
}

}  // namespace longhaul::expose
