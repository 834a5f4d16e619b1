// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/testpmd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "app/box/box_loop.hpp"

namespace longhaul::bench {

namespace {

// Another process's lcore numbers must differ from ours: per-lcore caches of pools are in shared memory.
constexpr unsigned kMainLcore = 100;
constexpr unsigned kForwardingLcore = 101;

constexpr std::uint64_t kLooksPerCheck = 1 << 16;
constexpr int kPatienceMs = 20'000;

[[noreturn]] void become(const std::vector<std::string>& arguments, int input, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "%s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

void make_pipe(int* ends) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
}

}  // namespace

Testpmd::Testpmd(RingPorts& ports, const TestpmdOptions& options, MacDevice::Mode mode)
    : ports_(ports), options_(options), mode_(mode) {
  std::vector<std::string> arguments = {
      "stdbuf",
      "-oL",  // its output must arrive line by line
      options.program,
      "--proc-type=secondary",
      fmt::format("--lcores={}@{},{}@{}", kMainLcore, options.generator_core, kForwardingLcore, options.device_core),
      "--file-prefix=" + options.shared_as,
      "--no-pci",
      "--no-telemetry",
      "--log-level=error"};
  if (!options.huge_dir.empty()) arguments.push_back("--huge-dir=" + options.huge_dir);
  arguments.insert(arguments.end(),
                   {"--", "-i", "--num-procs=1", "--proc-id=0", "--nb-cores=1", "--no-flush-rx",
                    fmt::format("--burst={}", app::BoxLoop::kBurst),
                    std::string("--forward-mode=") + (mode == MacDevice::Mode::swap ? "macswap" : "mac")});
  int in[2];
  int out[2];
  make_pipe(in);
  make_pipe(out);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(arguments, in[0], out[1], parent);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  if (pid_ < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
  wait_for("testpmd>");
  worker_.emplace(pid_, fmt::format("rte-worker-{}", kForwardingLcore));
}

Testpmd::~Testpmd() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);  // all that testpmd holds belongs to this process
    waitpid(pid_, nullptr, 0);
  }
  close(input_);
  close(output_);
}

void Testpmd::tell(const std::string& command) const {
  if (write(input_, command.data(), command.size()) != static_cast<ssize_t>(command.size())) ended();
}

void Testpmd::wait_for(const std::string& words) const {
  const int log = open(options_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  std::string said;
  bool there = false;
  while (!there) {
    pollfd ready{output_, POLLIN, 0};
    char text[4096];
    const ssize_t size = poll(&ready, 1, kPatienceMs) == 1 ? read(output_, text, sizeof(text)) : 0;
    if (size <= 0) break;
    said.append(text, static_cast<std::size_t>(size));
    if (log >= 0 && write(log, text, static_cast<std::size_t>(size)) < 0) break;
    there = said.find(words) != std::string::npos;
  }
  close(log);
  if (!there) ended();
}

void Testpmd::ended() const {
  throw std::runtime_error(
      fmt::format("{} ended or does not answer; what it said is in {}", options_.program, options_.log));
}

void Testpmd::resume() { tell("start\n"); }

void Testpmd::pause() {
  tell("stop\n");
  wait_for("Done.");
}

std::optional<Device::Work> Testpmd::done() {
  if (ports_.sent(Side::host) + ports_.sent(Side::wan) >= awaited_) return Work{};
  if (++looked_ % kLooksPerCheck == 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) ended();
  return std::nullopt;
}

}  // namespace longhaul::bench
