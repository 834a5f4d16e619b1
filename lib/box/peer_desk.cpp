// SPDX-License-Identifier: BSD-3-Clause
#include "box/peer_desk.hpp"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstring>
#include <utility>

#include "steer/pair_hash.hpp"

namespace longhaul::box {

PeerDesk::PeerDesk(const PeerSettings& settings, unsigned workers, engine::Sink& ports, const engine::Pools& pools,
                   Time now)
    : ports_(ports),
      pools_(pools),
      repairs_(settings.peers.repair),
      peers_(settings.peers, static_cast<std::uint16_t>(workers),
             settings.peers.repair ? peer::repair_features(workers) : 0, settings.mac, *this,
             settings.random ? settings.random : peer::system_random(), now),
      attended_at_(now),
      common_(workers) {
  for (unsigned worker = 0; worker < workers; ++worker)
    windows_.push_back(std::make_unique<PeerWindow>(*this, common_, worker));
}

// ---- frames -------------------------------------------------------------------------------------

void PeerDesk::take(rte_mbuf* frame, Time now) {
  if (reads_.take(now))
    peers_.take({rte_pktmbuf_mtod(frame, const std::uint8_t*), rte_pktmbuf_data_len(frame)}, now);
  else
    ++unread_;
  rte_pktmbuf_free(frame);
}

void PeerDesk::attend(Time now) {
  attended_at_ = now;
  more_frames_ = false;
  for (const steer::FrameRing& frames : common_.frames) take_from(*frames, now);
  if (now >= peers_.deadline()) peers_.poll(now);
  constexpr Duration kOften = milliseconds(1);
  if (now >= looked_at_ + kOften) {
    looked_at_ = now;
    look_at_peers();
  }
  for (unsigned i = 0; i < kMessagesATurn; ++i) {
    const std::unique_ptr<PeerMessage> message = common_.to_peers.take();
    if (message == nullptr) break;
    send(message->from, message->peer, message->epoch, message->type, *message->body);
  }
}

void PeerDesk::take_from(rte_ring& frames, Time now) {
  steer::HandedFrame handed;
  unsigned taken = 0;
  for (; taken < kATurn && rte_ring_sc_dequeue(&frames, reinterpret_cast<void**>(&handed)) == 0; ++taken)
    take(handed.mbuf(), now);
  more_frames_ |= taken == kATurn;
}

Time PeerDesk::deadline() const { return more_frames_ || !common_.to_peers.empty() ? attended_at_ : peers_.deadline(); }

bool PeerDesk::transmit(peer::Bytes frame) {
  // Only answers to long pings are large.
  const bool small = frame.size() + RTE_PKTMBUF_HEADROOM <= rte_pktmbuf_data_room_size(pools_.made);
  rte_mbuf* mbuf = rte_pktmbuf_alloc(small ? pools_.made : pools_.frames);
  if (mbuf == nullptr) return false;
  char* data = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size()));
  if (data != nullptr) {
    std::memcpy(data, frame.data(), frame.size());
    if (ports_.transmit(Side::wan, &mbuf, 1) == 1) return true;
  }
  rte_pktmbuf_free(mbuf);
  return false;
}

// ---- messages -----------------------------------------------------------------------------------

void PeerDesk::send(unsigned worker, Speaker to, std::uint64_t epoch, relay::Type type, relay::Bytes body) {
  const RepairingPeer* peer = common_.peers.find(peer_of(to));
  if (peer == nullptr || peer->epoch != epoch) return;
  const unsigned its_worker = worker_of(to);
  peers_.carry(peer_of(to),
               {static_cast<std::uint16_t>(worker),
                its_worker == kAllWorkers ? peer::kToAll : static_cast<std::uint16_t>(its_worker),
                static_cast<std::uint8_t>(type), body},
               attended_at_);
}

void PeerDesk::look_at_peers() {
  RepairingPeers::List there;
  if (repairs_)
    peers_.for_repairing([&](const peer::Peer& peer) {
      there.push_back({peer.number(), peer.epoch(), peer.least_round_trip(), peer.repairing_workers()});
    });
  common_.peers.set(std::move(there));
  std::erase_if(to_all_, [this](const auto& its) { return common_.peers.find(its.first) == nullptr; });
}

void PeerDesk::carried(std::uint32_t number, const peer::Carried& carried) {
  const auto type = static_cast<relay::Type>(carried.type);
  if (!repairs_ || !relay::is_known(type)) return;
  look_at_peers();
  const RepairingPeer* peer = common_.peers.find(number);
  if (peer == nullptr) return;
  PeerMessage message;
  message.peer = speaker_of(number, carried.from);
  message.epoch = peer->epoch;
  message.to = carried.to == peer::kToAll ? relay::To::all : relay::To::one;
  message.type = type;
  message.body = std::make_shared<const std::vector<std::uint8_t>>(carried.body.begin(), carried.body.end());
  if (type == relay::Type::bind && common_.workers > 1) return bring_to_homes(message);
  if (message.to == relay::To::one) return bring(carried.to, message);
  if (type == relay::Type::bind || type == relay::Type::unbind || type == relay::Type::clock) bring_to_all(message);
}

void PeerDesk::bring_to_all(const PeerMessage& message) {
  const auto its = to_all_.try_emplace(peer_of(message.peer), kBroughtASecond / common_.workers);
  if (!its.first->second.take(attended_at_)) return;
  for (unsigned worker = 0; worker < common_.workers; ++worker) bring(worker, message);
}

void PeerDesk::bring(unsigned worker, const PeerMessage& message) {
  common_.to_worker[worker]->put(0, std::make_unique<PeerMessage>(message));
}

// Each flow's to the home of its two hosts.
void PeerDesk::bring_to_homes(const PeerMessage& message) {
  for (const relay::BindEntry& entry : relay::entries_in<relay::BindEntry>(*message.body)) {
    PeerMessage one = message;
    one.body = std::make_shared<const std::vector<std::uint8_t>>(reinterpret_cast<const std::uint8_t*>(&entry),
                                                                 reinterpret_cast<const std::uint8_t*>(&entry + 1));
    one.owner_known = false;
    const flow::KeyIndex::Key key = entry.key();
    bring(steer::home_of(key.first, key.second, common_.workers), one);
  }
}

peer::PeersReport PeerDesk::report() const {
  peer::PeersReport report = peers_.report(attended_at_);
  report.unread = unread_;
  return report;
}

}  // namespace longhaul::box
