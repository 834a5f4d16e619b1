// SPDX-License-Identifier: BSD-3-Clause
#include "expose/survey.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace longhaul::expose {
namespace {

/// A wire::VlanKey (number of tags, outer VID, inner VID) as text.
std::string vlan_text(std::uint32_t value) {
  const std::uint32_t tags = value >> 24;
  const std::string outer = std::to_string(value >> 12 & 0xfff);
  if (tags == 0) return "";
  return tags == 1 ? outer : outer + "." + std::to_string(value & 0xfff);
}

wire::IpAddress address(const std::array<std::uint8_t, 16>& bytes) {
  wire::IpAddress out;
  out.bytes = bytes;
  return out;
}

}  // namespace

void ConnectionSums::add(const engine::ConnectionState& connection) {
  ++connections[static_cast<std::size_t>(connection.phase)][connection.from_traffic ? 1 : 0]
               [static_cast<std::size_t>(connection.policy)];
  closing += connection.closing ? 1 : 0;
  untrusted += connection.trusted ? 0 : 1;
  unconfirmed_bytes += connection.unconfirmed_bytes;
  failed_bytes += connection.lost_bytes;
  oldest = std::max(oldest, connection.oldest);
}

std::uint64_t ConnectionSums::in_phase(Phase phase) const {
  std::uint64_t sum = 0;
  for (const auto& source : connections[static_cast<std::size_t>(phase)])
    sum = std::accumulate(source.begin(), source.end(), sum);
  return sum;
}

void Survey::begin(Time now) {
  now_ = now;
  ++survey_;
  next_ = {};
  for (auto& [key, pair] : pairs_) {
    pair.sums = {};
    // What an unfinished survey has seen still has to be counted.
    if (finished_) pair.fresh = 0;
  }
  finished_ = false;
}

void Survey::add(std::span<const engine::ConnectionState> connections) {
  for (const engine::ConnectionState& connection : connections) {
    next_.add(connection);

    const flow::ConnectionInfo& info = connection.info;
    Pair& pair = pairs_[{info.end(Side::host).ip.bytes, info.end(Side::wan).ip.bytes, info.vlan.value}];
    ++pair.sums.connections;
    pair.sums.custody_bytes += connection.custody_bytes;
    pair.sums.unconfirmed_bytes += connection.unconfirmed_bytes;
    pair.seen = now_;
    Known& known = known_[connection.serial];
    // A connection's count may begin anew: then all of it is fresh.
    const std::uint64_t before = std::min(known.taken, connection.taken_bytes);
    pair.fresh += connection.taken_bytes - before;
    known = {connection.taken_bytes, survey_};
  }
}

void Survey::finish() {
  forget_gone();
  name_pairs();
  PairState other;
  other.host = other.remote = "other";
  std::vector<std::pair<std::uint64_t, PairState>> all;
  for (auto& [key, pair] : pairs_) {
    next_.pairs_seen += pair.sums.connections > 0 ? 1 : 0;
    if (pair.named) {
      pair.taken += pair.fresh;
      next_.pairs.push_back(state_of(key, pair));
    } else {
      other_taken_ += pair.fresh;
      other.sums.connections += pair.sums.connections;
      other.sums.custody_bytes += pair.sums.custody_bytes;
      other.sums.unconfirmed_bytes += pair.sums.unconfirmed_bytes;
    }
  }
  other.taken_bytes = other_taken_;
  if (pair_limit_ > 0) next_.pairs.push_back(std::move(other));

  std::vector<const std::pair<const Key, Pair>*> order;
  for (const auto& entry : pairs_)
    if (entry.second.sums.connections > 0) order.push_back(&entry);
  const auto busier = [](const auto* a, const auto* b) {
    return std::pair(a->second.fresh, a->second.sums.custody_bytes) >
           std::pair(b->second.fresh, b->second.sums.custody_bytes);
  };
  const std::size_t shown = std::min(kBusiest, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(), busier);
  for (std::size_t i = 0; i < shown; ++i) next_.busiest.push_back(state_of(order[i]->first, order[i]->second));

  next_.made = true;
  before_ = now_;
  finished_ = true;
  result_ = std::exchange(next_, {});
}

/// The pairs that came first keep their series: series that come and go with the load would be too many.
void Survey::name_pairs() {
  for (auto& [key, pair] : pairs_) {
    if (named_ >= pair_limit_) return;
    if (pair.named) continue;
    pair.named = true;
    ++named_;
  }
}

void Survey::forget_gone() {
  std::erase_if(known_, [this](const auto& entry) { return entry.second.survey != survey_; });
  std::erase_if(pairs_, [this](const auto& entry) {
    const Pair& pair = entry.second;
    if (pair.sums.connections > 0 || (pair.named && now_ - pair.seen < kRemembered)) return false;
    if (pair.named) --named_;
    return true;
  });
}

PairState Survey::state_of(const Key& key, const Pair& pair) const {
  PairState state;
  state.host = address(key.host).to_string();
  state.remote = address(key.remote).to_string();
  state.vlan = vlan_text(key.vlan);
  state.sums = pair.sums;
  state.taken_bytes = pair.taken;
  if (before_ > 0 && now_ > before_)
    state.bytes_per_second = static_cast<double>(pair.fresh) * 1e9 / static_cast<double>(now_ - before_);
  return state;
}

}  // namespace longhaul::expose
