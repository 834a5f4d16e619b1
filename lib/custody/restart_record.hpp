// SPDX-License-Identifier: BSD-3-Clause
// What must be known of custody after the process is gone (design section 6, "Restart"; rule 6): one slot per
// connection, in memory that outlives the process. The code that maps this memory passes it as a span of slots; all
// zeros is an empty slot.
//
// A process can be killed between any two instructions. The slot must then be right, or claim that too much is owed. So
// promise() comes before the pseudo-ACK leaves, and answered() after the responder's answer. Stores in program order
// are enough: what a killed process has stored stays stored.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/side.hpp"
#include "flow/cm_tracker.hpp"
#include "flow/connection.hpp"

namespace longhaul::custody {

/// A connection as it is recorded; native byte order. The check value covers all of it, so there is no padding.
struct RecordedConnection {
  BySide<std::array<std::uint8_t, 16>> ips{};
  BySide<std::uint32_t> qpns{};
  BySide<std::uint32_t> starting_psns{};
  std::uint32_t vlan = 0;
  std::uint32_t path_mtu = 0;     ///< bytes
  std::uint64_t ack_timeout = 0;  ///< nanoseconds
  std::uint32_t active_comm_id = 0;
  std::uint32_t passive_comm_id = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t active_side = 0;
  std::uint8_t has_exchange = 0;  ///< RDMA-CM set it up: the three fields about the exchange mean something
  std::array<std::uint8_t, 5> reserved{};

  static RecordedConnection of(const flow::ConnectionInfo& info, const std::optional<flow::CmExchange>& exchange);
  flow::ConnectionInfo info() const;
  std::optional<flow::CmExchange> exchange() const;
};
static_assert(sizeof(RecordedConnection) == 80 && std::has_unique_object_representations_v<RecordedConnection>);

class alignas(64) RecordSlot {
 public:
  enum class State : std::uint8_t {
    empty,    ///< no connection's
    settled,  ///< a connection with nothing acknowledged and unanswered
    owing,    ///< acknowledged data was not answered
    damaged,  ///< not what a box wrote
  };

  /// What the requester was told last.
  struct Promise {
    std::uint32_t h = 0;
    std::uint32_t msn_h = 0;
    std::uint64_t acknowledged_bytes = 0;  ///< the flow's frame bytes ever taken into custody, up to h
  };

  /// A connection takes the slot; it owes nothing yet.
  void open(const RecordedConnection& connection) noexcept;
  void clear() noexcept { check_.store(0, std::memory_order_release); }

  /// Call before the pseudo-ACK for `h` - 1 can leave the box.
  void promise(std::uint32_t h, std::uint32_t msn_h, std::uint64_t acknowledged_bytes) noexcept {
    const std::uint32_t next = promises_.load(std::memory_order_relaxed) + 1;
    // Write the other cell: until promises_ is incremented, the last promise stays whole.
    Cell& cell = cells_[next & 1];
    cell.frontier.store(h | std::uint64_t{msn_h} << 32, std::memory_order_relaxed);
    cell.acknowledged_bytes.store(acknowledged_bytes, std::memory_order_relaxed);
    promises_.store(next, std::memory_order_release);
    // The compiler must not move the sending of a frame before this.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// The responder has answered the first `bytes` of the bytes that promise() counts.
  void answered(std::uint64_t bytes) noexcept { answered_bytes_.store(bytes, std::memory_order_release); }

  State state() const noexcept;
  Promise promised() const noexcept;
  /// Frame bytes acknowledged and not answered. The slot must not be damaged.
  std::uint64_t owed_bytes() const noexcept;
  const RecordedConnection& connection() const noexcept { return connection_; }

 private:
  struct Cell {
    std::atomic<std::uint64_t> frontier;  ///< h, and msn_h << 32
    std::atomic<std::uint64_t> acknowledged_bytes;
  };

  std::atomic<std::uint32_t> check_;     ///< of connection_, never 0; 0: empty. Written last
  std::atomic<std::uint32_t> promises_;  ///< number of promises in this slot; the low bit is the cell of the last
  std::array<Cell, 2> cells_;
  std::atomic<std::uint64_t> answered_bytes_;
  RecordedConnection connection_;
};
static_assert(sizeof(RecordSlot) == 128, "the format of the file; two cache lines");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::is_standard_layout_v<RecordSlot>);

}  // namespace longhaul::custody
