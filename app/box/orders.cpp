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
    // An order that was under way when the loop ended is done.
    if (closed_.load(std::memory_order_acquire)) return done.load(std::memory_order_acquire);
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

Orders::Ticket Orders::post(Order order, Deadline deadline) {
  Ticket ticket;
  // Not a timed mutex: the thread sanitizer does not notice when one is locked.
  ticket.turn = std::unique_lock(turn_, std::defer_lock);
  while (!ticket.turn.try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) throw WorkerSilent("it is still busy with other orders");
    std::this_thread::sleep_for(kLook);
  }
  // An order that was under way at its deadline may be done by now.
  if (given_ != nullptr && !done_by(given_->done, deadline)) throw WorkerSilent("it has not finished an earlier order");
  given_ = ticket.given = std::make_shared<Given>();
  given_->order = std::move(order);
  next_.store(given_.get(), std::memory_order_release);
  return ticket;
}

void Orders::wait(Ticket ticket, Deadline deadline) {
  if (!done_by(ticket.given->done, deadline)) {
    // If the worker carries it out at this moment, it would otherwise put it back for its next portion.
    ticket.given->given_up.store(true, std::memory_order_release);
    Given* expected = ticket.given.get();
    // If the order is still here, it goes no further. If the worker has it, given_ keeps it until the worker is done.
    if (next_.compare_exchange_strong(expected, nullptr)) given_.reset();
    throw WorkerSilent("it does not answer");
  }
  given_.reset();
  if (ticket.given->failure) std::rethrow_exception(ticket.given->failure);
}

void Orders::carry_out(WorkerAccess& access) {
  // Taken out during the work, so that nobody can take it back meanwhile.
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
