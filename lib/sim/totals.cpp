// SPDX-License-Identifier: BSD-3-Clause
#include "sim/totals.hpp"

namespace longhaul::sim {

namespace {

struct Row {
  const char* name;
  std::uint64_t Totals::*value;
};

constexpr Row kRows[] = {
    {"frames sent by hosts and boxes", &Totals::frames},
    {"lost at random", &Totals::lost},
    {"lost in bursts", &Totals::burst_lost},
    {"lost in outages", &Totals::outage_lost},
    {"dropped by full queues", &Totals::queue_dropped},
    {"duplicated", &Totals::duplicated},
    {"reordered", &Totals::reordered},
    {"corrupted", &Totals::corrupted},
    {"hit by scripted events", &Totals::scripted},
    {"forged", &Totals::forged},
    {"boxes crashed", &Totals::crashes},
    {"boxes that stood still", &Totals::pauses},
    {"lost in their full rings", &Totals::ring_lost},
    {"messages completed with success", &Totals::messages},
    {"requesters that ended in an error", &Totals::failed_requesters},
    {"pseudo-ACKs", &Totals::pseudo_acks},
    {"CNPs made by boxes", &Totals::cnps_made},
    {"CNPs absorbed", &Totals::absorbed_cnps},
    {"PSN NAKs made by boxes", &Totals::pseudo_naks},
    {"flows bound to a peer", &Totals::bound},
    {"packets sent again from custody", &Totals::resends},
    {"of them, because a peer missed them", &Totals::repairs},
    {"gaps found by far boxes", &Totals::far_gaps},
    {"requests sent to hosts again from copies", &Totals::copies_sent},
    {"PSN NAKs of hosts answered from copies", &Totals::host_naks},
    {"answers sent again, because a peer missed them", &Totals::answers_again},
    {"answers that waited for one that was missing", &Totals::answers_waited},
    {"packets sent again to a new next hop", &Totals::readdressed},
    {"answers and repeats absorbed", &Totals::absorbed},
    {"fatal NAKs made by boxes", &Totals::fatal_naks},
    {"flows failed visibly", &Totals::flows_failed},
    {"packets unconfirmed at close", &Totals::unconfirmed},
    {"doubts whether it is the same connection", &Totals::doubted},
    {"of them, it was", &Totals::resumed},
    {"of them, it was another", &Totals::began_again},
    {"packets unconfirmed in doubt", &Totals::unconfirmed_in_doubt},
    {"DREQs held", &Totals::dreqs_held},
    {"packets refused by custody's limits", &Totals::refused_custody},
    {"returns to custody after plain RoCE", &Totals::rejoined},
    {"handed to a connection's worker", &Totals::handed_over},
    {"handed to the home of two hosts", &Totals::handed_home},
    {"events", &Totals::steps},
};
static_assert(sizeof(kRows) / sizeof(Row) * sizeof(std::uint64_t) == sizeof(Totals), "a total without a name");

}  // namespace

void Totals::add(const Totals& other) {
  for (const Row& row : kRows) this->*row.value += other.*row.value;
}

void Totals::add(const Counters& counters) {
  pseudo_acks += counters[Counter::pseudo_acks];
  cnps_made += counters[Counter::cnps_made];
  absorbed_cnps += counters[Counter::absorbed_cnps];
  pseudo_naks += counters[Counter::pseudo_naks] + counters[Counter::repair_naks];
  resends += counters[Counter::resends];
  bound += counters[Counter::flows_bound];
  repairs += counters[Counter::repairs];
  far_gaps += counters[Counter::far_gaps];
  copies_sent += counters[Counter::request_copies_sent];
  host_naks += counters[Counter::absorbed_host_naks];
  answers_again += counters[Counter::answer_repairs] + counters[Counter::acks_sent_again];
  answers_waited += counters[Counter::answers_waited];
  readdressed += counters[Counter::resends_to_new_next_hop];
  absorbed += counters[Counter::absorbed_acks] + counters[Counter::absorbed_psn_naks] +
              counters[Counter::absorbed_rnr_naks] + counters[Counter::absorbed_duplicates] +
              counters[Counter::absorbed_queued_duplicates] + counters[Counter::absorbed_unanswerable];
  fatal_naks += counters[Counter::fatal_naks];
  flows_failed += counters[Counter::flows_failed];
  unconfirmed += counters[Counter::unconfirmed_at_close_packets];
  doubted += counters[Counter::flows_doubted];
  resumed += counters[Counter::flows_resumed];
  began_again += counters[Counter::flows_began_again];
  unconfirmed_in_doubt += counters[Counter::unconfirmed_in_doubt_packets];
  dreqs_held += counters[Counter::dreqs_held];
  refused_custody += counters[Counter::custody_refused_flow] + counters[Counter::custody_refused_box] +
                     counters[Counter::custody_refused_mbufs];
  rejoined += counters[Counter::flows_rejoined];
  handed_over += counters[Counter::handed_over];
  handed_home += counters[Counter::handed_home];
}

void Totals::add(const link::Counters& counters) {
  lost += counters.lost;
  queue_dropped += counters.queue_dropped;
  duplicated += counters.duplicated;
  reordered += counters.reordered;
  corrupted += counters.corrupted;
  scripted += counters.event_drop + counters.event_duplicate + counters.event_delay + counters.event_corrupt +
              counters.event_ecn;
}

void Totals::each(const std::function<void(const char*, std::uint64_t)>& visit) const {
  for (const Row& row : kRows) visit(row.name, this->*row.value);
}

}  // namespace longhaul::sim
