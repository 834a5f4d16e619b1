// SPDX-License-Identifier: BSD-3-Clause
#include "replay/checks.hpp"

#include <fmt/format.h>

#include "replay/expected_counters.hpp"

namespace longhaul::replay {
namespace {

Check check(std::string name, bool holds, std::string message) {
  return {std::move(name), holds ? Verdict::agreed : Verdict::differs, holds ? std::string() : std::move(message)};
}

Check something_compared(const Result& result, const AckComparison& comparison) {
  Check made;
  made.name = "something was compared";
  if (const auto nothing = nothing_compared(result, comparison); nothing) {
    made.verdict = Verdict::nothing_compared;
    made.message = fmt::format("nothing was compared: {}; {}", nothing->text, nothing->advice);
  }
  return made;
}

/// Nothing to compare is what the user wants, or what the capture gave before.
bool may_compare_nothing(const Demands& demands, const nlohmann::ordered_json* expected) {
  return demands.min_matched == 0 || (expected != nullptr && !expected->value("nothing_compared", "").empty());
}

}  // namespace

std::vector<Check> judge(const Result& result, const AckComparison& comparison, const Demands& demands,
                         const nlohmann::ordered_json* expected) {
  std::vector<Check> checks;
  if (comparison.comparing() && !may_compare_nothing(demands, expected)) {
    checks.push_back(something_compared(result, comparison));
  }
  checks.push_back(check("pseudo-ACKs agree with real ACKs", comparison.real_acks_mismatched == 0,
                         fmt::format("{} of {} real ACKs differ from the pseudo-ACKs", comparison.real_acks_mismatched,
                                     comparison.real_acks_mismatched + comparison.real_acks_matched)));
  checks.push_back(check("frames add up", sums_to_input(result),
                         "the frames do not add up: an error in longhaul, please report it with the capture"));
  if (demands.min_matched) {
    checks.push_back(
        check(fmt::format("at least {} real ACKs matched", *demands.min_matched),
              comparison.real_acks_matched >= *demands.min_matched,
              fmt::format("{} real ACKs matched, fewer than {}", comparison.real_acks_matched, *demands.min_matched)));
  }
  if (demands.max_unmatched) {
    checks.push_back(check(
        fmt::format("at most {} real ACKs unmatched", *demands.max_unmatched),
        comparison.real_acks_unmatched <= *demands.max_unmatched,
        fmt::format("{} real ACKs unmatched, more than {}", comparison.real_acks_unmatched, *demands.max_unmatched)));
  }
  if (expected != nullptr) {
    for (const auto& [what, differences] : compare_counters(*expected, expected_counters(result, comparison))) {
      checks.push_back(check("counters as expected: " + what, differences.empty(), what + ": " + differences));
    }
  }
  return checks;
}

Verdict verdict_of(const std::vector<Check>& checks) {
  Verdict verdict = Verdict::agreed;
  for (const auto& one : checks) verdict = worse(verdict, one.verdict);
  return verdict;
}

}  // namespace longhaul::replay
