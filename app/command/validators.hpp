// SPDX-License-Identifier: BSD-3-Clause
// What an option accepts, said in words: CLI11's own checks show C++ types and lists in braces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace longhaul::app {

/// One of these names. Otherwise: "expected off, window or full, got "ful"; did you mean "full"?".
CLI::Validator one_of(std::vector<std::string> names);
CLI::Validator one_of(std::span<const std::string_view> names);

/// A whole decimal number from `least` to `most`.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

/// A decimal number from `least` to `most`, such as 0.5.
CLI::Validator number(double least, double most);

CLI::Validator existing_directory();

/// An option whose value is one of a few names. In the help it is followed by all of them ("write|send|read"), which
/// completion offers, too.
template <typename Enum>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Enum& value,
                        std::vector<std::pair<std::string, Enum>> choices, const std::string& help) {
  std::vector<std::string> names;
  for (const auto& [word, meaning] : choices) names.push_back(word);
  return command
      .add_option_function<std::string>(
          name,
          [&value, choices](const std::string& word) {
            value = std::find_if(choices.begin(), choices.end(), [&](const auto& one) {
                      return one.first == word;
                    })->second;
          },
          help)
      ->type_name(fmt::format("{}", fmt::join(names, "|")))
      ->check(one_of(names));
}

}  // namespace longhaul::app
