// SPDX-License-Identifier: BSD-3-Clause
#include "plan/nic/examine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plan/nic/formats.hpp"

namespace longhaul::plan::nic {
namespace {

/// Path MTUs of RDMA (IBTA vol. 1, 9.2.5).
bool is_path_mtu(std::uint64_t value) {
  return value == 256 || value == 512 || value == 1024 || value == 2048 || value == 4096;
}

void read_path_mtu(const Dumps& dumps, Haul& haul) {
  for (const Fact* mtu : dumps.all(Kind::devinfo, "active_mtu")) {
    const Fact* state = dumps.of(Kind::devinfo, mtu->subject, "state");
    const std::uint64_t value = number_or(mtu->value, 0);
    if (!is_path_mtu(value) || state == nullptr || state->value.find("ACTIVE") == std::string::npos) continue;
    if (haul.path_mtu_origin == Origin::read && haul.path_mtu <= value) continue;
    haul.path_mtu = static_cast<std::uint32_t>(value);
    haul.path_mtu_origin = Origin::read;
  }
}

/// The application's depth is on the command line, not in a dump.
void judge_asked_depth(const Haul& haul, std::vector<Finding>& findings) {
  if (haul.asked_depth == 0) return;
  Finding out;
  out.id = "asked-depth";
  out.name = "--depth";
  out.value = std::to_string(haul.asked_depth);
  if (haul.enough(haul.asked_depth)) {
    out.severity = Severity::fine;
    out.message = fmt::format("{} needed (calculated)", haul.depth_needed());
  } else {
    out.severity = Severity::fault;
    out.wanted = fmt::format("{} or more (calculated)", haul.depth_needed());
    out.message = fmt::format("the application itself asks for too little depth: {}. Filling the rate takes {}.",
                              show_ceiling(haul, haul.asked_depth), show_need(haul));
    out.remedy = fmt::format("a deeper queue (perftest: -t {}), more QPs, or larger messages", haul.depth_needed());
  }
  findings.push_back(std::move(out));
}

std::vector<Missing> missing(const Dumps& dumps) {
  std::vector<Missing> out;
  for (const Format& format : formats()) {
    const bool instead = format.kind == Kind::pause && dumps.has(Kind::pfc);
    if (format.asked_for && !dumps.has(format.kind) && !instead)
      out.push_back({std::string(format.command), std::string(format.tells)});
  }
  if (dumps.has(Kind::mlxconfig) && dumps.all(Kind::mlxconfig, "LOG_MAX_OUTSTANDING_WQE").empty())
    out.push_back({std::string(format_of(Kind::mlxconfig).command),
                   "LOG_MAX_OUTSTANDING_WQE, which is missing in the given mlxconfig dumps: removed, or the firmware "
                   "is too old"});
  return out;
}

}  // namespace

std::size_t Diagnosis::count(Severity severity) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.severity == severity; }));
}

Diagnosis examine(const Dumps& dumps, Haul haul) {
  read_path_mtu(dumps, haul);
  Diagnosis out;
  out.haul = haul;
  out.dumps = dumps.list();
  out.limit = depth_limit(dumps, haul);
  for (const auto rules : {depth_rules(), port_rules(), firmware_rules(), ethernet_rules()})
    judge(rules, dumps, haul, out.findings);
  judge_asked_depth(haul, out.findings);
  judge_counters(dumps, haul, out.findings);
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& one, const Finding& other) { return one.severity < other.severity; });
  out.missing = missing(dumps);
  return out;
}

}  // namespace longhaul::plan::nic
