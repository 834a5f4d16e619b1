// SPDX-License-Identifier: BSD-3-Clause
#include "app/link/link_report.hpp"

#include <fmt/format.h>

#include "expose/port_report.hpp"

namespace longhaul::app {

void add_link_counters(Json& out, const std::string& direction, const link::Counters& counters) {
  counters.each(
      [&](const char* name, const char*, std::uint64_t value) { out[fmt::format("{}_{}", direction, name)] = value; });
}

std::string link_table(const std::string& direction, const link::Counters& counters) {
  std::string out;
  counters.each([&](const char* name, const char* help, std::uint64_t value) {
    if (value != 0) out += expose::report_line(fmt::format("{}_{}", direction, name), value, help);
  });
  return out;
}

}  // namespace longhaul::app
