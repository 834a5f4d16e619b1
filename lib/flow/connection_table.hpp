// SPDX-License-Identifier: BSD-3-Clause
// Finds the connection of an RC frame by (VLAN tags, source IP, destination IP, destination QPN).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/side.hpp"
#include "flow/connection.hpp"
#include "flow/connection_key.hpp"
#include "flow/key_index.hpp"
#include "flow/lane_index.hpp"

namespace longhaul::flow {

using ConnectionIndex = std::uint32_t;

/// Fixed capacity; slots are numbered so that other tables can run beside this one. One worker owns it.
/// A connection has two keys, one for the frames of each side: a frame that comes in on the wrong side finds nothing.
class ConnectionTable {
 public:
  /// Throws std::runtime_error when the EAL has no memory for `capacity` connections.
  explicit ConnectionTable(std::uint32_t capacity);
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  /// A slot for `info`, or nothing when the table is full. No holder() may have one of its keys.
  std::optional<ConnectionIndex> insert(const ConnectionInfo& info);

  /// As insert(), in slot `index`. Returns false when the slot or one of the keys is taken.
  bool insert_at(ConnectionIndex index, const ConnectionInfo& info);

  /// The connection that already has the key of `info` for frames from `from`: with host the key has the far end's QPN,
  /// with wan the near end's.
  std::optional<ConnectionIndex> holder(const ConnectionInfo& info, Side from) const noexcept;

  /// The connection of a frame that came in on `from`, or nothing.
  std::optional<ConnectionIndex> find(Side from, const wire::Frame& frame) const noexcept {
    return find(from, frame, frame.destination_qpn());
  }
  /// The connection of a frame from `from` to QP `destination_qpn` between the addresses of `frame`, or nothing.
  std::optional<ConnectionIndex> find(Side from, const wire::Frame& frame,
                                      std::uint32_t destination_qpn) const noexcept;

  static constexpr ConnectionIndex kNone = KeyIndex::kNone;
  static constexpr std::size_t kMostAtOnce = KeyIndex::kMostAtOnce;
  /// The connections of up to kMostAtOnce frames that came in on `from`: calls found(i, connection) for frame_at(i),
  /// with kNone where there is none. The results are valid while changes() stays the same.
  template <typename FrameAt, typename Found>
  void find(Side from, std::size_t count, FrameAt&& frame_at, Found&& found) const noexcept {
    by_side_[from].find(
        count, [&](std::size_t i) { return key_of(frame_at(i)); }, found);
  }
  /// Those that the lane finds: a part of the connections, and what it finds is what find() would.
  const LaneIndex& lane() const noexcept { return lane_; }
  /// Incremented with each connection that comes or goes.
  std::uint64_t changes() const noexcept { return changes_; }

  void release(ConnectionIndex index);

  const ConnectionInfo& operator[](ConnectionIndex index) const noexcept { return slots_[index].info; }
  bool in_use(ConnectionIndex index) const noexcept { return slots_[index].in_use; }
  bool has_room() const noexcept { return !free_.empty(); }
  /// Slots that are not in use.
  std::uint32_t free() const noexcept { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }

 private:
  struct Slot {
    ConnectionInfo info;
    bool in_use = false;
    BySide<bool> linked{false, false};  ///< per side: the key of frames from that side is in the hash
  };
  bool link(ConnectionIndex index, const ConnectionInfo& info);
  void unlink(ConnectionIndex index, Side from) noexcept;

  BySide<KeyIndex> by_side_;
  LaneIndex lane_;
  std::vector<Slot> slots_;
  std::vector<ConnectionIndex> free_;
  std::uint64_t changes_ = 0;
};

}  // namespace longhaul::flow
