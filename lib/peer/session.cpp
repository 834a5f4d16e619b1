// SPDX-License-Identifier: BSD-3-Clause
#include "peer/session.hpp"

#include <algorithm>
#include <limits>

namespace longhaul::peer {

Session::Session(const SessionKeys& keys, Role own, std::uint16_t workers, const Agreed& agreed, const Path& outgoing,
                 Time now)
    : agreed_(agreed),
      outgoing_(outgoing),
      made_at_(now),
      heard_at_(now),
      cookie_(keys.cookie_to(own)),
      peer_cookie_(keys.cookie_to(other(own))) {
  for (std::uint16_t worker = 0; worker < workers; ++worker) own_.push_back({keys.sending(own, worker)});
  for (std::uint16_t worker = 0; worker < agreed.peer_workers; ++worker)
    senders_.push_back({keys.sending(other(own), worker), {}});
}

std::vector<std::uint8_t> Session::seal(Type type, Bytes body, std::uint16_t worker) {
  Own& its = own_[worker];
  const auto number = static_cast<std::uint8_t>(type);
  const std::uint8_t version = number < kFirstSessionType ? kHandshakeVersion : agreed_.version;
  // A number is never used for two: at their end the receiver drops what comes, and Peer ends the session before.
  if (its.sequence != std::numeric_limits<std::uint32_t>::max()) ++its.sequence;
  most_sent_ = std::max(most_sent_, its.sequence);
  std::vector<std::uint8_t> datagram = datagram_of({version, number, worker, its.sequence, peer_cookie_}, body);
  peer::seal(datagram, its.key, outgoing_);
  return datagram;
}

Opened Session::open(const Datagram& datagram, Time now) {
  const Header& header = datagram.header();
  if (header.worker >= senders_.size()) return Opened::unknown_worker;
  Sender& sender = senders_[header.worker];
  if (!sender.window.is_new(header.sequence)) return Opened::replayed;
  if (!datagram.is_authentic(sender.key, outgoing_.reversed())) return Opened::forged;
  sender.window.note(header.sequence);
  heard_at_ = now;
  return Opened::accepted;
}

}  // namespace longhaul::peer
