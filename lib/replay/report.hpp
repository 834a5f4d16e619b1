// SPDX-License-Identifier: BSD-3-Clause
// A replay's findings for programs (JSON, JUnit) and for people.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "replay/ack_comparison.hpp"
#include "replay/checks.hpp"
#include "replay/runner.hpp"

namespace longhaul::replay {

/// Keys keep the order in which they are written, because reports are compared as text.
nlohmann::ordered_json to_json(const Result& result, const AckComparison& comparison);

std::string to_text(const Result& result, const AckComparison& comparison);

std::string_view name_of(FlowReport::End end);

/// "10.9.0.2 0x000011 -> 10.9.0.1 0x000012": requester and responder.
std::string name_flow(const custody::FlowIdentity& flow);

/// What a run keeps of one capture.
struct CaptureReport {
  /// Of a capture that could be replayed.
  CaptureReport(std::string capture, const Result& result, const AckComparison& comparison, std::vector<Check> made);
  /// Adds why each connection was accelerated or not.
  void explain(Explainer& explainer);
  /// Of one that could not be read to its end.
  CaptureReport(std::string capture, const std::string& error);

  std::string capture;  ///< as the user named it
  double seconds = 0;   ///< that the replay took
  std::vector<Check> checks;
  Verdict verdict;
  std::uint64_t frames = 0;
  std::uint64_t requests = 0;
  std::uint64_t pseudo_acks = 0;
  std::uint64_t matched = 0;
  std::uint64_t mismatched = 0;
  std::uint64_t unmatched = 0;
  nlohmann::ordered_json json;
  std::string text;         ///< the whole report
  std::string explanation;  ///< of each connection; empty if it was not asked for
  std::string failure;      ///< the part of it that says what was wrong; empty if nothing was
};

/// A row for each capture and one for the sum, then what was wrong with each.
std::string to_table(std::span<const CaptureReport> reports);

/// JUnit XML: a suite for each capture, with a case for each check.
std::string to_junit(std::span<const CaptureReport> reports);

Verdict verdict_of(std::span<const CaptureReport> reports);

}  // namespace longhaul::replay
