// SPDX-License-Identifier: BSD-3-Clause
// A thread beside the workers, on none of their processors. It does what a box does apart from packets.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace longhaul::app {

/// What is thrown by work that has to wait for something which is no error. Its text says for what.
class Postponed : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// Does things periodically. If one of them throws or takes long, it does not end the others, but may delay them.
class Attendant {
 public:
  /// `name` of the thread: at most 15 characters.
  explicit Attendant(std::string name) : name_(std::move(name)) {}
  ~Attendant() { stop(); }
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Call before start(). `work` runs once, in the thread, before all else. Threads that it begins run on the same
  /// processors. Several run in order.
  void at_start(std::function<void()> work) { first_.push_back(std::move(work)); }
  /// Call before start(). `work` is the last thing that runs in the thread. Several run in reverse order.
  void at_end(std::function<void()> work) { last_.push_back(std::move(work)); }
  /// Call before start(). If `work` throws, the log says `what`, and how long until it is tried again: once, as a
  /// warning for Postponed and as an error for all else. It also says when `work` goes on.
  void every(std::chrono::milliseconds period, std::string what, std::function<void()> work);

  /// Needs a started EAL. The thread runs where the process could run before the EAL started, except on the workers'
  /// processors. Rethrows what at_start() threw. Throws std::runtime_error if the thread cannot be created.
  void start();
  /// Waits until the work under way is done. May be called twice.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Duty {
    std::chrono::milliseconds period;
    std::string what;
    std::function<void()> work;
    Clock::time_point due;
    Clock::time_point failing_since{};  ///< already logged; none: the last time it went well
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
