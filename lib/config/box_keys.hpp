// SPDX-License-Identifier: BSD-3-Clause
// The keys of a box's configuration as a table: the value of each, and whether a running box can reload it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/box_config.hpp"
#include "config/schema.hpp"

namespace longhaul::config {

struct BoxKey {
  std::string_view name;  ///< "timers.give_up"
  bool live;              ///< a reload applies it; otherwise a change needs a new process
  std::string (*show)(const BoxConfig&);
  Form form;
  std::string_view help;  ///< one or more sentences, with the default
  bool required = false;
  std::string_view needs = {};     ///< a key beside it without which it may not stand
  std::string_view excludes = {};  ///< a key beside it that may not stand with it
};

/// In the order of config/box-100g.yaml, each key once. A list or mapping that only makes sense as a whole is one key.
std::span<const BoxKey> box_keys();

struct KeyChange {
  std::string_view key;
  bool live;
  std::string before;
  std::string after;
};

/// The keys whose value differs in `after`. Another spelling of the same value is not a change.
std::vector<KeyChange> changes(const BoxConfig& before, const BoxConfig& after);

/// Throws std::invalid_argument, whose text lists kPolicyNames, for any other name.
flow::Policy policy_of(std::string_view name);

}  // namespace longhaul::config
