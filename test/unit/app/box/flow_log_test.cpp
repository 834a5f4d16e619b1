// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/flow_log.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <catch2/catch.hpp>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace longhaul;

namespace {

/// What is logged while it lives, by line.
class Logged {
 public:
  Logged() {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_));
    logger->set_pattern("%v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~Logged() { spdlog::set_default_logger(before_); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

  std::size_t lines_with(const std::string& words) const {
    std::istringstream lines(text_.str());
    std::size_t found = 0;
    for (std::string line; std::getline(lines, line);) found += line.find(words) != std::string::npos;
    return found;
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

custody::FlowIdentity flow_of(unsigned tenant) {
  custody::FlowIdentity flow;
  flow.requester = wire::IpAddress::parse("10." + std::to_string(tenant) + ".0.1");
  flow.responder = wire::IpAddress::parse("10." + std::to_string(tenant) + ".0.2");
  return flow;
}

}  // namespace

TEST_CASE("hosts whose connections fail by the hundred leave log lines for others", "[app][fair]") {
  const Logged logged;
  app::FlowLog log;
  const Time now = seconds(5);
  for (unsigned i = 0; i < 1000; ++i) log.on_flow_failed(flow_of(1), "no answer", 100, now);
  for (unsigned i = 0; i < 3; ++i) log.on_unconfirmed_at_close(flow_of(2), 1, 100, now);
  CHECK(logged.lines_with("10.1.0.1") == app::FlowLog::kLinesPerSecond / 2);
  CHECK(logged.lines_with("10.2.0.1") == 3);

  log.on_closed_untold(flow_of(3), 100, now + seconds(1));
  INFO(logged.text());
  CHECK(logged.lines_with("990 messages about connections were suppressed, 990 of them about 10.1.0.1 -> 10.1.0.2") ==
        1);
  CHECK(logged.lines_with("10.3.0.1") == 1);
}
