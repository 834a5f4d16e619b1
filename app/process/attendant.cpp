// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/attendant.hpp"

#include <rte_lcore.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace longhaul::app {

void Attendant::every(std::chrono::milliseconds period, std::string what, std::function<void()> work) {
  duties_.push_back({period, std::move(what), std::move(work), {}});
}

void Attendant::start() {
  const auto body = [](void* argument) -> void* {
    auto& its = *static_cast<Attendant*>(argument);
    try {
      for (const auto& work : its.first_) work();
    } catch (...) {
      its.begun_.set_exception(std::current_exception());
      return nullptr;
    }
    its.begun_.set_value();
    its.body();
    return nullptr;
  };
  const int error = rte_ctrl_thread_create(&thread_, name_.c_str(), nullptr, body, this);
  if (error != 0)
    throw std::runtime_error(fmt::format("cannot start a thread beside the workers: {}", std::strerror(-error)));
  started_ = true;
  begun_.get_future().get();
}

void Attendant::stop() {
  if (!std::exchange(started_, false)) return;
  stop_.store(true, std::memory_order_relaxed);
  pthread_join(thread_, nullptr);
}

void Attendant::body() {
  constexpr std::chrono::milliseconds kLongestNap{20};
  while (!stop_.load(std::memory_order_relaxed)) {
    Clock::time_point next = Clock::now() + kLongestNap;
    for (Duty& duty : duties_) {
      if (Clock::now() >= duty.due) attend(duty);
      next = std::min(next, duty.due);
    }
    std::this_thread::sleep_until(next);
  }
  for (auto work = last_.rbegin(); work != last_.rend(); ++work) (*work)();
}

void Attendant::attend(Duty& duty) const {
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  const bool failed_before = duty.failing_since != Clock::time_point{};
  const auto failed = [&] {
    if (!failed_before) duty.failing_since = Clock::now();
    return !failed_before;
  };
  try {
    duty.work();
    if (failed_before) spdlog::info("{} goes on after {:.1f} s", duty.what, seconds(Clock::now() - duty.failing_since));
    duty.failing_since = {};
  } catch (const Postponed& reason) {
    if (failed())
      spdlog::warn("{} waits for {}; the next try is in {} s", duty.what, reason.what(), seconds(duty.period));
  } catch (const std::exception& error) {
    if (failed()) spdlog::error("{}: {}; the next try is in {} s", duty.what, error.what(), seconds(duty.period));
  }
  duty.due = Clock::now() + duty.period;
}

}  // namespace longhaul::app
