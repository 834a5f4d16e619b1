// SPDX-License-Identifier: BSD-3-Clause
// The near part of a box (design sections 5 and 6): takes requests into custody, acknowledges them, reconciles
// the responder's own answers, sends again what was lost. One file per verb: request.cpp, acknowledge.cpp,
// answer.cpp, resend.cpp, repair.cpp; reorder.cpp and reorder_answers.cpp, where packets beyond a gap wait for what is
// late; congestion.cpp, which slows hosts down; and identity.cpp, which asks whether it is still the same connection.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/speaker.hpp"
#include "custody/budget.hpp"
#include "custody/buffers.hpp"
#include "custody/congestion.hpp"
#include "custody/held.hpp"
#include "custody/link_estimate.hpp"
#include "custody/near_flow.hpp"
#include "custody/packet_index.hpp"
#include "custody/restart_record.hpp"
#include "custody/waiting_packets.hpp"
#include "metrics/counter_set.hpp"
#include "metrics/histogram.hpp"
#include "wire/frame.hpp"
#include "wire/psn.hpp"
#include "wire/usual_frame.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace longhaul::custody {

/// Where the near part's frames go. The engine implements it, and knows each flow by NearFlow::connection.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// The WAN's pace allows another frame of `flow` now, and the WAN port takes it.
  virtual bool may_send(const NearFlow& flow) = 0;
  /// Flows between other hosts wait to send, and have their turns first.
  virtual bool must_wait(const NearFlow& /*flow*/) { return false; }
  /// may_send(), and not must_wait().
  bool may_send_at_once(const NearFlow& flow) { return may_send(flow) && !must_wait(flow); }
  /// How much a flow may send at a time, in frame bytes; the last frame may go beyond. More than 0.
  virtual std::int64_t turn_bytes() const { return 1 << 16; }
  /// A request of an unconfirmed flow passes without custody: what other such flows have waiting must not stay behind.
  virtual void passes_unconfirmed() {}
  /// The WAN port takes another frame now, whatever the pace says.
  virtual bool takes() { return true; }
  /// Sends `frame` (a reference of its own) for `held` of `flow`; the outcome comes back as on_sent() or on_refused().
  virtual void send_held(NearFlow& flow, rte_mbuf* held, rte_mbuf* frame) = 0;
  /// Hands the frames sent so far to the port: afterwards each is accepted or refused.
  virtual void settle() = 0;
  /// Sends the requester a frame that the box made. `cause`: when the request that it answers was received; kNever if
  /// it had to wait by design.
  virtual void send_to_requester(NearFlow& flow, rte_mbuf* frame, Time cause) = 0;
  /// Before a packet of `flow` is sent again: changes `addresses`, with which it came, to those that its host would use
  /// now.
  virtual void newest_addresses(const NearFlow& flow, wire::EthernetAddresses& addresses) = 0;
  /// Forwards a request that had waited (a reference of its own), unaltered. `frame` is a view of it. `contested`: the
  /// flow was contested when it came.
  virtual void pass(const NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, bool contested) = 0;
  /// Forwards an answer that had waited (a reference of its own), unaltered.
  virtual void pass_answer(rte_mbuf* mbuf) = 0;
  /// What the flow sends from now on has been sent before.
  virtual void goes_back(NearFlow& /*flow*/) {}
  /// The requester's port takes another frame now.
  virtual bool host_takes() { return true; }
  /// The response with this PSN waits for one that is missing before it.
  virtual void response_waits(const NearFlow& /*flow*/, std::uint32_t /*psn*/) {}
  /// The peer has been asked for the response with this PSN, so that what comes may be a copy.
  virtual bool may_be_copy(const NearFlow& /*flow*/, std::uint32_t /*psn*/) const { return false; }
  /// The response with this PSN found no room to wait.
  virtual void response_dropped(const NearFlow& /*flow*/, std::uint32_t /*psn*/) {}
  /// Answers that waited go on without what is missing, or are dropped.
  virtual void answers_go_on(const NearFlow& /*flow*/) {}
  /// Custody is full for a request of `flow`. Returns true when another flow, of which nothing was acknowledged, has
  /// let go of its custody.
  virtual bool make_custody_room(const NearFlow& /*flow*/) { return false; }
  /// Frame bytes of one flow that may wait for the WAN's pace before its requester is told to slow down.
  virtual std::uint64_t fair_backlog() const { return 1 << 16; }
  /// How far all that leaves exceeds the WAN's pace, from 0 to 1.
  virtual double excess() const { return 0; }
  /// Flows that wait for the WAN's pace.
  virtual std::uint64_t waiting_flows() const { return 0; }
  /// The time between two CNPs of all flows, at least.
  virtual Duration cnps_apart() const { return 0; }
  /// When the requester's host last sent something on this connection.
  virtual Time heard_at(const NearFlow& /*flow*/) const { return kNever; }
  /// `flow` has packets to send and may_send() said no, or a port refused one: call try_send() when it can.
  virtual void wait_to_send(NearFlow& flow) = 0;
  /// An ACK for `psn` that came for `flow` may answer another connection between the same hosts, which is not known
  /// yet.
  virtual bool may_be_anothers(const NearFlow& /*flow*/, std::uint32_t /*psn*/) { return false; }
  /// As may_be_anothers(), and that connection has begun after `since`, when the requester of `flow` was still here.
  /// The requester may be with that connection now.
  virtual bool may_have_moved(const NearFlow& /*flow*/, std::uint32_t /*psn*/, Time /*since*/) { return false; }
  /// As may_have_moved(), or nothing would show it: what the box says to the requester of `flow` may reach that
  /// connection.
  virtual bool may_listen_elsewhere(const NearFlow& /*flow*/, std::uint32_t /*psn*/, Time /*since*/) { return false; }
  /// Requests that name the responder of `flow` belong to `flow` again.
  virtual void uncontested(const NearFlow& /*flow*/) {}
  /// The QPs of `flow` live another life, and custody of the former life has ended.
  virtual void began_again(const NearFlow& /*flow*/) {}
  /// `frame` is the first request of `flow` after a long silence: nothing is acknowledged before the responder answers.
  virtual void rejoins(const NearFlow& /*flow*/, const wire::Frame& /*frame*/) {}
};

/// What the caller must do with the frame.
enum class Verdict : std::uint8_t {
  forward,  ///< send it on, unaltered
  drop,     ///< counted by name already; free it
  taken,    ///< in custody, which will send it; free this reference
  sent,     ///< in custody and on its way: this reference has been given to the port
};

struct NearSettings {
  bool confirm_by_cm = false;
  std::uint64_t initial_window_bytes = 0;
  Duration rto_initial = 0;
  Duration rto_min = 0;
  Duration rto_max = 0;
  Duration give_up = 0;
  Duration confirm_again = 0;  ///< after a longer idle time an answer must confirm a flow again
  Duration reorder_wait = 0;   ///< how long what is missing may be late (reorder.cpp); 0: it counts as lost at once
  Duration ack_unasked = 0;    ///< a message's end is acknowledged unasked after this time; 0: never
  bool lane = true;            ///< usual packets take the lane
  CnpSettings cnp;
};

/// A connection without RDMA-CM can end and begin again unseen, so it must be confirmed again after this idle time at
/// the latest.
inline constexpr Duration kConfirmAgainUnannounced = seconds(1);

/// How long the network may delay a packet, by reordering or in a queue.
inline constexpr Duration kKeptBack = milliseconds(100);

/// Where copies of small packets, smallest buffers first, and made frames come from.
struct SmallPools {
  std::span<rte_mempool* const> pools;
  std::span<const std::uint32_t> bytes;
  std::uint32_t last_reserve = 0;  ///< buffers of the last pool that are not for custody
  rte_mempool* made = nullptr;
  rte_mempool* frames = nullptr;  ///< for altered copies of packets of any size
};

class NearPart {
 public:
  /// For up to `pairs` pairs of hosts, which are numbered from 0.
  NearPart(const NearSettings& settings, const Budget& limits, std::uint32_t pairs, const SmallPools& pools,
           Counters& counters, Outlet& outlet, Observer* observer)
      : settings_(settings),
        budget_(divided(limits)),
        holdings_(std::size_t{pairs} + 1),
        index_(most_packets(limits, pools)),
        waiting_(limits),
        pools_(pools),
        copiers_(pools.pools.begin(), pools.pools.end()),
        made_(pools.made, AckTemplate::kRoom),
        counters_(counters),
        outlet_(outlet),
        observer_(observer),
        first_timeout_(settings.rto_initial) {}

  /// What the pair of hosts with this number has in custody. Any number from `pairs` on stands for those that have
  /// found none: they share as one. Each flow has that of its pair before it begins.
  Holding& holding(std::uint32_t pair) { return holdings_[std::min<std::size_t>(pair, holdings_.size() - 1)]; }

  /// Prepares `flow`, whose identity, connection, policy and path MTU are set, to begin at `starting_psn` with MSN 0.
  /// `proven`: the connection is not forged, and none of its packets can have passed before. Otherwise a real answer
  /// must agree first, whatever the settings say, unless established() comes before its first packet.
  void begin(NearFlow& flow, std::uint32_t starting_psn, Duration give_up, bool proven, Time now);
  void established(NearFlow& flow);

  /// Prepares `flow` as failed: an earlier process made `promise`, and `lost_bytes` of it were not delivered.
  void begin_failed(NearFlow& flow, const RecordSlot::Promise& promise, std::uint64_t lost_bytes) const;

  /// Prepares `flow`, whose identity, connection, policy and path MTU are set, to begin in the middle of its traffic:
  /// requests before `next_psn` have passed, and the responder has answered those before `una`.
  void begin_midway(NearFlow& flow, std::uint32_t una, std::uint32_t msn, std::uint32_t next_psn, Time now);

  /// A packet with `psn`, or an answer to it, can be this flow's. Otherwise the QPN has a new user that nobody
  /// announced.
  static bool plausible(const NearFlow& flow, std::uint32_t psn);
  /// The responder has answered so recently that an answer below its last one is just late.
  static bool answered_lately(const NearFlow& flow, Time now) {
    return now - std::max(flow.unanswered_since, flow.repeated_at) <= kKeptBack + flow.rtt.smoothed();
  }
  /// Requests that look like the flow's may be another life's, whose answers go to another QPN. Nothing has lately
  /// shown otherwise.
  static bool awaits_proof(const NearFlow& flow, Time now) {
    return flow.phase != Phase::confirmed && now - flow.answered_at > kKeptBack + flow.rtt.smoothed();
  }
  /// The responder's last ACK once more, with the same MSN: not another connection's.
  bool is_last_ack(const NearFlow& flow, const wire::Frame& frame) const;

  /// A request from the flow's requester, plausible, ICRC verified. `opcode` may be unknown.
  Verdict request(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now);

  /// An implausible request to the flow's responder, ICRC verified. The caller forwards it.
  void strange_request(NearFlow& flow, const wire::Frame& frame, Time now);

  /// An answer from the flow's responder, plausible, ICRC verified: ACK, NAK, READ or atomic response.
  Verdict answer(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now);

  /// A congestion notification for the flow's requester came from the WAN.
  void congestion(NearFlow& flow, Time now);
  /// It goes no further: it is about packets for which the box answers.
  bool absorbs_cnp(const NearFlow& flow) const;

  enum class Pace : bool { kept, ignored };
  /// Sends what waits, as far as pace, RNR wait and port allow.
  void try_send(NearFlow& flow, Time now, Pace pace = Pace::kept);
  void on_sent(NearFlow& flow, rte_mbuf* held, Time now);
  void on_refused(NearFlow& flow, rte_mbuf* held);

  /// Makes the pseudo-ACKs and NAKs that are possible and due. Call after each burst for every flow it touched.
  void acknowledge(NearFlow& flow, Time now);

  // The lane, lane.hpp: what request(), answer() and acknowledge() do with the usual packet of a usual flow.
  /// A SEND or WRITE with this PSN, in `bytes` of a receive buffer, may be taken, if the outlet sends it at once.
  [[gnu::always_inline]] inline bool lane_takes(const NearFlow& flow, std::uint32_t psn, std::uint64_t bytes,
                                                Time now) const;
  /// Only after lane_takes(). The caller sends `mbuf`, as after Verdict::sent.
  [[gnu::always_inline]] inline void lane_take(NearFlow& flow, const wire::UsualFrame& frame, std::uint32_t psn,
                                               rte_mbuf* mbuf, Time now);
  /// The answer is the ACK of the flow's oldest packet, which is acknowledged already.
  [[gnu::always_inline]] inline bool lane_releases(const NearFlow& flow, const wire::UsualFrame& answer) const;
  /// Only after lane_releases(). The caller drops the answer. Returns whether the deadline may be another one.
  [[gnu::always_inline]] inline bool lane_release(NearFlow& flow, const wire::UsualFrame& answer, Time now);

  /// Call when flow.deadline has come.
  void on_timer(NearFlow& flow, Time now);

  /// The responder's side closed the connection, or its QPN was given to another: custody can never be confirmed.
  void end(NearFlow& flow, Time now);

  /// The flow's QPs were announced anew: another life may begin at `psn`. Until the responder's answers decide, the box
  /// says nothing, and sends nothing again that such a life could take for its own.
  void announced_anew(NearFlow& flow, std::uint32_t psn, Time now);

  // The peer misses packets of a bound flow (repair.cpp).
  /// Sends again what custody has of [psn, psn + count), if it was sent before `before`; appends the PSNs to
  /// `repaired`. Returns false when custody does not have all of it that has been sent.
  bool repair(NearFlow& flow, std::uint32_t psn, std::uint32_t count, Time before, std::vector<std::uint32_t>& repaired,
              Time now);
  /// Sends the packet that begins at `psn` once more. Returns false when it is answered, or cannot be sent now.
  bool send_copy(NearFlow& flow, std::uint32_t psn);
  /// What the far part holds counts as custody's. False: there is no room.
  bool lend(std::uint64_t bytes);
  void take_back(std::uint64_t bytes) { lent_.remove(bytes, false), budget_.held.remove(bytes, false); }
  const Holding& lent() const { return lent_; }
  /// BufferStash::frame(), for a frame of AckTemplate::kRoom bytes at most.
  rte_mbuf* made_frame(std::uint16_t bytes) { return bytes <= AckTemplate::kRoom ? made_.frame(bytes) : nullptr; }

  /// Lets go of custody of which nothing was acknowledged, once all of it has been sent. Returns whether it did.
  bool leave_unpromised(NearFlow& flow);

  /// Fails the flow if acknowledged data is not delivered: the operator does not wait for it.
  void abandon(NearFlow& flow, std::string_view why, Time now);

  /// Applies from the flow's next stretch of custody. Until then custody takes nothing new, and what it holds goes on
  /// as before.
  static void set_policy(NearFlow& flow, flow::Policy policy);

  /// The times are used from here on, but give_up and confirm_again by new flows only.
  void set_times(const NearSettings& times);

  /// Nothing was read for a while, and `now` does not include that time. So the round trips of packets sent before are
  /// not known.
  void paused(Time now) { rtt_from_ = now; }
  /// The same, and there are peers: answers of the flow that wait for one may be of a former life.
  void drop_long_waiting(NearFlow& flow) {
    if (flow.answers_wait_long) drop_early_answers(flow);
  }

  /// Frame bytes acknowledged to the requester and not answered by the responder. Walks custody, to check the sums of
  /// the flow.
  static std::uint64_t owed_bytes(const NearFlow& flow);

  /// Drops all custody without counting: the engine is being destroyed.
  void discard(NearFlow& flow);

  /// Takes frames that nobody needs any more. Flush it before each call of the engine ends.
  BufferReturns& freed() { return freed_; }
  /// Takes over the reference to a received frame of one segment that the box has absorbed or dropped.
  [[gnu::always_inline]] void absorbed(rte_mbuf* mbuf) {
    if (!made_.recycle(mbuf)) freed_.add(mbuf);
  }

  void set_draining(bool draining) { draining_ = draining; }
  bool draining() const { return draining_; }
  const Budget& budget() const { return budget_; }
  /// READ and atomic responses of the flows that this speaker has that had come already, modulo 2^32. (Those of several
  /// peers' workers with one number are counted together.)
  std::uint32_t repeated_responses(Speaker peer) const { return repeated_responses_[worker_of(peer)]; }
  /// Packets that custody can hold at most: in receive buffers, and in all small buffers of the pools.
  static std::uint64_t most_packets(const Budget& limits, const SmallPools& pools);
  const metrics::Histogram& wan_rtt() const { return wan_rtt_; }
  const LinkEstimate& link() const { return link_; }
  /// The pace is configured, and does not follow the estimate of the link.
  void set_pace_given() { link_.skip_start(); }
  /// LinkEstimate::look()
  [[gnu::cold]] void follow_link(std::uint64_t sent, std::uint64_t received, Time now);

 private:
  /// With more PSNs than this between the oldest unanswered packet and the newest, before and after on the circle of
  /// 2^24 could be mistaken. Real windows are smaller: 2^22 packets with 1024 bytes of payload are 370 ms at 100
  /// Gbit/s.
  static constexpr std::int32_t kMaxSpan = 1 << 22;
  /// One answer may end what held back the pseudo-ACKs for all of custody. One call looks at this many packets.
  static constexpr std::uint32_t kExaminedAtOnce = 512;

  static Budget divided(Budget limits);
  static void vouched(NearFlow& flow);

  /// A request beyond a gap may wait for what is missing.
  enum class Wait : bool { no, allowed };

  // request.cpp
  struct Span {
    std::uint32_t psn;
    std::uint32_t last_psn;
    bool known;  ///< last_psn is known; false: an unknown opcode, or a READ with an unknown path MTU
  };
  static Span span_of(const NearFlow& flow, const wire::Frame& frame);
  [[gnu::cold]] static std::uint32_t end_at_most(const wire::Frame& frame, const Span& span);
  void doubt(NearFlow& flow, std::uint32_t low, std::uint32_t end, Time now);
  [[gnu::cold]] void doubt(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now);
  static void reach_sent_top(NearFlow& flow, const Span& span);
  Verdict handle(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Wait wait, Time now);
  [[gnu::always_inline]] inline Verdict in_order(NearFlow& flow, const wire::Frame& frame, const Span& span,
                                                 rte_mbuf* mbuf, Time now);
  Verdict repeated(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now);
  static bool is_whole(const NearFlow& flow, const rte_mbuf* held, const Span& span);
  bool read_repeated(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* held, Time now);
  Verdict of_failed(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now);
  static bool idle_for_long(const NearFlow& flow, Time now);
  Verdict pass_plain(NearFlow& flow, const wire::Frame& frame, const Span& span);
  PlainCause plain_cause(const NearFlow& flow) const;
  [[gnu::cold, gnu::noinline]] void count_plain(NearFlow& flow, const wire::Frame& frame, const Span& span);
  static bool is_not_held(const NearFlow& flow, std::uint32_t psn);
  void begin_later(const NearFlow& flow, rte_mbuf* mbuf, std::uint32_t psn);
  void add_to_index(const NearFlow& flow, rte_mbuf* mbuf);
  void count_new(const NearFlow& flow, const wire::Frame& frame, const Span& span);
  /// `more` of a part of Holding are within the share of the flow's pair, and there: as much as `limit` for all. `full`
  /// counts that there is not.
  template <auto kPart>
  [[gnu::cold, gnu::noinline]] bool has_room(NearFlow& flow, std::uint64_t more, std::uint64_t pair_limit,
                                             std::uint64_t limit, Counter full, Time now);
  /// Counts it, and returns false.
  [[gnu::cold, gnu::noinline]] bool refuse(NearFlow& flow, Counter why);
  static PlainCause cause_of_refusal(Counter why);
  bool others_make_room(const NearFlow& flow);
  void note_contended(std::uint64_t held, std::uint64_t all, Time now);
  bool take(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* mbuf, Time now);
  [[gnu::always_inline]] inline bool sends_newest(const NearFlow& flow, Time now) const;
  [[gnu::always_inline]] inline bool sends_at_once(const NearFlow& flow, Time now) const;
  rte_mbuf* small_copy(const rte_mbuf* mbuf);
  bool may_rejoin(const NearFlow& flow, const Span& span) const;
  void start_rejoining(NearFlow& flow, const Span& span, PhaseEvent why);

  // reorder.cpp
  [[gnu::noinline]] Verdict beyond_gap(NearFlow& flow, const wire::Frame& frame, const Span& span, rte_mbuf* mbuf,
                                       Wait wait, Time now);
  void note_leap(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now);
  bool may_nak_gap(const NearFlow& flow) const;
  static bool amid_traffic(const NearFlow& flow, Time now);
  bool may_wait(const NearFlow& flow) const;
  bool should_wait(const NearFlow& flow, const Span& span, Time now) const;
  bool has_room_to_wait(const NearFlow& flow, const WaitingList& list, std::uint64_t bytes, Time now) const;
  /// Frame bytes that the flow holds: in custody, and waiting for their turn.
  [[gnu::always_inline]] std::uint64_t bytes_of(const NearFlow& flow) const {
    if (budget_.held.waiting == 0) [[likely]]
      return flow.queue.bytes();
    return flow.queue.bytes() + flow.waiting.bytes + flow.early_responses.bytes + flow.early_acknowledges.bytes;
  }
  void keep(NearFlow& flow, WaitingList& list, rte_mbuf* mbuf, const Waiting& about);
  rte_mbuf* next_waiting(const NearFlow& flow) const;
  void keep_waiting(NearFlow& flow, const Span& span, rte_mbuf* mbuf, Time now);
  void take_out(NearFlow& flow, WaitingList& list, rte_mbuf* mbuf);
  [[gnu::noinline]] Verdict after_gap(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Verdict verdict,
                                      Time now);
  static void gap_filled(NearFlow& flow, const Span& span);
  static void take_back_gap_nak(NearFlow& flow);
  void take_in_turn(NearFlow& flow, Time now);
  void handle_again(NearFlow& flow, rte_mbuf* mbuf, Time now);
  [[gnu::cold, gnu::noinline]] void gap_stays(NearFlow& flow, Time now);
  void ask_for_gap(NearFlow& flow);
  void let_waiting_pass(NearFlow& flow, Time now);
  [[gnu::cold, gnu::noinline]] void drop_waiting(NearFlow& flow);
  Duration reorder_wait_of(const NearFlow& flow) const;
  /// When the oldest packet of the list, and of all lists of the flow, has waited long enough; kNever when none waits.
  Time due(const NearFlow& flow, const WaitingList& list) const;
  Time waiting_due(const NearFlow& flow) const;

  // reorder_answers.cpp
  [[gnu::noinline]] Verdict answer_beside_read(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time now);
  bool overtakes(const NearFlow& flow, const wire::Frame& frame) const;
  bool came_twice(NearFlow& flow, rte_mbuf* there, const wire::Frame& frame, Time& since);
  bool keep_answer(NearFlow& flow, const wire::Frame& frame, rte_mbuf* mbuf, Time since, Time now);
  rte_mbuf* next_answer(const NearFlow& flow) const;
  void answers_in_turn(NearFlow& flow, Time now);
  static void follow_later(NearFlow& flow, Time now);
  void answers_turn(NearFlow& flow, Time now);
  void answer_again(NearFlow& flow, rte_mbuf* mbuf, Time now);
  [[gnu::cold, gnu::noinline]] void let_answers_pass(NearFlow& flow, Time now);
  Time answers_due(const NearFlow& flow) const {
    if (flow.answers_follow_at != kNever) [[unlikely]]
      return flow.answers_follow_at;
    return std::min(due(flow, flow.early_responses), due(flow, flow.early_acknowledges));
  }
  [[gnu::cold, gnu::noinline]] void pass_early_answers(NearFlow& flow);
  [[gnu::cold, gnu::noinline]] void drop_early_answers(NearFlow& flow);
  [[gnu::cold]] void note_caught_up(NearFlow& flow, Time now);
  /// The far box judges by it whether its repairs were needless.
  void note_repeated(const NearFlow& flow, Counter counter) {
    ++counters_[counter];
    if (flow.pairing.bound) ++repeated_responses_[worker_of(flow.pairing.peer)];
  }
  [[gnu::cold]] void note_later_read(NearFlow& flow, const wire::Frame& frame, Time now);

  // answer.cpp
  Verdict handle_answer(NearFlow& flow, const wire::Frame& frame, Time now);
  [[gnu::cold, gnu::noinline]] static void note_unseen(NearFlow& flow, const wire::Frame& frame);
  static bool answered_unseen(const NearFlow& flow, std::uint32_t psn);
  static void follow_failed(NearFlow& flow, const wire::Frame& frame);
  Verdict ack(NearFlow& flow, const wire::Frame& frame, Time now);
  Verdict psn_nak(NearFlow& flow, const wire::Frame& frame, Time now);
  Verdict rnr_nak(NearFlow& flow, const wire::Frame& frame, Time now);
  Verdict fatal_nak(NearFlow& flow, const wire::Frame& frame, Time now);
  Verdict nak_forwarded(NearFlow& flow, const wire::Frame& frame, Time now);
  [[gnu::cold]] static void note_beyond_custody(NearFlow& flow, const wire::Frame& answer);
  Verdict response(NearFlow& flow, const wire::Frame& frame, Time now);
  [[gnu::noinline]] bool comes_late(NearFlow& flow, std::uint32_t psn, Time now) const;
  void note_credits(NearFlow& flow, const wire::Aeth& aeth, Verdict verdict);
  bool release_before(NearFlow& flow, std::uint32_t psn, Time now);
  [[gnu::always_inline]] inline void progressed(NearFlow& flow, Time now);
  void advance_h(NearFlow& flow, std::uint32_t psn);
  void learn_msn(NearFlow& flow, std::uint32_t msn, Time now);
  [[gnu::cold]] static bool counts_ahead(const NearFlow& flow, std::uint32_t counted, std::uint32_t msn);
  [[gnu::cold]] static bool regains_trust(NearFlow& flow, std::uint32_t counted, std::uint32_t msn);
  void confirmed(NearFlow& flow);
  void confirm_or_let_go(NearFlow& flow, bool agreed, Time now);
  Verdict stale();
  Verdict ack_below(NearFlow& flow, const wire::Frame& frame, Time now);
  void share(NearFlow& flow, std::uint32_t end, Time now);
  Verdict shared_nak(NearFlow& flow, std::uint32_t end, Time now);
  Verdict disagreed(NearFlow& flow, std::uint32_t end, std::uint32_t msn, Time now);
  void note_stray(NearFlow& flow, bool certain, Time now);
  static void lives(NearFlow& flow, Time now);
  Verdict unknown_nak(NearFlow& flow, const wire::Frame& frame, Time now);
  [[gnu::always_inline]] inline void release_head(NearFlow& flow);
  /// `held` has left custody at its head.
  [[gnu::always_inline]] static inline void count_answered(NearFlow& flow, const Held& held);
  /// The responder has just answered `held`, and no later packet.
  [[gnu::always_inline]] inline void sample_round_trip(NearFlow& flow, const Held& held, Time now);
  /// A packet has left custody.
  [[gnu::always_inline]] void give_back(const NearFlow& flow, rte_mbuf* mbuf) {
    if (held_in(mbuf).indexed) [[unlikely]]
      index_.remove(flow.connection, held_in(mbuf).psn);
    budget_.held.remove(mbuf->pkt_len, held_in(mbuf).small);
    flow.holding->remove(mbuf->pkt_len, held_in(mbuf).small);
    freed_.add(mbuf);
  }
  static void note_answer_time(NearFlow& flow, const Held& held, Time now);
  static Duration unanswered_for(const NearFlow& flow);
  void note_read_stall(NearFlow& flow, Time now);
  void end_read_stall(NearFlow& flow, Time now);
  void finish_read(NearFlow& flow, Time now);
  [[gnu::cold]] void note_passed(NearFlow& flow, std::uint32_t end, Time now);
  Time passed_due(const NearFlow& flow) const;
  [[gnu::cold]] void finish_passed(NearFlow& flow, Time now);
  void release_all(NearFlow& flow);
  /// Drops all custody, and the flow's timer with it. The caller has counted what was owed.
  void end_custody(NearFlow& flow, PhaseEvent why);

  /// The packet in custody whose PSNs contain `psn`: PacketQueue::find().
  rte_mbuf* find(const NearFlow& flow, std::uint32_t psn) const {
    return flow.queue.find(psn, index_, flow.connection);
  }

  // identity.cpp
  static bool same_request(const rte_mbuf* held, const wire::Frame& frame);
  struct Counted {
    std::uint32_t messages;  ///< since msn_base
    std::uint32_t end;       ///< PSN up to which they are known
  };
  std::optional<Counted> counted_before(const NearFlow& flow, std::uint32_t end) const;
  bool is_of_another(const NearFlow& flow, std::uint32_t end, std::uint32_t msn) const;
  static bool is_of_another(const NearFlow& flow, const Held& read, const wire::Frame& response);
  bool agrees(const NearFlow& flow, std::uint32_t end, std::uint32_t msn) const;
  static bool is_behind(NearFlow& flow);
  static void fall_behind(NearFlow& flow, Time now);
  bool begin_doubt(NearFlow& flow, Time now);
  static Time last_taken(const NearFlow& flow);
  static void note_asked(NearFlow& flow);
  void hold_back(NearFlow& flow);
  static void widen_doubt(NearFlow& flow, std::uint32_t low, std::uint32_t end, Time now);
  static void widen_doubt(NearFlow& flow, const wire::Frame& frame, const Span& span, Time now);
  static bool goes_on(const NearFlow& flow, std::uint32_t low);
  static bool may_resend(const NearFlow& flow, const rte_mbuf* held, Time now);
  void ask_in_doubt(NearFlow& flow, Time now);
  static void skip_resends(NearFlow& flow);
  // Rare work stays out of the path of each packet.
  [[gnu::noinline]] void drop_never_sent(NearFlow& flow);
  [[gnu::noinline]] void let_go(NearFlow& flow);
  [[gnu::noinline]] void send_and_let_go(NearFlow& flow, Time now);
  static void note_newcomer_next(NearFlow& flow, std::uint32_t end, Time now);
  [[gnu::noinline]] void note_unasked(NearFlow& flow, const wire::Frame& frame, Time now);
  bool resolve(NearFlow& flow, const wire::Frame& frame, Time now);
  std::optional<std::uint32_t> messages_before(const NearFlow& flow, std::uint32_t end) const;
  bool proves(const NearFlow& flow, const wire::Frame& frame, std::uint32_t end, Time now) const;
  static bool response_proves(const NearFlow& flow, const wire::Frame& frame, Time now);
  static bool newcomer_speaks(const NearFlow& flow, Time now);
  static Duration apart(const NearFlow& flow);
  void resume(NearFlow& flow, Time now);
  /// Clears these bits of `silent`, and tells the outlet when the flow is no longer contested.
  void end_contest(NearFlow& flow, std::uint8_t signs);
  void begin_again(NearFlow& flow, std::uint32_t una, std::uint32_t msn, Time now);
  void end_unconfirmed(NearFlow& flow, Time now);
  void count_unconfirmed(const NearFlow& flow, std::uint32_t end, Time now);
  static std::uint32_t first_unused(const NearFlow& flow);
  void count_untold(const NearFlow& flow, Time now);

  [[gnu::always_inline]] inline void lane_acknowledge(NearFlow& flow, Time now);
  [[gnu::always_inline]] inline bool make_pseudo_ack(NearFlow& flow, std::uint32_t psn, std::uint32_t msn,
                                                     std::uint64_t bytes, std::uint8_t syndrome, Time cause, Time now);

  // acknowledge.cpp
  bool may_acknowledge(const NearFlow& flow) const;
  bool may_have_left(const NearFlow& flow, Time now) const;
  void examine(NearFlow& flow, Time now);
  bool is_withheld(NearFlow& flow, const Held& held, Time now);
  bool is_nearly_full(const NearFlow& flow) const;
  [[gnu::noinline]] bool is_beyond_window(const NearFlow& flow, std::uint64_t end_bytes, Time now);
  static Time trickle_due(const NearFlow& flow);
  static void extend_trickle(NearFlow& flow, Time now);
  bool pseudo_ack(NearFlow& flow, std::uint32_t psn, std::uint32_t msn, std::uint64_t bytes, Time cause, Time now);
  void acknowledge_within_message(NearFlow& flow, Time now);
  /// `held` may be acknowledged, and its requester has not asked: does it complete what the requester does not know of?
  [[gnu::always_inline]] static bool completes_untold(const NearFlow& flow, const Held& held) {
    return wire::psn_add(flow.msn_base, held.msn) != flow.msn_h;
  }
  [[gnu::cold, gnu::noinline]] void note_untold(NearFlow& flow, Time now) const;
  [[gnu::cold, gnu::noinline]] void acknowledge_unasked(NearFlow& flow, Time now);
  Time unasked_due(const NearFlow& flow) const {
    return flow.unasked_since == 0 ? kNever : flow.unasked_since + settings_.ack_unasked;
  }
  void nak_gap(NearFlow& flow);
  void tell_not_ready(NearFlow& flow, Time now);
  bool may_ask_for(const NearFlow& flow, std::uint32_t psn, Time now) const;
  static std::uint8_t ack_syndrome(const NearFlow& flow);
  [[gnu::always_inline]] static inline void promise(NearFlow& flow, std::uint32_t h, std::uint32_t msn_h,
                                                    std::uint64_t bytes);
  bool send_made(NearFlow& flow, std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome, Counter counter,
                 Time cause = kNever);
  std::uint64_t window_of(const NearFlow& flow, Time now) const;

  // congestion.cpp
  [[gnu::noinline]] void notify_congestion(NearFlow& flow, Time now);
  static bool is_proven(const NearFlow& flow, Time now);
  bool may_notify(const NearFlow& flow, Time now) const;
  std::uint64_t held_up_bytes(const NearFlow& flow, Time now) const;
  double follow_backlog(NearFlow& flow, std::uint64_t waits, Time now) const;
  double pressure_on(NearFlow& flow, Time now) const;
  static void look_again(NearFlow& flow, Time at);

  // repair.cpp
  void send_repair(NearFlow& flow, rte_mbuf* mbuf);
  static void note_loss(NearFlow& flow);

  // resend.cpp
  bool send_waiting(NearFlow& flow, std::uint64_t most, Time now);
  void rewind(NearFlow& flow, Counter why, Time now);
  void resend_for_nak(NearFlow& flow, Counter why, Time now);
  void on_custody_timer(NearFlow& flow, Time now);
  void probe(NearFlow& flow, Time now);
  void settle_probe(NearFlow& flow, Time now);
  void resume_at(NearFlow& flow, std::uint32_t psn) const;
  static Time timeout_starts(const NearFlow& flow, Time now);
  static bool both_silent(const NearFlow& flow, Time now);
  void give_up(NearFlow& flow, Time now);
  void fail(NearFlow& flow, wire::NakCode code, std::string_view why, Time now);
  void arm(NearFlow& flow, Time now);
  [[gnu::always_inline]] inline bool armed_late(const NearFlow& flow, Time now) const;
  /// Before backing off.
  [[gnu::always_inline]] Duration base_timeout_of(const NearFlow& flow) const {
    return flow.rtt.timeout(first_timeout_, settings_.rto_min, settings_.rto_max);
  }
  [[gnu::cold]] Duration patience_of(const NearFlow& flow) const;
  Duration timeout_of(const NearFlow& flow) const;
  rte_mbuf* copy_to_alter(const rte_mbuf* held);
  rte_mbuf* with_ack_req(rte_mbuf* held);
  rte_mbuf* to_next_hop(const NearFlow& flow, const rte_mbuf* held, rte_mbuf* copy);

  NearSettings settings_;
  std::uint64_t least_window_ = 0;  ///< bytes; no flow's window is smaller, once the link's start is over
  Budget budget_;
  std::vector<Holding> holdings_;  ///< by pair of hosts
  Holding lent_;                   ///< to the far part
  Time contended_until_ = 0;       ///< pairs of hosts have asked for their share in vain
  PacketIndex index_;
  WaitingPackets waiting_;
  SmallPools pools_;
  std::vector<Copier> copiers_;  ///< into `pools_`
  BufferStash made_;             ///< for frames that the box makes
  BufferReturns freed_;
  Counters& counters_;
  Outlet& outlet_;
  Observer* observer_;
  metrics::Histogram wan_rtt_;
  LinkEstimate link_;
  Duration first_timeout_;  ///< of a flow whose own round trip is not known: by those of all flows
  Time rtt_from_ = 0;       ///< packets sent until then give no sample of the round trip
  bool draining_ = false;
  Time cnps_free_at_ = 0;                                      ///< no CNP is made before
  std::array<std::uint32_t, kSpeakers> repeated_responses_{};  ///< by the worker that has the flow
};

// Parts of more than one path, in which they are inlined.

inline void NearPart::count_answered(NearFlow& flow, const Held& held) {
  flow.msn_released = held.msn;
  flow.bytes_answered = held.end_bytes;
  if (held.takes_receive) {
    ++flow.receives_released;
    flow.receives_examined = std::max(flow.receives_examined, flow.receives_released);
  }
}

inline void NearPart::release_head(NearFlow& flow) {
  rte_mbuf* mbuf = flow.queue.pop();
  const Held& held = held_in(mbuf);
  if (!held.sent) ++counters_[Counter::dropped_unsent];
  count_answered(flow, held);
  if (const rte_mbuf* read = flow.queue.first_read(); read != nullptr && held.wants_response)
    flow.read_next = held_in(read).psn;
  give_back(flow, mbuf);
}

inline void NearPart::sample_round_trip(NearFlow& flow, const Held& held, Time now) {
  if (!held.ack_req || !held.sent || held.resent || held.sent_at <= rtt_from_) return;
  if (flow.gap_reported) [[unlikely]] {
    // One before it was missing, and the far box held it back.
    if (held.sent_at <= flow.pairing.gap_at) return;
    flow.gap_reported = false;
  }
  const Duration rtt = now - held.sent_at;
  flow.rtt.sample(rtt, now);
  wan_rtt_.record(rtt);
  link_.on_answer(held.sent_at, now);
}

// Progress moves the deadline away, and on_timer() finds out when the old one comes. Only an earlier deadline, or a
// first one, must be set at once.
inline bool NearPart::armed_late(const NearFlow& flow, Time now) const {
  if (flow.hold_until != 0) return true;
  return flow.deadline > now + base_timeout_of(flow);
}

// The box is about to acknowledge everything before `h`: the first `bytes` ever taken into custody. The record has it
// first.
inline void NearPart::promise(NearFlow& flow, std::uint32_t h, std::uint32_t msn_h, std::uint64_t bytes) {
  flow.h = h;
  flow.msn_h = msn_h;
  flow.bytes_promised = bytes;
  if (flow.record != nullptr) flow.record->promise(h, msn_h, bytes);
}

}  // namespace longhaul::custody
