// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/program.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <stdexcept>

namespace longhaul::bench {

void ProgramOptions::add_to(CLI::App& app) {
  app.add_option("--rounds", trial.rounds, "A B C, A B C, ...")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--packets", trial.packets, "of each device in each round, at least two a connection")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--cores", cores, "processors: the device's, the generator's")->expected(2)->capture_default_str();
  app.add_flag("--hugepages", hugepages, "use hugepages, as a box in production does");
  app.add_option("--huge-dir", huge_dir, "where hugetlbfs is mounted (for testpmd)");
  app.add_option("--json", json, "write the document there instead of to standard output");
  app.add_flag("--memory", memory, "print the bytes of memory this choice needs, measure nothing");
}

drivers::EalOptions eal_options(const std::string& program, const ProgramOptions& options, std::uint64_t memory_bytes,
                                std::size_t devices) {
  drivers::EalOptions eal;
  eal.program = program;
  eal.hugepages = options.hugepages;
  eal.huge_dir = options.huge_dir;
  eal.memory_bytes = memory_bytes;
  eal.core = options.cores[1];
  eal.workers.assign(devices, options.cores[0]);
  return eal;
}

void write_document(const std::string& path, const app::Json& document) {
  if (path.empty())
    std::cout << document.dump(1) << "\n";
  else
    app::write_atomically(path, document);
}

int run_program(const char* name, const std::function<int()>& measure) {
  try {
    return measure();
  } catch (const std::invalid_argument& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return 1;
  }
}

}  // namespace longhaul::bench
