// SPDX-License-Identifier: BSD-3-Clause
// Deadlines of numbered things, earliest first: a hierarchical timing wheel (Varghese and Lauck, 1987) of fixed
// capacity. Deadlines are exact: the slot that is due is sorted. Nothing is allocated after construction.
//
// There are seven wheels of 256 slots. A slot of wheel 0 is one tick of 16 us, a slot of each further wheel is 256
// times as long. `base_` is a time that has passed. The highest byte in which a deadline's tick differs from `base_`
// is the number of its wheel, so all of a wheel comes before all of the next.
//
//   base_, a tick in hexadecimal   .. 05 2e 00
//   deadlines                      .. 05 2e 9c   differs in byte 0         -> wheel 0, slot 9c
//                                  .. 05 31 07   differs in bytes 1 and 0  -> wheel 1, slot 31
//                                  .. 09 00 55   differs in bytes 2 to 0   -> wheel 2, slot 09
//
//   wheel 0, slots of 16 us     |00|01|..|9c|..|ff|   ---> take(): the first slot in use, sorted
//                                +-- by byte 0 --+
//                                       ^             wheel 0 is empty, and the time of slot 31 has come:
//                                       |             base_ becomes .. 05 31 00, and the slot is spread
//   wheel 1, slots of 4.2 ms    |00|..|31|..|..|ff|
//                                +-- by byte 1 --+
//                                       ^             wheels 0 and 1 are empty, and the time of slot 09 has come:
//                                       |             base_ becomes .. 09 00 00, and the slot is spread over both
//   wheel 2, slots of 1.07 s    |00|..|09|..|..|ff|   ... up to wheel 6
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.hpp"

namespace longhaul::engine {

class TimerWheel {
 public:
  /// A slot of a later wheel is spread over the earlier ones when its time has come: `portion` timers at a time,
  /// because all timers may lie in one slot. Meanwhile some of its timers may come a few calls late.
  explicit TimerWheel(std::uint32_t capacity, std::uint32_t portion = kPortion)
      : portion_(portion), timers_(capacity) {}

  Time deadline(std::uint32_t id) const { return timers_[id].deadline; }

  /// The earliest deadline, or an earlier time: that of a timer that was removed while others are left in its slot.
  /// kNever when none is set.
  Time earliest() const { return earliest_; }

  /// Removes and returns the timer that is due first (by deadline, then by number), if one is due at `due`. `due` may
  /// be any time that has passed.
  std::optional<std::uint32_t> take(Time due) {
    if (earliest_ > due) return std::nullopt;
    return take_due(due);
  }

  /// Sets the deadline of `id`; kNever removes it.
  void set(std::uint32_t id, Time deadline) {
    Timer& timer = timers_[id];
    if (timer.place != kNone) unlink(id);
    timer.deadline = deadline;
    if (deadline != kNever) insert(id);
    earliest_ = bound();
  }

 private:
  static constexpr std::uint32_t kPortion = 64;
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr unsigned kTickBits = 14;  // 2^14 ns
  static constexpr unsigned kSlotBits = 8;
  static constexpr unsigned kSlots = 1 << kSlotBits;
  static constexpr unsigned kWheels = (64 - kTickBits + kSlotBits - 1) / kSlotBits;

  struct Timer {
    Time deadline = kNever;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t place = kNone;  ///< slot, counted over all wheels; kNone: not set
  };
  struct Slot {
    Time bound = kNever;  ///< no deadline in it is earlier
    std::uint32_t first = kNone;
  };

 public:
  /// Bytes of memory for each timer of `capacity`.
  static constexpr std::size_t kBytesPerTimer = sizeof(Timer);

 private:
  bool before(std::uint32_t a, std::uint32_t b) const {
    return timers_[a].deadline != timers_[b].deadline ? timers_[a].deadline < timers_[b].deadline : a < b;
  }

  /// The first slot in use of the first wheel in use. Some wheel must be in use.
  std::uint32_t first_place() const {
    const auto wheel = static_cast<unsigned>(std::countr_zero(wheels_));
    unsigned word = 0;
    while (occupied_[wheel][word] == 0) ++word;
    return wheel * kSlots + word * 64 + static_cast<unsigned>(std::countr_zero(occupied_[wheel][word]));
  }
  Time bound() const {
    if (wheels_ == 0) return kNever;
    const Time first = slots_[first_place()].bound;
    return spreading_ == kNone ? first : std::min(first, slots_[spreading_].bound);
  }

  std::uint32_t place_of(Time deadline) const {
    const std::uint64_t tick = std::max(deadline >> kTickBits, base_);
    const unsigned wheel = tick == base_ ? 0 : (63 - static_cast<unsigned>(std::countl_zero(tick ^ base_))) / kSlotBits;
    return wheel * kSlots + static_cast<unsigned>((tick >> (wheel * kSlotBits)) % kSlots);
  }

  void insert(std::uint32_t id) {
    Timer& timer = timers_[id];
    timer.place = place_of(timer.deadline);
    Slot& slot = slots_[timer.place];
    if (slot.first == kNone) {
      const unsigned wheel = timer.place / kSlots;
      occupied_[wheel][timer.place % kSlots / 64] |= std::uint64_t{1} << (timer.place % 64);
      wheels_ |= 1u << wheel;
    } else if (timer.place == sorted_ && !before(id, slot.first)) {
      if (before(sorted_last_, id)) {
        timers_[sorted_last_].next = id;
        timer.previous = sorted_last_;
        timer.next = kNone;
        sorted_last_ = id;
        return;
      }
      sorted_ = kNone;
    }
    timer.previous = kNone;
    timer.next = slot.first;
    if (slot.first != kNone) timers_[slot.first].previous = id;
    slot.first = id;
    slot.bound = std::min(slot.bound, timer.deadline);
  }

  void unlink(std::uint32_t id) {
    Timer& timer = timers_[id];
    Slot& slot = slots_[timer.place];
    if (timer.next != kNone) timers_[timer.next].previous = timer.previous;
    if (timer.previous != kNone)
      timers_[timer.previous].next = timer.next;
    else
      slot.first = timer.next;
    if (timer.place == sorted_) {
      if (id == sorted_last_) sorted_last_ = timer.previous;
      if (slot.first != kNone) slot.bound = timers_[slot.first].deadline;
    }
    if (slot.first == kNone) empty(timer.place);
    timer.place = kNone;
  }

  void empty(std::uint32_t place) {
    const unsigned wheel = place / kSlots;
    auto& words = occupied_[wheel];
    words[place % kSlots / 64] &= ~(std::uint64_t{1} << (place % 64));
    if ((words[0] | words[1] | words[2] | words[3]) == 0) wheels_ &= ~(1u << wheel);
    slots_[place] = Slot{};
    if (sorted_ == place) sorted_ = kNone;
    if (spreading_ == place) spreading_ = kNone;
  }

  std::optional<std::uint32_t> take_due(Time due) {
    if (spreading_ != kNone) spread(spreading_);
    while (wheels_ != 0) {
      const std::uint32_t place = first_place();
      if (slots_[place].bound > due) break;
      if (place >= kSlots) {
        if (spreading_ != kNone && spreading_ != place) break;  // the next calls finish that slot first
        spread(place);
        continue;
      }
      if (sorted_ != place) sort(place);
      const std::uint32_t id = slots_[place].first;
      if (timers_[id].deadline > due) break;
      unlink(id);
      timers_[id].deadline = kNever;
      earliest_ = bound();
      return id;
    }
    earliest_ = bound();
    return std::nullopt;
  }

  // Spreads a portion of a slot over the earlier wheels, which were empty when this began. The slot's time has come:
  // none of its deadlines is before the slot's beginning, and no new timer gets this place from then on.
  void spread(std::uint32_t place) {
    if (spreading_ != place) {
      const unsigned shift = place / kSlots * kSlotBits;
      base_ = (base_ >> (shift + kSlotBits) << kSlotBits | place % kSlots) << shift;
      spreading_ = place;
    }
    for (std::uint32_t moved = 0; moved < portion_ && spreading_ == place; ++moved) {
      const std::uint32_t id = slots_[place].first;
      unlink(id);
      insert(id);
    }
  }

  std::uint32_t merge(std::uint32_t a, std::uint32_t b) {
    std::uint32_t first = kNone;
    std::uint32_t* end = &first;
    while (a != kNone && b != kNone) {
      std::uint32_t& least = before(b, a) ? b : a;
      *end = least;
      end = &timers_[least].next;
      least = *end;
    }
    *end = a != kNone ? a : b;
    return first;
  }

  // Merge sort, from the bottom: runs[n] has 2^n timers.
  void sort(std::uint32_t place) {
    std::array<std::uint32_t, 32> runs;
    runs.fill(kNone);
    for (std::uint32_t id = slots_[place].first; id != kNone;) {
      const std::uint32_t next = timers_[id].next;
      timers_[id].next = kNone;
      std::size_t n = 0;
      std::uint32_t run = id;
      for (; runs[n] != kNone; ++n) {
        run = merge(runs[n], run);
        runs[n] = kNone;
      }
      runs[n] = run;
      id = next;
    }
    std::uint32_t first = kNone;
    for (const std::uint32_t run : runs) first = merge(run, first);
    slots_[place].first = first;
    slots_[place].bound = timers_[first].deadline;
    sorted_ = place;
    sorted_last_ = kNone;
    for (std::uint32_t id = first; id != kNone; id = timers_[id].next) {
      timers_[id].previous = sorted_last_;
      sorted_last_ = id;
    }
  }

  std::uint32_t portion_;
  std::vector<Timer> timers_;
  std::array<Slot, kWheels * kSlots> slots_;
  std::array<std::array<std::uint64_t, kSlots / 64>, kWheels> occupied_{};
  std::uint32_t wheels_ = 0;  ///< those that are not empty
  std::uint64_t base_ = 0;    ///< ticks; earlier deadlines are in its slot of wheel 0
  Time earliest_ = kNever;
  std::uint32_t spreading_ = kNone;  ///< slot that is spread in part
  std::uint32_t sorted_ = kNone;     ///< slot whose list is sorted
  std::uint32_t sorted_last_ = kNone;
};

}  // namespace longhaul::engine
