// SPDX-License-Identifier: BSD-3-Clause
// The DREQs of one connection that wait for its custody (design section 6), oldest first, linked through their mbufs.
// Communication IDs tell genuine DREQs from forged ones. They are not known for a connection learned from traffic, so
// several DREQs may have to wait, each for its own time.
#pragma once

#include <cstdint>

#include "custody/held.hpp"

namespace longhaul::engine {

class HeldDreqs {
 public:
  static constexpr unsigned kMost = 4;

  bool empty() const { return first_ == nullptr; }
  bool full() const { return count_ == kMost; }
  unsigned count() const { return count_; }
  /// When the oldest goes, custody or not.
  Time deadline() const { return empty() ? kNever : custody::held_in(first_).sent_at; }

  /// A DREQ from `sender` (its communication ID) waits, or was the last to be released: CM repeats a DREQ that was not
  /// answered, and the repeat goes after the first.
  bool waits(std::uint32_t sender) const {
    for (const rte_mbuf* mbuf = first_; mbuf != nullptr; mbuf = custody::held_in(mbuf).next)
      if (custody::held_in(mbuf).psn == sender) return true;
    return false;
  }
  bool was_released(std::uint32_t sender) const { return released_any_ && released_ == sender; }

  /// Takes over one reference to `mbuf`. Do not call it when full.
  void add(rte_mbuf* mbuf, std::uint32_t sender, Time deadline) {
    custody::Held& held = custody::held_in(mbuf);
    held = custody::Held{};
    held.psn = sender;
    held.sent_at = deadline;
    rte_mbuf** end = &first_;
    while (*end != nullptr) end = &custody::held_in(*end).next;
    *end = mbuf;
    ++count_;
  }

  /// Removes the oldest; the reference is the caller's.
  rte_mbuf* pop() {
    rte_mbuf* mbuf = first_;
    first_ = custody::held_in(mbuf).next;
    --count_;
    released_ = custody::held_in(mbuf).psn;
    released_any_ = true;
    return mbuf;
  }

  /// Drops all of them unsent. Returns how many there were.
  unsigned discard() {
    const unsigned discarded = count_;
    while (first_ != nullptr) {
      rte_mbuf* next = custody::held_in(first_).next;
      rte_pktmbuf_free(first_);
      first_ = next;
    }
    count_ = 0;
    return discarded;
  }

 private:
  rte_mbuf* first_ = nullptr;
  std::uint32_t released_ = 0;
  std::uint8_t count_ = 0;
  bool released_any_ = false;
};

}  // namespace longhaul::engine
