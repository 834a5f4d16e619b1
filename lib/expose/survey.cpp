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

std::uint64_t Asked::not_accelerated() const { return std::accumulate(plain.begin(), plain.end(), std::uint64_t{0}); }

double Asked::share_of(PlainCause cause) const {
  const std::uint64_t whole = all();
  return whole == 0 ? 0 : static_cast<double>(plain[static_cast<std::size_t>(cause)]) / static_cast<double>(whole);
}

Asked& Asked::operator+=(const Asked& more) {
  accelerated += more.accelerated;
  for (std::size_t i = 0; i < kPlainCauses; ++i) plain[i] += more.plain[i];
  return *this;
}

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
    if (finished_) pair.fresh = {};
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
    pair.fresh.taken += connection.taken_bytes - std::min(known.taken, connection.taken_bytes);
    pair.fresh.refused += connection.refused_requests - std::min(known.refused, connection.refused_requests);
    for (std::size_t i = 0; i < kPlainCauses; ++i)
      pair.fresh.asked.plain[i] += connection.plain[i] - std::min(known.plain[i], connection.plain[i]);
    known = {connection.taken_bytes, connection.refused_requests, connection.plain, survey_};
  }
}

void Survey::add(std::span<const engine::BusyPair> busy, double hz) {
  for (const engine::BusyPair& one : busy) {
    Counts& fresh = pairs_[{one.hosts.first.bytes, one.hosts.second.bytes, one.hosts.vlan.value}].fresh;
    fresh.processor += static_cast<double>(one.ticks) / hz;
    const auto asked = [&one](engine::Asked how) { return one.asked[static_cast<std::size_t>(how)]; };
    const auto plain = [&fresh](PlainCause cause) -> auto& {
      return fresh.asked.plain[static_cast<std::size_t>(cause)];
    };
    fresh.asked.accelerated += asked(engine::Asked::accelerated);
    plain(PlainCause::unconfirmed) += asked(engine::Asked::unconfirmed);
    plain(PlainCause::unknown) += asked(engine::Asked::unknown);
  }
}

Survey::Counts& Survey::Counts::operator+=(const Counts& more) {
  taken += more.taken;
  refused += more.refused;
  processor += more.processor;
  asked += more.asked;
  return *this;
}

void Survey::finish() {
  forget_gone();
  name_pairs();
  PairState other;
  other.host = other.remote = "other";
  std::vector<std::pair<std::uint64_t, PairState>> all;
  for (auto& [key, pair] : pairs_) {
    next_.pairs_seen += pair.sums.connections > 0 ? 1 : 0;
    next_.asked_lately += pair.fresh.asked;
    if (pair.named) {
      pair.named_counts += pair.fresh;
      next_.pairs.push_back(state_of(key, pair));
    } else {
      other_ += pair.fresh;
      other.sums.connections += pair.sums.connections;
      other.sums.custody_bytes += pair.sums.custody_bytes;
      other.sums.unconfirmed_bytes += pair.sums.unconfirmed_bytes;
    }
  }
  other.taken_bytes = other_.taken;
  other.refused = other_.refused;
  other.processor_seconds = other_.processor;
  other.asked = other_.asked;
  if (pair_limit_ > 0) next_.pairs.push_back(std::move(other));

  find_busiest();
  asked_ += next_.asked_lately;
  next_.asked = asked_;
  next_.seconds = seconds_since_before();
  next_.at = now_;
  next_.made = true;
  before_ = now_;
  finished_ = true;
  result_ = std::exchange(next_, {});
}

void Survey::find_busiest() {
  Counts all;
  std::uint64_t custody = 0;
  for (const auto& [key, pair] : pairs_) {
    all += pair.fresh;
    custody += pair.sums.custody_bytes;
  }
  const auto part = [](auto of, auto whole) {
    return whole > 0 ? static_cast<double>(of) / static_cast<double>(whole) : 0.0;
  };
  struct Ranked {
    double greatest_share;
    std::uint64_t taken;
    const std::pair<const Key, Pair>* pair;
  };
  std::vector<Ranked> order;
  for (const auto& entry : pairs_) {
    const Pair& pair = entry.second;
    if (pair.sums.connections == 0 && pair.fresh.processor == 0) continue;
    order.push_back({std::max({part(pair.fresh.processor, all.processor), part(pair.sums.custody_bytes, custody),
                               part(pair.fresh.refused, all.refused)}),
                     pair.fresh.taken, &entry});
  }
  const auto shown = order.begin() + static_cast<std::ptrdiff_t>(std::min(kBusiest, order.size()));
  std::partial_sort(order.begin(), shown, order.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair(a.greatest_share, a.taken) > std::pair(b.greatest_share, b.taken);
  });
  for (auto one = order.begin(); one != shown; ++one)
    next_.busiest.push_back(state_of(one->pair->first, one->pair->second));
}

/// The pairs that came first keep their series: series that come and go with the load would be too many.
void Survey::name_pairs() {
  for (auto& [key, pair] : pairs_) {
    if (named_ >= pair_limit_) return;
    // Anybody can send frames from any addresses.
    if (pair.named || pair.sums.connections == 0) continue;
    pair.named = true;
    ++named_;
  }
}

void Survey::forget_gone() {
  std::erase_if(known_, [this](const auto& entry) { return entry.second.survey != survey_; });
  std::erase_if(pairs_, [this](const auto& entry) {
    const Pair& pair = entry.second;
    if (pair.sums.connections > 0 || pair.fresh.processor > 0 || (pair.named && now_ - pair.seen < kRemembered))
      return false;
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
  state.taken_bytes = pair.named_counts.taken;
  state.refused = pair.named_counts.refused;
  state.processor_seconds = pair.named_counts.processor;
  state.asked = pair.named_counts.asked;
  state.asked_lately = pair.fresh.asked;
  if (const double seconds = seconds_since_before(); seconds > 0) {
    state.bytes_per_second = static_cast<double>(pair.fresh.taken) / seconds;
    state.refused_per_second = static_cast<double>(pair.fresh.refused) / seconds;
    state.processors = pair.fresh.processor / seconds;
  }
  return state;
}

double Survey::seconds_since_before() const { return before_ > 0 && now_ > before_ ? in_seconds(now_ - before_) : 0; }

}  // namespace longhaul::expose
