// SPDX-License-Identifier: BSD-3-Clause
// What the measuring programs share: options, and how they end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/command/json_file.hpp"
#include "drivers/eal.hpp"
#include "test/bench/trial.hpp"

namespace CLI {
class App;
}

namespace longhaul::bench {

inline constexpr std::uint32_t kPortIn = 1024;  ///< frames; as many as a NIC's receive queue has
inline constexpr std::uint32_t kPortOut = 4096;

struct ProgramOptions {
  TrialOptions trial;
  std::vector<unsigned> cores = {0, 1};  ///< the device's and the generator's
  bool hugepages = false;
  std::string huge_dir;
  std::string json;
  bool memory = false;  ///< only say how much memory is needed

  void add_to(CLI::App& app);
  bool share_core() const { return cores[0] == cores[1]; }
};

/// For DPDK, with this much memory, in bytes: the generator on its core, and a worker for each of `devices`.
drivers::EalOptions eal_options(const std::string& program, const ProgramOptions& options, std::uint64_t memory_bytes,
                                std::size_t devices);

/// Writes to `path`, or to standard output if `path` is empty.
void write_document(const std::string& path, const app::Json& document);

/// Returns what `measure` returns; 2 after an std::invalid_argument; 1 after any other exception. Prints an exception's
/// text.
int run_program(const char* name, const std::function<int()>& measure);

}  // namespace longhaul::bench
