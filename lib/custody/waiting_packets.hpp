// SPDX-License-Identifier: BSD-3-Clause
// The packets that came before one that should have come first: for all flows of a worker. They are requests
// (reorder.cpp), and READ responses and what they overtook (reorder_answers.cpp).
//
// A table finds a packet by its flow, kind and PSN. The packets of one flow and kind are also in a list, oldest first,
// which is linked through their mbufs: the oldest says how long the flow has waited. So to keep a packet, and to take
// one out by its PSN, costs the same however many wait.
//
// They are bytes and buffers of custody (Budget), although nobody was told of them. Besides, all flows together may
// have no more than a quarter of custody's receive buffers waiting, shared among the pairs of hosts (fair_share.hpp),
// and one flow kMostOfFlow, but for answers that a peer sends again.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "base/time.hpp"
#include "custody/budget.hpp"
#include "custody/held.hpp"
#include "custody/packet_table.hpp"

namespace longhaul::custody {

/// What waits.
enum class WaitingKind : std::uint8_t { request, response, acknowledge };

/// One packet's bookkeeping while it waits, where Held will be.
struct Waiting {
  rte_mbuf* newer = nullptr;
  rte_mbuf* older = nullptr;
  Time since = 0;  ///< when the burst that brought it was received
  std::uint32_t psn = 0;
  std::uint32_t last_psn = 0;  ///< of a READ, the PSN of its last response; otherwise the same
  bool contested = false;      ///< the flow was contested when it came
  bool copy = false;           ///< of an answer: a peer may have sent it again, as late as it keeps copies
};
static_assert(sizeof(Waiting) <= kMbufPrivateSize);

inline Waiting& waiting_in(rte_mbuf* mbuf) { return *static_cast<Waiting*>(rte_mbuf_to_priv(mbuf)); }
inline const Waiting& waiting_in(const rte_mbuf* mbuf) {
  return *static_cast<const Waiting*>(rte_mbuf_to_priv(const_cast<rte_mbuf*>(mbuf)));
}

/// Of one flow and kind.
struct WaitingList {
  explicit WaitingList(WaitingKind its_kind) : kind(its_kind) {}

  rte_mbuf* oldest = nullptr;
  rte_mbuf* newest = nullptr;
  std::uint64_t bytes = 0;  ///< of frames
  std::uint32_t packets = 0;
  std::uint16_t copies = 0;  ///< of those. Once it is kMany, it stays so until the list is empty
  WaitingKind kind;

  static constexpr std::uint16_t kMany = 0xffff;

  bool empty() const { return oldest == nullptr; }
};

class WaitingPackets {
 public:
  /// What arrives at 100 Gbit/s in 1 KiB frames within the longest wait that makes sense.
  static constexpr std::uint32_t kMostOfFlow = 4096;
  /// Of all flows together, where custody may have `large_mbufs` receive buffers.
  static constexpr std::uint64_t most(std::uint64_t large_mbufs) { return large_mbufs / 4; }
  /// Bytes of ordinary memory that the table takes.
  static std::uint64_t bytes_needed(std::uint64_t large_mbufs) { return PacketTable::bytes_needed(most(large_mbufs)); }

  explicit WaitingPackets(const Budget& limits)
      : most_(most(limits.large_mbufs_limit)), most_of_pair_(most(limits.pair_large_mbufs_limit)), table_(most_) {}

  /// Another packet of the list, of which `most` may wait, may do so. `waiting` of its pair of hosts do.
  bool has_place(const WaitingList& list, std::uint32_t most, std::uint32_t waiting) const;

  /// Takes over one reference to `mbuf`, whose `psn` has no other packet in the list. has_place() has said yes.
  void add(std::uint32_t flow, WaitingList& list, rte_mbuf* mbuf, const Waiting& about);

  /// The packet of the flow and kind that begins at `psn`, or null.
  rte_mbuf* find(std::uint32_t flow, WaitingKind kind, std::uint32_t psn) const {
    return table_.find(flow, number_of(kind, psn));
  }

  /// The caller has the reference.
  void remove(std::uint32_t flow, WaitingList& list, rte_mbuf* mbuf);

 private:
  // PSNs have 24 bits.
  static std::uint32_t number_of(WaitingKind kind, std::uint32_t psn) {
    return static_cast<std::uint32_t>(kind) << 24 | psn;
  }

  std::uint64_t most_;
  std::uint64_t most_of_pair_;
  std::uint64_t packets_ = 0;
  PacketTable table_;
};

}  // namespace longhaul::custody
