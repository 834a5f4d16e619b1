// SPDX-License-Identifier: BSD-3-Clause
// Collects from running workers what a box shows of itself, rarely enough that they do not notice.
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

/// Several threads may use it at once. A worker that does not answer costs a moment once in kAskAgain. Its last answer
/// is used instead.
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
  /// How long frames may have to wait for one portion of a survey.
  static constexpr std::chrono::microseconds kPortion{30};

  /// `workers` must outlive it. Any thread may call `ports`. `pair_limit`: see expose::Survey.
  Gatherer(Workers& workers, expose::Identity identity, Ports ports, std::size_t pair_limit);

  std::shared_ptr<const expose::Snapshot> snapshot();
  /// Holds from now on. `started` keeps its value.
  void identify(expose::Identity identity);

  /// Looks at all connections, unless it is too early for the workers' sake. One thread at a time. Throws WorkerSilent
  /// if a worker does not answer; then the last survey stands.
  void survey();

 private:
  struct Known {
    BoxReport report;      ///< the last one
    Clock::time_point at;  ///< when it came
    bool alive = true;
    std::uint64_t rounds = 0;     ///< at the last question
    Clock::time_point ask_again;  ///< while it is silent
  };
  void ask(unsigned worker, Clock::time_point deadline);
  std::shared_ptr<const expose::Snapshot> put_together() const;
  Duration survey_worker(unsigned worker);

  Workers& workers_;
  const Ports ports_;

  std::mutex mutex_;  ///< guards the members below
  expose::Identity identity_;
  std::vector<Known> known_;
  std::shared_ptr<const expose::Snapshot> last_;
  Clock::time_point last_at_;
  expose::SurveyResult surveyed_;
  Clock::time_point surveyed_at_;

  // Only for the thread that surveys.
  expose::Survey survey_;
  std::uint32_t portion_slots_ = 256;
  Clock::time_point survey_due_;
};

}  // namespace longhaul::app
