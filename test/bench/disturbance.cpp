// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/disturbance.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>

namespace longhaul::bench {

namespace {

constexpr std::size_t kIp = 14;  // the attacks have no VLAN tags
constexpr std::size_t kUdp = kIp + 20;
constexpr std::uint16_t kDiscard = 9;

/// Keeps what it is sent.
class Kept final : public Target {
 public:
  explicit Kept(std::vector<AttackFrame>& frames) : frames_(frames) {}
  void send(Side from, const test::Bytes& frame) override { frames_.push_back({from, frame}); }

 private:
  std::vector<AttackFrame>& frames_;
};

// No checksum is needed over IPv4 (RFC 768).
void make_udp(std::uint8_t* frame) {
  frame[kUdp + 2] = kDiscard >> 8;
  frame[kUdp + 3] = kDiscard & 0xff;
  frame[kUdp + 6] = frame[kUdp + 7] = 0;
}

// The measured hosts are 10.1.0.0/16 and 10.2.0.0/16.
bool is_measured(const std::uint8_t* address) { return address[0] == 10 && (address[1] == 1 || address[1] == 2); }

}  // namespace

Disturbance::Disturbance(Kind kind, std::uint32_t held, const std::string& only, rte_mempool* pool)
    : kind_(kind), held_(held), pool_(pool) {
  for (const std::span<const Attack> some : {bench::attacks(), hoards()})
    for (const Attack& attack : some)
      if (only.empty() || attack.name == only) attacks_.push_back(&attack);
  if (attacks_.empty())
    throw std::invalid_argument("no attack \"" + only + "\"; test/bench/attacks/run --list shows them");
}

// All attacks come to stand side by side, so that none is done before another begins.
AttackFrame Disturbance::next() {
  if (preparation_.empty()) {
    std::vector<std::vector<AttackFrame>> each(attacks_.size());
    std::size_t longest = 0;
    for (std::size_t i = 0; i < each.size(); ++i) {
      attack_from(static_cast<std::uint8_t>(i));
      Kept kept(each[i]);
      attacks_[i]->prepare(kept, held_);
      longest = std::max(longest, each[i].size());
    }
    for (std::size_t place = 0; place < longest; ++place)
      for (std::vector<AttackFrame>& frames : each)
        if (place < frames.size()) preparation_.push_back(std::move(frames[place]));
  }
  if (prepared_ < preparation_.size()) return preparation_[prepared_++];
  const std::size_t attack = number_ % attacks_.size();
  attack_from(static_cast<std::uint8_t>(attack));
  return attacks_[attack]->frame(static_cast<std::uint32_t>(number_++ / attacks_.size()), held_);
}

void Disturbance::offer(Part, std::size_t frames, Offer& offer) {
  for (std::size_t i = 0; i < frames; ++i) {
    const AttackFrame frame = next();
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf == nullptr) throw std::runtime_error("no mbuf for other hosts' frames");
    auto* bytes =
        reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.bytes.size())));
    std::ranges::copy(frame.bytes, bytes);
    if (kind_ == Kind::udp) make_udp(bytes);
    offer.frames[frame.from].push_back(mbuf);
    ++offered_;
  }
}

bool Disturbance::take(Side, wire::ParseStatus, const wire::Frame&, const rte_mbuf* mbuf) {
  if (mbuf->data_len < kUdp) return false;
  const auto* ip = rte_pktmbuf_mtod_offset(mbuf, const std::uint8_t*, kIp);
  return !is_measured(ip + 12) && !is_measured(ip + 16);
}

}  // namespace longhaul::bench
