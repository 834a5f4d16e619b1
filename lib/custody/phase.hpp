// SPDX-License-Identifier: BSD-3-Clause
// The life of a flow as one table: which phase an event leads to, from each phase in which the event can happen.
//
// The same as lines: from one of these phases, by this event, to that phase. A flow begins unconfirmed. A unit test
// (test/unit/custody/phase_test.cpp) compares the lines with the table, so change both.
//
//   How it begins
//   unconfirmed                              --cm_vouched-->       confirmed
//   unconfirmed                              --begun_midway-->     plain
//   unconfirmed                              --found_in_record-->  failed
//
//   Custody begins and stops
//   unconfirmed                              --answer_agreed-->    confirmed
//   unconfirmed confirmed rejoining          --request_passed-->   plain
//   unconfirmed confirmed rejoining plain    --gap_passed-->       plain
//   unconfirmed confirmed rejoining plain    --let_go-->           plain
//   unconfirmed confirmed rejoining plain    --policy_changed-->   plain
//   confirmed plain                          --answered_beyond-->  plain
//   plain                                    --room_again-->       rejoining
//   confirmed                                --idle_long-->        rejoining
//   rejoining                                --msn_learned-->      confirmed
//
//   How custody or the flow ends
//   unconfirmed confirmed rejoining plain    --unanswered-->       plain
//   confirmed rejoining plain                --undecided-->        plain
//   plain failed                             --began_again-->      plain
//   confirmed plain                          --data_lost-->        failed
//   unconfirmed confirmed rejoining plain    --refused-->          ended
//   unconfirmed confirmed rejoining plain    --closed-->           ended
//   failed                                   --closed-->           ended
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/phase.hpp"

namespace longhaul::custody {

using longhaul::kPhases;
using longhaul::Phase;
inline constexpr Phase kFirstPhase = Phase::unconfirmed;

/// The flow's requests are left to the next user of its QPNs.
constexpr bool is_over(Phase phase) { return phase == Phase::failed || phase == Phase::ended; }

/// What moves a flow from phase to phase.
enum class PhaseEvent : std::uint8_t {
  cm_vouched,       ///< RDMA-CM has set the connection up, and `confirm: cm` takes its word for an answer
  begun_midway,     ///< the flow was learned in the middle of its traffic
  found_in_record,  ///< an earlier process acknowledged data that was not delivered
  answer_agreed,    ///< a real answer has the MSN that was counted
  request_passed,   ///< the next request passes without custody: a limit, a drain, an unknown opcode
  gap_passed,       ///< a request beyond a gap passes
  let_go,           ///< unacknowledged custody is dropped, or there was none to drop
  policy_changed,   ///< the policy was changed, or is off from the beginning
  answered_beyond,  ///< the responder has answered requests that custody never had
  room_again,       ///< custody is empty, and the next new request can be taken
  idle_long,        ///< nothing was under way for `confirm_again`
  msn_learned,      ///< everything before custody is answered, and the answer gives the MSN
  unanswered,       ///< nothing was acknowledged, and no answer has come for `give_up`
  undecided,        ///< a doubt ends custody; whether the packets arrived is not known
  began_again,      ///< the QPs live another life
  data_lost,        ///< acknowledged data cannot be delivered
  refused,          ///< the responder refuses a request that was not acknowledged: its QP is in error
  closed,           ///< the connection was closed, or another one has its QPN
};
inline constexpr std::size_t kPhaseEvents = static_cast<std::size_t>(PhaseEvent::closed) + 1;

/// By phase and event: the next phase, which may be the same one; none where the event cannot happen.
using PhaseTable = std::array<std::array<std::optional<Phase>, kPhaseEvents>, kPhases>;

inline constexpr PhaseTable kNextPhase = [] {
  using enum Phase;
  using enum PhaseEvent;
  PhaseTable next{};
  const auto add = [&next](std::initializer_list<Phase> from, PhaseEvent event, Phase to) {
    for (const Phase phase : from) next[static_cast<std::size_t>(phase)][static_cast<std::size_t>(event)] = to;
  };
  add({unconfirmed}, cm_vouched, confirmed);
  add({unconfirmed}, begun_midway, plain);
  add({unconfirmed}, found_in_record, failed);

  add({unconfirmed}, answer_agreed, confirmed);
  add({unconfirmed, confirmed, rejoining}, request_passed, plain);
  add({unconfirmed, confirmed, rejoining, plain}, gap_passed, plain);
  add({unconfirmed, confirmed, rejoining, plain}, let_go, plain);
  add({unconfirmed, confirmed, rejoining, plain}, policy_changed, plain);
  add({confirmed, plain}, answered_beyond, plain);
  add({plain}, room_again, rejoining);
  add({confirmed}, idle_long, rejoining);
  add({rejoining}, msn_learned, confirmed);

  add({unconfirmed, confirmed, rejoining, plain}, unanswered, plain);
  add({confirmed, rejoining, plain}, undecided, plain);
  add({plain, failed}, began_again, plain);
  add({confirmed, plain}, data_lost, failed);
  add({unconfirmed, confirmed, rejoining, plain}, refused, ended);
  add({unconfirmed, confirmed, rejoining, plain, failed}, closed, ended);
  return next;
}();

/// Where `event` leads from `phase`; none where it cannot happen.
constexpr std::optional<Phase> next_phase(Phase phase, PhaseEvent event) {
  return kNextPhase[static_cast<std::size_t>(phase)][static_cast<std::size_t>(event)];
}

/// The phase of a flow. Only an event changes it.
class CurrentPhase {
 public:
  constexpr operator Phase() const noexcept { return phase_; }  // NOLINT(google-explicit-constructor): reads as a Phase

  /// Returns false where `event` cannot happen. A flow that is not over is then plain: no other phase does less harm.
  [[nodiscard]] constexpr bool move(PhaseEvent event) noexcept {
    const std::optional<Phase> next = next_phase(phase_, event);
    phase_ = next.value_or(is_over(phase_) ? phase_ : Phase::plain);
    return next.has_value();
  }

 private:
  Phase phase_ = kFirstPhase;
};

}  // namespace longhaul::custody
