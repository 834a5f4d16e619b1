// SPDX-License-Identifier: BSD-3-Clause
#include "expose/worker_report.hpp"

#include "box/peer_desk.hpp"

namespace longhaul::expose {

WorkerReport::WorkerReport(const box::Worker& worker, const Activity& its)
    : counters(worker.counters()),
      custody_packets(worker.engine().custody_packets()),
      custody_bytes(worker.engine().custody_bytes()),
      waiting_frames(not_gone()),
      link(worker.engine().link_state()),
      bypass(worker.engine().bypass()),
      draining(worker.engine().draining()),
      activity(its),
      pseudo_ack_delay(worker.engine().pseudo_ack_delay()),
      wan_rtt(worker.engine().wan_rtt()) {
  if (const box::PeerDesk* desk = worker.desk()) peers = desk->report();
}

std::uint64_t WorkerReport::not_gone() const {
  std::uint64_t gone = counters[Counter::forwarded_host] + counters[Counter::forwarded_wan];
  for (const Counter counter : metrics::kNotForwarded) gone += counters[counter];
  return received_frames() - gone;
}

WorkerReport& WorkerReport::operator+=(const WorkerReport& more) {
  counters += more.counters;
  custody_packets += more.custody_packets;
  custody_bytes += more.custody_bytes;
  waiting_frames += more.waiting_frames;
  link += more.link;
  bypass |= more.bypass;
  draining |= more.draining;
  activity.rounds += more.activity.rounds;
  activity.ran += more.activity.ran;
  activity.busy += more.activity.busy;
  pseudo_ack_delay += more.pseudo_ack_delay;
  wan_rtt += more.wan_rtt;
  if (more.peers) peers = more.peers;
  return *this;
}

}  // namespace longhaul::expose
