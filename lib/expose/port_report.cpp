// SPDX-License-Identifier: BSD-3-Clause
#include "expose/port_report.hpp"

#include <fmt/format.h>

namespace longhaul::expose {

std::string report_line(std::string_view name, std::uint64_t value, std::string_view help) {
  return fmt::format("  {:>14}  {:<28} {}\n", value, name, help);
}

void add_port_figures(Json& out, std::string_view prefix, const PortStats& stats) {
  for (const PortFigure& figure : kPortFigures) out[fmt::format("{}{}", prefix, figure.name)] = stats.*figure.value;
}

std::string port_table(std::string_view prefix, const PortStats& stats) {
  std::string out;
  for (const PortFigure& figure : kPortFigures)
    if (stats.*figure.value != 0)
      out += report_line(fmt::format("{}{}", prefix, figure.name), stats.*figure.value, "counted by the port");
  return out;
}

}  // namespace longhaul::expose
