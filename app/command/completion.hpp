// SPDX-License-Identifier: BSD-3-Clause
// What may follow on an unfinished command line, for the completion of shells (config/completion). It follows from the
// commands and options themselves.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace longhaul::app {

/// The word behind the program's name by which a shell asks. It is not in the help.
inline constexpr const char* kCompleteCommand = "__complete";

/// Names that can be a value, by what the help calls it: "BOX".
using ValueSources = std::map<std::string, std::function<std::vector<std::string>()>, std::less<>>;

struct Completions {
  struct Candidate {
    std::string word;
    std::string description;  ///< one line; may be empty
  };
  enum class Others : std::uint8_t { none, files, directories };
  std::vector<Candidate> candidates;  ///< all of them begin with the last word
  Others others = Others::none;       ///< what else fits, which the shell knows

  /// A line for each candidate, "WORD\tDESCRIPTION", and at the end ":", ":files" or ":directories".
  std::string to_lines() const;
};

/// `words` are those behind the program's name. The last is unfinished, and may be empty.
Completions complete(const CLI::App& app, std::span<const std::string> words, const ValueSources& sources);

}  // namespace longhaul::app
