// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/port_report.hpp"

#include <fmt/format.h>

namespace longhaul::app {

std::string report_line(std::string_view name, std::uint64_t value, std::string_view help) {
  return fmt::format("  {:>14}  {:<28} {}\n", value, name, help);
}

void add_port(Json& out, const std::string& label, const drivers::PortStats& stats) {
  for (const auto& [name, value] : stats.named()) out[fmt::format("port_{}_{}", label, name)] = value;
}

std::string port_table(const std::string& label, const drivers::PortStats& stats) {
  std::string out;
  for (const auto& [name, value] : stats.named()) {
    if (value != 0) out += report_line(fmt::format("port_{}_{}", label, name), value, "counted by the port");
  }
  return out;
}

}  // namespace longhaul::app
