// SPDX-License-Identifier: BSD-3-Clause
// What a word of the command line is.
#pragma once

#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace longhaul::app {

/// It begins with a dash. A dash alone is a value: standard input.
inline bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// The commands directly below `app` that its help shows.
inline std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

}  // namespace longhaul::app
