// SPDX-License-Identifier: BSD-3-Clause
// The queue of custody next to a plain list of the same packets. After each step both must agree in everything.
#include "custody/packet_queue.hpp"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <ostream>
#include <vector>

using namespace longhaul;
using custody::Held;
using custody::held_in;
using custody::PacketIndex;
using custody::PacketQueue;

namespace {

struct Free {
  void operator()(rte_mbuf* mbuf) const { std::free(mbuf); }
};
using Buffer = std::unique_ptr<rte_mbuf, Free>;

// The queue needs an mbuf's header and private area, but no pool.
Buffer make_buffer() {
  void* room = std::aligned_alloc(RTE_CACHE_LINE_MIN_SIZE, sizeof(rte_mbuf) + custody::kMbufPrivateSize);
  if (room == nullptr) throw std::bad_alloc();
  Buffer buffer(new (room) rte_mbuf{});
  new (rte_mbuf_to_priv(buffer.get())) Held{};
  return buffer;
}

/// A packet as the list knows it. PSNs count up here and never wrap.
struct Listed {
  rte_mbuf* mbuf;
  std::uint64_t psn;
  std::uint64_t last_psn;
  bool wants_response;
  std::uint32_t bytes;
};

constexpr std::uint32_t kPsns = 1 << 24;

enum class Action { append, pop, send, examine, rewind, skip_to, skip_sent, rewind_to, find, cut, last = cut };

struct Step {
  Action action;
  unsigned number;  ///< of the packet, or what the packet is like
};

void showValue(const Step& step, std::ostream& out) {
  constexpr const char* kNames[] = {"append",  "pop",       "send",      "examine", "rewind",
                                    "skip_to", "skip_sent", "rewind_to", "find",    "cut"};
  out << kNames[static_cast<std::size_t>(step.action)] << ' ' << step.number;
}

/// The queue and the list, changed in the same way.
class QueueAndList {
 public:
  explicit QueueAndList(std::uint32_t first_psn) : first_psn_(first_psn) {}

  void take(Step step) {
    const std::size_t size = list_.size();
    switch (step.action) {
      case Action::append:
        append(step.number);
        break;
      case Action::pop:
        if (size != 0) pop();
        break;
      case Action::send:
        if (unsent_ < size) send();
        break;
      case Action::examine:
        if (examined_ < size) {
          queue_.mark_examined();
          ++examined_;
        }
        break;
      case Action::rewind:
        queue_.rewind();
        unsent_ = 0;
        break;
      case Action::skip_to:
        skip_to(step.number % (ever_sent_ + 1));
        break;
      case Action::skip_sent:
        queue_.skip_sent();
        unsent_ = std::max(unsent_, ever_sent_);
        break;
      case Action::rewind_to:
        if (unsent_ != 0) {
          unsent_ = step.number % unsent_;
          queue_.rewind_to(list_[unsent_].mbuf);
        }
        break;
      case Action::find:
        find(step.number);
        break;
      case Action::cut:
        cut();
        break;
    }
  }

  void compare() {
    const auto at = [this](std::size_t index) { return index < list_.size() ? list_[index].mbuf : nullptr; };
    RC_ASSERT(queue_.empty() == list_.empty());
    RC_ASSERT(queue_.packets() == list_.size());
    RC_ASSERT(queue_.under_way() == unsent_);
    RC_ASSERT(queue_.head() == at(0));
    RC_ASSERT(queue_.newest() == (list_.empty() ? nullptr : list_.back().mbuf));
    RC_ASSERT(queue_.unsent() == at(unsent_));
    RC_ASSERT(queue_.to_acknowledge() == at(examined_));
    std::uint64_t bytes = 0;
    rte_mbuf* first_read = nullptr;
    rte_mbuf* queued = queue_.head();
    for (const Listed& packet : list_) {
      RC_ASSERT(queued == packet.mbuf);
      queued = held_in(queued).next;
      bytes += packet.bytes;
      if (first_read == nullptr && packet.wants_response) first_read = packet.mbuf;
    }
    RC_ASSERT(queued == nullptr);
    RC_ASSERT(queue_.bytes() == bytes);
    RC_ASSERT(queue_.first_read() == first_read);
    std::size_t reads = 0;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      RC_ASSERT(queue_.packets_before(list_[i].mbuf) == i);
      if (list_[i].wants_response) ++reads;
    }
    RC_ASSERT(queue_.reads() == reads);
    RC_ASSERT(queue_.newest_sent() == (ever_sent_ == 0 ? nullptr : list_[ever_sent_ - 1].mbuf));
  }

 private:
  std::uint32_t on_circle(std::uint64_t psn) const { return static_cast<std::uint32_t>((first_psn_ + psn) % kPsns); }

  // Every third packet wants a response, and a READ has several PSNs. Here and there a READ begins later than it did.
  void append(unsigned number) {
    Listed packet;
    buffers_.push_back(make_buffer());
    packet.mbuf = buffers_.back().get();
    packet.wants_response = number % 3 == 0;
    const bool later = packet.wants_response && number % 7 == 0;
    packet.psn = next_psn_ + (later ? 2 : 0);
    packet.last_psn = packet.psn + (packet.wants_response ? number % 50 : 0);
    packet.bytes = 64 + number;
    next_psn_ = packet.last_psn + 1;
    packet.mbuf->pkt_len = packet.bytes;
    Held& held = held_in(packet.mbuf);
    held.psn = on_circle(packet.psn);
    held.last_psn = on_circle(packet.last_psn);
    held.wants_response = packet.wants_response;
    if ((queue_.append(packet.mbuf) || later) && index_.find(kFlow, held.psn) == nullptr) {
      index_.add(kFlow, held.psn, packet.mbuf);
      held.indexed = true;
    }
    list_.push_back(packet);
  }

  void pop() {
    RC_ASSERT(queue_.pop() == list_.front().mbuf);
    forget(list_.front().mbuf);
    list_.pop_front();
    for (std::size_t* place : {&unsent_, &examined_, &ever_sent_})
      if (*place != 0) --*place;
  }

  void send() {
    rte_mbuf* mbuf = queue_.unsent();
    queue_.mark_sent();
    const bool first = !held_in(mbuf).sent;
    held_in(mbuf).sent = true;
    if (first) queue_.mark_accepted(mbuf);
    ever_sent_ = std::max(ever_sent_, ++unsent_);
  }

  void skip_to(std::size_t index) {
    queue_.skip_to(index < list_.size() ? list_[index].mbuf : nullptr);
    unsent_ = index;
  }

  void find(unsigned number) {
    if (list_.empty()) return;
    const std::uint64_t from = list_.front().psn;
    const std::uint64_t psn = from + number % (next_psn_ + 3 - from);
    const Listed* expected = nullptr;
    for (const Listed& packet : list_)
      if (packet.psn <= psn && psn <= packet.last_psn) expected = &packet;
    const rte_mbuf* found = queue_.find(on_circle(psn), index_, kFlow);
    // A later READ may hide what does not lie in the block where it begins.
    const bool hidden = expected != nullptr && expected->mbuf != queue_.first_read() &&
                        PacketIndex::block_of(on_circle(expected->psn)) != PacketIndex::block_of(on_circle(psn));
    if (found != nullptr || !hidden) RC_ASSERT(found == (expected == nullptr ? nullptr : expected->mbuf));
    RC_ASSERT(queue_.spans(on_circle(psn)) == (psn <= list_.back().last_psn));
  }

  // Removes the packets that were never sent.
  void cut() {
    rte_mbuf* cut = queue_.cut_after(ever_sent_ == 0 ? nullptr : list_[ever_sent_ - 1].mbuf);
    for (std::size_t i = ever_sent_; i < list_.size(); ++i) {
      RC_ASSERT(cut == list_[i].mbuf);
      forget(cut);
      cut = held_in(cut).next;
    }
    RC_ASSERT(cut == nullptr);
    list_.resize(ever_sent_);
    next_psn_ = list_.empty() ? next_psn_ : list_.back().last_psn + 1;
    unsent_ = std::min(unsent_, ever_sent_);
    examined_ = std::min(examined_, ever_sent_);
  }

  void forget(const rte_mbuf* mbuf) {
    if (held_in(mbuf).indexed) index_.remove(kFlow, held_in(mbuf).psn);
  }

  static constexpr std::uint32_t kFlow = 7;
  PacketQueue queue_;
  PacketIndex index_{256};
  std::deque<Listed> list_;
  std::size_t unsent_ = 0;     // how many packets of the list stand before the cursor
  std::size_t examined_ = 0;   // how many packets of the list were examined
  std::size_t ever_sent_ = 0;  // how many were sent at least once
  std::uint64_t next_psn_ = 0;
  std::uint32_t first_psn_;
  std::vector<Buffer> buffers_;
};

rc::Gen<Step> any_step() {
  const auto action = rc::gen::weightedOneOf<Action>({
      {6, rc::gen::just(Action::append)},
      {3, rc::gen::just(Action::send)},
      {10, rc::gen::cast<Action>(rc::gen::inRange(0, static_cast<int>(Action::last) + 1))},
  });
  return rc::gen::construct<Step>(action, rc::gen::inRange(0u, 1000u));
}

}  // namespace

TEST_CASE("a queue of custody is a list with three places in it", "[custody][packet_queue]") {
  setenv("RC_PARAMS", "seed=1 max_success=1000 max_size=200 verbose_progress=0", 0);
  CHECK(rc::check("the queue and a list agree after each step", [] {
    // Some lie across the end of the circle.
    QueueAndList both(*rc::gen::element(0u, 12345u, kPsns - 1, kPsns - 20));
    for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
      both.take(step);
      both.compare();
    }
  }));
}
