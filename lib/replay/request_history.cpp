// SPDX-License-Identifier: BSD-3-Clause
#include "replay/request_history.hpp"

#include "wire/psn.hpp"

namespace longhaul::replay {

void RequestHistory::note(const wire::Frame& request, std::uint64_t frame_number, Treatment treatment) {
  const std::uint32_t psn = request.psn();
  const bool beyond_all = !newest_ || wire::psn_lt(*newest_, psn);
  if (beyond_all) newest_ = psn;
  Seen& seen = by_psn_[psn];
  // After the PSNs have wrapped around, the same PSN is another request.
  if (beyond_all) seen = Seen{};

  if (seen.arrivals++ == 0) seen.first_frame = frame_number;
  seen.last_frame = frame_number;
  seen.ack_req = seen.ack_req || request.ack_req();
  if (request.opcode == nullptr) {
    seen.unknown_opcode = true;
  } else {
    seen.wants_response = request.opcode->wants_response();
  }
  switch (treatment) {
    case Treatment::beyond_gap:
      ++seen.beyond_gap;
      break;
    case Treatment::plain:
      ++seen.plain;
      break;
    case Treatment::bad_icrc:
      ++seen.bad_icrc;
      break;
    case Treatment::other:
      break;
  }
}

void RequestHistory::note_beyond_gap(std::uint32_t psn) {
  if (const auto found = by_psn_.find(psn); found != by_psn_.end()) ++found->second.beyond_gap;
}

const Seen* RequestHistory::find(std::uint32_t psn) const {
  const auto found = by_psn_.find(psn);
  return found == by_psn_.end() ? nullptr : &found->second;
}

template <typename Match>
std::optional<std::uint32_t> RequestHistory::first_between(std::uint32_t from, std::uint32_t to, Match match) const {
  if (by_psn_.empty() || wire::psn_lt(to, from)) return std::nullopt;
  auto at = by_psn_.lower_bound(from);
  for (std::size_t looked = 0; looked < by_psn_.size(); ++looked, ++at) {
    if (at == by_psn_.end()) at = by_psn_.begin();  // the circle closes at 2^24
    if (wire::psn_lt(at->first, from) || wire::psn_lt(to, at->first)) return std::nullopt;
    if (match(at->second)) return at->first;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> RequestHistory::read_or_atomic_between(std::uint32_t from, std::uint32_t to) const {
  return first_between(from, to, [](const Seen& seen) { return seen.wants_response; });
}

std::optional<std::uint32_t> RequestHistory::plain_between(std::uint32_t from, std::uint32_t to) const {
  return first_between(from, to, [](const Seen& seen) { return seen.plain > 0; });
}

}  // namespace longhaul::replay
