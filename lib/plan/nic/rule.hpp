// SPDX-License-Identifier: BSD-3-Clause
// Tables of known NIC settings and counters that matter over a long haul: when a value is good, what it means at this
// distance, what fixes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/nic/dumps.hpp"
#include "plan/nic/haul.hpp"

namespace longhaul::plan::nic {

/// fault: it limits or breaks this long haul. advice: it may hurt, but the dumps cannot tell. fine: checked, and good
/// enough.
enum class Severity { fault, advice, fine };
const char* name_of(Severity severity);

struct Finding {
  std::string id;
  Severity severity{};
  Place place;  ///< of the value; no file: the command line
  std::string subject;
  std::string name;
  std::string value;   ///< as read
  std::string wanted;  ///< calculated, if it is a figure
  std::string message;
  std::string remedy;
};

/// A fact that a rule is applied to.
struct Case {
  const Dumps& dumps;
  const Haul& haul;
  const Fact& fact;
  std::string_view value;  ///< that is judged: the fact's own, or the one after the next boot
};

struct Rule {
  std::string_view id;
  Kind kind;
  std::string_view name;  ///< as in the dump
  Severity severity;      ///< of the finding when the value is not good
  bool (*applies)(const Case& what);
  bool (*good)(const Case& what);
  std::string (*wanted)(const Case& what);
  std::string (*fine)(const Case& what);
  std::string (*message)(const Case& what);
  std::string (*remedy)(const Case& what);
};

std::span<const Rule> depth_rules();
std::span<const Rule> port_rules();
std::span<const Rule> firmware_rules();
std::span<const Rule> ethernet_rules();

/// Applies the rules to each fact of their kinds. A setting of mlxconfig that the next boot changes is `not-active` or
/// `lost-at-boot`.
void judge(std::span<const Rule> rules, const Dumps& dumps, const Haul& haul, std::vector<Finding>& findings);
/// Counters above zero; if a link was dumped twice, counters that rose in between.
void judge_counters(const Dumps& dumps, const Haul& haul, std::vector<Finding>& findings);

// For the tables of rules.
bool always(const Case& what);
bool has_number(const Case& what);  ///< its value is a setting_number()
/// "ETH(2)", "True(1)", "7", "0x00000001", "4096 (5)": the number that decides; for a name, the one in brackets.
std::optional<std::uint64_t> setting_number(std::string_view value);
std::uint64_t number_or(std::string_view value, std::uint64_t otherwise);
/// The device of a dump, for a command line.
std::string device_of(const Case& what, std::string_view otherwise);
std::string set_firmware(const Case& what, std::string_view setting, std::string_view value);
std::string set_register(const Case& what, std::string_view field, unsigned value);
/// Whether the dumps show that the queue depth per QP is too small, whatever the application asks.
bool depth_is_short(const Dumps& dumps, const Haul& haul);

struct DepthLimit {
  std::uint64_t depth = 0;  ///< 0: nothing limits it
  std::string setter;       ///< the name of the limiting setting
  Place place;
  Origin origin = Origin::read;
};
/// The least depth per QP that the dumps and the application allow.
DepthLimit depth_limit(const Dumps& dumps, const Haul& haul);

}  // namespace longhaul::plan::nic
