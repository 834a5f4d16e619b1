// SPDX-License-Identifier: BSD-3-Clause
// Follows RDMA-CM exchanges (IBTA vol. 1, 12.9) as a bystander: REQ and REP give a connection, DREQ and DREP end it.
// Exchanges are told apart by addresses, communication ID and transaction ID, so that repeats and forged
// messages change nothing that is established.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "flow/connection.hpp"
#include "flow/connection_table.hpp"
#include "flow/side.hpp"
#include "flow/time.hpp"
#include "wire/cm.hpp"

namespace longhaul::flow {

/// What a CM message means for connections.
enum class CmEvent : std::uint8_t {
  none,                  ///< noted or repeated; nothing to do
  learned,               ///< REP answered a REQ: `info` is a new connection
  rejected,              ///< REJ of a connection that was learned
  disconnect_requested,  ///< DREQ
  disconnected,          ///< DREP
  unmatched,             ///< belongs to no exchange seen
  table_full,            ///< a REQ pushed out the oldest unanswered one
};

struct CmOutcome {
  CmEvent event = CmEvent::none;
  ConnectionInfo info;                        ///< for `learned`
  std::optional<ConnectionIndex> connection;  ///< for rejected, disconnect_requested, disconnected
};

/// An exchange of RDMA-CM: who sent its REQ, and the communication IDs that both ends chose.
struct CmExchange {
  Side active_side = Side::host;
  std::uint32_t active_comm_id = 0;
  std::uint32_t passive_comm_id = 0;
};

class CmTracker {
 public:
  /// At most `max_pending` unanswered REQs are remembered; each for kPendingLife at most. `keep_requests`: with their
  /// bytes, for request_of().
  explicit CmTracker(std::uint32_t max_pending, bool keep_requests = false)
      : max_pending_(max_pending), keep_requests_(keep_requests) {}

  /// `frame` carries `message` and came in on `from`.
  CmOutcome handle(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now);

  /// After `learned`: the slot that the connection got.
  void bind(ConnectionIndex connection);
  /// The connection is gone: its later CM messages are nobody's.
  void forget(ConnectionIndex connection);

  /// The connection that `message` is about, whichever it is; nothing for a REQ and before bind().
  std::optional<ConnectionIndex> connection_of(const wire::Frame& frame, const wire::CmMessage& message,
                                               Side from) const {
    return find_live(frame, message, from);
  }
  /// The frame (without Ethernet padding) of the REQ that the REP in `frame` answers, when they are kept; empty when it
  /// is not there any more. Valid until the next handle().
  std::span<const std::uint8_t> request_of(const wire::Frame& frame, const wire::CmMessage& reply) const;

  /// The exchange that set `connection` up, or nothing.
  std::optional<CmExchange> exchange_of(ConnectionIndex connection) const;
  /// `connection` was set up by `exchange`, before this tracker was made: its DREQ, DREP are known from here on.
  void restore(ConnectionIndex connection, const ConnectionInfo& info, const CmExchange& exchange);

  static constexpr Duration kPendingLife = seconds(120);  // CM's own retries end well before

 private:
  /// Addresses seen from the active end, and its communication ID.
  struct ExchangeKey {
    std::uint32_t vlan;
    std::array<std::uint8_t, 16> active_ip;
    std::array<std::uint8_t, 16> passive_ip;
    std::uint32_t active_comm_id;
    auto operator<=>(const ExchangeKey&) const = default;
  };
  using PendingKey = std::pair<ExchangeKey, std::uint64_t>;  // and the transaction ID

  struct Pending {
    ConnectionInfo info;  // filled as far as the REQ tells
    Side active_side;
    Time since;
    bool answered = false;
    std::list<PendingKey>::iterator age;
    std::vector<std::uint8_t> request;  // when they are kept
  };

  static ExchangeKey key_from_active(const wire::Frame& frame, std::uint32_t comm_id);
  static ExchangeKey key_from_passive(const wire::Frame& frame, std::uint32_t comm_id);

  CmOutcome on_request(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now);
  CmOutcome on_reply(const wire::Frame& frame, const wire::CmMessage& message, Side from);
  CmOutcome on_reject(const wire::Frame& frame, const wire::CmMessage& message, Side from);
  std::optional<ConnectionIndex> find_live(const wire::Frame& frame, const wire::CmMessage& message, Side from) const;
  void erase_pending(std::map<PendingKey, Pending>::iterator position);

  std::uint32_t max_pending_;
  bool keep_requests_;
  std::map<PendingKey, Pending> pending_;
  std::list<PendingKey> by_age_;  // oldest first
  struct Live {
    ConnectionIndex connection;
    std::uint32_t passive_comm_id;
    std::uint64_t transaction_id;
    Side active_side;
  };
  void add_live(const ExchangeKey& key, const Live& live);

  std::map<ExchangeKey, Live> live_;
  std::map<ConnectionIndex, ExchangeKey> keys_;
  struct ToBind {
    ExchangeKey key;
    std::uint32_t passive_comm_id;
    std::uint64_t transaction_id;
    Side active_side;
  };
  std::optional<ToBind> to_bind_;
};

}  // namespace longhaul::flow
