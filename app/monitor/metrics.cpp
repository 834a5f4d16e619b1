// SPDX-License-Identifier: BSD-3-Clause
// `longhaul metrics`: what a box exposes.
#include <fmt/format.h>

#include <memory>

#include "app/command/guard.hpp"
#include "app/command/json_file.hpp"
#include "app/command/subcommands.hpp"
#include "expose/counter_places.hpp"
#include "expose/families.hpp"

namespace longhaul::app {
namespace {

std::string name_of(metrics::Counter counter) {
  return std::string(metrics::kCounterInfo[static_cast<std::size_t>(counter)].name);
}

/// Which series belongs to which counter of `--stats`. `less` is subtracted from it; `unit` is what one of it is worth.
Json series_of_counters() {
  Json out = Json::array();
  for (const expose::CounterPlace& place : expose::counter_places()) {
    Json row = {{"counter", name_of(place.counter)}, {"series", expose::series_name(place)}, {"unit", place.unit}};
    if (place.less) row["less"] = name_of(*place.less);
    out.push_back(row);
  }
  return out;
}

}  // namespace

void add_metrics(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("metrics", "list the metrics that a box exports to Prometheus (Markdown)");
  command->add_flag("--json", *json, "print as JSON which counter of `longhaul run --stats` each series comes from");
  command->callback([json, &exit_code] {
    exit_code = guarded("metrics", [&json] {
      fmt::print("{}", *json ? series_of_counters().dump(2) + "\n" : expose::metrics_page());
      return 0;
    });
  });
}

}  // namespace longhaul::app
