// SPDX-License-Identifier: BSD-3-Clause
#include "flow/traffic_learner.hpp"

#include <algorithm>

#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"

namespace longhaul::flow {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_le;
using wire::psn_lt;

namespace {

// No requester has more PSNs under way: what is older has been answered, on another path or unseen.
constexpr std::int32_t kMaxOutstanding = 1 << 16;

// A candidate silent for so long makes room for another.
constexpr Duration kIdle = seconds(1);
constexpr unsigned kIdleSearch = 16;

std::string purpose(std::uint32_t capacity) {
  return "table for " + std::to_string(capacity) + " connections to be learned from traffic";
}

}  // namespace

TrafficLearner::TrafficLearner(std::uint32_t capacity, const std::string& name)
    : candidates_(capacity),
      by_request_(capacity, name + "_q", purpose(capacity)),
      by_pair_(capacity, name + "_p", purpose(capacity)) {}

// ---- a candidate ------------------------------------------------------------------------------

void TrafficLearner::Candidate::begin(std::uint32_t psn) {
  counting = true;
  revealed = false;
  low = next = psn;
  messages = 0;
  sample_count = 0;
  stride = 1;
  skipped = 0;
}

void TrafficLearner::Candidate::uncounted(std::uint32_t psn) {
  counting = revealed = false;
  next = psn;
}

void TrafficLearner::Candidate::add(const wire::Frame& frame, std::uint32_t psns) {
  const std::uint32_t last = psn_add(next, static_cast<std::int64_t>(psns) - 1);
  next = psn_add(last, 1);
  if (psn_diff(next, low) > kMaxOutstanding) answered(psn_add(next, -kMaxOutstanding - 1));
  if (frame.opcode->ends_message()) ++messages;
  if (!frame.ack_req() || frame.opcode->wants_response() || ++skipped < stride) return;
  skipped = 0;
  if (sample_count == kSamples) {
    // Every second one is enough, from now on too.
    for (std::size_t i = 0; i < kSamples / 2; ++i) samples[i] = samples[2 * i];
    sample_count = kSamples / 2;
    stride *= 2;
  }
  samples[sample_count++] = {last, messages};
}

bool TrafficLearner::Candidate::outstanding(std::uint32_t psn) const {
  return counting && psn_le(low, psn) && psn_lt(psn, next);
}

// Also an ACK that is repeated or late, and one for requests that could not be counted.
bool TrafficLearner::Candidate::may_be_meant(std::uint32_t psn) const {
  const std::int32_t behind = psn_diff(next, psn);
  return behind > (counting ? 0 : -kMaxOutstanding) && behind <= 2 * kMaxOutstanding;
}

std::optional<std::uint32_t> TrafficLearner::Candidate::messages_at(std::uint32_t psn) const {
  for (std::size_t i = 0; i < sample_count; ++i)
    if (samples[i].psn == psn) return samples[i].messages;
  return std::nullopt;
}

void TrafficLearner::Candidate::answered(std::uint32_t psn) {
  low = psn_add(psn, 1);
  std::size_t gone = 0;
  while (gone < sample_count && psn_le(samples[gone].psn, psn)) ++gone;
  std::copy(samples.begin() + static_cast<std::ptrdiff_t>(gone),
            samples.begin() + static_cast<std::ptrdiff_t>(sample_count), samples.begin());
  sample_count -= gone;
  if (sample_count == 0) stride = 1;
}

// ---- requests ---------------------------------------------------------------------------------

bool TrafficLearner::request(const wire::Frame& frame, Time now) {
  Candidate* candidate = candidate_of(frame, now);
  if (candidate == nullptr) {
    blind_until_ = now + kBlind;
    return false;
  }
  candidate->last_request = now;
  if (frame.opcode == nullptr) {
    candidate->uncounted(frame.psn());  // how many messages and PSNs it is, nobody knows
    return true;
  }
  if (candidate->path_mtu == 0) candidate->path_mtu = wire::path_mtu_shown_by(frame);
  const std::uint32_t psns = wire::psns_of(frame, candidate->path_mtu);
  if (psns == 0) {
    candidate->uncounted(frame.psn());  // nothing beyond a READ until the path MTU is known
    return true;
  }
  const std::uint32_t psn = frame.psn();
  if (!candidate->counting) candidate->begin(psn);
  const std::int32_t ahead = psn_diff(psn, candidate->next);
  if (ahead < 0 && ahead >= -kMaxOutstanding) return true;  // a repeat
  if (ahead != 0) candidate->begin(psn);                    // something in between did not pass here
  candidate->add(frame, psns);
  return true;
}

KeyIndex::Key TrafficLearner::request_key(const Candidate& candidate) {
  return {candidate.requester, candidate.responder, candidate.vlan, candidate.responder_qpn};
}

KeyIndex::Key TrafficLearner::pair_key(const Candidate& candidate) {
  return {candidate.requester, candidate.responder, candidate.vlan, 0};
}

TrafficLearner::Candidate* TrafficLearner::candidate_of(const wire::Frame& frame, Time now) {
  const auto index = by_request_.find({frame.source, frame.destination, frame.vlan, frame.destination_qpn()});
  return index ? &candidates_[*index] : admit(frame, now);
}

TrafficLearner::Candidate* TrafficLearner::admit(const wire::Frame& frame, Time now) {
  for (unsigned i = 0; i < kIdleSearch; ++i) {
    const std::uint32_t index = clock_hand_;
    clock_hand_ = (clock_hand_ + 1) % static_cast<std::uint32_t>(candidates_.size());
    Candidate& candidate = candidates_[index];
    if (candidate.in_use && now - candidate.last_request < kIdle) continue;
    if (candidate.in_use) drop(index);
    candidate = Candidate{};
    candidate.requester = frame.source;
    candidate.responder = frame.destination;
    candidate.vlan = frame.vlan;
    candidate.responder_qpn = frame.destination_qpn();
    const KeyIndex::Key request = request_key(candidate);
    const KeyIndex::Key pair = pair_key(candidate);
    candidate.next_of_pair = by_pair_.find(pair).value_or(kNone);
    if (!by_request_.put(request, index)) return nullptr;
    if (!by_pair_.put(pair, index)) {
      by_request_.erase(request);
      return nullptr;
    }
    candidate.in_use = true;
    return &candidate;
  }
  return nullptr;
}

void TrafficLearner::drop(std::uint32_t index) {
  Candidate& candidate = candidates_[index];
  const KeyIndex::Key request = request_key(candidate);
  const KeyIndex::Key pair = pair_key(candidate);
  by_request_.erase(request);
  const std::uint32_t first = by_pair_.find(pair).value_or(kNone);
  if (first != index) {
    std::uint32_t before = first;
    while (candidates_[before].next_of_pair != index) before = candidates_[before].next_of_pair;
    candidates_[before].next_of_pair = candidate.next_of_pair;
  } else if (candidate.next_of_pair == kNone) {
    by_pair_.erase(pair);
  } else {
    by_pair_.put(pair, candidate.next_of_pair);  // an update, which needs no room
  }
  candidate.in_use = false;
}

// ---- answers ----------------------------------------------------------------------------------

TrafficLearner::Fit TrafficLearner::fit(const wire::Frame& answer, Time now) {
  Fit fit;
  const KeyIndex::Key pair{answer.destination, answer.source, answer.vlan, 0};
  for (std::uint32_t index = by_pair_.find(pair).value_or(kNone); index != kNone;
       index = candidates_[index].next_of_pair) {
    Candidate& candidate = candidates_[index];
    if (now - candidate.last_request > kCandidateLife) continue;
    if (candidate.revealed && candidate.requester_qpn == answer.destination_qpn()) fit.revealed = &candidate;
    if (candidate.may_be_meant(answer.psn())) ++fit.count;
    if (candidate.outstanding(answer.psn())) fit.only = &candidate;
  }
  return fit;
}

TrafficOutcome TrafficLearner::answer(const wire::Frame& frame, Time now) {
  if (now < began_ + kBlind || now < blind_until_) return {};
  const Fit found = fit(frame, now);
  if (frame.opcode->operation == wire::Operation::acknowledge) {
    if (wire::aeth_kind(frame.aeth().syndrome) == wire::AethKind::ack) return acknowledge(frame, found);
  } else if (found.revealed != nullptr && found.revealed->path_mtu == 0) {
    found.revealed->path_mtu = wire::path_mtu_shown_by(frame);
  }
  return {};
}

TrafficOutcome TrafficLearner::acknowledge(const wire::Frame& frame, const Fit& fit) {
  const std::uint32_t psn = frame.psn();
  TrafficOutcome outcome;
  if (fit.count > 1) {
    outcome.event = TrafficEvent::ambiguous;
    return outcome;
  }
  Candidate* candidate = fit.only;
  if (candidate == nullptr && fit.revealed != nullptr) {
    const std::int32_t behind = psn_diff(fit.revealed->low, psn);
    if (behind > 0 && behind <= kMaxOutstanding) return outcome;  // a repeat
  }
  // It fits none, or another than before, or comes for another QPN than before.
  if (fit.revealed != candidate && (fit.revealed != nullptr || candidate->revealed)) {
    for (Candidate* wrong : {fit.revealed, candidate})
      if (wrong != nullptr) wrong->uncounted(wrong->next);
    outcome.event = TrafficEvent::contradicted;
    return outcome;
  }
  if (candidate == nullptr) return outcome;

  const auto messages = candidate->messages_at(psn);
  candidate->answered(psn);
  if (!messages) return outcome;
  const std::uint32_t msn = frame.aeth().msn;
  if (!candidate->revealed) {
    candidate->revealed = true;
    candidate->requester_qpn = frame.destination_qpn();
    candidate->first_msn = msn;
    candidate->first_messages = *messages;
    return outcome;
  }
  const std::uint32_t counted = *messages - candidate->first_messages;
  if (counted == 0) return outcome;  // within one message an MSN proves nothing
  if (psn_add(candidate->first_msn, counted) != msn) {
    candidate->uncounted(candidate->next);
    outcome.event = TrafficEvent::contradicted;
    return outcome;
  }
  return learned(*candidate, msn);
}

TrafficOutcome TrafficLearner::learned(Candidate& candidate, std::uint32_t msn) {
  TrafficOutcome outcome;
  outcome.event = TrafficEvent::learned;
  outcome.info.vlan = candidate.vlan;
  outcome.info.path_mtu = candidate.path_mtu;
  outcome.info.end(Side::host).ip = candidate.requester;
  outcome.info.end(Side::host).qpn = candidate.requester_qpn;
  outcome.info.end(Side::wan).ip = candidate.responder;
  outcome.info.end(Side::wan).qpn = candidate.responder_qpn;
  outcome.una = candidate.low;
  outcome.msn = msn;
  outcome.next_psn = candidate.next;
  drop(static_cast<std::uint32_t>(&candidate - candidates_.data()));
  return outcome;
}

}  // namespace longhaul::flow
