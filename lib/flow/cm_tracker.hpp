// SPDX-License-Identifier: BSD-3-Clause
// Follows RDMA-CM exchanges (IBTA vol. 1, 12.9) as a bystander: REQ and REP give a connection, DREQ and DREP end it.
// Exchanges are told apart by addresses, communication ID and transaction ID, so that repeats and forged messages
// change nothing that is established. Anyone can forge a REQ, and a listener answers it by a genuine REP. A REQ is
// proven genuine by a message from its sender that has the passive end's communication ID, which only the REP contains.
//
// Hosts share the room for exchanges: when there is none, the oldest exchange goes between the two hosts that have
// most, as far as a look at the oldest exchanges of all shows.
#pragma once

#include <cstdint>
#include <cstring>
#include <list>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/hash_secret.hpp"
#include "base/side.hpp"
#include "base/time.hpp"
#include "flow/connection.hpp"
#include "flow/connection_table.hpp"
#include "wire/cm.hpp"

namespace longhaul::flow {

/// What a CM message means for a connection.
enum class CmEvent : std::uint8_t {
  none,                  ///< noted or repeated; nothing to do
  replied,               ///< REP answered a REQ: `info` may become a connection. The REQ may have been forged.
  established,           ///< the active end has shown that it has read the REP: `info` is valid
  repeated,              ///< the REQ or the REP that set `connection` up came again
  rejected,              ///< REJ of a connection that was learned
  disconnect_requested,  ///< DREQ
  disconnected,          ///< DREP
  unmatched,             ///< belongs to no exchange that was seen
  table_full,            ///< a REQ pushed out the oldest unanswered one
};

struct CmOutcome {
  CmEvent event = CmEvent::none;
  ConnectionInfo info;            ///< for replied, established
  Side active_side = Side::host;  ///< for replied, established: who sent the REQ
  bool same_transaction = false;  ///< for replied: `connection` has the same IDs and the same transaction ID
  std::uint64_t mark = 0;         ///< as given to postpone(), for established; as given to leave(), for a repeated REP
  std::optional<ConnectionIndex> connection;  ///< for the others; for established as given to bind() or postpone()
};

/// An exchange of RDMA-CM: who sent its REQ, and the communication IDs that both ends chose.
struct CmExchange {
  Side active_side = Side::host;
  std::uint32_t active_comm_id = 0;
  std::uint32_t passive_comm_id = 0;
};

class CmTracker {
 public:
  /// Remembers at most `max_pending` REQs, each for kPendingLife at most, and has room for the exchanges of
  /// `connections` from the start. `keep_requests`: keeps the bytes of REQs too, for request_of().
  CmTracker(std::uint32_t max_pending, std::uint32_t connections, bool keep_requests = false);

  /// `frame` carries `message` and came in on `from`.
  CmOutcome handle(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now);

  /// After `replied` or `established`: the slot that the connection got. `wants_word`: `established` is to come when
  /// the active end has shown that it has read the REP.
  void bind(ConnectionIndex connection, bool wants_word = false);
  /// After `replied`, instead of bind(): the connection waits until its active end has shown that it has read the REP.
  /// Then `established` brings `mark` and `connection` back; until then CM messages of the exchange are about
  /// `connection`.
  void postpone(std::uint64_t mark, std::optional<ConnectionIndex> connection = std::nullopt);
  /// After `replied`, instead of bind(): there is no place for the connection. A repeat of its REP brings back only
  /// `mark`.
  void leave(std::uint64_t mark);
  /// The connection is gone: later CM messages match nothing, and the same exchange again is a new one.
  void forget(ConnectionIndex connection);

  /// The connection that `message` is about, live or waiting; nothing for a REQ, and before bind() or postpone().
  std::optional<ConnectionIndex> connection_about(const wire::Frame& frame, const wire::CmMessage& message,
                                                  Side from) const;
  /// The frame (without Ethernet padding) of the REQ that the REP in `frame` answers, when requests are kept; empty
  /// when the REQ is not there any more. Valid until the next handle().
  std::span<const std::uint8_t> request_of(const wire::Frame& frame, const wire::CmMessage& reply) const;

  /// The exchange that set `connection` up, or nothing.
  std::optional<CmExchange> exchange_of(ConnectionIndex connection) const;
  /// `exchange` set up `connection` before this tracker was made: its DREQ and DREP are known from here on.
  void restore(ConnectionIndex connection, const ConnectionInfo& info, const CmExchange& exchange);

  static constexpr Duration kPendingLife = seconds(120);  // CM's own retries end well before

 private:
  /// Addresses as seen from the active end, and that end's communication ID.
  struct ExchangeKey {
    std::uint32_t vlan;
    std::array<std::uint8_t, 16> active_ip;
    std::array<std::uint8_t, 16> passive_ip;
    std::uint32_t active_comm_id;
    bool operator==(const ExchangeKey&) const = default;
  };
  using PendingKey = std::pair<ExchangeKey, std::uint64_t>;  // and the transaction ID
  /// An exchange that was answered. It has both IDs: one alone is easily guessed.
  struct AnsweredKey {
    ExchangeKey exchange;
    std::uint32_t passive_comm_id;
    bool operator==(const AnsweredKey&) const = default;
  };
  /// Two hosts, as seen from the active end: an exchange without its communication ID.
  struct HostsKey {
    std::uint32_t vlan;
    std::array<std::uint8_t, 16> active_ip;
    std::array<std::uint8_t, 16> passive_ip;
    bool operator==(const HostsKey&) const = default;
  };
  static HostsKey hosts_of(const ExchangeKey& key) { return {key.vlan, key.active_ip, key.passive_ip}; }
  static_assert(sizeof(HostsKey) == 36 && sizeof(ExchangeKey) == 40 && sizeof(AnsweredKey) == 44,
                "no padding may enter the hash");

  /// The hosts choose the keys.
  struct Hash {
    Hash() : secret(hash_secret()) {}
    std::uint64_t secret;
    std::size_t operator()(const HostsKey& key) const { return of(key); }
    std::size_t operator()(const PendingKey& key) const { return mix_keyed(of(key.first), key.second, secret); }
    std::size_t operator()(const AnsweredKey& key) const { return of(key); }
    template <typename Key>
    std::size_t of(const Key& key) const {
      constexpr std::size_t kWord = sizeof(std::uint64_t), kHalf = sizeof(std::uint32_t);
      static_assert(sizeof(Key) % kHalf == 0);
      const char* bytes = reinterpret_cast<const char*>(&key);
      std::uint64_t hash = secret;
      for (std::size_t at = 0; at + kWord <= sizeof(Key); at += kWord) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, kWord);
        hash = mix_keyed(hash, word, secret);
      }
      if constexpr (sizeof(Key) % kWord != 0) {
        std::uint32_t half = 0;
        std::memcpy(&half, bytes + sizeof(Key) - kHalf, kHalf);
        hash = mix_keyed(hash, half, secret);
      }
      return hash;
    }
  };
  template <typename Key, typename Value>
  using Map = std::unordered_map<Key, Value, Hash>;

  struct Pending;
  using PendingEntry = std::pair<const PendingKey, Pending>;
  using Entries = std::list<PendingEntry*>;
  struct Pending {
    ConnectionInfo info;  // filled by the REQ, then by the REP
    Side active_side;
    Time since;
    bool answered = false;
    bool waits = false;  ///< for its active end; the exchange is in waiting_
    std::uint32_t passive_comm_id = 0;
    std::uint64_t mark = 0;
    std::optional<ConnectionIndex> connection;  ///< the connection that it set up, or that waits
    Entries::iterator age;                      ///< in by_age_
    Entries* own = nullptr;                     ///< those of its hosts, in by_hosts_
    Entries::iterator among_own;
    std::vector<std::uint8_t> request;  // when requests are kept
  };

  static ExchangeKey key_from_active(const wire::Frame& frame, std::uint32_t comm_id);
  static ExchangeKey key_from_passive(const wire::Frame& frame, std::uint32_t comm_id);
  static bool same_request(const ConnectionInfo& one, const ConnectionInfo& other, Side active_side);

  CmOutcome on_request(const wire::Frame& frame, const wire::CmMessage& message, Side from, Time now);
  CmOutcome on_reply(const wire::Frame& frame, const wire::CmMessage& message, Side from);
  CmOutcome on_reject(const wire::Frame& frame, const wire::CmMessage& message, Side from);
  CmOutcome on_word_of_active(const wire::Frame& frame, const wire::CmMessage& message, Side from);
  CmOutcome on_disconnect(const wire::Frame& frame, const wire::CmMessage& message, Side from) const;
  std::optional<ConnectionIndex> find_live(const wire::Frame& frame, const wire::CmMessage& message, Side from) const;
  bool stands(const PendingKey& key, const Pending& pending) const;
  void wait(const PendingKey& key, Pending& pending);
  void stop_waiting(const PendingKey& key, Pending& pending);
  void erase_pending(PendingEntry& entry);
  void make_room(const HostsKey& hosts, CmOutcome& outcome, Time now);

  std::uint32_t max_pending_;
  bool keep_requests_;
  Map<PendingKey, Pending> pending_;
  Entries by_age_;  // oldest first
  Map<HostsKey, Entries> by_hosts_;
  struct Live {
    ConnectionIndex connection;
    std::uint64_t transaction_id;
    Side active_side;
  };
  void add_live(const AnsweredKey& key, const Live& live);

  Map<AnsweredKey, Live> live_;
  Map<AnsweredKey, std::uint64_t> waiting_;                // their transaction IDs
  std::unordered_map<ConnectionIndex, AnsweredKey> keys_;  // of live_ or waiting_
  std::optional<PendingKey> unsettled_;                    // the exchange that bind() or postpone() is about
};

}  // namespace longhaul::flow
