// SPDX-License-Identifier: BSD-3-Clause
// The output of linerate: one JSON document, and a line per point while it runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/command/json_file.hpp"
#include "test/bench/trial.hpp"

namespace longhaul::bench {

/// The median and the values themselves, one per round.
app::Json summary(const std::vector<double>& values);

/// Processor, DPDK, memory.
app::Json describe_machine(bool hugepages, unsigned generator_core, unsigned device_core);

/// How the measurement was made, in words and numbers.
app::Json describe_method(const TrialOptions& options, const RingPorts& ports);

/// One point: each device's figures, the ratios between devices in the same round, and what is wrong.
app::Json describe(const Point& point, std::span<const DeviceResult> results);

/// The head of the table, and a row of it from describe()'s result.
std::string table_head();
std::string table_row(const app::Json& point);

}  // namespace longhaul::bench
