// SPDX-License-Identifier: BSD-3-Clause
// Finds a packet of custody by its PSN, in as many steps with 100,000 packets in custody as with 100: for all flows of
// a worker.
//
// The circle of PSNs is cut into blocks of kBlock PSNs. The index has, of each flow, the first packet that begins in
// each block. From there to any packet of the block it is less than kBlock steps. So WRITEs cost one entry for every 16
// packets. A READ may have more PSNs than a block. Then the blocks that it ends in and passes over have no entry, or
// one that begins later (PacketQueue::find).
#pragma once

#include <cstdint>

#include "custody/packet_table.hpp"

namespace longhaul::custody {

class PacketIndex {
 public:
  static constexpr std::uint32_t kBlock = 16;  ///< PSNs
  static constexpr std::uint32_t block_of(std::uint32_t psn) { return psn / kBlock; }
  static constexpr bool begins_block(std::uint32_t psn) { return psn % kBlock == 0; }

  /// Room for `packets` entries. A requester of READs with many PSNs makes an entry for each packet.
  explicit PacketIndex(std::uint64_t packets) : table_(packets) {}
  /// Bytes of ordinary memory that an index takes.
  static std::uint64_t bytes_needed(std::uint64_t packets) { return PacketTable::bytes_needed(packets); }

  /// `flow` tells the flows of a worker apart. The flow has no entry for the block of `psn` yet, and there is room.
  void add(std::uint32_t flow, std::uint32_t psn, rte_mbuf* packet) noexcept {
    table_.add(flow, block_of(psn), packet);
  }
  void remove(std::uint32_t flow, std::uint32_t psn) noexcept { table_.remove(flow, block_of(psn)); }
  /// The entry for the block of `psn`, or null.
  rte_mbuf* find(std::uint32_t flow, std::uint32_t psn) const noexcept { return table_.find(flow, block_of(psn)); }

 private:
  PacketTable table_;
};

}  // namespace longhaul::custody
