// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

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
  std::fflush(nullptr);  // else each job prints what waits there as well
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
