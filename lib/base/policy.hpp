// SPDX-License-Identifier: BSD-3-Clause
// What may be acknowledged of a flow, and how the configuration, commands and views spell it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul {

enum class Policy : std::uint8_t {
  off,     ///< learn and count only
  window,  ///< acknowledge within messages, never their ends: completions stay end-to-end true
  full,    ///< acknowledge everything in custody
};
inline constexpr std::size_t kPolicies = static_cast<std::size_t>(Policy::full) + 1;

inline constexpr std::array<std::string_view, kPolicies> kPolicyNames = {"off", "window", "full"};
constexpr std::string_view name_of(Policy policy) { return kPolicyNames[static_cast<std::size_t>(policy)]; }

}  // namespace longhaul
