// SPDX-License-Identifier: BSD-3-Clause
// What was wrong with a command line, in words.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace longhaul::app {

/// The commands that were chosen, from `app` itself to the innermost.
std::vector<const CLI::App*> chosen(const CLI::App& app);

/// "longhaul plan depth".
std::string full_name(const CLI::App& command);

/// Two lines: what is wrong and what was probably meant, and where the help is. `app` is the outermost command, whose
/// parse() has thrown `error`.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace longhaul::app
