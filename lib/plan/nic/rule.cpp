// SPDX-License-Identifier: BSD-3-Clause
#include "plan/nic/rule.hpp"

#include <fmt/format.h>

#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

Finding finding(const Rule& rule, const Fact& fact, std::string_view value) {
  Finding out;
  out.id = rule.id;
  out.severity = rule.severity;
  out.place = fact.place;
  out.subject = fact.subject;
  out.name = fact.name;
  out.value = value;
  return out;
}

/// A warning when only the column of the next boot was read.
std::string caveat(const Fact& fact) {
  if (fact.kind != Kind::mlxconfig || !fact.next.empty()) return {};
  return " Read from the column of the next boot: mlxconfig -e shows what is in effect now.";
}

std::string activate(const Fact& fact) {
  const std::string device = fact.subject.empty() ? "DEVICE" : fact.subject;
  return fmt::format("mlxfwreset -d {0} -y reset, or reboot the host; then mlxconfig -d {0} -e query {1}", device,
                     fact.name);
}

void judge(const Rule& rule, const Case& now, std::vector<Finding>& findings) {
  if (!rule.applies(now)) return;
  const Fact& fact = now.fact;
  Finding out = finding(rule, fact, fact.value);
  const bool good = rule.good(now);
  const Case next{now.dumps, now.haul, fact, fact.next};
  const bool changes = !fact.next.empty() && fact.next != fact.value && rule.good(next) != good;
  if (changes && good) {
    out.id = "lost-at-boot";
    out.wanted = rule.wanted(next);
    out.message = fmt::format("good now, but the next boot sets {} to {}. From then on: {}", fact.name, fact.next,
                              rule.message(next));
    out.remedy = rule.remedy(next);
  } else if (changes) {
    out.id = "not-active";
    out.wanted = rule.wanted(now);
    out.message = fmt::format("{} is configured for the next boot but not in effect yet. Until then: {}", fact.next,
                              rule.message(now));
    out.remedy = activate(fact);
  } else if (good) {
    out.severity = Severity::fine;
    out.message = rule.fine(now) + (caveat(fact).empty() ? "" : " (for the next boot)");
  } else {
    out.wanted = rule.wanted(now);
    out.message = rule.message(now) + caveat(fact);
    out.remedy = rule.remedy(now);
  }
  findings.push_back(std::move(out));
}

}  // namespace

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::fault:
      return "fault";
    case Severity::advice:
      return "advice";
    case Severity::fine:
      return "fine";
  }
  return "";
}

void judge(std::span<const Rule> rules, const Dumps& dumps, const Haul& haul, std::vector<Finding>& findings) {
  for (const Rule& rule : rules)
    for (const Fact* fact : dumps.all(rule.kind, rule.name))
      judge(rule, Case{dumps, haul, *fact, fact->value}, findings);
}

bool always(const Case& what) { return true; }
bool has_number(const Case& what) { return setting_number(what.fact.value).has_value(); }

std::optional<std::uint64_t> setting_number(std::string_view value) {
  value = trim(value);
  if (const auto plain = number(value)) return plain;
  // A name with its number in brackets, or a number with its code: "ETH(2)" is 2, "4096 (5)" is 4096.
  std::string_view rest;
  if (const auto first = leading_number(value, &rest); first && (rest.empty() || rest.front() == ' ')) {
    return number(value.substr(0, value.size() - rest.size()));
  }
  const std::size_t open = value.rfind('(');
  if (open == std::string_view::npos || !value.ends_with(')')) return std::nullopt;
  return number(value.substr(open + 1, value.size() - open - 2));
}

std::uint64_t number_or(std::string_view value, std::uint64_t otherwise) {
  return setting_number(value).value_or(otherwise);
}

std::string device_of(const Case& what, std::string_view otherwise) {
  return what.fact.subject.empty() ? std::string(otherwise) : what.fact.subject;
}

std::string set_firmware(const Case& what, std::string_view setting, std::string_view value) {
  return fmt::format("mlxconfig -d {0} set {1}={2}, then mlxfwreset -d {0} -y reset, or reboot the host",
                     device_of(what, "DEVICE"), setting, value);
}

std::string set_register(const Case& what, std::string_view field, unsigned value) {
  return fmt::format("mlxreg -d {} --reg_name ROCE_ACCL --set \"{}=0x{:x}\" (until the next reset of the NIC)",
                     device_of(what, "DEVICE"), field, value);
}

}  // namespace longhaul::plan::nic
