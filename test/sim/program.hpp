// SPDX-License-Identifier: BSD-3-Clause
// What the programs that run random worlds have in common: how they begin and end, their jobs, and how they make a case
// simpler.
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

/// What `body` returns; 2 for a wrong command line or an std::invalid_argument, 1 after any other exception, whose
/// words are printed.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// A process that works beside others, and the end of the pipe that it writes to.
struct Job {
  pid_t process;
  int pipe;
};
/// Each does `work` with its number and its own end of the pipe, and ends: with 3 after an exception, whose words are
/// printed, else with 0. Throws std::runtime_error when there is no pipe.
std::vector<Job> start_jobs(unsigned count, const std::function<void(unsigned number, int pipe)>& work);

/// Writes or reads exactly `bytes` bytes. Throws std::runtime_error if the other end of the pipe is closed.
void write_all(int pipe, const void* data, std::size_t bytes);
void read_all(int pipe, void* data, std::size_t bytes);

/// Starts jobs, has `take` read what each writes, and waits for them. Throws std::runtime_error when one failed.
void run_jobs(unsigned count, const std::function<void(unsigned number, int pipe)>& work,
              const std::function<void(int pipe)>& take);

/// The sum of what `work` returns in each job.
std::uint64_t sum_of_jobs(unsigned count, const std::function<std::uint64_t(unsigned number)>& work);

/// A case that `fails` as well and cannot be made simpler by one step; when `patience` ends, the simplest found so far.
sim::Case shrink(sim::Case c, const std::function<bool(const sim::Case&)>& fails, std::chrono::seconds patience);

}  // namespace longhaul::test
