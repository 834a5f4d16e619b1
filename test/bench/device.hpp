// SPDX-License-Identifier: BSD-3-Clause
// What is measured: a device between a host port and a WAN port.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "base/side.hpp"

namespace longhaul::bench {

/// What a device does to frames, as far as their senders and checkers must know.
class Treatment {
 public:
  virtual ~Treatment() = default;

  /// The device answers requests from the host side in the responder's name, and absorbs the responder's own answers.
  virtual bool accelerates() const { return false; }
  /// Does to the MAC addresses (the first 12 bytes) what the device does for a frame that leaves by `out`.
  virtual void rewrite(Side out, std::uint8_t* frame) const {}
};

/// Takes its frames from the ports' rings in chunks. One device works at a time.
class Device : public Treatment {
 public:
  virtual std::string name() const = 0;
  /// The device and the generator share a processor, so the generator must yield while it waits.
  virtual bool shares_processor() const { return false; }

  virtual void resume() = 0;
  /// Call between chunks only. The device then uses no processor.
  virtual void pause() = 0;

  /// Lets `time` pass for the device, in which no frame comes.
  virtual void wait(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }
  /// A chunk is about to come. `measured` says whether it counts. No figure contains the cost of this call.
  virtual void prepare(bool measured) {}
  /// A chunk of `frames` is in the ports' rings.
  virtual void offered(std::uint64_t frames) = 0;
  struct Work {
    std::optional<std::uint64_t> busy;  ///< TSC cycles that it worked on the chunk, if it can tell
  };
  /// The work on the last chunk, or nothing while it goes on. Throws std::runtime_error if it will never be done.
  virtual std::optional<Work> done() = 0;

  /// Whether the kernel took the device's core away during the last chunk. May cost time.
  virtual bool preempted() const = 0;

  /// Says what is wrong inside once everything is answered. Empty if nothing is.
  virtual std::string complaint() const { return {}; }
};

}  // namespace longhaul::bench
