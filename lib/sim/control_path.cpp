// SPDX-License-Identifier: BSD-3-Clause
#include "sim/control_path.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "sim/frames.hpp"

namespace longhaul::sim {

namespace {

constexpr std::size_t kMostKept = 128;
constexpr Duration kLongAfter = milliseconds(500);  // at most

}  // namespace

ControlPath::ControlPath(const BoxPlan& plan, Random random, rte_mempool* pool)
    : cut_at_(microseconds(plan.control_cut_at_us)),
      cut_until_(cut_at_ + microseconds(plan.control_cut_us)),
      late_(microseconds(plan.control_late_us)),
      replayed_(plan.control_replay),
      random_(random),
      pool_(pool) {}

ControlPath::~ControlPath() { clear(); }

bool ControlPath::active() const { return cut_until_ > cut_at_ || late_ != 0 || replayed_ != 0; }

void ControlPath::clear() {
  for (const UnderWay& one : std::exchange(under_way_, {})) rte_pktmbuf_free(one.frame);
}

void ControlPath::stop() {
  clear();
  replayed_ = 0;
}

void ControlPath::take(rte_mbuf* frame, Duration since, Time now) {
  if (random_.chance(replayed_, 10000)) send_again(now);
  if (replayed_ != 0) {
    if (kept_.size() == kMostKept) kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(random_.below(kMostKept)));
    const auto* data = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    kept_.emplace_back(data, data + frame->pkt_len);
  }
  if (since >= cut_at_ && since < cut_until_) return rte_pktmbuf_free(frame);
  send(frame, now + (late_ == 0 ? 0 : random_.below(static_cast<std::uint64_t>(late_))));
}

void ControlPath::send(rte_mbuf* frame, Time at) {
  const auto behind = std::ranges::upper_bound(under_way_, at, {}, &UnderWay::at);
  under_way_.insert(behind, {frame, at});
}

void ControlPath::send_again(Time now) {
  if (kept_.empty()) return;
  std::vector<std::uint8_t> bytes = kept_[random_.below(kept_.size())];
  // Behind the headers of Ethernet, IPv4 and UDP.
  constexpr std::size_t kHeaders = 42;
  if (random_.chance(1, 3) && bytes.size() > kHeaders)
    bytes[kHeaders + random_.below(bytes.size() - kHeaders)] ^= static_cast<std::uint8_t>(random_.between(1, 255));
  send(to_mbuf(pool_, bytes), now + random_.below(static_cast<std::uint64_t>(kLongAfter)));
}

std::vector<rte_mbuf*> ControlPath::arrived(Time now) {
  std::vector<rte_mbuf*> frames;
  for (; !under_way_.empty() && under_way_.front().at <= now; under_way_.pop_front())
    frames.push_back(under_way_.front().frame);
  return frames;
}

}  // namespace longhaul::sim
