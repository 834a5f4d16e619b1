// SPDX-License-Identifier: BSD-3-Clause
// What is measured: something between a host port and a WAN port.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "base/side.hpp"

namespace longhaul::bench {

/// What becomes of frames, as far as those who send and check them must know.
class Treatment {
 public:
  virtual ~Treatment() = default;

  /// Requests from the host side are answered in the responder's name, and the responder's own answers end here.
  virtual bool accelerates() const { return false; }
  /// What becomes of the MAC addresses (the first 12 bytes) of a frame that is to leave by `out`.
  virtual void rewrite(Side out, std::uint8_t* frame) const {}
};

/// Gets its frames from the ports' rings in chunks, one device at a time.
class Device : public Treatment {
 public:
  virtual std::string name() const = 0;
  /// Its processor is also the generator's, which must let go of it while it waits.
  virtual bool shares_processor() const { return false; }

  virtual void resume() = 0;
  /// Between chunks only; the device then uses no processor.
  virtual void pause() = 0;

  /// So much of the device's time passes, in which nothing comes.
  virtual void wait(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }
  /// A chunk is about to come, which counts or does not; what this costs is in no figure.
  virtual void prepare(bool measured) {}
  /// `frames` were put into the ports' rings: a chunk.
  virtual void offered(std::uint64_t frames) = 0;
  struct Work {
    std::optional<std::uint64_t> busy;  ///< TSC cycles it worked on the chunk, when it can be asked
  };
  /// Its work on the last chunk; nothing while it goes on. Throws std::runtime_error when it never will be done.
  virtual std::optional<Work> done() = 0;

  /// The chunk that is done: the kernel took the device's core away meanwhile. May cost time.
  virtual bool preempted() const = 0;

  /// Everything has been answered: what is wrong inside, in words; empty when nothing is.
  virtual std::string complaint() const { return {}; }
};

}  // namespace longhaul::bench
