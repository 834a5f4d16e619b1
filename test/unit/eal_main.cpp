// SPDX-License-Identifier: BSD-3-Clause
// For tests that need mbufs: the EAL can be started once in a process, so the program does it, in ordinary memory.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "drivers/eal.hpp"

int main(int argc, char** argv) {
  longhaul::drivers::EalOptions options;
  options.hugepages = false;
  options.memory_bytes = 256ull << 20;
  const longhaul::drivers::Eal eal(options);
  return Catch::Session().run(argc, argv);
}
