// SPDX-License-Identifier: BSD-3-Clause
// What is known about settings and counters of a NIC over a long haul, as tables: what is looked at, when it is good,
// what it means at this distance, what mends it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/nic/haul.hpp"
#include "plan/nic/survey.hpp"

namespace longhaul::plan::nic {

/// fault: it limits or breaks this long haul. advice: it may cost, and the dumps cannot tell. fine: looked at, good
/// enough.
enum class Severity { fault, advice, fine };
const char* name_of(Severity severity);

struct Finding {
  std::string id;
  Severity severity{};
  Place place;  ///< of what was read; the command line: no file
  std::string subject;
  std::string name;
  std::string value;   ///< as read
  std::string wanted;  ///< calculated, where it is a figure
  std::string message;
  std::string remedy;
};

/// One fact before its rule.
struct Case {
  const Survey& survey;
  const Haul& haul;
  const Fact& fact;
  std::string_view value;  ///< that is judged: the fact's own, or the next boot's
};

struct Rule {
  std::string_view id;
  Kind kind;
  std::string_view name;  ///< as in the dump
  Severity severity;      ///< when it is not good
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

/// Each fact of the rules' kinds before its rule. A setting of mlxconfig that the next boot changes is `not-active` or
/// `lost-at-boot`.
void judge(std::span<const Rule> rules, const Survey& survey, const Haul& haul, std::vector<Finding>& findings);
/// Counters above zero; where a link was dumped twice, those that rose in between.
void judge_counters(const Survey& survey, const Haul& haul, std::vector<Finding>& findings);

// For the tables.
bool always(const Case& what);
/// "ETH(2)", "True(1)", "7", "0x00000001", "4096 (5)": the number that decides; in brackets if it is a name's.
std::optional<std::uint64_t> setting_number(std::string_view value);
std::uint64_t number_or(std::string_view value, std::uint64_t otherwise);
/// The device of a dump, for a command line.
std::string device_of(const Case& what, std::string_view otherwise);
std::string set_firmware(const Case& what, std::string_view setting, std::string_view value);
std::string set_register(const Case& what, std::string_view field, unsigned value);
/// Whether the dumps show the depth of the queue per QP to be too small, whatever the application asks.
bool depth_is_short(const Survey& survey, const Haul& haul);

struct DepthLimit {
  std::uint64_t depth = 0;  ///< 0: nothing limits it
  std::string setter;       ///< the name of what does
  Place place;
  Origin origin = Origin::read;
};
/// The least depth per QP that the dumps and the application leave.
DepthLimit depth_limit(const Survey& survey, const Haul& haul);

}  // namespace longhaul::plan::nic
