// SPDX-License-Identifier: BSD-3-Clause
// What is left of a capture once it has been replayed: its reports, and its row in the table of a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "replay/report.hpp"
#include "replay/text_list.hpp"

namespace longhaul::replay {
namespace {

nlohmann::ordered_json checks_json(const std::vector<Check>& checks) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& check : checks) {
    json.push_back({{"name", check.name}, {"verdict", name_of(check.verdict)}, {"message", check.message}});
  }
  return json;
}

std::vector<Check> failed(const std::vector<Check>& checks) {
  std::vector<Check> found;
  std::copy_if(checks.begin(), checks.end(), std::back_inserter(found),
               [](const Check& check) { return check.verdict != Verdict::agreed; });
  return found;
}

std::string name_host(const Conversation::Host& host) {
  return fmt::format("{}{} sent {} frames, {} SENDs and WRITEs among them", host.address.to_string(),
                     host.near ? " (near)" : "", host.frames, host.requests);
}

/// What was wrong, with what one needs to know to put it right.
std::string failure_text(const Result& result, const std::vector<Check>& checks, Verdict verdict) {
  std::string text;
  append_list(text, "failed", failed(checks), [](const Check& check) { return check.message; });
  if (verdict != Verdict::nothing_compared) return text;
  append_list(text, "hosts that exchange RoCE", result.conversations, [](const Conversation& conversation) {
    return fmt::format("{}; {}", name_host(conversation.hosts[0]), name_host(conversation.hosts[1]));
  });
  return text;
}

/// What an agreement rests on, as the last sentence; empty if nothing was compared, or if it was not so.
std::string seen(const AckComparison& comparison, Verdict verdict) {
  const std::uint64_t matched = comparison.real_acks_matched;
  if (verdict != Verdict::agreed || matched == 0) return "";
  std::string text = fmt::format(
      "\nSeen: the box answered before the responder did, and all {} ACKs that the responder then sent for the same "
      "PSNs\nsay the same (destination QPN, MSN, syndrome, P_Key).",
      matched);
  if (comparison.real_acks_unmatched > 0)
    text += fmt::format(" {} had no pseudo-ACK, for the reasons above.", comparison.real_acks_unmatched);
  if (comparison.real_acks_forwarded > 0)
    text += fmt::format(" {} came before a box may answer, and went through.", comparison.real_acks_forwarded);
  return text + "\n";
}

struct Column {
  const char* title;
  std::uint64_t CaptureReport::*value;
};

constexpr std::array kColumns = {
    Column{"frames", &CaptureReport::frames},           Column{"requests", &CaptureReport::requests},
    Column{"pseudo-ACKs", &CaptureReport::pseudo_acks}, Column{"matched", &CaptureReport::matched},
    Column{"mismatched", &CaptureReport::mismatched},   Column{"unmatched", &CaptureReport::unmatched},
};

}  // namespace

CaptureReport::CaptureReport(std::string name, const Result& result, const AckComparison& comparison,
                             std::vector<Check> made)
    : capture(std::move(name)),
      checks(std::move(made)),
      verdict(verdict_of(checks)),
      frames(result.frames),
      requests(result.counters[Counter::requests]),
      pseudo_acks(result.counters[Counter::pseudo_acks]),
      matched(comparison.real_acks_matched),
      mismatched(comparison.real_acks_mismatched),
      unmatched(comparison.real_acks_unmatched),
      json(to_json(result, comparison)),
      failure(failure_text(result, checks, verdict)) {
  text = to_text(result, comparison) + failure + seen(comparison, verdict);
  json["capture"] = capture;
  json["verdict"] = name_of(verdict);
  json["checks"] = checks_json(checks);
}

void CaptureReport::explain(Explainer& explainer) {
  const auto& all = explainer.finish();
  explanation = explained_text(all, explainer.unlisted());
  text += explanation;
  json["explanation"] = explained_json(all, explainer.unlisted());
}

CaptureReport::CaptureReport(std::string name, const std::string& error)
    : capture(std::move(name)),
      checks{{.name = "the capture can be read", .verdict = Verdict::unusable, .message = error}},
      verdict(Verdict::unusable),
      json{{"capture", capture}, {"verdict", name_of(verdict)}, {"checks", checks_json(checks)}} {
  append_list(failure, "failed", checks, [](const Check& check) { return check.message; });
}

std::string to_table(std::span<const CaptureReport> reports) {
  std::size_t width = std::string_view("capture").size();
  for (const auto& report : reports) width = std::max(width, report.capture.size());
  std::string text = fmt::format("{:<{}}", "capture", width);
  for (const auto& column : kColumns) text += fmt::format("{:>13}", column.title);
  text += "  result\n";

  std::array<std::uint64_t, kColumns.size()> sums{};
  for (const auto& report : reports) {
    text += fmt::format("{:<{}}", report.capture, width);
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      sums[i] += report.*kColumns[i].value;
      text += fmt::format("{:>13}", report.*kColumns[i].value);
    }
    text += fmt::format("  {}\n", name_of(report.verdict));
  }
  text += fmt::format("{:<{}}", "all", width);
  for (const std::uint64_t sum : sums) text += fmt::format("{:>13}", sum);
  text += fmt::format("  {}\n", name_of(verdict_of(reports)));

  for (const auto& report : reports) {
    if (!report.failure.empty() || !report.explanation.empty())
      text += fmt::format("\n{}\n{}{}", report.capture, report.failure, report.explanation);
  }
  return text;
}

Verdict verdict_of(std::span<const CaptureReport> reports) {
  Verdict verdict = Verdict::agreed;
  for (const auto& report : reports) verdict = worse(verdict, report.verdict);
  return verdict;
}

}  // namespace longhaul::replay
