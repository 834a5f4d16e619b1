// SPDX-License-Identifier: BSD-3-Clause
// What the judge asks of a far box (docs/peer-protocol.md, sections 9 to 11): it hands on what came, and what it sends
// again of that is for the life in which it came, is not answered yet, and goes no more often than the page says.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "sim/judge.hpp"

namespace longhaul::sim {

namespace {

// While its host comes no further, a copy goes again for three NAKs and three silences (11.2).
constexpr unsigned kMostAgain = 6;
// An answer that came has been dealt with after this time.
constexpr Duration kDealtWith = milliseconds(1);

}  // namespace

// A box with a peer may send again what its host has answered in this life: until the responder has a request of the
// next one.
void Judge::check_answer_again(unsigned box, const Flow& flow, const View& view, std::uint64_t print, Time now) {
  const auto& answers = ports_[box].answers;
  const auto its = answers.find(print);
  if (its == answers.end())
    return report(Rule::exact, fmt::format("box {} made an answer for the WAN: {}", box, at(flow, view)), now);
  const Flow& life = *its->second;
  for (const auto& later : flows_ | std::views::reverse) {
    if (later.get() == &life) return;
    if (later->handed_on && later->plan.requester_qpn == life.plan.requester_qpn &&
        later->plan.responder_qpn == life.plan.responder_qpn)
      return report(Rule::exact, fmt::format("box {} sent an answer of a former life again: {}", box, at(flow, view)),
                    now);
  }
}

void Judge::request_comes(Ports& ports, std::uint64_t print) {
  Ports::FarRequest& its = ports.requests_came[print];
  its.last_at = now_;
  ++its.waiting;
}

// Its host has answered everything before this position, and its far box has had the time to see it.
std::uint32_t Judge::dealt_with(const Flow& flow) const {
  return now_ > flow.host_answered_at + kDealtWith ? flow.host_answered : flow.host_answered_before;
}

void Judge::host_answers(Ports& ports, Flow& flow, const View& view, std::uint64_t print) {
  ports.answers[print] = &flow;
  if (!view.intact) return;
  const auto& opcode = *view.frame.opcode;
  const bool is_nak = opcode.operation == wire::Operation::acknowledge &&
                      wire::aeth_kind(view.frame.aeth().syndrome) != wire::AethKind::ack;
  const std::int32_t end = flow.plan.work->position_of(view.psn()) + (is_nak ? 0 : 1);
  // Nobody believes a forged answer to what the host was not given.
  if (end <= static_cast<std::int32_t>(flow.host_answered) || end > static_cast<std::int32_t>(flow.host_given)) return;
  flow.host_answered_before = dealt_with(flow);
  flow.host_answered = static_cast<std::uint32_t>(end);
  flow.host_answered_at = now_;
}

// A liar may have named another QPN to which the answers go. So may a near box that died before this life began. Where
// the requester's QPN had another responder, its answers may go to that one's worker.
bool Judge::hears_answers(unsigned box, const Flow& flow) const {
  const auto& traits = ports_[box].traits;
  return !traits.lied_to && !traits.answers_led_away && std::ranges::none_of(flows_, [&](const auto& other) {
    const bool same_responder = other->plan.responder_qpn == flow.plan.responder_qpn;
    const bool same_requester = other->plan.requester_qpn == flow.plan.requester_qpn;
    return same_responder ? !same_requester : same_requester && traits.several_workers;
  });
}

// A far box hands on what has come, perhaps more than once. What it holds or has a copy of is for the life in which it
// came. That life ended 20 ms before this one at least; a forged request may have come since.
void Judge::check_handed_on(unsigned box, Flow& flow, const View& view, std::uint64_t print) {
  const auto came = ports_[box].requests_came.find(print);
  if (came == ports_[box].requests_came.end())
    return report(Rule::exact, fmt::format("box {} made a request for its host: {}", box, at(flow, view)), now_);
  Ports::FarRequest& its = came->second;
  const std::int32_t position = flow.plan.work->position_of(view.psn());
  // Who keeps back control makes boxes hold for longer (docs/peer-protocol.md, section 8).
  const Duration held_longer = 3 * ports_[box].traits.control_late / 2;
  const bool its_own = position < 0 || its.last_at + milliseconds(20) + held_longer >= flow.began;
  if (!its_own)
    return report(Rule::exact, fmt::format("box {} held a request of a former life: {}", box, at(flow, view)), now_);
  const auto& messages = flow.plan.work->messages();
  if (position < 0 || messages.empty() || static_cast<std::uint32_t>(position) >= messages.back().end) return;
  const Message& message = flow.plan.work->at(static_cast<std::uint32_t>(position));
  const std::uint32_t end = message.wants_response() ? message.end : static_cast<std::uint32_t>(position) + 1;
  flow.host_given = std::max(flow.host_given, end);
  if (its.waiting > 0) {
    --its.waiting;
    its.again = 0;
    its.came_answered = end <= flow.host_answered;
    return;
  }
  if (end <= dealt_with(flow) && !its.came_answered && hears_answers(box, flow))
    return report(Rule::exact,
                  fmt::format("box {} sent a request again that its host had answered: {}", box, at(flow, view)), now_);
  if (its.answered != flow.host_answered) its.again = 0, its.answered = flow.host_answered;
  if (++its.again > kMostAgain)
    report(Rule::bounded,
           fmt::format("box {} sent its host one request {} times again: {}", box, its.again, at(flow, view)), now_);
}

}  // namespace longhaul::sim
