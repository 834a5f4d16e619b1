// SPDX-License-Identifier: BSD-3-Clause
// A flow is usual in one state only: whatever else is so in its word, the lane must not take its packets.
#include "custody/flow_state.hpp"

#include <catch2/catch.hpp>
#include <functional>

using namespace longhaul;
using namespace longhaul::custody;

namespace {

FlowState usual() {
  FlowState state;
  REQUIRE(state.phase.move(PhaseEvent::cm_vouched));
  state.policy = flow::Policy::full;
  state.trust.msn_known = state.trust.was_confirmed = true;
  return state;
}

bool usual_but(const std::function<void(FlowState&)>& change) {
  FlowState state = usual();
  change(state);
  return state.is_usual();
}

}  // namespace

TEST_CASE("each part of a flow's state can make it unusual", "[custody][lane]") {
  CHECK(usual().is_usual());
  CHECK_FALSE(FlowState{}.is_usual());
  for (const PhaseEvent event :
       {PhaseEvent::request_passed, PhaseEvent::idle_long, PhaseEvent::data_lost, PhaseEvent::closed})
    CHECK_FALSE(usual_but([&](FlowState& state) { CHECK(state.phase.move(event)); }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.policy = flow::Policy::off; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.policy = flow::Policy::window; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.trust.standing = Standing::lost; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.trust.msn_known = false; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.trust.was_confirmed = false; }));
  for (const std::uint8_t silence : {kReadAgain, kDoubted, kShared, kUnproven, kRepeated})
    CHECK_FALSE(usual_but([&](FlowState& state) { state.trust.silent = silence; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.owed.ack_again = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.owed.ack = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.owed.gap_nak = GapNak::owed; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.owed.gap_nak = GapNak::sent; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.owed.repair_nak = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.owed.fatal_nak = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.credits_used = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.withheld = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.resend.active = true; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.resend.probe = Probe::due; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.resend.probe = Probe::out; }));
  CHECK_FALSE(usual_but([](FlowState& state) { state.resend.timeouts = 1; }));
}
