// SPDX-License-Identifier: BSD-3-Clause
// The two ports of a replayed box: each outgoing frame is counted and passed on with the replay's time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "engine/engine.hpp"

namespace longhaul::replay {

/// Takes the frames that a replayed box sends.
class Output {
 public:
  virtual ~Output() = default;
  virtual void write(Side out, std::span<const std::uint8_t> frame, Time at) = 0;
};

/// Accepts every frame at once, as an idle port does.
class Collector final : public engine::Sink {
 public:
  explicit Collector(Output& output) : output_(output) {}

  void set_time(Time now) { now_ = now; }
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;
  std::uint64_t emitted(Side side) const { return emitted_[side]; }

 private:
  Output& output_;
  Time now_ = 0;
  BySide<std::uint64_t> emitted_{};
  std::vector<std::uint8_t> scratch_;
};

}  // namespace longhaul::replay
