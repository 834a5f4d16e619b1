// SPDX-License-Identifier: BSD-3-Clause
// What the programs that run random worlds share: how they begin and end, their jobs, and how they simplify a case.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/case.hpp"

namespace CLI {
class App;
}

namespace longhaul::test {

/// Returns what `body` returns; 2 for a wrong command line or an std::invalid_argument; 1 after any other exception.
/// Prints an exception's text.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// A process that works in parallel with others, and the end of the pipe that it writes to.
struct Job {
  pid_t process;
  int pipe;
};
/// Each job does `work` with its number and its own end of the pipe. It ends with 0, or with 3 after an exception,
/// whose text it prints. Throws std::runtime_error if no pipe can be made.
std::vector<Job> start_jobs(unsigned count, const std::function<void(unsigned number, int pipe)>& work);

/// Writes or reads exactly `bytes` bytes. Throws std::runtime_error if the other end of the pipe is closed.
void write_all(int pipe, const void* data, std::size_t bytes);
void read_all(int pipe, void* data, std::size_t bytes);

/// Starts jobs, has `take` read what each one writes, and waits for them. Throws std::runtime_error if one failed.
void run_jobs(unsigned count, const std::function<void(unsigned number, int pipe)>& work,
              const std::function<void(int pipe)>& take);

/// The sum of what `work` returns in each job.
std::uint64_t sum_of_jobs(unsigned count, const std::function<std::uint64_t(unsigned number)>& work);

/// A case that `fails` as well and that no single step makes simpler. When `patience` ends, the simplest one found so
/// far.
sim::Case shrink(sim::Case c, const std::function<bool(const sim::Case&)>& fails, std::chrono::seconds patience);

}  // namespace longhaul::test
