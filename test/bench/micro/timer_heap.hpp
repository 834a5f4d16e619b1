// SPDX-License-Identifier: BSD-3-Clause
// What engine::TimerWheel is compared with: an indexed binary heap, with the same interface.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "flow/time.hpp"

namespace longhaul::bench {

class TimerHeap {
 public:
  explicit TimerHeap(std::uint32_t capacity) : deadline_(capacity, kNever), place_(capacity, kAbsent) {
    heap_.reserve(capacity);
  }

  Time deadline(std::uint32_t id) const { return deadline_[id]; }
  Time earliest() const { return heap_.empty() ? kNever : deadline_[heap_.front()]; }
  std::optional<std::uint32_t> take(Time due) {
    if (earliest() > due) return std::nullopt;
    const std::uint32_t id = heap_.front();
    set(id, kNever);
    return id;
  }

  /// Sets the deadline of `id`; kNever removes it.
  void set(std::uint32_t id, Time deadline) {
    const std::uint32_t place = place_[id];
    deadline_[id] = deadline;
    if (deadline == kNever) {
      if (place != kAbsent) remove(id, place);
      return;
    }
    if (place == kAbsent) {
      place_[id] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(id);
      up(place_[id]);
      return;
    }
    up(place);
    down(place_[id]);
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;

  bool before(std::uint32_t a, std::uint32_t b) const { return deadline_[heap_[a]] < deadline_[heap_[b]]; }

  void swap_places(std::uint32_t a, std::uint32_t b) {
    std::swap(heap_[a], heap_[b]);
    place_[heap_[a]] = a;
    place_[heap_[b]] = b;
  }

  void up(std::uint32_t place) {
    while (place > 0 && before(place, (place - 1) / 2)) {
      swap_places(place, (place - 1) / 2);
      place = (place - 1) / 2;
    }
  }

  void down(std::uint32_t place) {
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (;;) {
      std::uint32_t least = place;
      for (const std::uint32_t child : {2 * place + 1, 2 * place + 2})
        if (child < size && before(child, least)) least = child;
      if (least == place) return;
      swap_places(place, least);
      place = least;
    }
  }

  void remove(std::uint32_t id, std::uint32_t place) {
    const auto last = static_cast<std::uint32_t>(heap_.size()) - 1;
    if (place != last) swap_places(place, last);
    heap_.pop_back();
    place_[id] = kAbsent;
    if (place != last) {
      const std::uint32_t moved = heap_[place];
      up(place);
      down(place_[moved]);
    }
  }

  std::vector<Time> deadline_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> heap_;
};

}  // namespace longhaul::bench
