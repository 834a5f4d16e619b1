// SPDX-License-Identifier: BSD-3-Clause
#include "box/peer_desk.hpp"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstring>
#include <utility>

namespace longhaul::box {
namespace {

peer::Bytes bytes_of(const rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, const std::uint8_t*), rte_pktmbuf_data_len(frame)};
}

}  // namespace

/// One worker's.
struct PeerDesk::Window final : engine::OwnFrames {
  Window(PeerDesk& its, bool has_peers) : desk(its), here(has_peers) {}

  bool take(rte_mbuf* frame, Time now) override {
    if (!desk.peers_.is_for_us(bytes_of(frame))) return false;
    if (here) {
      desk.take(frame, now);
      return true;
    }
    const steer::HandedFrame handed(frame, Side::wan, 0);
    void* entry = nullptr;
    std::memcpy(&entry, &handed, sizeof(entry));
    // A full ring loses it, as a wire would.
    if (rte_ring_mp_enqueue(desk.handed_over_.get(), entry) != 0) rte_pktmbuf_free(frame);
    return true;
  }

  PeerDesk& desk;
  bool here;
};

PeerDesk::PeerDesk(const PeerSettings& settings, unsigned workers, engine::Sink& ports, const engine::Pools& pools,
                   Time now)
    : ports_(ports),
      pools_(pools),
      peers_(settings.peers, static_cast<std::uint16_t>(workers),
             workers == 1 && settings.peers.repair ? peer::kRepairs : 0, settings.mac, *this,
             settings.random ? settings.random : peer::system_random(), now),
      attended_at_(now),
      handed_over_(steer::make_ring(kHandedOver, steer::Producers::several)) {
  for (unsigned worker = 0; worker < workers; ++worker)
    windows_.push_back(std::make_unique<Window>(*this, worker == 0));
}

PeerDesk::~PeerDesk() = default;

void PeerDesk::take(rte_mbuf* frame, Time now) {
  if (reads_.take(now))
    peers_.take(bytes_of(frame), now);
  else
    ++unread_;
  rte_pktmbuf_free(frame);
}

void PeerDesk::join(engine::Engine& engine) {
  engine_ = &engine;
  engine.join(*this);
}

void PeerDesk::attend(Time now) {
  attended_at_ = now;
  steer::HandedFrame handed;
  for (unsigned i = 0; i < kATurn; ++i) {
    if (rte_ring_sc_dequeue(handed_over_.get(), reinterpret_cast<void**>(&handed)) != 0) break;
    take(handed.mbuf(), now);
  }
  if (now >= peers_.deadline()) peers_.poll(now);
  if (engine_ != nullptr) tell_engine(now);
}

// ---- the engine and its peers ---------------------------------------------------------------------

void PeerDesk::tell_engine(Time now) {
  constexpr Duration kOften = milliseconds(1);
  if (said_.empty() && now < looked_at_ + kOften) return;
  looked_at_ = now;
  look_at_peers(now);
  for (const Said& said : said_)
    if (repairing_.contains(said.peer)) engine_->peer_said(said.peer, said.type, said.body, now);
  said_.clear();
}

// Another epoch remembers nothing.
void PeerDesk::look_at_peers(Time now) {
  std::map<std::uint32_t, std::uint64_t> present;
  peers_.for_repairing([&](std::uint32_t number, std::uint64_t epoch, Duration round_trip) {
    const auto known = repairing_.find(number);
    if (known != repairing_.end() && known->second != epoch) engine_->peer_gone(number, now);
    engine_->peer_up(number, round_trip);
    present.emplace(number, epoch);
  });
  for (const auto& [number, epoch] : repairing_)
    if (!present.contains(number)) engine_->peer_gone(number, now);
  repairing_ = std::move(present);
}

void PeerDesk::carried(std::uint32_t peer, std::uint8_t type, peer::Bytes body) {
  if (engine_ == nullptr || said_.size() == kMostSaid) return;
  if (const auto of = static_cast<relay::Type>(type); relay::is_known(of))
    said_.push_back({peer, of, {body.begin(), body.end()}});
}

void PeerDesk::send(relay::PeerNumber to, relay::Type type, relay::Bytes body) {
  peers_.carry(to, static_cast<std::uint8_t>(type), body, attended_at_);
}

peer::PeersReport PeerDesk::report() const {
  peer::PeersReport report = peers_.report(attended_at_);
  report.unread = unread_;
  return report;
}

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

}  // namespace longhaul::box
