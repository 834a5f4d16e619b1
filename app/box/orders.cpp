// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/orders.hpp"

#include <thread>
#include <utility>

namespace longhaul::app {

namespace {

constexpr std::chrono::microseconds kLook{50};

}  // namespace

bool Orders::done_by(const std::atomic<bool>& done, Deadline deadline) const {
  while (!done.load(std::memory_order_acquire)) {
    // One that was at work when its loop ended is done.
    if (closed_.load(std::memory_order_acquire)) return done.load(std::memory_order_acquire);
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

Orders::Ticket Orders::post(Order order, Deadline deadline) {
  Ticket ticket;
  // No timed mutex: the thread sanitizer does not see one taken.
  ticket.turn = std::unique_lock(turn_, std::defer_lock);
  while (!ticket.turn.try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) throw WorkerSilent("others' orders are not done");
    std::this_thread::sleep_for(kLook);
  }
  // One that was at work at its deadline may be done by now.
  if (given_ != nullptr && !done_by(given_->done, deadline)) throw WorkerSilent("an earlier order is not done");
  given_ = ticket.given = std::make_shared<Given>();
  given_->order = std::move(order);
  next_.store(given_.get(), std::memory_order_release);
  return ticket;
}

void Orders::wait(Ticket ticket, Deadline deadline) {
  if (!done_by(ticket.given->done, deadline)) {
    // At work just now, it would else be put back for its next portion.
    ticket.given->given_up.store(true, std::memory_order_release);
    Given* expected = ticket.given.get();
    // Not at work: it goes no further. At work: given_ keeps it until the worker is done with it.
    if (next_.compare_exchange_strong(expected, nullptr)) given_.reset();
    throw WorkerSilent("it does not answer");
  }
  given_.reset();
  if (ticket.given->failure) std::rethrow_exception(ticket.given->failure);
}

void Orders::carry_out(WorkerAccess& access) {
  // Taken out while it is worked on, so that nobody takes it back meanwhile.
  Given* given = next_.exchange(nullptr, std::memory_order_acquire);
  if (given == nullptr) return;
  bool last = true;
  try {
    last = given->order(access);
  } catch (...) {
    given->failure = std::current_exception();
  }
  if (last || given->given_up.load(std::memory_order_acquire))
    given->done.store(true, std::memory_order_release);
  else
    next_.store(given, std::memory_order_release);
}

}  // namespace longhaul::app
