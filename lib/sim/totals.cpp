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
    {"PSN NAKs made by boxes", &Totals::pseudo_naks},
    {"packets sent again from custody", &Totals::resends},
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

void Totals::each(const std::function<void(const char*, std::uint64_t)>& visit) const {
  for (const Row& row : kRows) visit(row.name, this->*row.value);
}

}  // namespace longhaul::sim
