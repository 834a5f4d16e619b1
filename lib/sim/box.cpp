// SPDX-License-Identifier: BSD-3-Clause
#include "sim/box.hpp"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "box/peer_desk.hpp"
#include "sim/frames.hpp"
#include "steer/pair_hash.hpp"

namespace longhaul::sim {

namespace {

constexpr Duration kPollGap = microseconds(1);

wire::MacAddress mac_of(unsigned box) { return {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(0xb0 + box)}; }

}  // namespace

Box::Box(unsigned number, const BoxPlan& plan, const engine::Settings& settings, const engine::Pools& pools,
         std::uint32_t pair_hash, std::uint64_t seed, BoxWatch& watch, custody::Observer& observer, Send send)
    : number_(number),
      plan_(plan),
      settings_(settings),
      pools_(pools),
      random_(seed, number, 7),
      seed_(seed),
      watch_(watch),
      observer_(observer),
      send_(std::move(send)),
      home_(steer::worker_of_entry(pair_hash, static_cast<unsigned>(plan.workers))),
      control_path_(plan, Random(seed, number, 9), pools.frames) {
  if (plan.record != 0)
    record_ = std::vector<custody::RecordSlot>(box::record_slots(settings, static_cast<unsigned>(plan.workers)));
}

Box::~Box() { crash(); }

void Box::start(Time now) {
  const std::vector<box::WorkerPlace> places(plan_.workers, {*this, pools_, &observer_});
  now_ = now;
  box::Settings settings{settings_};
  if (began_ == kNever) began_ = now;
  if (plan_.peer == number_of(BoxPeer::peer)) settings.peers = peers();
  if (plan_.peer == number_of(BoxPeer::liar)) {
    const box::PeerSettings its = peers();
    const auto send = [this](peer::Bytes frame) {
      send_(Side::wan, to_mbuf(pools_.frames, frame));
      return true;
    };
    liar_ = std::make_unique<Liar>(its.peers, static_cast<unsigned>(plan_.workers), its.mac, its.random,
                                   microseconds(plan_.lie_us), Random(seed_, number_, 10 + lives_), send, now);
  }
  wiring_ = std::make_unique<box::Wiring>(settings, places, now);
  if (!record_.empty()) wiring_->use_record(record_, now);
}

// A network of their own on the long haul's segment.
box::PeerSettings Box::peers() {
  const auto address = [](unsigned box) { return fmt::format("198.51.100.{}", box + 1); };
  peer::Key key;
  key.fill(1);
  box::PeerSettings peers;
  peers.peers.station.network = wire::Prefix::parse(address(number_) + "/24");
  peers.peers.peers.push_back({"other", wire::IpAddress::parse(address(1 - number_)), {peer::PreSharedKey(key)}});
  peers.mac = mac_of(number_);
  peers.random = [random = Random(seed_, number_, 8 + ++lives_)](std::span<std::uint8_t> bytes) mutable {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  };
  return peers;
}

// For the box itself: it goes no further.
bool Box::is_from_peer(const rte_mbuf* frame) const {
  const peer::Bytes bytes{rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->pkt_len};
  if (liar_) return liar_->is_for_us(bytes);
  const box::PeerDesk* its = desk();
  return its != nullptr && its->is_for_us(bytes);
}

bool Box::is_made_here(const rte_mbuf* frame) const {
  return is_peer() && rte_pktmbuf_mtod(frame, const wire::EthernetHeader*)->source == mac_of(number_);
}

void Box::leave_peers(Time now) {
  if (!running()) return;
  now_ = now;
  control_path_.stop();
  if (liar_) liar_->stop(now);
  if (desk() != nullptr) desk()->stop(workers().front()->time().at(now));
}

void Box::crash() {
  wiring_.reset();
  liar_.reset();
  control_path_.clear();
  hand_over_ = kNever;
  handing_over_ = 0;
  paused_until_ = 0;
  for (auto& ring : rings_of_ports_) {
    for (rte_mbuf* frame : ring) rte_pktmbuf_free(frame);
    ring.clear();
  }
}

// ---- standing still ---------------------------------------------------------------------------

void Box::pause(Time now, Time until) {
  if (paused_until_ == 0) go_round(now);
  paused_until_ = std::max(paused_until_, until);
}

// Until now its loops found nothing to do.
void Box::go_round(Time now) {
  for (const auto& worker : workers()) worker->time().went_round(now);
}

// Like the program's loop: a burst from each port, then timers, repeatedly. All workers run at once, so the frames that
// one hands over do not fill another's ring.
void Box::resume(Time now) {
  paused_until_ = 0;
  for (bool more = true; more;) {
    more = take_from_ring(Side::host, now);
    more = take_from_ring(Side::wan, now) || more;
    hand_over_all(now);
    for (const auto& worker : workers()) worker->time().poll(now, more);
  }
}

// True when there may be more.
bool Box::take_from_ring(Side side, Time now) {
  std::deque<rte_mbuf*>& ring = rings_of_ports_[side];
  std::array<rte_mbuf*, steer::Spreader::kBurst> burst;
  const std::size_t count = std::min(ring.size(), burst.size());
  std::copy_n(ring.begin(), count, burst.begin());
  ring.erase(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(count));
  if (count > 0) take_in(side, {burst.data(), count}, now);
  return count == burst.size();
}

// ---- frames -----------------------------------------------------------------------------------

void Box::receive(Side side, std::span<rte_mbuf* const> frames, Time now) {
  now_ = now;
  if (paused_until_ == 0) {
    go_round(now);
    take_in(side, frames, now);
    return;
  }
  std::deque<rte_mbuf*>& ring = rings_of_ports_[side];
  for (rte_mbuf* frame : frames) {
    if (ring.size() < plan_.ring) {
      ring.push_back(frame);
    } else {
      ++ring_lost_;
      rte_pktmbuf_free(frame);
    }
  }
}

void Box::take_in(Side side, std::span<rte_mbuf* const> frames, Time now) {
  if (side == Side::wan && (liar_ || control_path_.active())) frames = without_control(frames, now);
  for (const rte_mbuf* frame : frames) {
    if (liar_) liar_->see(side, frame);
    if (side == Side::host || !is_from_peer(frame)) watch_.on_in(number_, side, frame, now);
  }
  if (workers().size() == 1) {
    box::Worker& only = *workers().front();
    only.engine().receive(side, frames, only.time().at(now));
    only.attend_peers(only.time().at(now));
    note_peaks();
    return;
  }
  while (!frames.empty()) {
    const auto burst = frames.first(std::min<std::size_t>(frames.size(), steer::Spreader::kBurst));
    to_receiver(side, burst, now);
    frames = frames.subspan(burst.size());
  }
  // Frames that arrive at one instant, as after a pause, keep a worker busy for longer than another takes to read its
  // ring.
  if (handing_over_ >= steer::HandOverRings::kFrames / 2) hand_over_all(now);
  hand_over_ = std::min(hand_over_, now + microseconds(plan_.hand_over_us));
  if (hand_over_ <= now) hand_over(now);
  attend_peers(now);
  note_peaks();
}

void Box::note_peaks() {
  std::uint64_t custody = 0;
  std::uint64_t far = 0;
  for (const auto& worker : workers()) {
    custody += worker->engine().custody_bytes();
    far += worker->engine().far_bytes();
  }
  peak_custody_ = std::max(peak_custody_, custody);
  peak_far_ = std::max(peak_far_, far);
}

void Box::attend_peers(Time now) {
  for (const auto& worker : workers()) worker->attend_peers(worker->time().at(now));
}

// What the peer has sent goes its own way.
std::span<rte_mbuf* const> Box::without_control(std::span<rte_mbuf* const> frames, Time now) {
  others_.clear();
  for (rte_mbuf* frame : frames)
    if (is_from_peer(frame))
      control_path_.take(frame, now - began_, now);
    else
      others_.push_back(frame);
  take_control(now);
  return others_;
}

void Box::take_control(Time now) {
  for (rte_mbuf* frame : control_path_.arrived(now)) {
    if (liar_) {
      liar_->take({rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->pkt_len}, now);
      rte_pktmbuf_free(frame);
      continue;
    }
    box::Worker& first = *workers().front();
    first.engine().receive(Side::wan, {&frame, 1}, first.time().at(now));
    attend_peers(now);
  }
}

// A NIC's queue: all frames come to one worker.
void Box::to_receiver(Side side, std::span<rte_mbuf* const> frames, Time now) {
  box::Worker& receiver = *workers()[(home_ + plan_.receiver) % workers().size()];
  std::array<rte_mbuf*, steer::Spreader::kBurst> burst;
  std::ranges::copy(frames, burst.begin());
  handing_over_ += frames.size();
  const Time time = receiver.time().at(now);
  receiver.take_in(side, std::span(burst).first(frames.size()), time,
                   [&](Side from, std::span<rte_mbuf* const> own) { receiver.engine().receive(from, own, time); });
}

void Box::hand_over_all(Time now) {
  do hand_over(now);
  while (hand_over_ != kNever);
}

void Box::hand_over(Time now) {
  hand_over_ = kNever;
  bool any = false;
  do {
    any = false;
    for (unsigned to = 0; to < workers().size(); ++to)
      for (unsigned from = 0; from < workers().size(); ++from) {
        if (from == to) continue;
        box::Worker& worker = *workers()[to];
        const Time time = worker.time().at(now);
        const std::uint16_t taken = worker.take_over(
            static_cast<steer::Worker>(from), time,
            [&](Side side, std::span<rte_mbuf* const> frames) { worker.engine().receive(side, frames, time); });
        any = any || taken > 0;
      }
    // With time between looks a frame that is handed over twice waits twice.
  } while (any && plan_.hand_over_us == 0);
  if (any)
    hand_over_ = now + microseconds(plan_.hand_over_us);
  else
    handing_over_ = 0;
}

void Box::poll(Time now) {
  now_ = now;
  if (paused_until_ != 0) {
    if (paused_until_ <= now) resume(now);
  } else {
    go_round(now);
    if (hand_over_ <= now) hand_over(now);
    for (const auto& worker : workers()) worker->time().poll(now, false);
    attend_peers(now);
    if (liar_ && liar_->next_deadline() <= now) liar_->poll(now);
    take_control(now);
  }
  not_before_ = now + kPollGap;
}

Time Box::next_deadline() const {
  if (paused_until_ != 0) return paused_until_;
  Time deadline = std::min(hand_over_, control_path_.next_deadline());
  if (liar_) deadline = std::min(deadline, liar_->next_deadline());
  for (const auto& worker : workers()) deadline = std::min(deadline, worker->time().clock_at(worker->next_deadline()));
  return deadline == kNever ? kNever : std::max(deadline, not_before_);
}

void Box::set_draining(bool draining) {
  for (const auto& worker : workers()) worker->engine().set_draining(draining);
}

bool Box::draining() const { return running() && workers().front()->engine().draining(); }

// Custody must be empty, so that no connection fails.
void Box::set_bypass(bool bypass, Time now) {
  if (paused_until_ == 0) go_round(now);
  for (const auto& worker : workers()) {
    const Time time = worker->time().at(now);
    engine::Engine& engine = worker->engine();
    engine.set_bypass(bypass, time);
    if (bypass) engine.forget(0, engine.connection_slots(), "bypass", time);
  }
}

// Like an operator's tool: first the settings for new flows, then the existing flows in portions.
void Box::reconfigure(const engine::Settings& settings) {
  settings_ = settings;
  const engine::Settings share = wiring_->share_of(settings);
  for (const auto& worker : workers()) {
    worker->reconfigure(share);
    for (std::uint32_t first = 0; first < worker->engine().connection_slots(); first += 4)
      worker->engine().apply_policies(first, 4);
  }
}

std::uint64_t Box::custody_packets() const {
  std::uint64_t packets = 0;
  for (const auto& worker : workers()) packets += worker->engine().custody_packets();
  return packets;
}

std::uint64_t Box::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& worker : workers()) bytes += worker->engine().unconfirmed_bytes();
  return bytes;
}

std::uint64_t Box::waiting_frames() const {
  std::uint64_t frames = hand_over_ == kNever ? 0 : 1;
  for (const auto& ring : rings_of_ports_) frames += ring.size();
  for (const auto& worker : workers()) frames += worker->engine().waiting_frames();
  return frames;
}

Counters Box::counters() const {
  Counters sum;
  for (const auto& worker : workers()) sum += worker->counters();
  return sum;
}

// By full ports; of several workers also by full rings, or for want of a buffer to show another worker a REQ.
void Box::tell_dropped() {
  std::uint64_t dropped = 0;
  for (const auto& worker : workers())
    for (const Counter counter : {Counter::dropped_port_full, Counter::dropped_ring_full, Counter::dropped_unshown})
      dropped += worker->count(counter);
  watch_.on_dropped(number_, dropped);
}

std::uint16_t Box::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  // The NIC makes room as it sends: each attempt may find another amount.
  const bool full = plan_.port_full != 0 && random_.chance(plan_.port_full, 10000);
  const auto accepted = static_cast<std::uint16_t>(full ? std::min<std::uint64_t>(random_.below(3), count) : count);
  if (plan_.port_full != 0 || plan_.workers > 1) tell_dropped();
  for (std::uint16_t i = 0; i < accepted; ++i) {
    if (out == Side::host || !is_made_here(frames[i])) watch_.on_out(number_, out, frames[i], now_);
    send_(out, frames[i]);
  }
  return accepted;
}

}  // namespace longhaul::sim
