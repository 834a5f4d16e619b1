// SPDX-License-Identifier: BSD-3-Clause
#include "app/process/log_choice.hpp"

#include <string_view>

#include <spdlog/spdlog.h>

#include "app/command/logging.hpp"
#include "drivers/eal_log.hpp"

namespace longhaul::app {

void choose_log(const config::ProcessConfig& config, const std::string& name) {
  if (config.log_format != config::LogFormat::json) return;
  log_as_json(name);
  // EAL is told to log errors only.
  drivers::take_eal_log([](std::string_view line) { spdlog::error("{}", line); });
}

}  // namespace longhaul::app
