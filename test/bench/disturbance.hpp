// SPDX-License-Identifier: BSD-3-Clause
// Frames of hosts that share a box with those that are measured: attacks, or UDP frames of the same sizes at the same
// places.
#pragma once

#include <string>
#include <vector>

#include "test/bench/attacks/table.hpp"
#include "test/bench/stream.hpp"

namespace longhaul::bench {

/// Attacks of the table in turn, each from hosts of its own (10.66.0.0/16 and further).
class Disturbance final : public Stream {
 public:
  enum class Kind : std::uint8_t {
    attacks,
    udp,  ///< to port 9 (discard), with the attacks' addresses, sizes and sides
  };
  /// Each attack has the box hold `held` of what it is about, before its own frames begin. `only`: the attack of this
  /// name; empty: all.
  Disturbance(Kind kind, std::uint32_t held, const std::string& only, rte_mempool* pool);

  void offer(Part part, std::size_t frames, Offer& offer) override;
  /// Whatever is between other hosts than those that are measured. A box may absorb it, or answer.
  bool take(Side out, wire::ParseStatus status, const wire::Frame& parsed, const rte_mbuf* mbuf) override;
  void after_chunk() override {}

  std::uint64_t offered() const { return offered_; }
  std::span<const Attack* const> attacks() const { return attacks_; }
  /// The frames that each attack needs first have been offered.
  bool prepared() const { return !preparation_.empty() && prepared_ == preparation_.size(); }

 private:
  AttackFrame next();

  Kind kind_;
  std::uint32_t held_;
  rte_mempool* pool_;
  std::vector<const Attack*> attacks_;
  std::vector<AttackFrame> preparation_;  ///< of all attacks, in turn
  std::size_t prepared_ = 0;              ///< of it
  std::uint64_t number_ = 0;              ///< of the next frame after the preparation
  std::uint64_t offered_ = 0;
};

}  // namespace longhaul::bench
