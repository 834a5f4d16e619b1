// SPDX-License-Identifier: BSD-3-Clause
// Ports in memory, for tests and benchmarks: what one end sends the other receives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "drivers/port.hpp"

struct rte_ring;

namespace longhaul::drivers {

/// One end of a wire of two single-producer, single-consumer rings: each end may be used by one thread of its own.
class MemoryPort final : public Port {
 public:
  /// The two ends. `frames` is how many each direction holds before transmit() refuses; rounded up to a power of two,
  /// less one. Throws std::runtime_error when that is impossible. Does not need the EAL; mbufs do.
  static std::pair<std::unique_ptr<MemoryPort>, std::unique_ptr<MemoryPort>> make_wire(const std::string& name,
                                                                                       std::uint32_t frames);

  std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override;
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override;
  std::string describe() const override { return name_; }

 private:
  using Ring = std::shared_ptr<rte_ring>;
  MemoryPort(std::string name, Ring in, Ring out) : name_(std::move(name)), in_(std::move(in)), out_(std::move(out)) {}
  static Ring make_ring(std::uint32_t frames);

  std::string name_;
  Ring in_;
  Ring out_;
};

}  // namespace longhaul::drivers
