// SPDX-License-Identifier: BSD-3-Clause
// The switch that schemata.py weaves into mutated sources: all mutants of a sample are compiled in, and one, or none,
// is on. Never part of the product.
//
// LONGHAUL_MUTANT: the number of the mutant that is on; none without it.
// LONGHAUL_MUTANTS_REACHED: a file in which the byte of each mutant that is come by becomes 1. It is mapped, so that it
// has also what processes reached that were killed.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace longhaul_mutation {

inline constexpr int kMost = 1 << 16;

struct State {
  int chosen = -1;
  volatile char* reached = nullptr;

  State() noexcept {
    if (const char* text = std::getenv("LONGHAUL_MUTANT")) chosen = std::atoi(text);
    const char* path = std::getenv("LONGHAUL_MUTANTS_REACHED");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0) return;
    if (ftruncate(file, kMost) == 0) {
      void* const map = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (map != MAP_FAILED) reached = static_cast<volatile char*>(map);
    }
    close(file);
  }
};

// Ready before any static object that uses it, whatever the order of files is.
inline const State& state() noexcept {
  static const State one;
  return one;
}

inline bool come_by(int number) noexcept {
  const State& now = state();
  if (now.reached != nullptr) now.reached[number] = 1;
  return now.chosen == number;
}

// What the compiler computes itself stays as it is.
constexpr bool is_on(int number) noexcept { return std::is_constant_evaluated() ? false : come_by(number); }

}  // namespace longhaul_mutation
