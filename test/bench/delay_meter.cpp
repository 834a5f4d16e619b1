// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/delay_meter.hpp"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace longhaul::bench {

namespace {

constexpr std::uint64_t kHeadStartPerSecond = 200'000;  // 5 us to hand over the schedule

}  // namespace

void Delays::add(const Delays& more) {
  for (auto list : {&Delays::undisturbed, &Delays::preempted, &Delays::paused})
    (this->*list).insert((this->*list).end(), (more.*list).begin(), (more.*list).end());
  chunks += more.chunks;
  chunks_preempted += more.chunks_preempted;
  chunks_paused += more.chunks_paused;
  longest_pause = std::max(longest_pause, more.longest_pause);
  chunks_late += more.chunks_late;
  seconds += more.seconds;
}

std::optional<std::uint64_t> DelayMeter::key_of(Side out, const rte_mbuf* mbuf) const {
  wire::Frame frame;
  if (wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, frame) != wire::ParseStatus::roce)
    return std::nullopt;
  const auto flow = stream_.flow_of(out, frame);
  if (!flow) return std::nullopt;
  return std::uint64_t{*flow} << 24 | frame.psn();
}

std::vector<std::uint64_t> DelayMeter::arrivals(std::size_t count) {
  std::exponential_distribution<double> gap(1 / interval_);
  std::vector<std::uint64_t> due(count);
  double at = 0;
  for (std::uint64_t& time : due) time = static_cast<std::uint64_t>(at += gap(random_));
  return due;
}

void DelayMeter::before(const Offer& offer) {
  BySide<std::vector<std::uint64_t>> never;
  for (const Side side : {Side::host, Side::wan}) {
    due_[side] = arrivals(offer.frames[side].size());
    never[side].assign(due_[side].size(), UINT64_MAX);
  }
  const auto& requests = offer.frames[Side::host];
  waiting_.clear();
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (const auto key = key_of(Side::wan, requests[i])) waiting_.emplace(*key, due_[Side::host][i]);
  ports_.schedule(std::move(never));
}

void DelayMeter::put_in() {
  auto due = due_;
  begin_ = rte_rdtsc() + rte_get_tsc_hz() / kHeadStartPerSecond;
  for (auto& times : due)
    for (std::uint64_t& time : times) time += begin_;
  ports_.schedule(std::move(due));
  late_ = ports_.seen_at() > begin_;
}

void DelayMeter::came_out(Side out, std::span<rte_mbuf* const> frames) {
  if (out != answered_at_) return;
  if (late_) {
    ++delays_.chunks_late;
    waiting_.clear();
    return;
  }
  std::uint64_t last = 0;
  for (const auto& times : due_)
    if (!times.empty()) last = std::max(last, times.back());
  delays_.seconds += static_cast<double>(last) / static_cast<double>(rte_get_tsc_hz());
  const PacedPorts::Pauses pauses = ports_.pauses();
  std::vector<std::uint32_t>* list = &delays_.undisturbed;
  ++delays_.chunks;
  if (device_.preempted()) {
    ++delays_.chunks_preempted;
    list = &delays_.preempted;
  } else if (pauses.count != 0) {
    ++delays_.chunks_paused;
    delays_.longest_pause = std::max(delays_.longest_pause, pauses.longest);
    list = &delays_.paused;
  }
  const auto sent = ports_.sent(out);
  for (std::size_t i = 0; i < std::min(frames.size(), sent.size()); ++i) {
    const auto key = key_of(out, frames[i]);
    const auto found = key ? waiting_.find(*key) : waiting_.end();
    if (found == waiting_.end()) continue;
    list->push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(sent[i] - begin_ - found->second, UINT32_MAX)));
    waiting_.erase(found);
  }
  missing_ += waiting_.size();
  waiting_.clear();
}

}  // namespace longhaul::bench
