// SPDX-License-Identifier: BSD-3-Clause
// Finds a packet of custody by its PSN, in as many steps with 100,000 packets in custody as with 100: for all flows of
// a worker.
//
// The circle of PSNs is cut into blocks of kBlock PSNs. The index has, of each flow, the first packet that begins in
// each block. From there to any packet of the block it is less than kBlock steps. So WRITEs cost one entry for every 16
// packets. A READ may have more PSNs than a block. Then the blocks that it ends in and passes over have no entry, or
// one that begins later (PacketQueue::find).
//
// Open addressing with linear probing (Knuth, vol. 3, 6.4, algorithms L and R).
#pragma once

#include <cstdint>
#include <vector>

#include "base/huge_page_allocator.hpp"

struct rte_mbuf;

namespace longhaul::custody {

class PacketIndex {
 public:
  static constexpr std::uint32_t kBlock = 16;  ///< PSNs
  static constexpr std::uint32_t block_of(std::uint32_t psn) { return psn / kBlock; }
  static constexpr bool begins_block(std::uint32_t psn) { return psn % kBlock == 0; }

  /// Room for `packets` entries. A requester of READs with many PSNs makes an entry for each packet.
  explicit PacketIndex(std::uint64_t packets);
  /// Bytes of ordinary memory that an index takes.
  static std::uint64_t bytes_needed(std::uint64_t packets) { return slots_for(packets) * sizeof(Entry); }

  /// `flow` tells the flows of a worker apart. The flow has no entry for the block of `psn` yet, and there is room.
  void add(std::uint32_t flow, std::uint32_t psn, rte_mbuf* packet) noexcept;
  void remove(std::uint32_t flow, std::uint32_t psn) noexcept;
  /// The entry for the block of `psn`, or null.
  rte_mbuf* find(std::uint32_t flow, std::uint32_t psn) const noexcept;

 private:
  struct Entry {
    std::uint64_t key = 0;
    rte_mbuf* packet = nullptr;  ///< null: the slot is free
  };

  static std::uint64_t slots_for(std::uint64_t packets) { return packets + packets / 2 + 1; }
  static std::uint64_t key_of(std::uint32_t flow, std::uint32_t psn) {
    return std::uint64_t{flow} << 32 | block_of(psn);
  }
  std::uint64_t home_of(std::uint64_t key) const noexcept;
  std::uint64_t after(std::uint64_t slot) const noexcept { return slot + 1 == entries_.size() ? 0 : slot + 1; }
  /// Where the key is, or where it would go.
  std::uint64_t slot_of(std::uint64_t key) const noexcept;

  std::uint64_t secret_[2];  ///< the hosts choose PSNs: without it they could choose ones that share a slot
  std::vector<Entry, HugePageAllocator<Entry>> entries_;
};

}  // namespace longhaul::custody
