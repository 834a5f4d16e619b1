// SPDX-License-Identifier: BSD-3-Clause
#include "peer/peers.hpp"

#include <algorithm>
#include <utility>

namespace longhaul::peer {

Peers::Peers(const Settings& settings, std::uint16_t workers, std::uint32_t features, const wire::MacAddress& mac,
             Outlet& outlet, Random random, Time now)
    : outlet_(outlet), random_(std::move(random)), station_(settings.station, mac, *this) {
  self_.address = settings.station.address();
  self_.workers = workers;
  self_.features = features;
  // 0 stands for "not known".
  while (self_.epoch == 0) random_({reinterpret_cast<std::uint8_t*>(&self_.epoch), sizeof(self_.epoch)});
  set_peers(settings.peers, now);
}

void Peers::set_peers(const std::vector<PeerSettings>& peers, Time now) {
  // What may throw comes first: afterwards there is no way back.
  std::vector<std::unique_ptr<Peer>> wanted;
  for (const PeerSettings& settings : peers)
    wanted.push_back(find(settings) == nullptr ? made(settings, now) : nullptr);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (wanted[i] != nullptr) continue;
    std::unique_ptr<Peer>& known = *find(peers[i]);
    if (known->settings().keys != peers[i].keys) known->set_keys(peers[i].keys, now);
    wanted[i] = std::move(known);
  }
  for (const auto& peer : peers_)
    if (peer != nullptr) peer->leave(ByeReason::peer_removed, now);
  peers_ = std::move(wanted);
  update_deadline();
}

std::unique_ptr<Peer> Peers::made(const PeerSettings& settings, Time now) {
  return std::make_unique<Peer>(++last_number_, self_, settings, static_cast<PeerHost&>(*this), random_, now);
}

std::unique_ptr<Peer>* Peers::find(const PeerSettings& settings) {
  const auto found = std::ranges::find_if(peers_, [&settings](const auto& peer) {
    return peer != nullptr && peer->settings().name == settings.name && peer->settings().address == settings.address;
  });
  return found == peers_.end() ? nullptr : &*found;
}

void Peers::take(Bytes frame, Time now) { station_.take(frame, now); }

void Peers::poll(Time now) {
  if (stopped_) return;
  for (const auto& peer : peers_) peer->poll(now);
  update_deadline();
}

void Peers::stop(Time now) {
  for (const auto& peer : peers_) peer->leave(ByeReason::ends, now);
  stopped_ = true;
  update_deadline();
}

void Peers::update_deadline() {
  deadline_ = kNever;
  if (stopped_) return;
  for (const auto& peer : peers_) deadline_ = std::min(deadline_, peer->deadline());
}

// Ethernet's least frame: not every driver pads.
void Peers::transmit(Bytes frame) {
  constexpr std::size_t kLeast = 60;
  std::vector<std::uint8_t> padded;
  if (frame.size() < kLeast) {
    padded.assign(frame.begin(), frame.end());
    padded.resize(kLeast);
    frame = padded;
  }
  if (!outlet_.transmit(frame)) ++unsent_;
}

void Peers::datagram(const wire::IpAddress& source, Bytes payload, Time now) {
  if (stopped_) return;
  const auto peer = std::ranges::find_if(peers_, [&](const auto& p) { return p->settings().address == source; });
  if (peer == peers_.end()) {
    ++from_unknown_sources_;
    return;
  }
  (*peer)->receive(payload, now);
  // Too early does no harm: poll() puts it right.
  deadline_ = std::min(deadline_, (*peer)->deadline());
}

void Peers::send(const wire::IpAddress& to, Bytes datagram, Way way, Time now) {
  station_.send(to, datagram, now);
  if (way == Way::doubtful) station_.ask_again(to, now);
}

void Peers::carry(std::uint32_t number, const Carried& message, Time now) {
  const auto peer = std::ranges::find(peers_, number, [](const auto& p) { return p->number(); });
  if (peer != peers_.end() && (*peer)->repairs()) (*peer)->carry(message, now);
}

PeersReport Peers::report(Time now) const {
  PeersReport report;
  report.address = self_.address;
  report.epoch = self_.epoch;
  report.not_understood = station_.not_understood();
  report.address_conflicts = station_.conflicts();
  report.unsent = unsent_;
  report.from_unknown_sources = from_unknown_sources_;
  for (const auto& peer : peers_) {
    report.peers.push_back(peer->report(now));
    report.peers.back().resolved = station_.is_resolved(peer->settings().address, now);
  }
  return report;
}

}  // namespace longhaul::peer
