// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/preemptions.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace longhaul::bench {

long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

OtherThread::OtherThread(pid_t pid, std::string_view name) {
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(thread.path() / "comm");
    if (std::string comm; !std::getline(file, comm) || comm != name) continue;
    status_ = open((thread.path() / "status").c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (status_ < 0) throw std::runtime_error(fmt::format("process {} has no thread {}", pid, name));
}

OtherThread::~OtherThread() { close(status_); }

long OtherThread::preemptions() const {
  constexpr std::string_view kKey = "nonvoluntary_ctxt_switches:";
  char text[8192];
  const ssize_t size = pread(status_, text, sizeof(text) - 1, 0);
  if (size <= 0) return -1;
  text[size] = 0;
  const std::string_view all(text, static_cast<std::size_t>(size));
  const std::size_t at = all.find(kKey);
  return at == std::string_view::npos ? -1 : std::strtol(text + at + kKey.size(), nullptr, 10);
}

}  // namespace longhaul::bench
