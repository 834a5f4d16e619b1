// SPDX-License-Identifier: BSD-3-Clause
// Worlds that are kept in files. Lines that begin with # say what each one was; the rest is one case.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "sim/case.hpp"

namespace longhaul::test {

/// The cases in `folder` of test/sim, by name. Throws what sim::parse_case throws.
inline std::map<std::string, sim::Case> cases_in(const std::string& folder) {
  std::map<std::string, sim::Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(TEST_ROOT "/sim/" + folder)) {
    if (entry.path().extension() != ".case") continue;
    std::ifstream file(entry.path());
    std::string text;
    for (std::string line; std::getline(file, line);)
      if (!line.starts_with('#')) text += line + " ";
    cases.emplace(entry.path().filename().string(), sim::parse_case(text));
  }
  return cases;
}

}  // namespace longhaul::test
