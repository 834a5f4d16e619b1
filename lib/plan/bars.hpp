// SPDX-License-Identifier: BSD-3-Clause
// Values as bars of characters: a picture for a terminal, without gnuplot.
#pragma once

#include <string>

#include "plan/plot.hpp"

namespace longhaul::plan {

/// The plot's points as horizontal bars, grouped by x, from zero and to one scale; its lines are left out. ASCII, at
/// most 100 columns. Empty if there is no point.
std::string bars(const Plot& plot);

}  // namespace longhaul::plan
