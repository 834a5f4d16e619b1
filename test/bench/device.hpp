// SPDX-License-Identifier: BSD-3-Clause
// What is measured: something between a host port and a WAN port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flow/side.hpp"

namespace longhaul::bench {

/// Gets its frames from the ports' rings in chunks, one device at a time.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  /// Answers in the responder's name, and absorbs the responder's own answers.
  virtual bool accelerates() const { return false; }
  /// Its processor is also the generator's, which must let go of it while it waits.
  virtual bool shares_processor() const { return false; }
  /// What becomes of the MAC addresses (the first 12 bytes) of a frame that is to leave by `out`.
  virtual void rewrite(Side out, std::uint8_t* frame) const {}

  virtual void resume() = 0;
  /// Between chunks only; the device then uses no processor.
  virtual void pause() = 0;

  /// A chunk is about to come; what this costs is in no figure.
  virtual void prepare() {}
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
