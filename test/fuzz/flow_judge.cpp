// SPDX-License-Identifier: BSD-3-Clause
#include "flow_judge.hpp"

#include <algorithm>

namespace longhaul::fuzz {

Position FlowJudge::position(std::uint32_t psn) const {
  const Position top = std::max(whole_, sent_);
  const auto ahead = static_cast<std::int32_t>((psn - static_cast<std::uint32_t>(top & 0xffffff)) << 8) >> 8;
  return top + ahead;
}

bool FlowJudge::plausible(Position at) const {
  return at <= std::max(whole_, sent_) + kPlausible && at >= answered_ - kPlausible;
}

std::uint32_t FlowJudge::span(const Roce& request) const {
  if (!request.is_read() || path_mtu_ == 0) return 1;
  const std::uint64_t responses = (std::uint64_t{request.dma_length} + path_mtu_ - 1) / path_mtu_;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, responses));
}

void FlowJudge::reach(Position until) {
  whole_ = std::max(whole_, until);
  while (!beyond_.empty() && beyond_.begin()->first <= whole_) {
    whole_ = std::max(whole_, beyond_.begin()->second + 1);
    beyond_.erase(beyond_.begin());
  }
  if (std::max(whole_, sent_) - std::min(answered_, whole_) > kFar) lost_ = true;
}

void FlowJudge::requested(const Roce& request, std::uint64_t content) {
  const Position first = position(request.psn);
  const Position last = first + span(request) - 1;
  if (lost_ || !plausible(first)) return;
  // Nobody may answer for an opcode that the box does not know.
  if (!request.known_opcode) return;
  // How many PSNs the READ takes cannot be told without the path MTU.
  if (request.is_read() && path_mtu_ == 0) {
    lost_ = true;
    return;
  }
  // If a requester sends two different requests under one PSN, either may be delivered.
  const auto [known, added] = content_.emplace(first, content);
  if (!added && known->second != content) known->second = 0;
  if (first == whole_) {
    if (request.is_read() || request.is_atomic()) reads_.push_back({first, last});
    if (request.ends_message()) ++completed_;
    messages_.push_back({last, completed_});
    if (!beyond_.empty()) ordered_ = false;  // the next PSNs came already, perhaps as another request
    reach(last + 1);
  } else if (first > whole_) {
    Position& end = beyond_[first];
    end = std::max(end, last);
  }
}

void FlowJudge::sent(const Roce& request) {
  const Position first = position(request.psn);
  if (lost_ || !plausible(first)) return;
  // A longer READ than before under its PSN: its responses could be for requests that were never sent.
  if (first < sent_ && first + span(request) > sent_) unsure_ = true;
  sent_ = std::max(sent_, first + span(request));
  if (sent_ - answered_ > kFar) lost_ = true;
}

void FlowJudge::answered(const Roce& answer) {
  if (answer.opcode == 0x11 && answer.syndrome >> 5 == 1) rnr_timers_ |= 1U << (answer.syndrome & 0x1f);
  const Position at = position(answer.psn);
  Position sent = sent_;
  if (all_may_look_sent_) {
    sent = std::max(sent, whole_);
    if (!beyond_.empty()) sent = std::max(sent, beyond_.rbegin()->second + 1);
  }
  if (lost_ || at >= sent || !plausible(at)) return;
  const bool acknowledge = answer.opcode == 0x11;
  const bool positive = !acknowledge || answer.syndrome >> 5 == 0;
  if (acknowledge && (answer.syndrome >> 7 != 0 || answer.syndrome >> 5 == 2)) return;  // a reserved syndrome
  any_answer_ = true;
  if (at >= sent_) unsure_ = true;
  if (acknowledge && positive && answer.syndrome != 0x1f) credits_seen_ = true;
  if (acknowledge) {
    // An ACK beyond a READ without its response says that the response was lost. It is the responder's own word, which
    // is passed on.
    const Position until = at + (positive ? 1 : 0);
    std::erase_if(reads_, [until](const Read& read) { return read.first < until; });
  } else {
    const bool last = answer.opcode != 0x0d && answer.opcode != 0x0e;
    std::erase_if(reads_, [at, last](const Read& read) { return read.last < at || (last && read.last == at); });
  }
  answered_ = std::max(answered_, at + (positive ? 1 : 0));
  if (answered_ > whole_) ordered_ = false;  // answered, though it never came here
  reach(answered_);
}

std::string_view FlowJudge::promised(std::uint32_t psn, bool nak) {
  if (lost_) return {};
  const Position until = position(psn) + (nak ? 0 : 1);
  if (until > whole_) return "acknowledged what never came, or came damaged";
  if (ordered_)
    for (const Read& read : reads_)
      if (read.first < until) return "acknowledged beyond a READ or atomic request without its response";
  promised_ = std::max(promised_, until);
  return {};
}

bool FlowJudge::messages_until(std::uint32_t psn, std::uint32_t& messages) const {
  if (lost_ || !ordered_ || midway_) return false;
  const Position at = position(psn);
  const auto found = std::lower_bound(messages_.begin(), messages_.end(), at,
                                      [](const Message& message, Position end) { return message.end < end; });
  if (found == messages_.end() || found->end != at) return false;
  messages = found->completed;
  return true;
}

std::uint32_t FlowJudge::messages_before(Position at) const {
  const auto after = std::lower_bound(messages_.begin(), messages_.end(), at,
                                      [](const Message& message, Position end) { return message.end < end; });
  return after == messages_.begin() ? 0 : std::prev(after)->completed;
}

bool FlowJudge::completes_unanswered(std::uint32_t psn) const {
  if (lost_ || !ordered_) return false;
  const Position until = position(psn) + 1;
  std::uint32_t before = 0;
  for (const Message& message : messages_) {
    if (message.end < answered_) before = message.completed;
    if (message.end >= answered_ && message.end < until && message.completed != before) return true;
  }
  return false;
}

std::uint64_t FlowJudge::content_at(Position at) const {
  const auto found = content_.find(at);
  return found == content_.end() || !ordered_ ? 0 : found->second;
}

}  // namespace longhaul::fuzz
