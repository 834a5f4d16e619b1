// SPDX-License-Identifier: BSD-3-Clause
// The life of a flow: the lines at the head of custody/phase.hpp agree with its table, and the table makes sense.
#include "custody/phase.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

using namespace longhaul::custody;

namespace {

// The names as the source spells them. -Wswitch finds a phase that is missing here.
std::string written(Phase phase) {
#define NAME(name)  \
  case Phase::name: \
    return #name
  switch (phase) {
    NAME(unconfirmed);
    NAME(confirmed);
    NAME(plain);
    NAME(rejoining);
    NAME(failed);
    NAME(ended);
  }
#undef NAME
  return "?";
}

std::string written(PhaseEvent event) {
#define NAME(name)       \
  case PhaseEvent::name: \
    return #name
  switch (event) {
    NAME(cm_vouched);
    NAME(begun_midway);
    NAME(found_in_record);
    NAME(answer_agreed);
    NAME(request_passed);
    NAME(gap_passed);
    NAME(let_go);
    NAME(policy_changed);
    NAME(answered_beyond);
    NAME(room_again);
    NAME(idle_long);
    NAME(msn_learned);
    NAME(unanswered);
    NAME(undecided);
    NAME(began_again);
    NAME(data_lost);
    NAME(refused);
    NAME(closed);
  }
#undef NAME
  return "?";
}

template <typename Each>
void each_transition(const Each& each) {
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    for (std::size_t event = 0; event < kPhaseEvents; ++event)
      if (const auto next = kNextPhase[phase][event])
        each(static_cast<Phase>(phase), static_cast<PhaseEvent>(event), *next);
}

/// "from --event--> to", one transition each.
std::multiset<std::string> in_table() {
  std::multiset<std::string> lines;
  each_transition([&](Phase from, PhaseEvent event, Phase to) {
    lines.insert(written(from) + " --" + written(event) + "--> " + written(to));
  });
  return lines;
}

std::multiset<std::string> in_header() {
  std::ifstream file(std::string(TEST_ROOT) + "/../lib/custody/phase.hpp");
  REQUIRE(file);
  const std::regex transition("//   ([a-z_ ]+[a-z_]) +--([a-z_]+)--> +([a-z_]+)");
  std::multiset<std::string> lines;
  for (std::string line; std::getline(file, line) && line != "#pragma once";) {
    if (line.find("--") == std::string::npos) continue;
    INFO(line);
    std::smatch found;
    REQUIRE(std::regex_match(line, found, transition));
    std::istringstream sources(found[1]);
    for (std::string from; sources >> from;) lines.insert(from + " --" + found[2].str() + "--> " + found[3].str());
  }
  return lines;
}

}  // namespace

TEST_CASE("the header of the table of phases shows each transition, and no other", "[custody][phase]") {
  CHECK(in_header() == in_table());
}

TEST_CASE("each phase is reached, each event does something, and only an ended flow stays as it is",
          "[custody][phase]") {
  std::set<Phase> reached{kFirstPhase};
  std::set<PhaseEvent> events;
  std::map<Phase, std::set<Phase>> ways;
  each_transition([&](Phase from, PhaseEvent event, Phase to) {
    reached.insert(to);
    events.insert(event);
    ways[from].insert(to);
  });
  CHECK(reached.size() == kPhases);
  CHECK(events.size() == kPhaseEvents);
  CHECK(ways.count(Phase::ended) == 0);
  CHECK(ways.size() == kPhases - 1);
  for (const auto& [from, to] : ways) CHECK(to.count(Phase::ended) == 1);
}

TEST_CASE("an event that cannot happen is noticed, and leaves nothing that takes custody", "[custody][phase]") {
  const auto after = [](std::initializer_list<PhaseEvent> events, PhaseEvent wrong) {
    CurrentPhase phase;
    for (const PhaseEvent event : events) CHECK(phase.move(event));
    CHECK_FALSE(phase.move(wrong));
    return static_cast<Phase>(phase);
  };
  CHECK(after({}, PhaseEvent::room_again) == Phase::plain);
  CHECK(after({PhaseEvent::cm_vouched}, PhaseEvent::answer_agreed) == Phase::plain);
  CHECK(after({PhaseEvent::begun_midway}, PhaseEvent::msn_learned) == Phase::plain);
  CHECK(after({PhaseEvent::found_in_record}, PhaseEvent::let_go) == Phase::failed);
  CHECK(after({PhaseEvent::closed}, PhaseEvent::let_go) == Phase::ended);
  CHECK(after({PhaseEvent::closed}, PhaseEvent::closed) == Phase::ended);
}
