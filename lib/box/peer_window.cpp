// SPDX-License-Identifier: BSD-3-Clause
#include "box/peer_window.hpp"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstring>
#include <utility>

#include "box/peer_desk.hpp"

namespace longhaul::box {

namespace {

constexpr std::uint32_t kHandedOver = 256;

}  // namespace

PeerWindow::Common::Common(unsigned its_workers) : workers(its_workers), to_peers(its_workers) {
  for (unsigned worker = 0; worker < workers; ++worker) {
    frames.push_back(steer::make_ring(kHandedOver));
    to_worker.push_back(std::make_unique<PeerMessages>(workers));
  }
}

bool PeerWindow::take(rte_mbuf* frame, Time now) {
  if (!desk_.is_for_us({rte_pktmbuf_mtod(frame, const std::uint8_t*), rte_pktmbuf_data_len(frame)})) return false;
  if (worker_ == 0) {
    desk_.take(frame, now);
    return true;
  }
  const steer::HandedFrame handed(frame, Side::wan, 0);
  void* entry = nullptr;
  std::memcpy(&entry, &handed, sizeof(entry));
  // A full ring loses it, as a wire would.
  if (rte_ring_sp_enqueue(common_.frames[worker_].get(), entry) != 0) rte_pktmbuf_free(frame);
  return true;
}

void PeerWindow::join(engine::Engine& engine, steer::Spreader* spreader) {
  engine_ = &engine;
  spreader_ = spreader;
  engine.join(*this, common_.workers);
}

void PeerWindow::attend(Time now) {
  attended_at_ = now;
  if (!has_news()) return;
  look_at_peers(now);
  for (unsigned i = 0; i < kAtOnce; ++i) {
    std::unique_ptr<PeerMessage> message = common_.to_worker[worker_]->take();
    if (message == nullptr) break;
    hear(std::move(message), now);
  }
}

// Another epoch remembers nothing.
void PeerWindow::look_at_peers(Time now) {
  const std::uint64_t version = common_.peers.version();
  if (known_version_ == version) return;
  known_version_ = version;
  std::map<PeerNumber, std::uint64_t> present;
  for (const RepairingPeer& peer : common_.peers.all()) {
    const auto known = known_.find(peer.number);
    if (known != known_.end() && known->second != peer.epoch) engine_->peer_gone(peer.number, now);
    engine_->peer_up(peer.number, peer.round_trip, peer.workers);
    present.emplace(peer.number, peer.epoch);
  }
  for (const auto& [number, epoch] : known_)
    if (!present.contains(number)) engine_->peer_gone(number, now);
  known_ = std::move(present);
}

void PeerWindow::hear(std::unique_ptr<PeerMessage> message, Time now) {
  const auto known = known_.find(peer_of(message->peer));
  if (known == known_.end() || known->second != message->epoch) return;
  if (!message->owner_known && spreader_ != nullptr) {
    const auto binds = relay::entries_in<relay::BindEntry>(*message->body);
    const steer::Worker owner = spreader_->steering().owner_of(Side::wan, binds.front().key(), now);
    if (owner != worker_) {
      message->owner_known = true;
      common_.to_worker[owner]->put(worker_, std::move(message));
      return;
    }
  }
  engine_->peer_said(message->peer, message->to, message->type, *message->body, now);
}

void PeerWindow::send(Speaker to, relay::Type type, relay::Bytes body) {
  const auto known = known_.find(peer_of(to));
  if (known == known_.end()) return;
  if (worker_ == 0) return desk_.send(worker_, to, known->second, type, body);
  auto message = std::make_unique<PeerMessage>();
  message->peer = to;
  message->epoch = known->second;
  message->from = static_cast<std::uint16_t>(worker_);
  message->type = type;
  message->body = std::make_shared<const std::vector<std::uint8_t>>(body.begin(), body.end());
  common_.to_peers.put(worker_, std::move(message));
}

}  // namespace longhaul::box
