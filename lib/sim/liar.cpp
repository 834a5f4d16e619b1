// SPDX-License-Identifier: BSD-3-Clause
#include "sim/liar.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "flow/connection_key.hpp"
#include "sim/frames.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

constexpr std::size_t kMostKnown = 64;
constexpr Duration kNothingToSay = milliseconds(5);  // until it tries again: a world without its peer must end, too

template <typename Known>
void remember(std::vector<Known>& all, Known what) {
  if (all.size() == kMostKnown) all.erase(all.begin());
  all.push_back(std::move(what));
}

}  // namespace

Liar::Liar(const peer::Settings& settings, unsigned workers, const wire::MacAddress& mac, peer::Random its_random,
           Duration interval, Random random, Send send, Time now)
    : peers_(settings, static_cast<std::uint16_t>(workers), peer::repair_features(workers), mac, *this,
             std::move(its_random), now),
      workers_(workers),
      interval_(interval),
      random_(random),
      send_(std::move(send)),
      now_(now),
      next_lie_(now + interval) {}

void Liar::take(peer::Bytes frame, Time now) {
  now_ = now;
  peers_.take(frame, now);
}

void Liar::see(Side side, const rte_mbuf* frame) {
  const View view(frame);
  if (!view.intact || !view.reliable() || view.frame.opcode == nullptr) return;
  if (side == Side::host && !view.frame.opcode->is_response()) see_request(view);
  if (side == Side::wan && view.frame.opcode->is_response()) see_answer(view);
}

void Liar::see_request(const View& view) {
  const flow::KeyIndex::Key key = flow::key_of(view.frame).copy();
  const auto known = std::ranges::find_if(seen_, [&](const Seen& seen) { return seen.key == key; });
  if (known != seen_.end())
    known->psn = view.psn();
  else
    remember(seen_, Seen{key, view.psn()});
}

void Liar::see_answer(const View& view) {
  const flow::KeyIndex::Key key = flow::key_of(view.frame).copy();
  for (Seen& seen : seen_)
    if (seen.key.first == key.second && seen.key.second == key.first && seen.key.vlan == key.vlan)
      seen.requester_qpn = key.qpn;
}

void Liar::carried(std::uint32_t, const peer::Carried& message) {
  peer::Bytes body = message.body;
  switch (static_cast<relay::Type>(message.type)) {
    case relay::Type::bind:
      for (const relay::BindEntry& entry : relay::entries_in<relay::BindEntry>(body))
        remember(bound_, Bound{entry.name, entry.psn});
      break;
    case relay::Type::clock:
      if (const auto* head = relay::take_head<relay::ClockHead>(body)) clock_ = head->clock;
      for (const relay::ClockEntry& entry : relay::entries_in<relay::ClockEntry>(body))
        remember(bound_, Bound{entry.name, entry.top});
      break;
    case relay::Type::answer_clock:
      if (const auto* head = relay::take_head<relay::ClockHead>(body)) answer_clock_ = head->clock;
      break;
    default:
      break;
  }
}

void Liar::stop(Time now) {
  peers_.stop(now);
  lies_ = kMost;
}

void Liar::poll(Time now) {
  now_ = now;
  if (now >= peers_.deadline()) peers_.poll(now);
  if (now < next_lie_ || lies_ == kMost) return;
  next_lie_ = now + 1 + random_.below(2 * static_cast<std::uint64_t>(interval_));
  peer_ = 0;
  peers_.for_repairing([this](const peer::Peer& peer) {
    peer_ = peer.number();
    its_workers_ = peer.repairing_workers();
  });
  if (peer_ != 0 && !(bound_.empty() && seen_.empty()))
    lie();
  else
    next_lie_ = std::max(next_lie_, now + kNothingToSay);
}

Time Liar::next_deadline() const { return lies_ == kMost ? peers_.deadline() : std::min(peers_.deadline(), next_lie_); }

// ---- lies ---------------------------------------------------------------------------------------

void Liar::lie() {
  ++lies_;
  switch (random_.below(6)) {
    case 0:
    case 1:
      return lie_about_order();
    case 2:
    case 3:
      return lie_about_answers();
    case 4:
      return lie_about_bindings();
    default:
      return lie_about_ends();
  }
}

// STATE and ANSWER_STATE. `names` gives a binding and a PSN of its flow.
template <typename Names>
void Liar::lie_about_missing(relay::Type type, std::uint64_t clock, Names names) {
  relay::StateWriter writer({clock, static_cast<std::uint32_t>(random_.below(1000))});
  const auto send = [this, type](relay::Bytes body) { say(type, body); };
  for (std::uint64_t entries = random_.between(1, 3); entries > 0; --entries) {
    const Bound about = names();
    const auto flags = static_cast<std::uint8_t>(
        type == relay::Type::answer_state
            ? random_.pick({0, int{relay::kFirst}, int{relay::kComplete}, relay::kFirst | relay::kComplete, 0xff})
            : random_.pick({relay::kBound, relay::kBound, relay::kBound, 0, relay::kMended, relay::kNotBound,
                            relay::kBound | relay::kNotBound | relay::kMended}));
    std::uint32_t psn = near(about.psn);
    writer.begin(about.name, flags, psn, send);
    for (std::uint64_t ranges = random_.below(4); ranges > 0; --ranges) {
      psn = wire::psn_add(psn, static_cast<std::uint32_t>(random_.pick({0, 1, 3, 40})));
      const auto count = static_cast<std::uint32_t>(random_.pick({0, 1, 1, 2, 10, 300, 1 << 20, wire::kPsnMask}));
      writer.missing({psn, count}, send);
      psn = wire::psn_add(psn, count);
    }
  }
  writer.finish(send);
}

void Liar::lie_about_order() {
  if (bound_.empty()) return;
  lie_about_missing(relay::Type::state, any_clock(clock_), [this] {
    const Bound& about = bound_[random_.below(bound_.size())];
    return Bound{random_.chance(7, 8) ? about.name : any_name(), about.psn};
  });
}

// ANSWER_STATE and ANSWER_CLOCK
void Liar::lie_about_answers() {
  if (!seen_.empty() && random_.chance(1, 2))
    return lie_about_missing(relay::Type::answer_state, any_clock(answer_clock_), [this] {
      return Bound{any_name(), seen_[random_.below(seen_.size())].psn};
    });
  relay::Body body;
  body.add(relay::ClockHead{any_clock(clock_)});
  for (std::uint64_t entries = random_.below(3); entries > 0 && !bound_.empty(); --entries) {
    const Bound& about = bound_[random_.below(bound_.size())];
    body.add(relay::AnswerClockEntry{random_.chance(7, 8) ? about.name : any_name(), near(about.psn)});
  }
  say(relay::Type::answer_clock, body.bytes());
}

// BIND and UNBIND
void Liar::lie_about_bindings() {
  relay::Body body;
  if (random_.chance(1, 3)) {
    const relay::Name name = any_name();
    body.add(relay::UnbindEntry{name, static_cast<std::uint8_t>(random_.below(2))});
    return say(relay::Type::unbind, body.bytes());
  }
  if (seen_.empty()) return;
  const Seen& about = seen_[random_.below(seen_.size())];
  binding_ += static_cast<std::uint32_t>(random_.pick({1, 1, 1, 0, 5}));
  body.add(relay::BindEntry::of({static_cast<std::uint32_t>(random_.below(4)), binding_}, about.key,
                                random_.chance(7, 8) ? about.requester_qpn : near(about.requester_qpn), near(about.psn),
                                static_cast<std::uint32_t>(random_.pick({256, 1024, 4096, 0, 1, 0xffffffff}))));
  say(relay::Type::bind, body.bytes());
}

// CLOCK
void Liar::lie_about_ends() {
  relay::Body body;
  body.add(relay::ClockHead{any_clock(clock_)});
  for (std::uint64_t entries = random_.below(3); entries > 0 && !seen_.empty(); --entries) {
    const Seen& about = seen_[random_.below(seen_.size())];
    const std::uint32_t lowest = near(about.psn);
    const std::uint32_t end = random_.chance(1, 2) ? lowest : near(lowest);
    body.add(relay::ClockEntry{any_name(), lowest, end, random_.chance(1, 2) ? end : near(end)});
  }
  say(relay::Type::clock, body.bytes());
}

// Of this side's bindings, or of the other's.
relay::Name Liar::any_name() {
  if (!bound_.empty() && random_.chance(1, 4)) return bound_[random_.below(bound_.size())].name;
  const auto back = static_cast<std::uint32_t>(random_.pick({0, 0, 0, 1, 2}));
  return {static_cast<std::uint32_t>(random_.below(4)), binding_ - std::min(binding_, back)};
}

std::uint32_t Liar::near(std::uint32_t psn) {
  const auto distance = static_cast<std::uint32_t>(random_.pick({0, 0, 1, 1, 2, 5, 30, 1000, 1 << 20, 1 << 23}));
  return wire::psn_add(psn, random_.chance(3, 4) ? distance : wire::kPsnMask + 1 - distance);
}

std::uint64_t Liar::any_clock(std::uint64_t newest) {
  switch (random_.below(8)) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    case 2:
      return newest + random_.below(1'000'000'000);
    case 3:
      return newest - std::min<std::uint64_t>(newest, random_.below(1'000'000'000));
    default:
      return newest;
  }
}

void Liar::say(relay::Type type, relay::Bytes body) {
  if (random_.chance(1, 20)) body = body.first(random_.below(body.size() + 1));
  peer::Carried message{0, 0, static_cast<std::uint8_t>(type), body};
  if (workers_ > 1) message.from = static_cast<std::uint16_t>(random_.below(workers_));
  if (its_workers_ > 1)
    message.to = random_.chance(1, 2) ? peer::kToAll : static_cast<std::uint16_t>(random_.below(its_workers_));
  peers_.carry(peer_, message, now_);
}

}  // namespace longhaul::sim
