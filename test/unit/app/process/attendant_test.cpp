// SPDX-License-Identifier: BSD-3-Clause
// What the log says of work that cannot be done.
#include "app/process/attendant.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

using namespace longhaul::app;

namespace {

/// Lets work of this kind fail three times and go well twice; what the log said.
template <typename Error>
std::string log_of_failing() {
  std::ostringstream said;
  const auto before = spdlog::default_logger();
  const auto logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  logger->set_pattern("%l: %v");
  spdlog::set_default_logger(logger);
  std::atomic<int> tries{0};
  {
    Attendant attendant("lh-test");
    attendant.every(std::chrono::milliseconds(1), "the survey", [&tries] {
      if (++tries <= 3) throw Error("worker 1");
    });
    attendant.start();
    while (tries < 5) std::this_thread::yield();
  }
  spdlog::set_default_logger(before);
  return said.str();
}

}  // namespace

TEST_CASE("work that waits is a warning, once, which says for what and until when, and its going on is told") {
  const std::string said = log_of_failing<Postponed>();
  CHECK(
      said.starts_with("warning: the survey waits for worker 1; the next try is in 0.001 s\n"
                       "info: the survey goes on after "));
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
}

TEST_CASE("work that fails is an error, once") {
  const std::string said = log_of_failing<std::runtime_error>();
  CHECK(said.starts_with("error: the survey: worker 1; the next try is in 0.001 s\ninfo: the survey goes on after "));
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
}
