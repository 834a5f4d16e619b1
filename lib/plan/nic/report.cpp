// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/nic/examine.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 110;
constexpr std::size_t kIndent = 10;

/// Text after a title, broken at blanks.
std::string paragraph(std::string_view title, std::string_view text) {
  std::string out = fmt::format("{:{}}", title, kIndent);
  std::size_t column = kIndent;
  bool first = true;
  for (const std::string_view word : words(text, 4096)) {
    if (!first && column + 1 + word.size() > kWidth) {
      out += fmt::format("\n{:{}}", "", kIndent);
      column = kIndent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + "\n";
}

std::string place(const Finding& finding) {
  if (finding.place.file.empty()) return "command line";
  return fmt::format("{}:{}", finding.place.file, finding.place.line);
}

std::string what_was_read(const Finding& finding) {
  const char* origin = finding.place.file.empty() ? "given" : "read";
  return fmt::format("{}: {}{}{} = {} ({})", place(finding), finding.subject, finding.subject.empty() ? "" : " ",
                     finding.name, finding.value, origin);
}

std::string heading(const Haul& haul) {
  return fmt::format("{} ({}) over an RTT of {} ({}), {} of {} ({}) with {} ({}), path MTU {} ({})\n",
                     show_rate(static_cast<double>(haul.rate_bps)), name_of(haul.rate_origin), show_time(haul.rtt_ns),
                     name_of(haul.rtt_origin), name_of(haul.operation), size_text(haul.message_bytes),
                     name_of(haul.message_origin), haul.qps == 1 ? "1 QP" : fmt::format("{} QPs", haul.qps),
                     name_of(haul.qps_origin), haul.path_mtu, name_of(haul.path_mtu_origin));
}

std::string ceiling(const Diagnosis& diagnosis) {
  const Haul& haul = diagnosis.haul;
  const DepthLimit& limit = diagnosis.limit;
  if (limit.depth == 0)
    return fmt::format("these dumps do not show the depth of a QP; filling the rate takes {}", show_need(haul));
  const std::string by = limit.place.file.empty() ? fmt::format("{} ({})", limit.setter, name_of(limit.origin))
                                                  : fmt::format("{} ({}:{}, {})", limit.setter, limit.place.file,
                                                                limit.place.line, name_of(limit.origin));
  if (haul.enough(limit.depth))
    return fmt::format(
        "{} by {} are enough, {} needed (calculated); the line is the limit: {} of payload of {} (calculated)",
        limit.depth, by, haul.depth_needed(), show_rate(haul.payload_cap_bps()),
        show_rate(static_cast<double>(haul.rate_bps)));
  return fmt::format("limited by {}: {}, {} of the {} of payload that the line carries (calculated)", by,
                     show_ceiling(haul, limit.depth),
                     show_percent(haul.payload_bps(limit.depth) / haul.payload_cap_bps()),
                     show_rate(haul.payload_cap_bps()));
}

/// What would help, in a sentence.
std::string sentence(const Diagnosis& diagnosis) {
  const Haul& haul = diagnosis.haul;
  const std::uint64_t depth = diagnosis.limit.depth;
  const std::size_t faults = diagnosis.count(Severity::fault);
  const std::string first =
      faults == 0 ? ""
                  : fmt::format("First mend the {} above. ", faults == 1 ? "fault" : fmt::format("{} faults", faults));
  if (depth == 0)
    return first +
           fmt::format("Nothing here says whether deeper queues would help: they must hold {}.", show_need(haul));
  if (haul.enough(depth))
    return first + "The line is the limit: deeper queues, more QPs or a pair of boxes would add nothing.";
  const std::uint64_t qps = (haul.messages_needed() + depth - 1) / depth;
  return first + fmt::format("{} on each QP (now {}) or {} QPs (now {}) would fill the line{}.", haul.depth_needed(),
                             depth, qps, haul.qps,
                             haul.operation == Operation::read ? "; a pair of boxes would not help READ"
                                                               : "; a pair of boxes would help with the NIC as it is");
}

std::string in_full(const Finding& finding) {
  std::string out = paragraph(name_of(finding.severity), finding.id);
  out += paragraph("  read", what_was_read(finding));
  if (!finding.wanted.empty()) out += paragraph("  wanted", finding.wanted);
  out += paragraph("  why", finding.message);
  out += paragraph("  fix", finding.remedy);
  return out;
}

Json figure(const Json& value, Origin origin) { return {{"value", value}, {"origin", name_of(origin)}}; }

}  // namespace

std::string to_text(const Diagnosis& diagnosis) {
  std::string out = heading(diagnosis.haul);
  out += paragraph("depth", ceiling(diagnosis)) + "\n";
  for (const Finding& finding : diagnosis.findings)
    if (finding.severity != Severity::fine) out += in_full(finding) + "\n";
  // Many counters are zero: one line for all of them.
  std::vector<std::string> zero;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity != Severity::fine) continue;
    if (finding.message == "never") {
      if (std::find(zero.begin(), zero.end(), finding.name) == zero.end()) zero.push_back(finding.name);
    } else
      out += paragraph("fine", fmt::format("{}: {}", what_was_read(finding), finding.message));
  }
  if (!zero.empty()) out += paragraph("fine", fmt::format("0 (read): {}", fmt::join(zero, ", ")));
  for (const Missing& one : diagnosis.missing)
    out += paragraph("not seen", fmt::format("{} ({})", one.tells, one.command));
  out += fmt::format("longhaul plan nic: {} fault{}, {} advice\n", diagnosis.count(Severity::fault),
                     diagnosis.count(Severity::fault) == 1 ? "" : "s", diagnosis.count(Severity::advice));
  out += paragraph("helps", sentence(diagnosis));
  return out;
}

std::string to_json(const Diagnosis& diagnosis) {
  const Haul& haul = diagnosis.haul;
  Json json;
  json["haul"] = {{"rate_bps", figure(haul.rate_bps, haul.rate_origin)},
                  {"rtt_ns", figure(haul.rtt_ns, haul.rtt_origin)},
                  {"operation", haul.operation == Operation::write  ? "write"
                                : haul.operation == Operation::send ? "send"
                                                                    : "read"},
                  {"qps", figure(haul.qps, haul.qps_origin)},
                  {"message_bytes", figure(haul.message_bytes, haul.message_origin)},
                  {"path_mtu", figure(haul.path_mtu, haul.path_mtu_origin)},
                  {"depth_needed", figure(haul.depth_needed(), Origin::calculated)},
                  {"payload_cap_bps", figure(haul.payload_cap_bps(), Origin::calculated)}};
  json["dumps"] = Json::array();
  for (const Dump& dump : diagnosis.dumps)
    json["dumps"].push_back(
        {{"kind", dump.format}, {"subject", dump.subject}, {"file", dump.place.file}, {"line", dump.place.line}});
  if (diagnosis.limit.depth == 0) {
    json["limit"] = nullptr;
  } else {
    json["limit"] = {{"depth", figure(diagnosis.limit.depth, diagnosis.limit.origin)},
                     {"set_by", diagnosis.limit.setter},
                     {"file", diagnosis.limit.place.file},
                     {"line", diagnosis.limit.place.line},
                     {"enough", haul.enough(diagnosis.limit.depth)},
                     {"payload_bps", figure(haul.payload_bps(diagnosis.limit.depth), Origin::calculated)}};
  }
  json["faults"] = diagnosis.count(Severity::fault);
  json["advice"] = diagnosis.count(Severity::advice);
  json["what_helps"] = sentence(diagnosis);
  json["findings"] = Json::array();
  for (const Finding& one : diagnosis.findings)
    json["findings"].push_back({{"id", one.id},
                                {"severity", name_of(one.severity)},
                                {"file", one.place.file},
                                {"line", one.place.line},
                                {"subject", one.subject},
                                {"name", one.name},
                                {"value", one.value},
                                {"wanted", one.wanted},
                                {"message", one.message},
                                {"remedy", one.remedy}});
  json["missing"] = Json::array();
  for (const Missing& one : diagnosis.missing)
    json["missing"].push_back({{"command", one.command}, {"tells", one.tells}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace longhaul::plan::nic
