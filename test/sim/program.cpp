// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

namespace longhaul::test {

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

std::vector<Job> start_jobs(unsigned count, const std::function<void(unsigned number, int pipe)>& work) {
  std::vector<Job> jobs;
  std::fflush(nullptr);  // otherwise each job also prints what waits here
  for (unsigned number = 0; number < count; ++number) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      try {
        work(number, ends[1]);
      } catch (const std::exception& error) {
        std::cerr << "job " << number << ": " << error.what() << "\n";
        std::_Exit(3);
      }
      std::_Exit(0);
    }
    close(ends[1]);
    jobs.push_back({child, ends[0]});
  }
  return jobs;
}

void write_all(int pipe, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t done = write(pipe, at, bytes);
    if (done <= 0) throw std::runtime_error("nobody reads what this job has found");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void read_all(int pipe, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t done = read(pipe, at, bytes);
    if (done <= 0) throw std::runtime_error("a job ended early");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void run_jobs(unsigned count, const std::function<void(unsigned, int)>& work, const std::function<void(int)>& take) {
  bool well = true;
  for (const Job& job : start_jobs(count, work)) {
    take(job.pipe);
    close(job.pipe);
    int status = 0;
    waitpid(job.process, &status, 0);
    well = well && status == 0;
  }
  if (!well) throw std::runtime_error("a job failed");
}

std::uint64_t sum_of_jobs(unsigned count, const std::function<std::uint64_t(unsigned)>& work) {
  std::uint64_t sum = 0;
  run_jobs(
      count,
      [&](unsigned number, int pipe) {
        const std::uint64_t found = work(number);
        write_all(pipe, &found, sizeof(found));
      },
      [&](int pipe) {
        std::uint64_t found = 0;
        read_all(pipe, &found, sizeof(found));
        sum += found;
      });
  return sum;
}

sim::Case shrink(sim::Case c, const std::function<bool(const sim::Case&)>& fails, std::chrono::seconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + patience;
  for (bool simpler = true; simpler && Clock::now() < until;) {
    simpler = false;
    for (const sim::Case& candidate : sim::simpler(c)) {
      if (Clock::now() >= until) break;
      if (!fails(candidate)) continue;
      c = candidate;
      simpler = true;
      break;
    }
  }
  return c;
}

}  // namespace longhaul::test
