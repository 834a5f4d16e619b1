// SPDX-License-Identifier: BSD-3-Clause
// What NICs do on the wire, as data: one table for each family, one row for each habit, with its source. A row names a
// knob of a host (sim/case.hpp) and the values that are drawn from. "(?)" in a source: it rests on inference or memory,
// and no hardware has shown it. No promise of the product may rest on such a row.
#pragma once

#include <string_view>
#include <vector>

#include "sim/case.hpp"

namespace longhaul::sim {

struct NicHabit {
  std::string_view knob;       ///< of HostPlan
  std::vector<Number> values;  ///< one of them is drawn; kAnyPsn stands for all PSNs
  std::string_view source;     ///< driver files are those of Linux
};
inline constexpr Number kAnyPsn = ~Number{0};

struct NicFamily {
  std::string_view name;  ///< short, for tables
  std::string_view what;
  std::vector<NicHabit> habits;
};

/// HostPlan::nic counts them from 1.
const std::vector<NicFamily>& nic_families();
/// Its name; "-" for a host that has none.
std::string_view nic_name(const HostPlan& host);

/// Applies a family (from 1) to `host`: one chosen value for each of its rows.
void apply_nic(Case& c, unsigned host, Number family, const std::vector<Number>& chosen);

}  // namespace longhaul::sim
