// SPDX-License-Identifier: BSD-3-Clause
// Takes the place of the C library's getentropy(): the tables' secrets decide which keys collide, and so how many
// instructions a look-up costs. A program that is counted draws the same secrets each time.
//
// LONGHAUL_SEED: which secrets (1).
#include <unistd.h>

#include <cstdlib>
#include <random>

extern "C" int getentropy(void* buffer, std::size_t length) {
  static std::mt19937_64 random(std::getenv("LONGHAUL_SEED") ? std::strtoull(std::getenv("LONGHAUL_SEED"), nullptr, 10)
                                                             : 1);
  auto* bytes = static_cast<unsigned char*>(buffer);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>(random());
  return 0;
}
