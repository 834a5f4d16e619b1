// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/logging.hpp"

#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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

std::string_view failure_prefix() { return to_journal() ? std::string_view(SD_ERR) : std::string_view(); }

}  // namespace longhaul::app
