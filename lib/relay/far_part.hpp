// SPDX-License-Identifier: BSD-3-Clause
// The far part of a box: hands the requests of bound flows on in the order of their PSNs, holds what came behind a gap,
// and reports what is missing (docs/peer-protocol.md, section 9).
//
//   at `next`      goes on, and what is held behind it
//   below `next`   goes on: the responder knows best
//   above `next`   is held. CLOCKs of the near box ask for reports, and each names what is missing
//
// What goes on is kept until the host answers it (request_copies.hpp). What a host that has lost some is not ready for
// is held like what came behind a gap.
//
// A gap that stays for patience_for() the round trip, or that the near box cannot fill, is given up: what is held goes
// on, and the host's own NAK repairs it. What is held belongs to one life of the queue pairs. At any sign of another
// life it is dropped: the near box has it in custody still, or the requester repeats it.
//
// The work of one frame does not grow with what is held: a table finds a held packet by its PSN, and a flow has 1024
// gaps at most. What is held are buffers of custody (custody/budget.hpp), half of them at most, shared among the pairs
// of hosts.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "custody/packet_table.hpp"
#include "flow/key_index.hpp"
#include "metrics/counter_set.hpp"
#include "relay/answer_copies.hpp"
#include "relay/clockwork.hpp"
#include "relay/far_flow.hpp"
#include "relay/far_outlet.hpp"
#include "relay/host_shares.hpp"
#include "relay/messages.hpp"
#include "relay/reports.hpp"
#include "relay/request_copies.hpp"
#include "wire/frame.hpp"

namespace longhaul::relay {

class FarPart {
 public:
  /// Packets that are held at most, where custody may have `large_mbufs` receive buffers.
  static constexpr std::uint64_t most_held(std::uint64_t large_mbufs) {
    return std::max<std::uint64_t>(large_mbufs / 2, 1);
  }
  /// DPDK's memory for the table of so many flows, and ordinary memory for them and for what is held.
  static std::uint64_t table_bytes(std::uint32_t flows) { return flow::KeyIndex::bytes_needed(flows); }
  static std::uint64_t flow_bytes(std::uint32_t flows) {
    return flows * (sizeof(FarFlow) + sizeof(std::uint32_t)) + RequestCopies::flow_bytes(flows);
  }
  static std::uint64_t held_bytes(std::uint64_t large_mbufs) {
    return custody::PacketTable::bytes_needed(most_held(large_mbufs));
  }

  /// For `flows` bindings, and `packets` that are held; half as many are kept for the host. `copies` hears of bindings,
  /// and must outlive this.
  FarPart(std::uint32_t flows, std::uint64_t packets, AnswerCopies& copies, Counters& counters, FarOutlet& outlet);
  ~FarPart();
  FarPart(const FarPart&) = delete;
  FarPart& operator=(const FarPart&) = delete;

  /// Nothing is bound: there is nothing to find.
  bool empty() const { return bound_ == 0; }
  static constexpr std::uint32_t kNone = flow::KeyIndex::kNone;
  std::uint32_t find(const flow::KeyIndex::KeyView& key) const { return index_.find(key).value_or(kNone); }

  enum class Verdict : std::uint8_t {
    forward,
    held,  ///< free this reference
    drop   ///< counted by name already; free it
  };
  /// A request of the flow with this number from the WAN, ICRC verified.
  Verdict request(std::uint32_t flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now);
  /// Call after request() said `forward`, once the frame has been handed on.
  void forwarded(std::uint32_t flow, Time now) {
    if (flows_[flow].can_go()) go_on(flow, now);
  }

  /// An answer of the host of the flow with this number, ICRC verified. True: it must not pass; free it.
  bool answer(std::uint32_t flow, const wire::Frame& frame, Time now) {
    const bool absorbed = requests_.answer(flow, frame, now);
    if (flows_[flow].can_go()) go_on(flow, now);
    return absorbed;
  }

  void bind(Speaker peer, Bytes body, Time now);
  void unbind(Speaker peer, Bytes body, Time now);
  /// Answers it by a report.
  void clock(Speaker peer, To to, Bytes body, Time now);
  /// To this peer; 0 if it is not known. `spacing`: as in Heard.
  void set_round_trip(Speaker peer, Duration round_trip, Duration spacing = 0);

  /// The queue pairs live another life, or the connection has ended.
  void another_life(const flow::KeyIndex::KeyView& key, Time now);
  /// The peer is gone: what is held goes on.
  void forget(PeerNumber peer, Time now);
  /// All queue pairs may live another life.
  void drop_all(Time now) { end_all(false, now); }
  /// As forget(), of all peers.
  void forget_all(Time now) { end_all(true, now); }

  /// Hands on what waits for the host, and gives up gaps.
  /// `read_until`: what had come by then has been handed in.
  void poll(Time now, Time read_until);
  Time deadline() const;

  std::uint64_t held() const { return room_.all(); }
  /// Frees what is held, without a word.
  void discard();

 private:
  static constexpr std::uint32_t kReach = 1u << 20;
  static constexpr unsigned kAtOnce = 512;  ///< packets that one call hands on
  static constexpr Duration kLeastWait = patience_for(0);
  static constexpr unsigned kFullReports = 4;  ///< in a round trip

  /// What is the same for the flows of one peer.
  struct Heard : relay::Heard {
    std::uint32_t newest_binding = 0;  ///< of all BINDs and UNBINDs, and of what it does not have
  };

  Verdict pass_on(std::uint32_t number, const wire::Frame& frame, std::uint32_t end, rte_mbuf* mbuf, Time now);
  Verdict hold(std::uint32_t number, const wire::Frame& frame, std::uint32_t end, rte_mbuf* mbuf, Time now);
  void go_on(std::uint32_t number, Time now);
  bool hands_on_now(std::uint32_t number, std::uint32_t psn, Time now);
  bool waits_too_long(std::uint32_t number, Time now);
  void skip_to(std::uint32_t number, std::uint32_t psn, Time now);
  void give_up(std::uint32_t number, const ClockEntry& entry, Time now);
  void take_out(FarFlow& flow, rte_mbuf* mbuf);
  void drop_held(std::uint32_t number);
  void end(std::uint32_t number, bool keep, Time now);
  void end_all(bool keep, Time now);
  void remove(std::uint32_t number);
  void note_binding(Speaker peer, const Name& name);
  void say_ended(Speaker peer, const Name& name, std::uint8_t times);
  void list(std::uint32_t number);
  void ready(std::uint32_t number);
  void report(Speaker peer, Time now);
  std::uint32_t number_of(Speaker peer, const Name& name) const;
  Duration patience(Speaker peer) const;
  static std::uint64_t handle_key(Speaker peer, std::uint32_t handle) { return std::uint64_t{peer} << 32 | handle; }

  Counters& counters_;
  FarOutlet& outlet_;
  AnswerCopies& copies_;
  RequestCopies requests_;
  HostShares room_;
  custody::PacketTable table_;
  flow::KeyIndex index_;
  std::vector<FarFlow> flows_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_handle_;  ///< only control messages ask it
  std::unordered_map<Speaker, Heard> heard_;                    ///< stays until the peer is gone
  ReportTurns listed_;
  std::deque<std::uint32_t> ready_;
  struct Ended {
    Speaker peer;
    Name name;
    std::uint8_t left;
  };
  std::vector<Ended> ended_;  ///< to be said in the next reports
  std::uint32_t bound_ = 0;
  Time look_at_ = kNever;  ///< when gaps are looked at next
};

}  // namespace longhaul::relay
