// SPDX-License-Identifier: BSD-3-Clause
#include "sim/judge.hpp"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>

#include "wire/credits.hpp"
#include "wire/neighbour.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

// The longest time that a frame takes in a box on its way to another worker, and the frames that wait behind it.
constexpr Duration kHandOver = milliseconds(2);

}  // namespace

// ---- set-up -----------------------------------------------------------------------------------

std::size_t Judge::add_flow(const FlowPlan& plan) {
  auto flow = std::make_unique<Flow>();
  flow->plan = plan;
  flow->watch = std::make_unique<Watch>(*this, *flow);
  flow->began = now_;
  flow->left.resize(plan.work->positions());
  for (const Message& m : plan.work->messages()) flow->response_next.push_back(m.begin);
  flow->asked_from = flow->response_next;
  flow->lives_before = by_requester_.contains(plan.requester_qpn);
  if (const auto former = by_responder_.find(plan.responder_qpn);
      former != by_responder_.end() && former->second->plan.requester_qpn == plan.requester_qpn)
    flow->before = former->second;
  by_responder_[plan.responder_qpn] = flow.get();
  by_requester_[plan.requester_qpn] = flow.get();
  flows_.push_back(std::move(flow));
  return flows_.size() - 1;
}

Requester::Complain Judge::complainer(std::size_t flow) {
  return [this, f = flows_[flow].get()](const std::string& text) {
    report(Rule::exact, fmt::format("flow {}: {}", f->plan.name, text), kNever);
  };
}

void Judge::report(Rule rule, const std::string& text, Time now) {
  if (violation_) return;
  const std::string when = now == kNever ? "" : fmt::format(" at {:.3f} ms", static_cast<double>(now - start_) / 1e6);
  violation_ = Violation{rule, fmt::format("rule {} ({}){}: {}", static_cast<int>(rule), name_of(rule), when, text)};
}

std::string Judge::at(const Flow& flow, const View& view) const {
  return fmt::format("flow {} psn {} (position {}): {}", flow.plan.name, view.psn(),
                     flow.plan.work->position_of(view.psn()), describe(view));
}

// ---- the flow of a frame ----------------------------------------------------------------------

bool Judge::is_answer(const View& view) { return view.frame.opcode != nullptr && view.frame.opcode->is_response(); }

bool Judge::is_cnp(const View& view) { return view.roce && view.frame.service() == wire::Service::cnp; }

bool Judge::is_ack(const View& acknowledge) {
  return wire::aeth_kind(acknowledge.frame.aeth().syndrome) == wire::AethKind::ack;
}

// A DREQ between these hosts. With another VLAN ID, which no ICRC covers, it belongs to no connection.
std::optional<wire::CmMessage> Judge::dreq_in(const View& view) const {
  const auto is_here = [&view](const auto& flow) { return flow->plan.vlan == view.frame.vlan; };
  if (!view.intact || !std::ranges::any_of(flows_, is_here)) return std::nullopt;
  auto message = wire::parse_cm(view.frame);
  if (message && message->attribute != wire::CmAttribute::dreq) message.reset();
  return message;
}

Judge::Flow* Judge::flow_of(const View& view) const {
  if (!view.intact || !view.reliable()) return nullptr;
  const bool answer = is_answer(view);
  const auto& table = answer ? by_requester_ : by_responder_;
  const auto found = table.find(view.qpn());
  if (found == table.end()) return nullptr;
  const FlowPlan& plan = found->second->plan;
  const HostAddress& to = answer ? plan.requester : plan.responder;
  const HostAddress& from = answer ? plan.responder : plan.requester;
  if (!(view.frame.vlan == plan.vlan) || !(view.frame.source == from.ip) || !(view.frame.destination == to.ip))
    return nullptr;
  // A box that missed the end of an older life, or stood still over it, still sends for this life and takes in its
  // frames. PSNs tell the lives apart, or the requester has not sent this far yet. A NAK may be for the next position.
  const std::int32_t beyond = answer && view.frame.opcode->has(wire::kHasAeth) && !is_ack(view) ? 1 : 0;
  const auto fits = [&view, beyond](const Flow& flow) {
    const std::int32_t position = flow.plan.work->position_of(view.psn()) - beyond;
    if (position + beyond < 0 || position >= static_cast<std::int32_t>(flow.left.size())) return false;
    return flow.requester == nullptr || position < static_cast<std::int32_t>(flow.requester->sent_top());
  };
  for (const auto& life : flows_ | std::views::reverse)
    if ((answer ? life->plan.requester_qpn : life->plan.responder_qpn) == view.qpn() && fits(*life)) return life.get();
  return found->second;
}

// ---- frames at the ports ----------------------------------------------------------------------

void Judge::on_in(unsigned box, Side side, const rte_mbuf* frame, Time now) {
  const View view(frame);
  if (ignores(view)) return;
  Ports& ports = ports_[box];
  const std::uint64_t print = fingerprint(view.bytes);
  Ports::Came& came = ports.came[side][print];
  ++came.count;
  came.last_at = now;
  note_addresses(ports, side, view);
  if (Flow* flow = flow_of(view)) {
    if (!is_near(*flow, box)) {
      if (ports.traits.paired && is_answer(view) && side == Side::host) host_answers(ports, *flow, view, print);
      if (ports.traits.paired && !is_answer(view) && side == Side::wan) request_comes(ports, print);
      return;
    }
    if (is_answer(view) && side == Side::wan) note_answer(*flow, view);
    if (is_answer(view) || side != Side::host) return;
    note_seen(*flow, view, now);
    flow->heard_at = now;
    flow->heard_p_key = view.frame.bth().p_key;
    ports.requests.insert(print);
    if (flow->failed_at != kNever) note_asked(*flow, flow->plan.work->position_of(view.psn()), now);
    note_unheard(*flow, now);
    note_tail(*flow, view);
    ports.requests_unmarked.insert(fingerprint_without_ack_req(view));
    ports.requests_unaddressed.insert(fingerprint(view.bytes.subspan(sizeof(wire::EthernetAddresses))));
    ports.requests_unaddressed_unmarked.insert(fingerprint_without_ack_req(view, sizeof(wire::EthernetAddresses)));
    return;
  }
  note_ids(box, view, now);
  if (const auto dreq = dreq_in(view)) {
    if (side == Side::wan)
      ports.wan_closed = true;
    else if (!ports.dreqs_released.contains(dreq->local_comm_id))
      ports.dreqs.try_emplace(dreq->local_comm_id, now);
    return;
  }
  if (ports.traits.absorbs_cnps && side == Side::wan && is_cnp(view)) return;
  if (may_be_bound(ports, side, view)) return request_comes(ports, print);
  ports.foreign[side][order_class(ports, print, view)].push_back(print);
}

void Judge::on_out(unsigned box, Side side, const rte_mbuf* frame, Time now) {
  const View view(frame);
  if (ignores(view)) return;
  Ports& ports = ports_[box];
  const Side in = other(side);
  const std::uint64_t print = fingerprint(view.bytes);
  Flow* flow = flow_of(view);
  const bool forwarded = is_forwarded(ports, in, print, answers_near(flow, box, view) ? flow : nullptr, now);
  if (flow == nullptr) {
    if (is_cnp(view) && side == Side::host && (!forwarded || ports.traits.absorbs_cnps)) {
      if (!forwarded) made_cnp(box, view, now);
      return;
    }
    // A liar may have bound a flow that nobody knows.
    const bool copy = may_be_bound(ports, in, view) && ports.requests_came.contains(print);
    if (!forwarded && !copy)
      report(!view.roce           ? Rule::transparent
             : side == Side::host ? Rule::indistinguishable
                                  : Rule::exact,
             fmt::format("box {}: a frame that nobody gave it: {}", box, describe(view)), now);
    else if (const auto dreq = dreq_in(view))
      dreq_left(box, side == Side::wan ? dreq->local_comm_id : 0, now);
    else if (!may_be_bound(ports, in, view))
      check_foreign(ports, in, print, view, now);
    return;
  }
  if (side == Side::wan) {
    if (is_answer(view) || !is_near(*flow, box)) {
      if (!forwarded) check_answer_again(box, *flow, view, print, now);
      return;
    }
    const bool as_it_came = ports.requests.contains(print);
    const bool marked = view.frame.ack_req() && ports.requests_unmarked.contains(fingerprint_without_ack_req(view));
    if (!as_it_came && !marked && !is_request_again(ports, *flow, view))
      report(Rule::exact, fmt::format("box {} sent a request that its host did not: {}", box, at(*flow, view)), now);
    ports.left[print] = now;
    request_left(*flow, view);
    flow->unheard = 0;  // the responder will answer the request
    return;
  }
  const bool far_request = !is_answer(view) && !is_near(*flow, box);
  if (far_request && (forwarded || ports.traits.paired)) {
    flow->handed_on = true;
    if (ports.traits.paired) check_handed_on(box, *flow, view, print);
    return;
  }
  if (!forwarded) return made(box, view, now);
  if (answers_near(flow, box, view)) answer_left(*flow, view, now);
}

void Judge::on_dropped(unsigned box, std::uint64_t frames) {
  Ports& ports = ports_[box];
  if (frames < ports.dropped) ports.dropped_found = 0;  // it has started again
  ports.dropped = frames;
}

bool Judge::answers_near(const Flow* flow, unsigned box, const View& view) const {
  return flow != nullptr && is_answer(view) && is_near(*flow, box);
}

// A frame with these bytes came in and has not left yet. `answered`: the flow whose answer it is, at its near box. An
// answer that the box makes may have the bytes of one that it kept back in the previous life. A frame that came while
// the box stood still has only waited.
bool Judge::is_forwarded(Ports& ports, Side in, std::uint64_t print, const Flow* answered, Time now) {
  auto& frames = ports.came[in];
  const auto came = frames.find(print);
  if (came == frames.end()) return false;
  if (answered != nullptr && answered->seen_at != kNever && came->second.last_at < answered->seen_at &&
      now - std::max(came->second.last_at, ports.stands_until) > kHandOver)
    return false;
  if (--came->second.count == 0) frames.erase(came);
  return true;
}

void Judge::note_addresses(Ports& ports, Side side, const View& view) {
  if (side == Side::host && view.roce && view.intact) {
    const auto& ethernet = *reinterpret_cast<const wire::EthernetHeader*>(view.frame.data);
    ports.next_hops.insert(ethernet.destination);
    ports.senders.insert(ethernet.source);
  }
  if (side == Side::wan && !view.roce)
    if (const auto said = wire::parse_neighbour(view.bytes)) ports.next_hops.insert(said->mac);
}

// This request has left before, and goes to a next hop that its host has used or heard of.
bool Judge::is_request_again(const Ports& ports, const Flow& flow, const View& view) {
  const std::int32_t position = flow.plan.work->position_of(view.psn());
  if (position < 0 || static_cast<std::size_t>(position) >= flow.left.size()) return false;
  if (!flow.left[static_cast<std::size_t>(position)]) return false;
  const auto& ethernet = *reinterpret_cast<const wire::EthernetHeader*>(view.frame.data);
  if (!ports.next_hops.contains(ethernet.destination) || !ports.senders.contains(ethernet.source)) return false;
  constexpr std::size_t kAddresses = sizeof(wire::EthernetAddresses);
  return ports.requests_unaddressed.contains(fingerprint(view.bytes.subspan(kAddresses))) ||
         (view.frame.ack_req() &&
          ports.requests_unaddressed_unmarked.contains(fingerprint_without_ack_req(view, kAddresses)));
}

// Forgers do not know both communication IDs. A REP with both IDs of a connection begins its next life, which a DREQ of
// the previous life would end.
void Judge::note_ids(unsigned box, const View& view, Time now) {
  using wire::CmAttribute;
  if (!view.intact) return;
  const auto message = wire::parse_cm(view.frame);
  if (!message) return;
  const bool begins = message->attribute == CmAttribute::rep;
  Ports& ports = ports_[box];
  if (message->attribute == CmAttribute::req) ports.asking[message->local_comm_id] = message->local_qpn;
  if (begins) {
    ports.announced[message->local_qpn] = now;
    if (const auto req = ports.asking.find(message->remote_comm_id); req != ports.asking.end())
      ports.announced[req->second] = now;
  }
  if (!begins && message->attribute != CmAttribute::dreq && message->attribute != CmAttribute::drep) return;
  for (const auto& flow : flows_) {
    const auto& ids = flow->plan.comm_ids;
    const bool its = (ids[0] == message->local_comm_id && ids[1] == message->remote_comm_id) ||
                     (ids[1] == message->local_comm_id && ids[0] == message->remote_comm_id);
    if (!its || !is_near(*flow, box)) continue;
    if (begins) {
      for (const std::uint32_t id : ids) ports.dreqs.erase(id);
      continue;
    }
    flow->may_end = true;
    if (message->attribute == CmAttribute::drep) flow->parted = true;
  }
}

// Its end was seen, or another connection has taken its place.
bool Judge::has_ended(const Flow& flow) const {
  return flow.may_end || by_requester_.at(flow.plan.requester_qpn) != &flow ||
         by_responder_.at(flow.plan.responder_qpn) != &flow;
}

void Judge::note_answer(Flow& flow, const View& view) {
  const auto& opcode = *view.frame.opcode;
  if (!opcode.has(wire::kHasAeth)) return;
  const std::uint8_t syndrome = view.frame.aeth().syndrome;
  const std::int32_t position = flow.plan.work->position_of(view.psn());
  if (wire::aeth_kind(syndrome) == wire::AethKind::rnr_nak) ++flow.rnr_naks_heard[wire::aeth_value(syndrome)];
  if (wire::aeth_kind(syndrome) != wire::AethKind::ack) return;
  if (position < 0 || static_cast<std::uint32_t>(position) >= flow.accepted) return;  // forged
  flow.credits_known = true;
  flow.credits = wire::aeth_value(syndrome) != wire::kAckNoCredits;
  if (!flow.credits) return;
  const std::uint32_t receives = flow.plan.work->receives_before(static_cast<std::uint32_t>(position) + 1);
  flow.receive_limit = std::max(flow.receive_limit, receives + wire::credits_of(wire::aeth_value(syndrome)));
}

// The requests of any flow wait for what a liar says that was sent before them, or count as those of another life.
bool Judge::may_be_bound(const Ports& ports, Side in, const View& view) {
  return ports.traits.lied_to && in == Side::wan && view.reliable() && !is_answer(view);
}

// Frames of one class keep their order. One worker: all frames are one class. Several workers: frames from one address
// to one RC QP, which has one worker, and CNPs for it; each RDMA-CM datagram by itself, because it may be of any
// connection; all frames that are not RoCE.
std::uint64_t Judge::order_class(const Ports& ports, std::uint64_t print, const View& view) {
  if (!ports.traits.several_workers || !view.roce) return 0;
  if (view.qpn() == wire::kGsiQpn) return print;
  std::array<std::uint8_t, 41> key{};
  std::memcpy(key.data(), view.frame.source.bytes.data(), 16);
  std::memcpy(key.data() + 16, view.frame.destination.bytes.data(), 16);
  const std::uint32_t qpn = view.qpn();
  std::memcpy(key.data() + 32, &qpn, sizeof(qpn));
  std::memcpy(key.data() + 36, &view.frame.vlan.value, sizeof(view.frame.vlan.value));
  // The same QPN of another service belongs to no connection.
  key[40] = view.reliable() || view.frame.service() == wire::Service::cnp ? 1 : 0;
  return fingerprint(key);
}

bool Judge::to_another_worker(const Ports& ports, const View& view, Time now) const {
  // An answered forged REQ moves the QPN in it, too.
  const auto announced = ports.announced.find(view.qpn());
  if (announced != ports.announced.end() && now - announced->second <= kHandOver) return true;
  return std::ranges::any_of(flows_, [&view](const auto& flow) {
    return (flow->closed || flow->parted) &&
           (flow->plan.requester_qpn == view.qpn() || flow->plan.responder_qpn == view.qpn());
  });
}

// Frames that the box does not understand leave unchanged and in order (rule 3).
void Judge::check_foreign(Ports& ports, Side in, std::uint64_t print, const View& view, Time now) {
  auto& classes = ports.foreign[in];
  const auto found = classes.find(order_class(ports, print, view));
  if (found != classes.end()) {
    auto& waiting = found->second;
    const auto one = std::ranges::find(waiting, print);
    const auto before = static_cast<std::uint64_t>(one - waiting.begin());
    const bool rest_dropped = before <= ports.dropped - ports.dropped_found;
    // From its REP to its DREP a connection has a worker of its own. Damaged and forged frames from before either may
    // still wait for another worker.
    if (one != waiting.end() &&
        (rest_dropped || (ports.traits.several_workers && to_another_worker(ports, view, now)))) {
      if (rest_dropped) ports.dropped_found += before;
      waiting.erase(rest_dropped ? waiting.begin() : one, one + 1);
      if (waiting.empty()) classes.erase(found);
      return;
    }
  }
  report(Rule::transparent, fmt::format("out of order, or one before it was kept back: {}", describe(view)), now);
}

void Judge::note_seen(Flow& flow, const View& view, Time now) {
  const std::int32_t position = flow.plan.work->position_of(view.psn());
  if (position < 0 || static_cast<std::uint32_t>(position) >= flow.left.size()) return;
  const auto begin = static_cast<std::uint32_t>(position);
  flow.seen_low = std::min(flow.seen_low, begin);
  if (flow.seen_at == kNever) flow.seen_at = now;
}

// A request reaches the responder, which takes it if its PSN fits. If it left the near box before this life's first
// request came there, it belongs to the previous life. If the path let that first request overtake it, or if RDMA-CM
// announces no life, nobody can tell. Plain RoCE has such ghosts too (docs/design.md, section 4: what nobody can tell).
void Judge::note_arrived(Flow& flow, std::uint64_t print, bool fits) const {
  if (flow.seen_at == kNever) return;
  const auto& left = ports_[flow.plan.requester_host].left;
  const auto found = left.find(print);
  if (found == left.end()) return;
  const bool its_own = found->second >= flow.seen_at;
  if (its_own)
    flow.reached = true;
  else if (fits && (flow.reached || flow.plan.comm_ids == std::array<std::uint32_t, 2>{}))
    flow.haunted = true;
}

void Judge::note_asked(Flow& flow, std::int32_t position, Time now) {
  if (now != flow.asked_at) flow.asked_earlier = flow.asked;
  flow.asked_at = now;
  flow.asked = std::min(flow.asked, position);
}

// The requester of a failed flow must hear of the failure when it asks (rule 6): its application may wait for nothing
// else.
void Judge::note_unheard(Flow& flow, Time now) {
  constexpr unsigned kAsks = 4;  // the box may have had no buffer for the first NAK, and stops after three
  constexpr Duration kPatience = milliseconds(20);
  if (flow.failed_at == kNever || flow.doubted || flow.closed) {
    flow.unheard = 0;
    return;
  }
  if (flow.unheard != 0 && now - flow.unheard_last < milliseconds(1)) return;  // of the same burst
  flow.unheard_last = now;
  if (flow.unheard++ == 0) flow.unheard_since = now;
  if (flow.unheard > kAsks && now - flow.unheard_since > kPatience)
    report(
        Rule::fail_loudly,
        fmt::format("flow {} failed, and its requester asks {} times without a word", flow.plan.name, flow.unheard - 1),
        now);
}

// Every request below the PSN up to which the previous life was acknowledged was lost before the box. To the box this
// life is the previous one going on (docs/design.md, section 4: what nobody can tell).
bool Judge::began_unseen(const Flow& flow) {
  bool goes_on = false;
  for (const Flow* older = flow.before; older != nullptr; older = older->before) {
    if (begins_before_end(*older, flow)) return false;
    goes_on = goes_on || seems_to_go_on(*older, flow);
  }
  return goes_on;
}

bool Judge::ended_unconfirmed(std::size_t number, bool forgers) const {
  const Flow& flow = *flows_[number];
  if (!flow.visible || flow.failed_at != kNever) return false;
  return began_unseen(flow) || (forgers && ports_[flow.plan.requester_host].traits.several_workers);
}

// The flow began below what the older life had reached.
bool Judge::begins_before_end(const Flow& older, const Flow& flow) {
  if (flow.seen_low == ~0u) return true;
  return wire::psn_lt(flow.plan.work->psn_at(flow.seen_low),
                      older.plan.work->psn_at(std::max(older.told, older.accepted)));
}

// The flow began at or beyond the position that the older life had reached: because its first requests were lost, or
// because its first PSN is the older life's next.
bool Judge::seems_to_go_on(const Flow& older, const Flow& flow) {
  if (begins_before_end(older, flow)) return false;
  if (flow.seen_low != 0) return true;
  const std::uint32_t reached = std::max(older.told, older.accepted);
  return reached != 0 && flow.plan.work->psn_at(0) == older.plan.work->psn_at(reached);
}

// Custody of an older connection waits for answers to the same requester QPN, from the same PSN on. Nobody can tell
// them from this flow's answers.
bool Judge::answers_mingle(const Flow& flow) const {
  return flow.lives_before && std::ranges::any_of(flows_, [&flow](const auto& other) {
           return other->plan.requester_qpn == flow.plan.requester_qpn &&
                  other->plan.responder_qpn != flow.plan.responder_qpn && other->told > other->accepted &&
                  other->plan.work->psn_at(0) == flow.plan.work->psn_at(0);
         });
}

void Judge::note_tail(Flow& flow, const View& view) {
  if (view.frame.opcode == nullptr || view.frame.opcode->operation != wire::Operation::read_request) return;
  const std::int32_t position = flow.plan.work->position_of(view.psn());
  if (position < 0 || static_cast<std::uint32_t>(position) >= flow.left.size()) return;
  const std::size_t number = flow.plan.work->at(static_cast<std::uint32_t>(position)).number;
  const auto begin = static_cast<std::uint32_t>(position);
  flow.asked_from[number] = std::max(flow.asked_from[number], begin);
  // The requester has everything before this: some responses may have passed here out of order and arrived in order.
  flow.response_next[number] = std::max(flow.response_next[number], begin);
}

void Judge::request_left(Flow& flow, const View& view) {
  const std::int32_t position = flow.plan.work->position_of(view.psn());
  if (position < 0 || static_cast<std::uint32_t>(position) >= flow.left.size()) return;
  const auto begin = static_cast<std::uint32_t>(position);
  // The box cannot count requests whose opcode it does not know.
  if (view.frame.opcode == nullptr) return;
  const bool read = view.frame.opcode->operation == wire::Operation::read_request;
  const std::uint32_t end = read ? flow.plan.work->at(begin).end : begin + 1;
  for (std::uint32_t p = begin; p < end; ++p) flow.left[p] = true;
  advance(flow);
}

void Judge::advance(Flow& flow) const {
  flow.contiguous = std::max(flow.contiguous, flow.accepted);
  while (flow.contiguous < flow.left.size() && flow.left[flow.contiguous]) ++flow.contiguous;
}

// First position that is not in custody as far as the box can tell. If the box has passed no answer of a life,
// identical requests of the next life look like repeats of this life (docs/design.md, section 4: what nobody can tell).
std::uint32_t Judge::kept_until(const Flow& flow) const {
  std::uint32_t end = flow.contiguous;
  const auto left_in = [&flow](const Flow* life, std::uint32_t position) {
    for (; life != nullptr && life->told == 0 && life->plan.work->plan() == flow.plan.work->plan(); life = life->before)
      if (life->left[position]) return true;
    return false;
  };
  while (end < flow.left.size() && (flow.left[end] || left_in(flow.before, end))) ++end;
  return end;
}

/// The messages from the first READ or atomic whose answer has not passed completely.
std::span<const Message> Judge::unanswered_from(Flow& flow) {
  const auto& messages = flow.plan.work->messages();
  std::size_t& first = flow.answered;
  while (first < messages.size() &&
         (!messages[first].wants_response() || flow.response_next[first] >= messages[first].end))
    ++first;
  return std::span(messages).subspan(first);
}

// A real answer on its way to the requester.
// The message is complete, whatever order its responses passed here in.
bool Judge::requester_has(const Flow& flow, const Message& message) {
  return flow.requester != nullptr && message.end <= flow.requester->unacknowledged();
}

void Judge::answer_left(Flow& flow, const View& view, Time now) {
  const std::int32_t signed_position = flow.plan.work->position_of(view.psn());
  if (signed_position < 0 || static_cast<std::uint32_t>(signed_position) >= flow.left.size()) return;
  const auto position = static_cast<std::uint32_t>(signed_position);
  if (view.frame.opcode->operation != wire::Operation::acknowledge) {
    const Message& m = flow.plan.work->at(position);
    // The requester cannot use this response yet if an earlier READ is unanswered, unless the responder has already
    // said that the earlier READ's answer is lost. The response itself says so (in IBTA's words an implied NAK).
    for (const Message& before : unanswered_from(flow)) {
      if (before.number >= m.number) break;
      if (requester_has(flow, before)) continue;
      if (before.wants_response() && flow.response_next[before.number] < before.end &&
          before.begin >= flow.responder_said) {
        flow.responder_said = position + 1;  // nor can it use this one
        return;
      }
    }
    std::uint32_t& next = flow.response_next[m.number];
    if (m.wants_response() && position == next) ++next;
    if (m.wants_response() && next == m.end) flow.told = std::max(flow.told, m.end);
    return;
  }
  const std::uint32_t reached = std::min(position + 1, flow.accepted);
  // An ACK beyond an unfinished READ says that its response is lost, and completes everything before it.
  const auto completes = [&flow](std::uint32_t end) {
    const auto unanswered = unanswered_from(flow);
    return unanswered.empty() ? end : std::min(end, unanswered.front().begin);
  };
  if (is_ack(view)) {
    flow.told = std::max(flow.told, completes(reached));
    flow.responder_said = std::max(flow.responder_said, reached);
    return;
  }
  // The requester was told that this request is delivered. So the box must deal with the NAK (section 6), until it
  // gives up and says so. After its DREP there is no requester.
  if (position < flow.told && position >= flow.accepted && position >= flow.given_up && flow.failed_at == kNever &&
      !flow.closed && !flow.parted && !flow.doubted && !began_unseen(flow))
    report(Rule::fail_loudly, "a NAK for what the requester was told is delivered was passed on: " + at(flow, view),
           now);
  flow.told = std::max(flow.told, completes(std::min(position, flow.accepted)));
}

// ---- DREQs ------------------------------------------------------------------------------------

void Judge::dreq_left(unsigned box, std::uint32_t id, Time now) {
  Ports& ports = ports_[box];
  const auto found = ports.dreqs.find(id);
  if (found == ports.dreqs.end()) return;
  const Duration held = now - found->second;
  // The first DREQ of a connection waits for everything that its requester was told is delivered; repeats pass.
  for (const auto& flow : flows_) {
    if (!is_near(*flow, box) || flow->plan.requester_qpn != id >> 8) continue;
    if (by_requester_.at(flow->plan.requester_qpn) != flow.get()) continue;
    const bool owes = flow->told > flow->accepted && flow->failed_at == kNever && !flow->closed && !flow->visible;
    if (owes && held < dreq_hold_ && !ports.wan_closed)
      report(Rule::nothing_lost,
             fmt::format("flow {}: the DREQ went {} us after it came, with positions {} to {} undelivered",
                         flow->plan.name, held / 1000, flow->accepted, flow->told),
             now);
  }
  if (held > dreq_limit_)
    report(Rule::fail_loudly, fmt::format("box {} held a DREQ for {} ms", box, held / 1000000), now);
  ports.dreqs.erase(found);
  ports.dreqs_released.insert(id);
}

// While the DREQ waited, its sender's QP or the other end's began a new life, which the DREQ would end.
bool Judge::of_former_life(unsigned box, std::uint32_t id, Time since) const {
  return std::ranges::any_of(flows_, [&](const auto& flow) {
    if (!is_near(*flow, box) || flow->plan.comm_ids[box] != id) return false;
    return std::ranges::any_of(flows_, [&](const auto& other) {
      return is_near(*other, box) && other->seen_at != kNever && other->seen_at > since &&
             other->seen_at - since <= dreq_limit_ &&
             (other->plan.requester_qpn == flow->plan.requester_qpn ||
              other->plan.responder_qpn == flow->plan.responder_qpn);
    });
  });
}

// ---- boxes as a whole -------------------------------------------------------------------------

void Judge::box_starts(unsigned box, Time now) {
  forget(box);
  for (const auto& flow : flows_) {
    if (!is_near(*flow, box)) continue;
    flow->started_at = now;
    flow->waits_in_record = false;
    flow->doubted = false;
    // The box cannot know what passed while it was away.
    for (const Message& m : flow->plan.work->messages())
      if (m.wants_response() && m.end <= flow->accepted) flow->response_next[m.number] = m.end;
  }
}

void Judge::box_crashed(unsigned box, std::uint64_t owed, bool remembered) {
  forget(box);
  for (const auto& flow : flows_) {
    if (!is_near(*flow, box)) continue;
    flow->remembered = remembered;
    flow->waits_in_record = remembered && owed != 0;
    if (!remembered) flow->told = 0;
    flow->in_port = flow->told;
    if (owed != 0 && !remembered) flow->box_lost_memory = true;
  }
}

void Judge::box_forgets(unsigned box) {
  for (const auto& flow : flows_)
    if (is_near(*flow, box)) flow->may_end = true;
}

void Judge::forget(unsigned box) {
  const Traits traits = ports_[box].traits;
  ports_[box] = Ports{};
  ports_[box].traits = traits;
  for (const auto& flow : flows_) {
    if (!is_near(*flow, box)) continue;
    std::fill(flow->left.begin(), flow->left.end(), false);
    flow->contiguous = flow->accepted;
    flow->credits_known = false;
    flow->closed = flow->parted = false;
  }
}

void Judge::check_limits(unsigned box, const engine::Engine& engine, std::uint64_t bytes_limit, Time now) {
  if (engine.custody_bytes() > bytes_limit)
    report(Rule::bounded,
           fmt::format("box {} has {} bytes in custody, its limit is {}", box, engine.custody_bytes(), bytes_limit),
           now);
}

// ---- the end ----------------------------------------------------------------------------------

// A later life of the requester's QPN did the same, byte by byte, and the responder had answered nothing in the first:
// on the wire this is one connection whose requester repeats itself. Or the two lives have different responders, whose
// answers begin at one PSN and go to the same QPN. Then the second's answers pass for those that the first one's
// custody waits for.
bool Judge::repeated_whole(const Flow& flow) const {
  bool later = false;
  for (const auto& one : flows_) {
    const Flow& other = *one;
    if (&other == &flow) later = true;
    if (&other == &flow || other.plan.requester_qpn != flow.plan.requester_qpn) continue;
    if (other.plan.responder_qpn == flow.plan.responder_qpn) {
      if (flow.accepted == 0 && other.plan.work->plan() == flow.plan.work->plan()) return true;
    } else if (other.plan.work->psn_at(0) == flow.plan.work->psn_at(0)) {
      if (later ? other.accepted > flow.accepted : other.told > other.accepted) return true;
    }
  }
  return false;
}

void Judge::check_end(std::size_t number, const Requester& requester, const Responder& responder, Time now) {
  Flow& flow = *flows_[number];
  if (requester.succeeded() > flow.delivered && !flow.visible && !flow.box_lost_memory && !flow.waits_in_record &&
      !repeated_whole(flow) && !began_unseen(flow) && !flow.haunted && !flow.misled)
    report(Rule::nothing_lost,
           fmt::format("flow {}: {} messages were completed with success, {} arrived, and no counter says so",
                       flow.plan.name, requester.succeeded(), flow.delivered),
           now);
  const auto& messages = flow.plan.work->messages();
  if (flow.failed_at != kNever && requester.succeeded() == messages.size() && flow.delivered < messages.size() &&
      requester.last_new_sent() > flow.failed_at)
    report(Rule::fail_loudly,
           fmt::format("flow {} failed, and its requester's later requests ended with success", flow.plan.name), now);

  // Memory: the accepted parts of the WRITEs, in order, and nothing else.
  std::vector<std::uint8_t> expected(flow.plan.work->write_bytes());
  for (const Message& m : messages) {
    if (!m.writes() || m.begin >= flow.accepted) continue;
    const std::uint32_t accepted = std::min(m.end, flow.accepted) - m.begin;
    const std::uint32_t bytes = std::min(m.bytes, accepted * flow.plan.work->plan().path_mtu);
    const std::uint64_t offset = m.address - kWriteRegion;
    flow.plan.work->contents(m, 0, std::span(expected).subspan(offset, bytes));
  }
  if (expected != responder.memory() && !flow.haunted)
    report(Rule::exact, fmt::format("flow {}: the responder's memory is not what was written", flow.plan.name), now);
}

void Judge::check_end(unsigned box, Time now) {
  const Ports& ports = ports_[box];
  std::uint64_t dropped = ports.dropped - ports.dropped_found;
  for (const auto& classes : ports.foreign)
    for (const auto& [name, waiting] : classes) {
      if (waiting.size() > dropped)
        report(Rule::transparent,
               fmt::format("box {} kept {} frames that do not concern it, and dropped {}: {}", box, waiting.size(),
                           ports.dropped, name),
               now);
      dropped -= std::min<std::uint64_t>(dropped, waiting.size());
    }
  const auto is_owed = [&](const auto& dreq) { return !of_former_life(box, dreq.first, dreq.second); };
  if (dreq_limit_ != kNever && std::ranges::any_of(ports.dreqs, is_owed))
    report(Rule::fail_loudly, fmt::format("box {} never released a DREQ", box), now);
}

}  // namespace longhaul::sim
