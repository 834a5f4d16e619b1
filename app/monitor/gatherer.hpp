// SPDX-License-Identifier: BSD-3-Clause
// Asks running workers for what a box shows of itself, rarely enough that they do not notice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "app/box/workers.hpp"
#include "expose/snapshot.hpp"
#include "expose/survey.hpp"

namespace longhaul::app {

/// For several threads at once. A worker that does not answer costs a moment once in kAskAgain; what it said last
/// stands in for it.
class Gatherer {
 public:
  using Clock = std::chrono::steady_clock;
  using Ports = std::function<expose::PortState(Side)>;

  /// Younger snapshots are given again: many who ask cost the workers what kReused allows one.
  static constexpr std::chrono::milliseconds kReused{50};
  /// For all workers together.
  static constexpr std::chrono::milliseconds kPatience{200};
  static constexpr std::chrono::milliseconds kAskAgain{1000};
  /// Of a worker's time for surveys, at most.
  static constexpr double kSurveyShare = 0.003;
  static constexpr std::chrono::milliseconds kSurveyPeriod{1000};
  /// That frames may have to wait for one portion of a survey.
  static constexpr std::chrono::microseconds kPortion{30};

  /// `workers` must outlive it; `ports` is called by any thread. `pair_limit`: see expose::Survey.
  Gatherer(Workers& workers, expose::Identity identity, Ports ports, std::size_t pair_limit);

  std::shared_ptr<const expose::Snapshot> snapshot();
  /// From now on; `started` stays what it was.
  void identify(expose::Identity identity);

  /// Looks at all connections, unless it is too early for the workers' sake. One thread at a time. Throws WorkerSilent
  /// when one does not answer: then the last survey stands.
  void survey();

 private:
  struct Known {
    BoxReport report;      ///< the last one
    Clock::time_point at;  ///< when it came
    bool alive = true;
    std::uint64_t rounds = 0;     ///< when it was last looked at
    Clock::time_point ask_again;  ///< while it is silent
  };
  void ask(unsigned worker, Clock::time_point deadline);
  std::shared_ptr<const expose::Snapshot> put_together() const;
  Duration survey_worker(unsigned worker);

  Workers& workers_;
  const Ports ports_;

  std::mutex mutex_;  ///< of what follows
  expose::Identity identity_;
  std::vector<Known> known_;
  std::shared_ptr<const expose::Snapshot> last_;
  Clock::time_point last_at_;
  expose::SurveyResult surveyed_;
  Clock::time_point surveyed_at_;

  // Only of who surveys.
  expose::Survey survey_;
  std::uint32_t portion_slots_ = 256;
  Clock::time_point survey_due_;
};

}  // namespace longhaul::app
