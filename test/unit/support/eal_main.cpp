// SPDX-License-Identifier: BSD-3-Clause
// For tests that need mbufs. The EAL can start only once per process, so the program starts it, in ordinary memory.
#include "catch_session.hpp"
#include "drivers/eal.hpp"

int main(int argc, char** argv) {
  longhaul::drivers::EalOptions options;
  options.hugepages = false;
  options.memory_bytes = 256ull << 20;
  const longhaul::drivers::Eal eal(options);
  return longhaul::test::run_test_cases(argc, argv);
}
