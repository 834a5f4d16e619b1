// SPDX-License-Identifier: BSD-3-Clause
#include "box/wiring.hpp"

#include <rte_mempool.h>

#include <utility>

#include "steer/restored_owners.hpp"

namespace longhaul::box {

Wiring::Wiring(const Settings& settings, std::vector<WorkerPlace> places, Time clock, const RunOn& run_on)
    : settings_(settings),
      share_(box::share_of(settings.engine, static_cast<unsigned>(places.size()))),
      places_(std::move(places)),
      rings_(static_cast<unsigned>(places_.size())),
      workers_(places_.size()) {
  if (count() > 1) shown_ = steer::make_shown_pool(places_.front().socket);
  try {
    for (unsigned i = 0; i < count(); ++i) run_on(i, [this, i, clock] { workers_[i] = make(i, clock); });
    if (settings_.peers) open_desk(clock, run_on);
  } catch (...) {
    workers_.clear();
    rte_mempool_free(shown_);
    throw;
  }
}

void Wiring::open_desk(Time clock, const RunOn& run_on) {
  const WorkerPlace& place = places_.front();
  desk_ = std::make_unique<PeerDesk>(*settings_.peers, count(), place.ports, place.pools, clock);
  for (unsigned i = 0; i < count(); ++i) run_on(i, [this, i] { workers_[i]->use(*desk_, i); });
}

Wiring::~Wiring() {
  // Rings and engines hold frames of the pool.
  rings_ = steer::HandOverRings(0);
  desk_.reset();
  workers_.clear();
  rte_mempool_free(shown_);
}

std::unique_ptr<Worker> Wiring::make(unsigned number, Time clock) {
  const WorkerPlace& place = places_[number];
  if (count() == 1) return std::make_unique<Worker>(share_, place, clock);
  steer::SteeringSettings steering;
  steering.self = static_cast<steer::Worker>(number);
  for (unsigned i = 0; settings_.spread_connections && i < count(); ++i)
    if (places_[i].socket == place.socket) steering.owners.push_back(static_cast<steer::Worker>(i));
  // One home may have all connections.
  steering.max_connections = settings_.engine.max_connections;
  steering.max_pending_cm = settings_.engine.max_pending_cm;
  steering.patience = {settings_.engine.give_up, settings_.engine.longest_give_up};
  return std::make_unique<Worker>(share_, place, clock, std::move(steering), Worker::Common{rings_, shown_, shared_});
}

void Wiring::use_record(std::span<custody::RecordSlot> record, Time now) {
  std::vector<steer::Steering*> steerings;
  for (const auto& worker : workers_)
    if (worker->spreader() != nullptr) steerings.push_back(&worker->spreader()->steering());
  for (unsigned i = 0; i < count(); ++i) {
    const auto part = record.subspan(std::size_t{i} * share_.max_connections, share_.max_connections);
    if (!steerings.empty()) steer::remember_owners(part, static_cast<steer::Worker>(i), steerings, now);
    workers_[i]->engine().use_record(part, now);
  }
}

}  // namespace longhaul::box
