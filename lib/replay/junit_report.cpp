// SPDX-License-Identifier: BSD-3-Clause
// JUnit XML as Jenkins' xunit plugin defines it (junit-10.xsd), which CI systems and viewers read.
#include <fmt/format.h>

#include <algorithm>

#include "replay/report.hpp"

namespace longhaul::replay {
namespace {

/// Text for an attribute or an element. File names may hold what XML cannot: control characters, and bytes that are not
/// UTF-8, which become question marks.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc2 ? 1 : 0;
    switch (byte) {
      case '<':
        out += "&lt;";
        continue;
      case '>':
        out += "&gt;";
        continue;
      case '&':
        out += "&amp;";
        continue;
      case '"':
        out += "&quot;";
        continue;
      default:
        break;
    }
    const auto tail = text.substr(i + 1, more);
    const bool whole = tail.size() == more && std::all_of(tail.begin(), tail.end(), [](char c) {
                         return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
                       });
    if ((byte >= 0x20 && byte < 0x7f) || byte == '\n') {
      out += text[i];
    } else if (more > 0 && byte < 0xf5 && whole) {
      out += text.substr(i, 1 + more);
      i += more;
    } else {
      out += '?';
    }
  }
  return out;
}

std::size_t count(std::span<const Check> checks, bool errors) {
  return static_cast<std::size_t>(std::count_if(checks.begin(), checks.end(), [&](const Check& check) {
    return check.verdict != Verdict::agreed && (check.verdict == Verdict::unusable) == errors;
  }));
}

void append_case(std::string& xml, const CaptureReport& report, const Check& check) {
  xml += fmt::format(R"(    <testcase classname="{}" name="{}")", escaped(report.capture), escaped(check.name));
  if (check.verdict == Verdict::agreed) {
    xml += "/>\n";
    return;
  }
  // An error is a test that could not be done.
  const char* element = check.verdict == Verdict::unusable ? "error" : "failure";
  xml += fmt::format(">\n      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n    </testcase>\n", element,
                     name_of(check.verdict), escaped(check.message), escaped(check.message));
}

}  // namespace

std::string to_junit(std::span<const CaptureReport> reports) {
  std::string suites;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  double seconds = 0;
  for (const auto& report : reports) {
    const std::size_t failed = count(report.checks, false);
    const std::size_t broken = count(report.checks, true);
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{:.3f}\">\n",
        escaped(report.capture), report.checks.size(), failed, broken, report.seconds);
    for (const auto& check : report.checks) append_case(suites, report, check);
    if (!report.failure.empty()) {
      suites += fmt::format("    <system-out>{}</system-out>\n", escaped(report.failure));
    }
    suites += "  </testsuite>\n";
    tests += report.checks.size();
    failures += failed;
    errors += broken;
    seconds += report.seconds;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"longhaul replay\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n{}"
      "</testsuites>\n",
      tests, failures, errors, seconds, suites);
}

}  // namespace longhaul::replay
