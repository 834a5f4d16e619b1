// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>

#include "app/command/logging.hpp"
#include "config/config_error.hpp"

namespace longhaul::app {

/// Runs a subcommand's work. An exception becomes a message on standard error and an exit code.
template <typename Work>
int guarded(const char* command, Work work) {
  try {
    return work();
  } catch (const config::ConfigError& error) {
    tell_failure(command, error.what());
    return 2;
  } catch (const std::exception& error) {
    tell_failure(command, error.what());
    return 1;
  }
}

}  // namespace longhaul::app
