// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/peer_log.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace longhaul::app {
namespace {

void tell(const std::string& box, const peer::PeerReport& was, const peer::PeerReport& is) {
  const bool up = is.state == peer::State::up;
  const std::uint64_t downs = is.went_down - was.went_down;
  if (is.restarts != was.restarts)
    spdlog::warn("{}: peer {} ({}) has been restarted", box, is.name, is.address.to_string());
  if (up && (was.state != peer::State::up || downs > 0))
    spdlog::info("{}: peer {} ({}) is up{}: key {}, version {}", box, is.name, is.address.to_string(),
                 was.state == peer::State::up ? fmt::format(" again, and was down {} times", downs) : "",
                 peer::id_text(is.key_id), is.version);
  else if (!up && downs > 0)
    spdlog::warn("{}: peer {} ({}) is down{}: {}", box, is.name, is.address.to_string(),
                 downs > 1 ? fmt::format(" for the {}. time", downs) : "", peer::name_of(is.down_cause));
  else if (up && is.key_id != was.key_id)
    spdlog::info("{}: peer {} ({}): the key is {} now", box, is.name, is.address.to_string(), peer::id_text(is.key_id));
}

}  // namespace

void PeerLog::look(const std::string& box, const peer::PeersReport& its) {
  std::map<std::string, peer::PeerReport> seen;
  for (const peer::PeerReport& peer : its.peers) {
    const auto known = known_.find(peer.name);
    // One that is new, or has another address: as if it had been down.
    const bool same = known != known_.end() && known->second.address == peer.address && known->second.sent <= peer.sent;
    tell(box, same ? known->second : peer::PeerReport{}, peer);
    seen.emplace(peer.name, peer);
  }
  known_ = std::move(seen);
  if (its.address_conflicts > conflicts_)
    spdlog::error(
        "{}: another machine on the WAN's segment has said that it has {}, the box's own address, or wants it", box,
        its.address.to_string());
  conflicts_ = its.address_conflicts;
}

}  // namespace longhaul::app
