// SPDX-License-Identifier: BSD-3-Clause
// Connections summed up: by state for the whole box, and by pairs of hosts as far as a limit on series allows.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/phase.hpp"
#include "base/plain_cause.hpp"
#include "base/policy.hpp"
#include "base/time.hpp"
#include "engine/busy_pairs.hpp"
#include "engine/connection_state.hpp"

namespace longhaul::expose {

inline constexpr std::size_t kSources = 2;
/// What announced a connection, as metrics and flows show it: RDMA-CM (0) or its traffic (1).
constexpr std::string_view source_name(bool from_traffic) { return from_traffic ? "traffic" : "cm"; }

/// Sums over connections. Bytes are frame bytes.
struct PairSums {
  std::uint64_t connections = 0;
  std::uint64_t custody_bytes = 0;
  std::uint64_t unconfirmed_bytes = 0;
};

/// SENDs and WRITEs with AckReq, which is what a box can accelerate. Those that passed plain were counted one by one.
/// The accelerated ones, and those of connections that are not known or not confirmed, are estimated from samples.
struct Asked {
  std::uint64_t accelerated = 0;
  ByPlainCause<std::uint64_t> plain{};

  std::uint64_t not_accelerated() const;
  std::uint64_t all() const { return accelerated + not_accelerated(); }
  /// The part of all() that was not accelerated, for this cause; 0 where there are none.
  double share_of(PlainCause cause) const;
  Asked& operator+=(const Asked& more);
};

/// Two hosts, one on each side of the box.
struct PairState {
  std::string host;    ///< address behind the host port; "other": all pairs without a series of their own
  std::string remote;  ///< address beyond the WAN port
  std::string vlan;    ///< "", "100" or "100.200" (outer, inner)
  PairSums sums;
  std::uint64_t taken_bytes = 0;  ///< ever taken into custody, as far as surveys saw
  std::uint64_t refused = 0;      ///< requests that custody had no room for, as far as surveys saw
  double processor_seconds = 0;   ///< that workers spent for them, as far as surveys saw, by samples
  Asked asked;                    ///< ever, as far as surveys saw
  // Between the last two surveys.
  double bytes_per_second = 0;  ///< taken into custody
  double refused_per_second = 0;
  double processors = 0;  ///< processor_seconds for each second
  Asked asked_lately;
};

/// All connections, summed up.
struct ConnectionSums {
  /// Connections by Phase, source and Policy.
  std::array<std::array<std::array<std::uint64_t, kPolicies>, kSources>, kPhases> connections{};
  std::uint64_t closing = 0;
  std::uint64_t untrusted = 0;
  std::uint64_t unconfirmed_bytes = 0;  ///< acknowledged to requesters, not answered by responders
  std::uint64_t failed_bytes = 0;       ///< acknowledged and lost, of failed connections that are still there
  Duration oldest = 0;                  ///< the longest that custody of a connection has made no progress

  void add(const engine::ConnectionState& connection);
  std::uint64_t in_phase(Phase phase) const;
};

struct SurveyResult : ConnectionSums {
  bool made = false;             ///< false: there was no survey yet
  std::vector<PairState> pairs;  ///< those with series, and last "other" if there is a limit above 0
  /// At most kBusiest of all pairs, those first that have the greatest share of the workers' time, of custody or of
  /// what was refused. Pairs without a known connection too.
  std::vector<PairState> busiest;
  std::uint64_t pairs_seen = 0;  ///< pairs with connections
  Asked asked;                   ///< of all pairs, ever
  Asked asked_lately;            ///< of all pairs, between the last two surveys
  double seconds = 0;            ///< between the last two surveys; 0: there is one only
  Time at = 0;                   ///< when the last survey began
};

/// Keeps counting from survey to survey, so that bytes add up although connections come and go. Memory is bounded by
/// the number of connections and the limit.
class Survey {
 public:
  static constexpr std::size_t kBusiest = 10;
  /// A pair keeps its series for this long after its last connection.
  static constexpr Duration kRemembered = seconds(600);

  /// `pair_limit`: pairs that get a series of their own, first come first served; 0: there are no series at all.
  explicit Survey(std::size_t pair_limit) : pair_limit_(pair_limit) {}

  /// Begins a survey, also after one that was not finished because a worker did not answer.
  void begin(Time now);
  void add(std::span<const engine::ConnectionState> connections);
  /// The time that a worker spent since the survey before. `hz`: ticks of the TSC in a second.
  void add(std::span<const engine::BusyPair> busy, double hz);
  /// All connections have been added.
  void finish();

  /// The last finished survey.
  const SurveyResult& result() const { return result_; }

 private:
  struct Key {
    std::array<std::uint8_t, 16> host;
    std::array<std::uint8_t, 16> remote;
    std::uint32_t vlan;
    auto operator<=>(const Key&) const = default;
  };
  /// What is counted.
  struct Counts {
    std::uint64_t taken = 0;    ///< frame bytes
    std::uint64_t refused = 0;  ///< requests
    double processor = 0;       ///< seconds
    Asked asked;

    Counts& operator+=(const Counts& more);
  };
  struct Pair {
    PairSums sums;
    Counts named_counts;  ///< while it had a series
    Counts fresh;         ///< since the survey before
    bool named = false;
    Time seen = 0;
  };
  struct Known {
    std::uint64_t taken = 0;
    std::uint64_t refused = 0;
    ByPlainCause<std::uint32_t> plain{};
    std::uint64_t survey = 0;  ///< the last one that saw it
  };

  void name_pairs();
  void forget_gone();
  double seconds_since_before() const;
  void find_busiest();
  PairState state_of(const Key& key, const Pair& pair) const;

  std::size_t pair_limit_;
  std::size_t named_ = 0;
  std::uint64_t survey_ = 0;
  Time now_ = 0;
  Time before_ = 0;  ///< of the last finished survey
  bool finished_ = false;
  std::map<Key, Pair> pairs_;
  std::unordered_map<std::uint64_t, Known> known_;  ///< by serial
  Counts other_;
  Asked asked_;
  SurveyResult next_;
  SurveyResult result_;
};

}  // namespace longhaul::expose
