// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/logging.hpp"

#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

namespace longhaul::app {
namespace {

std::string_view priority(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::critical:
      return SD_CRIT;
    case spdlog::level::err:
      return SD_ERR;
    case spdlog::level::warn:
      return SD_WARNING;
    case spdlog::level::info:
      return SD_INFO;
    default:
      return SD_DEBUG;
  }
}

class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& to) override {
    to.append(priority(message.level));
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PriorityFlag>(); }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  JsonFormatter(std::string name, bool with_priority) : name_(std::move(name)), with_priority_(with_priority) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    using std::chrono::milliseconds;
    const auto since = std::chrono::duration_cast<milliseconds>(message.time.time_since_epoch());
    const std::time_t second = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    const std::string_view level(message.level == spdlog::level::warn ? "warning" : to_name(message.level));
    const nlohmann::ordered_json json = {
        {"ts", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(second), since.count() % 1000)},
        {"level", level},
        {"name", name_},
        {"message", std::string(message.payload.data(), message.payload.size())}};
    if (with_priority_) to.append(priority(message.level));
    // What others wrote need not be UTF-8.
    to.append(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    to.push_back('\n');
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormatter>(name_, with_priority_); }

 private:
  static std::string_view to_name(spdlog::level::level_enum level) {
    const auto name = spdlog::level::to_string_view(level);
    return {name.data(), name.size()};
  }

  std::string name_;
  bool with_priority_;
};

bool as_json = false;

bool to_journal() {
  static const bool journal = is_journal(std::getenv("JOURNAL_STREAM"), STDERR_FILENO);
  return journal;
}

}  // namespace

bool is_journal(const char* stream, int descriptor) {
  if (stream == nullptr) return false;
  const std::string_view text = stream;
  const char* end = text.data() + text.size();
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  const auto [colon, error] = std::from_chars(text.data(), end, device);
  if (error != std::errc{} || colon == end || *colon != ':') return false;
  const auto [last, second_error] = std::from_chars(colon + 1, end, inode);
  if (second_error != std::errc{} || last != end) return false;
  struct stat file {};
  return fstat(descriptor, &file) == 0 && file.st_dev == device && file.st_ino == inode;
}

void set_up_logging() {
  if (!to_journal()) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("longhaul"));
    spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    return;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("longhaul"));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PriorityFlag>('*').set_pattern("%*%l: %v");
  spdlog::set_formatter(std::move(formatter));
}

void log_as_json(std::string name) {
  as_json = true;
  spdlog::set_formatter(std::make_unique<JsonFormatter>(std::move(name), to_journal()));
}

void tell_failure(std::string_view command, std::string_view why) {
  if (as_json)
    spdlog::error("longhaul {}: {}", command, why);
  else
    fmt::print(stderr, "{}longhaul {}: {}\n", failure_prefix(), command, why);
}

std::string_view failure_prefix() { return to_journal() ? std::string_view(SD_ERR) : std::string_view(); }

}  // namespace longhaul::app
