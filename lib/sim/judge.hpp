// SPDX-License-Identifier: BSD-3-Clause
// Checks a world against the invariants. It sees every frame at the boxes' ports, what the responders execute and what
// the requesters are told. It computes from the posted work alone what may be said.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/side.hpp"
#include "custody/observer.hpp"
#include "sim/box.hpp"
#include "sim/requester.hpp"
#include "sim/responder.hpp"
#include "sim/rules.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

struct HostAddress {
  wire::IpAddress ip;
  wire::MacAddress mac{};
};

/// One direction of one connection, as it was set up.
struct FlowPlan {
  std::string name;
  unsigned requester_host = 0;  ///< 0 is A; its box is the near box
  const Work* work = nullptr;
  HostAddress requester;
  HostAddress responder;
  wire::VlanKey vlan;
  std::uint32_t requester_qpn = 0;
  std::uint32_t responder_qpn = 0;
  std::uint16_t p_key = 0xffff;
  std::array<std::uint32_t, 2> comm_ids{};  ///< by host; 0 without RDMA-CM
  bool completions_true = false;            ///< policy window at its near box
};

class Judge final : public BoxWatch {
 public:
  /// `start`: time zero of the reports. `dreq_limit`: how long a DREQ may stay in a box; kNever: without limit.
  Judge(Time start, Duration dreq_hold, Duration dreq_limit)
      : start_(start), dreq_hold_(dreq_hold), dreq_limit_(dreq_limit), observers_{{*this, 0}, {*this, 1}} {}

  /// A flow with the QPNs of an older one takes its place. Returns the flow's number for the other calls.
  std::size_t add_flow(const FlowPlan& plan);
  /// `requester` sends the requests of `flow`. It must live as long as the judge.
  void set_requester(std::size_t flow, const Requester& requester) { flows_[flow]->requester = &requester; }
  ResponderWatch& responder_watch(std::size_t flow) { return *flows_[flow]->watch; }
  Requester::Complain complainer(std::size_t flow);
  custody::Observer& observer(unsigned box) { return observers_[box]; }

  // BoxWatch
  void on_in(unsigned box, Side side, const rte_mbuf* frame, Time now) override;
  void on_out(unsigned box, Side side, const rte_mbuf* frame, Time now) override;
  void on_dropped(unsigned box, std::uint64_t frames) override;

  /// Call this before the box's engines are made.
  void box_starts(unsigned box, Time now);
  /// Frames of different QPs may then overtake each other in the box. With `forgers`, answers may be led past the
  /// worker that has what its flow's host was given.
  void set_several_workers(unsigned box, bool forgers) {
    ports_[box].traits.several_workers = true;
    ports_[box].traits.answers_led_away = forgers;
  }
  /// A liar may bind any flow, so that the box waits with its requests.
  void set_lied_to(unsigned box) { ports_[box].traits.lied_to = true; }
  /// The box has a peer, for which it may send answers again. To both, the peer is farther away than it is by
  /// `control_late`: only their own datagrams take so long.
  void set_paired(unsigned box, Duration control_late) {
    ports_[box].traits.paired = true;
    ports_[box].traits.control_late = control_late;
  }
  /// The box keeps CNPs from the WAN that are about custody.
  void set_absorbs_cnps(unsigned box) { ports_[box].traits.absorbs_cnps = true; }
  /// The box has lost its memory. `owed`: bytes that were acknowledged but not delivered. `remembered`: the box's next
  /// life finds them in the restart record.
  void box_crashed(unsigned box, std::uint64_t owed, bool remembered);
  /// The box does nothing until then, and everything that comes meanwhile waits.
  void box_stands_still(unsigned box, Time until) { ports_[box].stands_until = until; }
  /// An operator makes the box forget all connections.
  void box_forgets(unsigned box);
  /// Frames for which `foreign` holds are another tenant's, and not judged.
  void ignore(std::function<bool(const wire::Frame&)> foreign) { is_ignored_ = std::move(foreign); }
  /// The world's time. The engines' time differs: it leaves out the pauses of their boxes.
  void time_is(Time now) { now_ = now; }
  /// Call this after each call of the engine.
  void check_limits(unsigned box, const engine::Engine& engine, std::uint64_t bytes_limit, Time now);

  /// The end of a flow: everything completed with success has arrived, or its loss is visible.
  void check_end(std::size_t flow, const Requester& requester, const Responder& responder, Time now);
  /// The end of a box that ran to the end.
  void check_end(unsigned box, Time now);

  void report(Rule rule, const std::string& text, Time now);
  const std::optional<Violation>& violation() const { return violation_; }

  std::uint64_t made_frames() const { return made_frames_; }
  /// When the responder had accepted everything posted; kNever: not yet.
  Time accepted_all_at(std::size_t flow) const { return flows_[flow]->accepted_all_at; }
  bool flow_failed(std::size_t flow) const { return flows_[flow]->failed_at != kNever; }
  /// Its near box has given up custody in a doubt that it could not resolve, and reported it (docs/design.md, section
  /// 4). This happens to a life that began unseen, or with `forgers`, who can lead requests to another worker.
  bool ended_unconfirmed(std::size_t flow, bool forgers) const;
  /// Its responder has received a request of the previous life, and took it for its own or for an error
  /// (docs/design.md, section 4: what nobody can tell).
  bool haunted(std::size_t flow) const { return flows_[flow]->haunted; }

 private:
  static constexpr std::int32_t kNobody = std::numeric_limits<std::int32_t>::max();
  struct Flow;
  /// Reports of one flow's responder to the judge.
  class Watch final : public ResponderWatch {
   public:
    Watch(Judge& judge, Flow& flow) : judge_(judge), flow_(flow) {}
    void on_received(const View& view, bool fits) override;
    void on_accepted(std::uint32_t first_psn, std::uint32_t psns, Time now) override;
    void on_delivered(const Delivered& message, Time now) override;
    void on_malformed(const std::string& what, Time now) override;

   private:
    void say(const std::string& what, Time now);
    Judge& judge_;
    Flow& flow_;
  };
  struct Flow {
    FlowPlan plan;
    std::unique_ptr<Watch> watch;
    const Requester* requester = nullptr;
    std::uint32_t accepted = 0;        ///< first position that the responder has not accepted
    Time accepted_all_at = kNever;     ///< when the responder accepted the last position
    std::uint32_t delivered = 0;       ///< messages
    std::vector<bool> left;            ///< by position: the near box's WAN port accepted the request, intact
    std::uint32_t contiguous = 0;      ///< everything before this left the near box or was accepted
    std::uint32_t told = 0;            ///< first position not acknowledged to the requester through the near box
    std::uint32_t in_port = 0;         ///< the same, counting ACKs that still wait in a port of the near box
    std::uint32_t responder_said = 0;  ///< the same, by ACKs of the responder itself
    std::vector<std::uint32_t> response_next;  ///< by message: next response to leave towards the requester
    std::vector<std::uint32_t> asked_from;     ///< by message: where the last repeat of a READ began
    std::size_t answered = 0;                  ///< every READ and atomic before this message has its answer
    bool credits_known = false;                ///< the near box has seen a real ACK
    bool credits = false;                      ///< the ACK carried credits
    bool credits_passed_on = false;            ///< a pseudo-ACK has carried credits
    std::uint32_t receive_limit = 0;           ///< receives that the responder announced, from the first message on
    std::array<std::uint32_t, 32> rnr_naks_heard{};  ///< by timer: those for this flow that its near box has received
    Time failed_at = kNever;
    Time started_at = 0;            ///< when its near box started
    Flow* before = nullptr;         ///< the life before, with the same QPNs
    Time began = 0;                 ///< when its queue pairs were made
    bool lives_before = false;      ///< its requester's QPN had an earlier user
    std::uint32_t seen_low = ~0u;   ///< lowest position that reached the near box
    Time seen_at = kNever;          ///< when its first request reached the near box
    bool reached = false;           ///< one of its own requests has reached the responder
    bool haunted = false;           ///< by a request of the previous life that was delayed on its way
    bool misled = false;            ///< its requester was misled by an answer to the previous life
    bool doubted = false;           ///< its near box says nothing for it
    Time cnp_at = kNever;           ///< when its near box last made a CNP for it
    bool visible = false;           ///< its failure, or what was unconfirmed at its close, was reported
    std::uint32_t given_up = 0;     ///< everything not accepted before this was reported as lost or unconfirmed
    bool closed = false;            ///< at its near box
    bool parted = false;            ///< its DREP has reached its near box
    bool may_end = false;           ///< its near box has seen its end: a DREQ or DREP with both IDs
    Time heard_at = 0;              ///< when its near box took in the last request
    std::uint16_t heard_p_key = 0;  ///< P_Key of this request
    std::int32_t asked = kNobody;   ///< after its failure: the oldest position requested since the last fatal NAK
    std::int32_t asked_earlier = kNobody;       ///< the same, without requests that came at `asked_at`
    std::int32_t asked_before_doubt = kNobody;  ///< the same before the doubt: later requests were passed on
    Time asked_at = 0;
    unsigned unheard = 0;    ///< after its failure: bursts of requests since one was sent on or answered
    Time unheard_since = 0;  ///< when the first of these came
    Time unheard_last = 0;
    bool handed_on = false;  ///< a request has left its far box for the responder
    // At its far box, with a peer, in positions:
    std::uint32_t host_given = 0;            ///< after the last that was handed on
    std::uint32_t host_answered = 0;         ///< its host has answered everything before it
    std::uint32_t host_answered_before = 0;  ///< the same, a moment before `host_answered_at`
    Time host_answered_at = 0;               ///< when that came
    bool remembered = false;                 ///< its near box still knows after a crash what it had acknowledged
    bool waits_in_record = false;            ///< its near box has not started again
    bool box_lost_memory = false;            ///< its near box lost data of some flow that it had acknowledged
  };
  /// Of a box, for the whole world.
  struct Traits {
    bool several_workers = false;
    bool answers_led_away = false;
    bool lied_to = false;
    bool paired = false;
    Duration control_late = 0;
    bool absorbs_cnps = false;
  };
  struct Ports {
    Traits traits = {};
    struct Came {
      int count = 0;
      Time last_at = 0;
    };
    BySide<std::unordered_map<std::uint64_t, Came>> came;  ///< frames taken in and not seen to leave
    /// Frames that must leave unchanged, and in order within their class.
    BySide<std::map<std::uint64_t, std::deque<std::uint64_t>>> foreign;
    std::uint64_t dropped = 0;                               ///< frames that the box reports as dropped
    std::uint64_t dropped_found = 0;                         ///< frames among these that were missed
    Time stands_until = 0;                                   ///< its box does nothing before this
    std::unordered_set<std::uint64_t> requests;              ///< fingerprints as they came
    std::unordered_map<std::uint64_t, const Flow*> answers;  ///< the same, of a box with a peer: its host's answers
    /// Of a far box with a peer: a request, by its bytes.
    struct FarRequest {
      Time last_at = 0;            ///< when it last came
      unsigned waiting = 0;        ///< so often, and has not left yet for the host
      unsigned again = 0;          ///< so often it has left besides, since it came or an answer did
      std::uint32_t answered = 0;  ///< Flow::host_answered then
      bool came_answered = false;  ///< its host had answered it when it last came: a repeat
    };
    std::unordered_map<std::uint64_t, FarRequest> requests_came;
    std::unordered_map<std::uint64_t, Time> left;         ///< when each request last left for the WAN
    std::unordered_set<std::uint64_t> requests_unmarked;  ///< fingerprints without AckReq and ICRC
    // Fingerprints without Ethernet addresses, and the addresses that a resent packet may have: those in the host's
    // RoCE frames, and those from ARP and Neighbour Advertisements.
    std::unordered_set<std::uint64_t> requests_unaddressed;
    std::unordered_set<std::uint64_t> requests_unaddressed_unmarked;
    std::set<wire::MacAddress> next_hops;
    std::set<wire::MacAddress> senders;
    std::unordered_map<std::uint32_t, std::uint32_t> asking;  ///< QPNs in REQs, by sender's ID
    std::unordered_map<std::uint32_t, Time> announced;        ///< when an exchange last announced a QPN
    std::map<std::uint32_t, Time> dreqs;                      ///< by sender's ID: when first seen; not sent on yet
    std::unordered_set<std::uint32_t> dreqs_released;         ///< their repeats go at once
    bool wan_closed = false;
  };
  struct Observer final : custody::Observer {
    Observer(Judge& judge, unsigned box) : judge_(judge), box_(box) {}
    void on_flow_learned(const custody::FlowIdentity&, Time) override;
    void on_found_in_record(const custody::FlowIdentity&, std::uint64_t) override;
    void on_flow_failed(const custody::FlowIdentity&, std::string_view, std::uint64_t, Time) override;
    void on_pseudo_ack(const custody::FlowIdentity&, const custody::AckFields&, Time) override;
    void on_cnp_made(const custody::FlowIdentity&, bool silent, Time) override;
    void on_doubted(const custody::FlowIdentity&, Time) override;
    void on_resumed(const custody::FlowIdentity&, Time) override;
    void on_began_again(const custody::FlowIdentity&, Time) override;
    void on_unconfirmed_in_doubt(const custody::FlowIdentity&, std::uint64_t, std::uint64_t, Time) override;
    void on_unconfirmed_at_close(const custody::FlowIdentity&, std::uint64_t, std::uint64_t, Time) override;
    void on_closed_untold(const custody::FlowIdentity&, std::uint64_t, Time) override;
    void on_flow_closed(const custody::FlowIdentity&, std::uint64_t, Time) override;

   private:
    Flow* find(const custody::FlowIdentity&) const;
    void for_lives(const custody::FlowIdentity&, const std::function<void(Flow&)>& what);
    void note_said(const custody::FlowIdentity&);
    Judge& judge_;
    unsigned box_;
  };

  bool ignores(const View& view) const { return is_ignored_ && view.roce && is_ignored_(view.frame); }
  Flow* flow_of(const View& view) const;
  std::optional<wire::CmMessage> dreq_in(const View& view) const;
  void note_ids(unsigned box, const View& view, Time now);
  bool has_ended(const Flow& flow) const;
  void forget(unsigned box);
  bool repeated_whole(const Flow& flow) const;
  static bool began_unseen(const Flow& flow);
  static bool of_record(const Flow& flow);
  static bool begins_before_end(const Flow& older, const Flow& flow);
  static bool seems_to_go_on(const Flow& older, const Flow& flow);
  bool is_for_former(const View& view) const;
  bool is_of_record_for_another(const Flow& flow) const;
  bool answers_mingle(const Flow& flow) const;
  static void note_seen(Flow& flow, const View& view, Time now);
  void note_arrived(Flow& flow, std::uint64_t print, bool fits) const;
  static void note_asked(Flow& flow, std::int32_t position, Time now);
  void note_unheard(Flow& flow, Time now);
  static void note_addresses(Ports& ports, Side side, const View& view);
  static bool is_request_again(const Ports& ports, const Flow& flow, const View& view);
  void note_answer(Flow& flow, const View& view);
  bool is_near(const Flow& flow, unsigned box) const { return flow.plan.requester_host == box; }
  static bool is_answer(const View& view);
  bool answers_near(const Flow* flow, unsigned box, const View& view) const;
  std::uint32_t dealt_with(const Flow& flow) const;
  bool hears_answers(unsigned box, const Flow& flow) const;
  void request_comes(Ports& ports, std::uint64_t print);
  void host_answers(Ports& ports, Flow& flow, const View& view, std::uint64_t print);
  void check_handed_on(unsigned box, Flow& flow, const View& view, std::uint64_t print);
  void check_answer_again(unsigned box, const Flow& flow, const View& view, std::uint64_t print, Time now);
  static bool is_forwarded(Ports& ports, Side in, std::uint64_t print, const Flow* answered, Time now);
  static bool is_cnp(const View& view);
  static bool is_ack(const View& acknowledge);  ///< not a NAK
  void note_tail(Flow& flow, const View& view);
  void request_left(Flow& flow, const View& view);
  static std::span<const Message> unanswered_from(Flow& flow);
  static bool requester_has(const Flow& flow, const Message& message);
  void answer_left(Flow& flow, const View& view, Time now);
  void made(unsigned box, const View& view, Time now);
  const char* wrong_header(const FlowPlan& plan, const View& view) const;
  void made_cnp(unsigned box, const View& view, Time now);
  void check_made(Flow& flow, const View& view, bool excused, Time now);
  void check_syndrome(Flow& flow, const View& view, std::uint32_t acknowledged, Time now);
  bool to_another_worker(const Ports& ports, const View& view, Time now) const;
  static bool may_be_bound(const Ports& ports, Side in, const View& view);
  static std::uint64_t order_class(const Ports& ports, std::uint64_t print, const View& view);
  void check_foreign(Ports& ports, Side in, std::uint64_t print, const View& view, Time now);
  void dreq_left(unsigned box, std::uint32_t id, Time now);
  bool of_former_life(unsigned box, std::uint32_t id, Time since) const;
  void advance(Flow& flow) const;
  std::uint32_t kept_until(const Flow& flow) const;
  std::string at(const Flow& flow, const View& view) const;

  Time start_;
  Duration dreq_hold_;
  Duration dreq_limit_;
  Time now_ = 0;
  std::vector<std::unique_ptr<Flow>> flows_;
  std::map<std::uint32_t, Flow*> by_responder_;
  std::map<std::uint32_t, Flow*> by_requester_;
  std::map<std::pair<unsigned, std::uint64_t>, Flow*> by_serial_;
  Ports ports_[2];
  Observer observers_[2];
  std::optional<Violation> violation_;
  std::uint64_t made_frames_ = 0;
  std::function<bool(const wire::Frame&)> is_ignored_;
};

}  // namespace longhaul::sim
