// SPDX-License-Identifier: BSD-3-Clause
#include "flow/traffic_learner.hpp"

#include <algorithm>
#include <cstring>

#include "flow/connection_key.hpp"
#include "flow/lifetimes.hpp"
#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"
#include "wire/udp_source_port.hpp"

namespace longhaul::flow {

using wire::psn_add;
using wire::psn_diff;
using wire::psn_le;
using wire::psn_lt;

namespace {

// A candidate that is silent for this long makes room for another.
constexpr Duration kSilent = seconds(1);
constexpr unsigned kSilentSearch = 16;

std::string table_for(std::uint32_t capacity) {
  return "table for " + std::to_string(capacity) + " connections to be learned from traffic";
}

}  // namespace

TrafficLearner::TrafficLearner(std::uint32_t capacity)
    : candidates_(capacity),
      pairs_(capacity),
      by_request_(capacity, table_for(capacity)),
      by_answer_(capacity, table_for(capacity)),
      by_pair_(capacity, table_for(capacity)),
      by_port_(capacity, table_for(capacity)),
      no_room_until_(std::size_t{1} << kNoRoomBits) {
  static_assert(kMeantTo - kMeantFrom <= 1 << kStretchBits, "two neighbouring stretches have all that may be meant");
  free_pairs_.reserve(capacity);
  for (std::uint32_t i = capacity; i-- > 0;) free_pairs_.push_back(i);
}

// ---- a candidate ------------------------------------------------------------------------------

void TrafficLearner::Candidate::add(const wire::Frame& frame, std::uint32_t psns) {
  const std::uint32_t last = psn_add(next, static_cast<std::int64_t>(psns) - 1);
  next = psn_add(last, 1);
  if (psn_lt(top, next)) top = next;
  if (psn_diff(next, low) > kMaxOutstanding) answered(psn_add(next, -kMaxOutstanding - 1));
  if (frame.opcode->ends_message()) ++messages;
  if (!frame.ack_req() || frame.opcode->wants_response() || ++skipped < stride) return;
  skipped = 0;
  if (sample_count == kSamples) {
    // Keep every second sample, from now on too.
    for (std::size_t i = 0; i < kSamples / 2; ++i) samples[i] = samples[2 * i];
    sample_count = kSamples / 2;
    stride *= 2;
  }
  samples[sample_count++] = {last, messages};
}

bool TrafficLearner::Candidate::outstanding(std::uint32_t psn) const {
  return counting && psn_le(low, psn) && psn_lt(psn, next);
}

// True also for a repeated or late ACK, and for one for requests that could not be counted.
bool TrafficLearner::Candidate::may_be_meant(std::uint32_t psn) const {
  const std::int32_t behind = psn_diff(counting ? top : next, psn);
  return behind > (counting ? 0 : kMeantFrom) && behind <= kMeantTo;
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

// A leap from where the candidate was, over requests that did not pass here. Returns false for a repeat, which moves
// nothing.
bool TrafficLearner::leap(Candidate& candidate, std::uint32_t psn, bool countable, Time now) {
  const std::int32_t ahead = psn_diff(psn, candidate.next);
  const bool near = ahead >= -kMaxOutstanding && ahead <= kMaxOutstanding;
  if (countable && candidate.counting && near && ahead < 0) {
    // A repeat of an answered request: its requester missed the answer, or another life has begun, whose answers may go
    // to another QPN. After a pause, a repeat of an unanswered request may be another life's too: no QP is created
    // again sooner.
    const bool answered = psn_lt(psn, candidate.low);
    if (answered) conceal(candidate);
    if (answered || now - candidate.last_request > kSoonestReuse) candidate.began = now;
    return false;
  }
  // In a life that goes on, a host's link loses no more packets than this at once.
  constexpr std::int32_t kLostAtOnce = 256;
  if (ahead < 0 || ahead > kLostAtOnce) candidate.began = now;
  // Answers for its former requests may still come. For an uncounted candidate any ACK nearby counts as its own.
  if (candidate.counting && !near) pairs_[candidate.pair].blind_until = now + kBlind;
  const std::int32_t left = psn_diff(candidate.top, psn);
  if (left <= 0 || left > kMaxOutstanding) candidate.top = psn;
  return true;
}

// A request at a PSN that is not the next one, or one that is not `countable`. Returns false when it is not counted.
inline bool TrafficLearner::jump(Candidate& candidate, std::uint32_t psn, bool countable, Time now) {
  if (candidate.stretch == kNone) {
    candidate.began = now;
    candidate.top = psn;
  } else if (!leap(candidate, psn, countable, now)) {
    return false;
  }
  if (countable)
    begin(candidate, psn);
  else
    uncounted(candidate, psn);
  return countable;
}

inline void TrafficLearner::follow(Candidate& candidate, const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  std::uint32_t psns = 0;  // not known for an unknown opcode
  if (frame.opcode != nullptr) {
    if (candidate.path_mtu == 0) candidate.path_mtu = wire::path_mtu_shown_by(frame);
    psns = wire::psns_of(frame, candidate.path_mtu);
  }
  // Nothing is counted beyond a READ until the path MTU is known, or beyond a READ of an impossible length.
  const bool countable = psns != 0 && psns <= static_cast<std::uint32_t>(kMaxOutstanding);
  if (!countable || !candidate.counting || psn != candidate.next) [[unlikely]]
    if (!jump(candidate, psn, countable, now)) return;
  candidate.add(frame, psns);
}

bool TrafficLearner::request(const wire::Frame& frame, Time now) {
  Candidate* candidate = candidate_of(frame, now);
  if (candidate == nullptr) {
    note_no_room({frame.source, frame.destination, frame.vlan, 0u}, now);
    return false;
  }
  follow(*candidate, frame, now);
  if (const std::uint16_t port = frame.udp_source_port(); !candidate->listed || port != candidate->port) [[unlikely]]
    port_changed(*candidate, port, now);
  candidate->last_request = now;
  place(*candidate);
  return true;
}

bool TrafficLearner::has_seen(const ConnectionInfo& info, Time now) const {
  const End& responder = info.end(Side::wan);
  const auto found = by_request_.find({info.end(Side::host).ip, responder.ip, info.vlan, responder.qpn});
  return found && now - candidates_[*found].last_request < kCandidateLife;
}

void TrafficLearner::begin(Candidate& candidate, std::uint32_t psn) {
  conceal(candidate);
  candidate.counting = true;
  candidate.low = candidate.next = psn;
  candidate.messages = 0;
  candidate.sample_count = 0;
  candidate.stride = 1;
  candidate.skipped = 0;
}

void TrafficLearner::uncounted(Candidate& candidate, std::uint32_t psn) {
  conceal(candidate);
  candidate.counting = false;
  candidate.next = psn;
}

// ---- UDP source ports -------------------------------------------------------------------------

// A new life of the responder's QPN has another port. Within a life, some NICs vary the port, which then tells nothing.
void TrafficLearner::port_changed(Candidate& candidate, std::uint16_t port, Time now) {
  unlist(candidate);
  if (candidate.began == now) list(candidate, port);
}

void TrafficLearner::list(Candidate& candidate, std::uint16_t port) {
  candidate.port = port;
  candidate.listed = by_port_.add(index_of(candidate), port_key(candidate));
}

void TrafficLearner::unlist(Candidate& candidate) {
  if (candidate.listed) by_port_.remove(index_of(candidate), port_key(candidate));
  candidate.listed = false;
}

// The answer is from the responder of `candidate`, as far as its port tells.
bool TrafficLearner::names(const wire::Frame& answer, const Candidate& candidate) {
  const std::uint16_t port = answer.udp_source_port();
  return candidate.listed && candidate.port == port &&
         wire::derived_udp_source_port(answer.destination_qpn(), candidate.responder_qpn) == port;
}

// The candidate that alone has the port of `answer`, if it is derived from both QPNs. A port that no candidate has, or
// one that is not derived from that candidate's QPN, shows hosts that do not derive ports so. (Soft-RoCE once took them
// from the sender's own QPN: then each ACK has the port of one candidate, and it is mostly the wrong one.)
TrafficLearner::Candidate* TrafficLearner::named_by_port(const wire::Frame& answer, std::uint32_t pair, Time now) {
  if (now < pairs_[pair].ports_differ_until) return nullptr;
  Candidate* only = nullptr;
  unsigned count = 0;
  unsigned looks = 0;
  by_port_.walk({answer.destination, answer.source, answer.vlan, answer.udp_source_port()}, [&](std::uint32_t member) {
    if (now - candidates_[member].last_request <= kCandidateLife) {
      only = &candidates_[member];
      ++count;
    }
    return ++looks <= kLooks;
  });
  if (count == 1 && looks <= kLooks && names(answer, *only)) return only;
  if (count < 2 || looks > kLooks) pairs_[pair].ports_differ_until = now + kBlind;  // also one port for all
  return nullptr;
}

bool TrafficLearner::shares_port(const ConnectionInfo& info, std::uint32_t psn, Time now,
                                 std::optional<Time> since) const {
  const End& requester = info.end(Side::host);
  const End& responder = info.end(Side::wan);
  const std::uint16_t port = derived_port_of(info);
  bool shared = false;
  unsigned looks = 0;
  by_port_.walk({requester.ip, responder.ip, info.vlan, port}, [&](std::uint32_t member) {
    const Candidate& candidate = candidates_[member];
    shared = ++looks > kLooks || (candidate.responder_qpn != responder.qpn && (!since || candidate.began > *since) &&
                                  (!candidate.revealed || candidate.requester_qpn == requester.qpn) &&
                                  now - candidate.last_request <= kCandidateLife &&
                                  (candidate.may_be_meant(psn) || now < pairs_[candidate.pair].blind_until) &&
                                  wire::derived_udp_source_port(requester.qpn, candidate.responder_qpn) == port);
    return !shared;
  });
  return shared;
}

// ---- where candidates are found ---------------------------------------------------------------

KeyIndex::KeyView TrafficLearner::request_key(const Candidate& candidate) {
  return {candidate.requester, candidate.responder, candidate.vlan, candidate.responder_qpn};
}

KeyIndex::KeyView TrafficLearner::answer_key(const Candidate& candidate) {
  return {candidate.responder, candidate.requester, candidate.vlan, candidate.requester_qpn};
}

KeyIndex::KeyView TrafficLearner::pair_key(const Candidate& candidate) {
  return {candidate.requester, candidate.responder, candidate.vlan, 0};
}

KeyIndex::KeyView TrafficLearner::port_key(const Candidate& candidate) {
  return {candidate.requester, candidate.responder, candidate.vlan, candidate.port};
}

TrafficLearner::Candidate* TrafficLearner::candidate_of(const wire::Frame& frame, Time now) {
  const auto index = by_request_.find(key_of(frame));
  return index ? &candidates_[*index] : admit(frame, now);
}

TrafficLearner::Candidate* TrafficLearner::admit(const wire::Frame& frame, Time now) {
  Candidate* place = place_for({frame.source, frame.destination, frame.vlan, 0u}, now);
  if (place == nullptr) return nullptr;
  Candidate& candidate = *place;
  if (candidate.in_use) drop(candidate);
  candidate = Candidate{};
  candidate.requester = frame.source;
  candidate.responder = frame.destination;
  candidate.vlan = frame.vlan;
  candidate.responder_qpn = frame.destination_qpn();
  if (!enter_pair(candidate)) return nullptr;
  if (!by_request_.put(request_key(candidate), index_of(candidate))) {
    leave_pair(candidate);
    return nullptr;
  }
  candidate.in_use = true;
  return &candidate;
}

// A free place, or that of an idle candidate, or that of a live one whose hosts have more candidates than these.
TrafficLearner::Candidate* TrafficLearner::place_for(const KeyIndex::KeyView& hosts, Time now) {
  // In this burst these hosts have looked in vain.
  if (last_no_room_until_ == now + kBlind && no_room_until_[no_room_slot(hosts)] == now + kBlind) return nullptr;
  const auto pair = by_pair_.find(hosts);
  const std::uint32_t own = pair ? pairs_[*pair].candidates : 0;
  Candidate* of_more = nullptr;
  for (unsigned i = 0; i < kSilentSearch; ++i) {
    Candidate& candidate = candidates_[clock_hand_];
    if (++clock_hand_ == candidates_.size()) clock_hand_ = 0;
    if (!candidate.in_use || now - candidate.last_request >= kSilent) return &candidate;
    if (of_more == nullptr && pairs_[candidate.pair].candidates > own + 1) of_more = &candidate;
  }
  if (of_more != nullptr) note_no_room(pair_key(*of_more), now);
  return of_more;
}

std::size_t TrafficLearner::no_room_slot(const KeyIndex::KeyView& hosts) const {
  std::uint64_t hash = mix_keyed(secret_, hosts.vlan.value, secret_);
  for (const wire::IpAddress* address : {&hosts.first, &hosts.second}) {
    std::uint64_t halves[2];
    std::memcpy(halves, address->bytes.data(), sizeof(halves));
    for (const std::uint64_t half : halves) hash = mix_keyed(hash, half, secret_);
  }
  return hash >> (64 - kNoRoomBits);
}

void TrafficLearner::note_no_room(const KeyIndex::KeyView& hosts, Time now) {
  Time& until = no_room_until_[no_room_slot(hosts)];
  if (until == now + kBlind) return;
  until = last_no_room_until_ = now + kBlind;
  if (const auto pair = by_pair_.find(hosts)) pairs_[*pair].no_room_until = now + kBlind;
}

bool TrafficLearner::lacks_room(const KeyIndex::KeyView& hosts, Time now) const {
  return now < blind_until_ || (now < last_no_room_until_ && now < no_room_until_[no_room_slot(hosts)]);
}

bool TrafficLearner::lacks_room(const ConnectionInfo& info, Time now) const {
  return lacks_room(KeyIndex::KeyView{info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan, 0u}, now);
}

void TrafficLearner::start_anew(Time now) {
  for (Candidate& candidate : candidates_)
    if (candidate.in_use) drop(candidate);
  blind_until_ = now + kBlind;
}

void TrafficLearner::drop(Candidate& candidate) {
  conceal(candidate);
  displace(candidate);
  unlist(candidate);
  leave_pair(candidate);
  by_request_.erase(request_key(candidate));
  candidate.in_use = false;
}

bool TrafficLearner::enter_pair(Candidate& candidate) {
  const KeyIndex::KeyView key = pair_key(candidate);
  auto index = by_pair_.find(key);
  if (!index) {
    // There are as many pairs as candidates.
    index = free_pairs_.back();
    if (!by_pair_.put(key, *index)) return false;
    free_pairs_.pop_back();
    pairs_[*index].first.fill(kNone);
    pairs_[*index].no_room_until = no_room_until_[no_room_slot(key)];
    pairs_[*index].ports_differ_until = 0;
  }
  candidate.pair = *index;
  ++pairs_[*index].candidates;
  return true;
}

void TrafficLearner::leave_pair(Candidate& candidate) {
  if (--pairs_[candidate.pair].candidates > 0) return;
  by_pair_.erase(pair_key(candidate));
  free_pairs_.push_back(candidate.pair);
}

// Puts the candidate into the list where its ACKs are looked up.
void TrafficLearner::place(Candidate& candidate) {
  const std::uint32_t stretch = candidate.next >> kStretchBits;
  if (candidate.stretch == stretch) return;
  displace(candidate);
  std::uint32_t& first = pairs_[candidate.pair].first[stretch];
  candidate.stretch = stretch;
  candidate.before = kNone;
  candidate.after = first;
  if (first != kNone) candidates_[first].before = index_of(candidate);
  first = index_of(candidate);
}

void TrafficLearner::displace(Candidate& candidate) {
  if (candidate.stretch == kNone) return;
  if (candidate.before != kNone)
    candidates_[candidate.before].after = candidate.after;
  else
    pairs_[candidate.pair].first[candidate.stretch] = candidate.after;
  if (candidate.after != kNone) candidates_[candidate.after].before = candidate.before;
  candidate.stretch = kNone;
}

// Returns false when there is no room.
bool TrafficLearner::reveal(Candidate& candidate, std::uint32_t requester_qpn) {
  candidate.requester_qpn = requester_qpn;
  const KeyIndex::KeyView key = answer_key(candidate);
  // A candidate that still has this key has been silent for so long that its requester has given up.
  if (const auto silent = by_answer_.find(key)) uncounted(candidates_[*silent], candidates_[*silent].next);
  candidate.revealed = by_answer_.put(key, index_of(candidate));
  return candidate.revealed;
}

void TrafficLearner::conceal(Candidate& candidate) {
  if (candidate.revealed) by_answer_.erase(answer_key(candidate));
  candidate.revealed = false;
}

// ---- answers ----------------------------------------------------------------------------------

TrafficLearner::Candidate* TrafficLearner::revealed_by(const wire::Frame& answer, Time now) {
  const auto index = by_answer_.find(key_of(answer));
  if (!index || now - candidates_[*index].last_request > kCandidateLife) return nullptr;
  return &candidates_[*index];
}

template <typename Counts>
inline TrafficLearner::Fit TrafficLearner::fit_of(const KeyIndex::KeyView& pair_key, std::uint32_t psn, Time now,
                                                  bool may_be_blind, Counts counts) {
  Fit fit;
  const auto pair = by_pair_.find(pair_key);
  if (!pair) return fit;
  fit.pair = *pair;
  fit.no_room = now < pairs_[*pair].no_room_until;
  if (may_be_blind && now < pairs_[*pair].blind_until) {
    fit.count = 2;  // the ACK may be for a candidate's former requests
    return fit;
  }
  const std::uint32_t last = psn_add(psn, kMeantTo) >> kStretchBits;
  std::uint32_t stretch = psn_add(psn, kMeantFrom + 1) >> kStretchBits;
  for (;; stretch = (stretch + 1) % kStretches) {
    unsigned looks = 0;
    for (std::uint32_t index = pairs_[*pair].first[stretch]; index != kNone; ++looks) {
      if (looks == kLooks) {
        fit.count = 2;  // a crowd
        return fit;
      }
      Candidate& candidate = candidates_[index];
      index = candidate.after;
      if (now - candidate.last_request > kCandidateLife) {
        displace(candidate);  // until its next request
        continue;
      }
      if (!counts(candidate)) continue;
      if (candidate.outstanding(psn)) fit.only = &candidate;
      if (candidate.may_be_meant(psn) && ++fit.count == 2) return fit;
    }
    if (stretch == last) return fit;
  }
}

bool TrafficLearner::may_be_meant(const ConnectionInfo& info, std::uint32_t psn, Time now, std::optional<Time> since) {
  const End& requester = info.end(Side::host);
  const End& responder = info.end(Side::wan);
  const auto may_have_it = [&](const Candidate& candidate) {
    return candidate.responder_qpn != responder.qpn && (!since || candidate.began > *since) &&
           (!candidate.revealed || candidate.requester_qpn == requester.qpn);
  };
  return fit_of({requester.ip, responder.ip, info.vlan, 0u}, psn, now, !since, may_have_it).count != 0;
}

bool TrafficLearner::is_blind(const ConnectionInfo& info, Time now) const {
  if (lacks_room(info, now)) return true;
  const auto pair = by_pair_.find({info.end(Side::host).ip, info.end(Side::wan).ip, info.vlan, 0u});
  return pair && now < pairs_[*pair].blind_until;
}

TrafficOutcome TrafficLearner::answer(const wire::Frame& frame, Time now) {
  if (now < began_ + kBlind || now < blind_until_) return {};
  if (frame.opcode->operation == wire::Operation::acknowledge) {
    if (wire::aeth_kind(frame.aeth().syndrome) == wire::AethKind::ack) return acknowledge(frame, now);
  } else if (Candidate* candidate = revealed_by(frame, now); candidate != nullptr && candidate->path_mtu == 0) {
    candidate->path_mtu = wire::path_mtu_shown_by(frame);
  }
  return {};
}

TrafficOutcome TrafficLearner::acknowledge(const wire::Frame& frame, Time now) {
  const std::uint32_t psn = frame.psn();
  TrafficOutcome outcome;
  const auto any = [](const Candidate&) { return true; };
  const Fit fit = fit_of({frame.destination, frame.source, frame.vlan, 0u}, psn, now, true, any);
  if (fit.no_room) return outcome;
  Candidate* candidate = fit.only;
  if (fit.count > 1) {
    candidate = named_by_port(frame, fit.pair, now);
    if (candidate == nullptr) {
      outcome.event = TrafficEvent::ambiguous;
      return outcome;
    }
    if (!candidate->outstanding(psn)) return outcome;  // a repeat, or late
  }
  const bool named = candidate != nullptr && names(frame, *candidate);
  if (candidate != nullptr && !named) pairs_[fit.pair].ports_differ_until = now + kBlind;
  Candidate* revealed = revealed_by(frame, now);
  if (candidate == nullptr && revealed != nullptr) {
    const std::int32_t behind = psn_diff(revealed->low, psn);
    if (behind > 0 && behind <= kMaxOutstanding) return outcome;  // a repeat
  }
  // The ACK fits no candidate, another one than before, or another QPN than before.
  if (revealed != candidate && (revealed != nullptr || candidate->revealed)) {
    for (Candidate* wrong : {revealed, candidate})
      if (wrong != nullptr) uncounted(*wrong, wrong->next);
    outcome.event = TrafficEvent::contradicted;
    return outcome;
  }
  if (candidate == nullptr) return outcome;

  const auto messages = candidate->messages_at(psn);
  candidate->answered(psn);
  if (!messages) return outcome;
  const std::uint32_t msn = frame.aeth().msn;
  if (!candidate->revealed) {
    if (!reveal(*candidate, frame.destination_qpn())) return outcome;
    candidate->first_msn = msn;
    candidate->first_messages = *messages;
    return outcome;
  }
  const std::uint32_t counted = *messages - candidate->first_messages;
  if (counted == 0) return outcome;  // within one message an MSN proves nothing
  if (psn_add(candidate->first_msn, counted) != msn) {
    uncounted(*candidate, candidate->next);
    outcome.event = TrafficEvent::contradicted;
    return outcome;
  }
  outcome = learned(*candidate, msn);
  outcome.derived_port = named;
  return outcome;
}

void TrafficLearner::forget(const ConnectionInfo& info) {
  const End& responder = info.end(Side::wan);
  if (const auto found = by_request_.find({info.end(Side::host).ip, responder.ip, info.vlan, responder.qpn}))
    drop(candidates_[*found]);
}

TrafficOutcome TrafficLearner::learned(const Candidate& candidate, std::uint32_t msn) {
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
  return outcome;
}

}  // namespace longhaul::flow
