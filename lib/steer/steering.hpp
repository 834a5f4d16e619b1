// SPDX-License-Identifier: BSD-3-Clause
// Which worker a RoCE frame belongs to, as its home worker sees it (docs/design.md, section 11, "Several cores"). The
// home of a pair of hosts sees all of their frames; it follows their RDMA-CM and gives each connection an owner.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "base/time.hpp"
#include "flow/cm_tracker.hpp"
#include "flow/connection.hpp"
#include "flow/key_index.hpp"
#include "flow/lifetimes.hpp"
#include "metrics/counter_set.hpp"
#include "steer/pair_hash.hpp"
#include "wire/cm.hpp"
#include "wire/frame.hpp"

namespace longhaul::steer {

struct SteeringSettings {
  Worker self = 0;
  /// Workers that may own connections. Empty: only `self`, so pairs of hosts stay whole.
  std::vector<Worker> owners;
  std::uint32_t max_connections = 4096;  ///< whose owner is remembered; others stay at home
  std::uint32_t max_pending_cm = 4096;   ///< RDMA-CM exchanges followed at once
  /// How long an engine keeps custody unanswered (engine::Settings::give_up and longest_give_up).
  flow::Patience patience{};
  /// The engine of `self` has a connection with this key (engine::Engine::knows()): one that nobody spread, learned
  /// from traffic or left at home. Called in owner_of() only, by its thread. Empty: it has none.
  std::function<bool(const flow::ConnectionInfo& info, Side from)> own_engine_knows = nullptr;
};

/// The worker that a frame belongs to.
struct Target {
  Worker worker = 0;
  /// When the frame is a REP, and `worker` has not seen the REQ that it answers: that REQ. Valid until the next call.
  std::span<const std::uint8_t> request = {};
};

/// One worker's. It checks the ICRC and checksums of RDMA-CM only: the worker that gets the frame checks the rest.
class Steering {
 public:
  /// Throws std::runtime_error when the EAL has no memory for the table.
  Steering(const SteeringSettings& settings, Counters& counters);

  /// The owner of `frame`, which came in on `from` and has its home here. `frame` must be RoCE: parse() said `roce`, or
  /// `unknown_opcode`.
  Target owner_of(Side from, const wire::Frame& frame, Time now);

  /// The owner of frames with this key that come in on `from`, between two hosts whose home is here.
  Worker owner_of(Side from, const flow::KeyIndex::KeyView& key, Time now) {
    return found(from, key, now).value_or(Found{kNone, settings_.self}).owner;
  }

  /// `owner` has had this connection since before this process began.
  void restore(const flow::ConnectionInfo& info, const std::optional<flow::CmExchange>& exchange, Worker owner,
               Time now);

  /// False: a connection whose REQ may be forged has lately led requests between the two hosts of `info` to another
  /// worker, and maybe not their answers. What is left here could look like a connection that does not exist.
  bool sees_whole(const flow::ConnectionInfo& info, Time now) const;

  /// For connections from now on.
  void set_patience(const flow::Patience& patience) { settings_.patience = patience; }

  /// Bytes of memory: DPDK's for `connections`, and the heap's for each of them, without its RDMA-CM exchange.
  static std::uint64_t table_bytes(std::uint32_t connections) { return 2 * flow::KeyIndex::bytes_needed(connections); }
  static constexpr std::uint64_t bytes_per_connection() { return sizeof(Entry) + sizeof(Life) + sizeof(Index); }

  /// Connections that have an owner.
  std::uint32_t connections() const { return static_cast<std::uint32_t>(entries_.size() - free_.size()); }

 private:
  using Index = flow::ConnectionIndex;
  static constexpr Index kNone = flow::KeyIndex::kNone;
  struct Entry {
    BySide<flow::KeyIndex::Key> keys;  ///< of frames from each side
    /// Entries with the same key are a list: the key leads to the newest, and when that ends to the next older one.
    BySide<Index> newer{kNone, kNone};
    BySide<Index> older{kNone, kNone};
    BySide<bool> linked{false, false};  ///< it is in the list
    bool in_use = false;
    bool waits = false;      ///< for its active end's word: until then an older entry keeps the key
    bool inherited = false;  ///< a newcomer without an entry of its own uses it: it stays while frames pass
    Worker owner = 0;
    Duration give_up = 0;  ///< of its flow
  };
  /// Apart from the entries, because each frame writes here.
  struct Life {
    Time last_seen = 0;
    Time closes = kNever;   ///< when a connection with a DREQ but no DREP is taken as closed
    bool unproven = false;  ///< its REQ may be forged
  };
  /// by_side_ holds the entry's index, and its owner, which saves a look at the entry.
  static constexpr unsigned kOwnerBits = 6;
  static_assert(kMaxWorkers <= 1u << kOwnerBits);

  Target cm(Side from, const wire::Frame& frame, Time now);
  /// An entry that has not ended.
  struct Found {
    Index index;
    Worker owner;
  };
  std::optional<Found> found(Side from, const flow::KeyIndex::KeyView& key, Time now);
  std::optional<Worker> find(Side from, const wire::Frame& frame, std::uint32_t destination_qpn, Time now);
  std::optional<Index> holder(const flow::KeyIndex::KeyView& key, Side from) const;
  std::optional<Worker> former_owner(const flow::ConnectionInfo& info) const;
  Target without_place(const flow::ConnectionInfo& info, const wire::Frame& frame, const wire::CmMessage& reply);
  std::optional<Index> replied(const flow::CmOutcome& outcome, Time now);
  void established(Index index);
  void ended(Index index);
  void count_spread(Index index);
  /// A new entry, not linked yet; nothing when the table is full.
  std::optional<Index> admit(const flow::ConnectionInfo& info, std::optional<Worker> owner, Time now);
  /// False when there is no room for a key: then the connection is forgotten, and stays at home.
  bool link_both(Index index);
  bool link_or_forget(Index index, Side from);
  Worker least_loaded() const;
  /// Whether the owner's engine has nothing of the connection any more at `now`.
  bool is_over(Index index, Time now) const;
  void make_room(Time now);
  bool link(Index index, Side side);
  void unlink(Index index, Side side);
  void forget(Index index);
  bool lead_to(Index index, Side side);
  Worker owner(Index index) const { return entries_[index].owner; }
  std::size_t led_away_slot(const wire::IpAddress& one, const wire::IpAddress& other) const {
    return pair_hash(one, other) % led_away_.size();
  }

  SteeringSettings settings_;
  Counters& counters_;
  flow::CmTracker tracker_;
  BySide<flow::KeyIndex> by_side_;
  std::vector<Entry> entries_;
  std::vector<Life> lives_;
  std::vector<Index> free_;
  std::vector<std::uint32_t> load_;  ///< connections by worker
  /// When an unproven connection last led a request away, by low bits of the hosts' hash.
  std::array<Time, 256> led_away_{};
  Index clock_hand_ = 0;
};

}  // namespace longhaul::steer
