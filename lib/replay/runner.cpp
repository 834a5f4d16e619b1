// SPDX-License-Identifier: BSD-3-Clause
#include "replay/runner.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>

#include "wire/icrc.hpp"

namespace longhaul::replay {
namespace {

/// A deadline that poll() does not move would stop the replay for ever; a box would merely be late.
constexpr int kPollsWithoutProgress = 1000;

}  // namespace

Runner::Runner(const engine::Settings& settings, const engine::Pools& pools, std::vector<flow::Prefix> near,
               Output& output, Annotator* annotator, bool explain)
    : pools_(pools),
      near_(std::move(near)),
      comparison_(any_policy_full(settings.policies)),
      explainer_(explain ? std::optional<Explainer>(std::in_place, near_, comparison_) : std::nullopt),
      annotator_(annotator),
      collector_(output),
      engine_(settings, pools, collector_, explainer_ ? static_cast<custody::Observer*>(&*explainer_) : &comparison_) {
  if (explainer_) explainer_->watch(engine_);
}

void Runner::feed(std::span<const std::uint8_t> bytes, std::uint32_t original_size, Time at) {
  if (result_.frames > 0 && at < now_) {
    ++result_.clock_steps_back;
    at = now_;
  }
  run_timers(at);
  now_ = at;
  collector_.set_time(now_);
  ++result_.frames;
  if (bytes.size() < original_size) ++result_.truncated;

  wire::Frame frame;
  const bool roce = wire::is_roce(wire::parse(bytes, frame));
  const bool icrc_ok = roce && wire::verify_icrc(frame);
  if (roce) {
    ++result_.roce;
    if (frame.service() == wire::Service::rc) ++result_.rc;
    if (!icrc_ok) ++result_.icrc_bad;
    conversations_.note(frame, near_);
  }

  const Side side = near_.side_of(bytes);
  rte_mbuf* const mbuf = to_mbuf(bytes);
  comparison_.begin_frame(result_.frames);
  if (explainer_) explainer_->begin_frame(result_.frames, roce ? &frame : nullptr, icrc_ok);
  if (annotator_ != nullptr) annotator_->begin_frame(bytes, original_size, side, now_);
  fates_.begin(engine_.counters());
  engine_.receive(side, {&mbuf, 1}, now_);
  fates_.end(engine_.counters());
  if (explainer_) explainer_->end_frame();
  const wire::Frame* const parsed = roce ? &frame : nullptr;
  comparison_.end_frame(parsed, side, icrc_ok, fates_);
  if (annotator_ != nullptr) annotator_->end_frame(parsed, fates_, comparison_);
}

void Runner::run_timers(Time until) {
  Time last = now_;
  int stuck = 0;
  for (Time deadline = engine_.next_deadline(); deadline <= until; deadline = engine_.next_deadline()) {
    const Time now = std::max(deadline, now_);  // a deadline in the past is served now
    stuck = now > last ? 0 : stuck + 1;
    if (stuck > kPollsWithoutProgress) return;
    last = now;
    collector_.set_time(now);
    engine_.poll(now);
    if (annotator_ != nullptr) annotator_->end_timers(comparison_);
  }
}

rte_mbuf* Runner::to_mbuf(std::span<const std::uint8_t> frame) {
  // Captures taken behind receive offloads hold frames larger than the wire allows. These are chained, and pass
  // through.
  rte_mbuf* head = nullptr;
  rte_mbuf* tail = nullptr;
  std::size_t done = 0;
  do {
    rte_mbuf* const part = rte_pktmbuf_alloc(pools_.frames);
    if (part == nullptr) {
      rte_pktmbuf_free(head);
      throw std::runtime_error("no buffer left for frame " + std::to_string(result_.frames) +
                               ": too many frames wait for the WAN rate");
    }
    const auto size =
        static_cast<std::uint16_t>(std::min<std::size_t>(frame.size() - done, rte_pktmbuf_tailroom(part)));
    if (size > 0) std::copy_n(frame.data() + done, size, rte_pktmbuf_mtod(part, std::uint8_t*));
    part->data_len = size;
    done += size;
    if (head == nullptr) {
      head = part;
    } else {
      tail->next = part;
      ++head->nb_segs;
    }
    tail = part;
  } while (done < frame.size());
  head->pkt_len = static_cast<std::uint32_t>(frame.size());
  return head;
}

Result Runner::finish() {
  run_timers(now_);
  if (annotator_ != nullptr) annotator_->finish();
  result_.counters = engine_.counters();
  result_.conversations = conversations_.all();
  result_.emitted_host = collector_.emitted(Side::host);
  result_.emitted_wan = collector_.emitted(Side::wan);
  result_.waiting = engine_.waiting_frames();
  result_.custody_left_packets = engine_.custody_packets();
  result_.custody_left_bytes = engine_.custody_bytes();
  return result_;
}

bool sums_to_input(const Result& result) {
  std::uint64_t sum =
      result.counters[Counter::forwarded_host] + result.counters[Counter::forwarded_wan] + result.waiting;
  for (const Counter counter : not_forwarded_counters()) sum += result.counters[counter];
  return sum == result.frames;
}

bool any_policy_full(const flow::PolicyTable& policies) {
  return policies.fallback == flow::Policy::full ||
         std::any_of(policies.rules.begin(), policies.rules.end(),
                     [](const auto& rule) { return rule.policy == flow::Policy::full; });
}

}  // namespace longhaul::replay
