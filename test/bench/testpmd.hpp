// SPDX-License-Identifier: BSD-3-Clause
// dpdk-testpmd as a device: another process that is attached to the same ports and memory.
#pragma once

#include <sys/types.h>

#include <string>

#include "test/bench/device.hpp"
#include "test/bench/devices.hpp"
#include "test/bench/preemptions.hpp"
#include "test/bench/ring_ports.hpp"

namespace longhaul::bench {

struct TestpmdOptions {
  std::string shared_as;        ///< drivers::EalOptions::shared_as of this process
  std::string huge_dir;         ///< this process's huge_dir
  unsigned generator_core = 0;  ///< for testpmd's idle main lcore
  unsigned device_core = 0;     ///< for the lcore that forwards
  std::string log;              ///< file for its output
  std::string program = "dpdk-testpmd";
};

/// Runs from construction to destruction. It forwards only between its own commands `start` and `stop`, so that none of
/// its frames is in the rings while others use them. It cannot say what it does inside. Its chunk is done when as many
/// frames came out as went in.
class Testpmd final : public Device {
 public:
  /// `ports` must have been started. Throws std::runtime_error.
  Testpmd(RingPorts& ports, const TestpmdOptions& options, MacDevice::Mode mode);
  ~Testpmd() override;
  Testpmd(const Testpmd&) = delete;
  Testpmd& operator=(const Testpmd&) = delete;

  std::string name() const override { return mode_ == MacDevice::Mode::swap ? "testpmd-macswap" : "testpmd-mac"; }
  void rewrite(Side out, std::uint8_t* frame) const override { MacDevice::rewrite(mode_, out, frame); }
  void resume() override;
  void pause() override;
  void prepare(bool) override { preemptions_ = worker_->preemptions(); }
  void offered(std::uint64_t frames) override { awaited_ = frames; }
  std::optional<Work> done() override;
  bool preempted() const override { return worker_->preemptions() != preemptions_; }

 private:
  void tell(const std::string& command) const;
  void wait_for(const std::string& words) const;
  [[noreturn]] void ended() const;

  RingPorts& ports_;
  TestpmdOptions options_;
  MacDevice::Mode mode_;
  pid_t pid_ = -1;
  int input_ = -1;   ///< our end of its standard input
  int output_ = -1;  ///< our end of its standard output
  std::uint64_t awaited_ = 0;
  std::uint64_t looked_ = 0;
  std::optional<OtherThread> worker_;  ///< the lcore that forwards
  long preemptions_ = 0;               ///< its preemptions before the chunk
};

}  // namespace longhaul::bench
