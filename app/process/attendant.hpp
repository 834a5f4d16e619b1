// SPDX-License-Identifier: BSD-3-Clause
// A thread beside the workers: what a box does that is not packets, on none of their processors.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace longhaul::app {

/// What is to be done now and then. One thing that throws or takes long does not end the others, only delays them.
class Attendant {
 public:
  /// `name`: of the thread, at most 15 characters.
  explicit Attendant(std::string name) : name_(std::move(name)) {}
  ~Attendant() { stop(); }
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Before start(). Once, in the thread, before all else: threads begun there are where it is. Several: in order.
  void at_start(std::function<void()> work) { first_.push_back(std::move(work)); }
  /// Before start(). In the thread, the last thing. Several: the last one first.
  void at_end(std::function<void()> work) { last_.push_back(std::move(work)); }
  /// Before start(). `what` is for the log when `work` throws.
  void every(std::chrono::milliseconds period, std::string what, std::function<void()> work);

  /// Needs a started EAL: the thread runs where the process might run before that, but for the workers' processors.
  /// Rethrows what at_start() threw. Throws std::runtime_error when there is no thread to be had.
  void start();
  /// Waits until what is being done is done. May be called twice.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Duty {
    std::chrono::milliseconds period;
    std::string what;
    std::function<void()> work;
    Clock::time_point due;
    bool failing = false;  ///< said already
  };
  void body();
  void attend(Duty& duty) const;

  std::string name_;
  std::vector<std::function<void()>> first_;
  std::vector<std::function<void()>> last_;
  std::vector<Duty> duties_;
  pthread_t thread_{};
  std::promise<void> begun_;
  bool started_ = false;
  std::atomic<bool> stop_{false};
};

}  // namespace longhaul::app
