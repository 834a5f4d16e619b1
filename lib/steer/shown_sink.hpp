// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/engine.hpp"
#include "steer/spreader.hpp"

namespace longhaul::steer {

/// Passes everything on to another sink, except the frames that a Spreader has shown to the engine. The originals of
/// those have left the box already, so the copies end here.
class ShownSink final : public engine::Sink {
 public:
  /// Both must outlive it.
  ShownSink(engine::Sink& next, const Spreader& spreader) : next_(next), spreader_(spreader) {}
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;

 private:
  engine::Sink& next_;
  const Spreader& spreader_;
};

}  // namespace longhaul::steer
