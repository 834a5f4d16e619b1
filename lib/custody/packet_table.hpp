// SPDX-License-Identifier: BSD-3-Clause
// Finds a packet by a number, for all flows of a worker. Open addressing with linear probing (Knuth, vol. 3, 6.4,
// algorithms L and R).
#pragma once

#include <cstdint>
#include <vector>

#include "base/huge_page_allocator.hpp"

struct rte_mbuf;

namespace longhaul::custody {

class PacketTable {
 public:
  /// Room for `packets` entries.
  explicit PacketTable(std::uint64_t packets);
  /// Bytes of ordinary memory that a table takes.
  static std::uint64_t bytes_needed(std::uint64_t packets) { return slots_for(packets) * sizeof(Entry); }

  /// The flow has no entry for `number` yet, and there is room. `flow` tells the flows of a worker apart.
  void add(std::uint32_t flow, std::uint32_t number, rte_mbuf* packet) noexcept {
    const std::uint64_t key = key_of(flow, number);
    entries_[slot_of(key)] = {key, packet};
  }
  void remove(std::uint32_t flow, std::uint32_t number) noexcept;
  /// The entry for `number`, or null.
  rte_mbuf* find(std::uint32_t flow, std::uint32_t number) const noexcept {
    return entries_[slot_of(key_of(flow, number))].packet;
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    rte_mbuf* packet = nullptr;  ///< null: the slot is free
  };

  static std::uint64_t slots_for(std::uint64_t packets) { return packets + packets / 2 + 1; }
  static std::uint64_t key_of(std::uint32_t flow, std::uint32_t number) { return std::uint64_t{flow} << 32 | number; }
  std::uint64_t home_of(std::uint64_t key) const noexcept;
  std::uint64_t after(std::uint64_t slot) const noexcept { return slot + 1 == entries_.size() ? 0 : slot + 1; }
  /// Where the key is, or where it would go.
  std::uint64_t slot_of(std::uint64_t key) const noexcept;

  std::uint64_t secret_[2];  ///< the hosts choose PSNs: without it they could choose ones that share a slot
  std::vector<Entry, HugePageAllocator<Entry>> entries_;
};

}  // namespace longhaul::custody
