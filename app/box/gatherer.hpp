// SPDX-License-Identifier: BSD-3-Clause
// Collects from running workers what a box shows of itself, rarely enough that they do not notice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "app/box/connection_walk.hpp"
#include "app/box/workers.hpp"
#include "app/process/stop_signals.hpp"
#include "expose/snapshot.hpp"
#include "expose/survey.hpp"

namespace longhaul::app {

struct Flow {
  unsigned worker = 0;
  engine::ConnectionState state;
};

/// Several threads may use it at once.
class Gatherer {
 public:
  using Clock = std::chrono::steady_clock;
  using Ports = std::function<expose::PortState(Side)>;

  /// A younger snapshot is used again, so that many clients cost the workers no more than one that asks every kReused.
  static constexpr std::chrono::milliseconds kReused{50};
  /// For all workers together.
  static constexpr std::chrono::milliseconds kPatience{200};
  static constexpr std::chrono::milliseconds kAskAgain{1000};
  /// The largest share of a worker's time that surveys may take.
  static constexpr double kSurveyShare = 0.003;
  static constexpr std::chrono::milliseconds kSurveyPeriod{1000};

  /// `workers` and `requests` must outlive it. Any thread may call `ports`. `pair_limit`: see expose::Survey.
  Gatherer(Workers& workers, const Requests& requests, expose::Identity identity, Ports ports, std::size_t pair_limit);

  /// For those who look again and again. A worker that does not answer costs a moment once in kAskAgain. Its last
  /// answer is used instead.
  std::shared_ptr<const expose::Snapshot> snapshot();
  /// For somebody who asks once: the workers' values as of now. What is said of connections is the last survey's.
  /// Throws WorkerSilent if a worker does not answer.
  expose::Snapshot now();
  /// The same, with sums over flows().
  expose::Snapshot now_with_connections();
  /// Call when the workers have ended.
  expose::Snapshot at_end() const;

  /// Holds from now on. `started` keeps its value.
  void identify(expose::Identity identity);

  using Flows = std::shared_ptr<const std::vector<Flow>>;
  /// The flows of all workers, at most kFlowsReused old. Clients that ask at the same time share one answer. Throws
  /// WorkerSilent.
  Flows flows();
  static constexpr std::chrono::milliseconds kFlowsReused{200};
  /// The flows were changed: the next flows() asks again.
  void flows_changed();

  /// Looks at all connections, unless it is too early for the workers' sake. One thread at a time. Throws WorkerSilent
  /// if a worker does not answer; then the last survey stands.
  void survey();

 private:
  struct Known {
    expose::WorkerReport report;  ///< the last one
    Clock::time_point at;         ///< when it came
    bool alive = true;
    std::uint64_t rounds = 0;     ///< at the last question
    Clock::time_point ask_again;  ///< while it is silent
  };
  void ask(unsigned worker, Clock::time_point deadline);
  expose::Snapshot put_together() const;

  Workers& workers_;
  const Requests& requests_;
  const Ports ports_;
  const Clock::time_point began_ = Clock::now();

  mutable std::mutex mutex_;  ///< guards the members below
  expose::Identity identity_;
  std::vector<Known> known_;
  std::shared_ptr<const expose::Snapshot> last_;
  Clock::time_point last_at_;
  expose::SurveyResult surveyed_;
  Clock::time_point surveyed_at_;

  std::mutex flows_mutex_;  ///< guards the members below
  ConnectionWalk flows_walk_;
  Flows flows_;
  Clock::time_point flows_at_;

  // Only for the thread that surveys.
  ConnectionWalk survey_walk_;
  expose::Survey survey_;
  Clock::time_point survey_due_;
};

}  // namespace longhaul::app
