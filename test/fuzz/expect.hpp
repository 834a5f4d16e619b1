// SPDX-License-Identifier: BSD-3-Clause
// What a fuzz target demands. If a demand is not met, the process ends and libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

namespace longhaul::fuzz {

[[noreturn]] inline void broken(std::string_view what, const std::source_location& where) {
  std::fprintf(stderr, "\nBROKEN %s:%u: %.*s\n", where.file_name(), where.line(), static_cast<int>(what.size()),
               what.data());
  std::abort();
}

inline void expect(bool holds, std::string_view what,
                   const std::source_location& where = std::source_location::current()) {
  if (!holds) broken(what, where);
}

/// Whether the environment asks for this deliberate defect (LONGHAUL_FUZZ_DEFECT). The target then gives its judge what
/// a defective longhaul would, and must end (tools/fuzz --self-test).
inline bool defect(std::string_view name) {
  static const char* const asked = std::getenv("LONGHAUL_FUZZ_DEFECT");
  return asked != nullptr && name == asked;
}

}  // namespace longhaul::fuzz
