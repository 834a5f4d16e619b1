// SPDX-License-Identifier: BSD-3-Clause
// What the measuring programs have in common: options, and how they end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/command/json_file.hpp"
#include "test/bench/trial.hpp"

namespace CLI {
class App;
}

namespace longhaul::bench {

inline constexpr std::uint32_t kPortIn = 1024;  ///< frames: what a NIC's receive queue has
inline constexpr std::uint32_t kPortOut = 4096;

struct ProgramOptions {
  TrialOptions trial;
  std::vector<unsigned> cores = {0, 1};  ///< the device's, the generator's
  bool hugepages = false;
  std::string huge_dir;
  std::string json;
  bool memory = false;  ///< only say how much is needed

  void add_to(CLI::App& app);
  bool share_core() const { return cores[0] == cores[1]; }
};

/// To `path`, or to standard output when that is empty.
void write_document(const std::string& path, const app::Json& document);

/// What `measure` returns; 2 after an std::invalid_argument, 1 after any other exception, whose words are printed.
int run_program(const char* name, const std::function<int()>& measure);

}  // namespace longhaul::bench
