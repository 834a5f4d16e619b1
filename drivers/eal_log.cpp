// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/eal_log.hpp"

#include <rte_log.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace longhaul::drivers {
namespace {

// A message may come in parts. The stream's own lock is held during write().
struct Lines {
  void (*tell)(std::string_view);
  std::string begun;
};

ssize_t write(void* cookie, const char* bytes, std::size_t count) {
  Lines& lines = *static_cast<Lines*>(cookie);
  lines.begun.append(bytes, count);
  for (std::size_t end = 0; (end = lines.begun.find('\n')) != std::string::npos; lines.begun.erase(0, end + 1))
    if (end > 0) lines.tell(std::string_view(lines.begun).substr(0, end));
  return static_cast<ssize_t>(count);
}

}  // namespace

void take_eal_log(void (*tell)(std::string_view line)) {
  static Lines lines;
  lines.tell = tell;
  FILE* stream = fopencookie(&lines, "w", {nullptr, write, nullptr, nullptr});
  if (stream == nullptr || rte_openlog_stream(stream) != 0)
    throw std::system_error(errno, std::generic_category(), "the log of DPDK");
}

}  // namespace longhaul::drivers
