// SPDX-License-Identifier: BSD-3-Clause
// Copies of the last frames of one flow, or of some hosts, as one worker saw them come and go: for an operator's
// capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/side.hpp"
#include "base/time.hpp"
#include "drivers/clock.hpp"
#include "flow/connection.hpp"
#include "flow/policy.hpp"

struct rte_mbuf;

namespace longhaul::app {

/// Which RoCE frames: those of a connection and the RDMA-CM between its two hosts, or those with an end in a prefix.
struct TapFilter {
  std::optional<flow::ConnectionInfo> connection;
  std::optional<flow::Prefix> host;
};

/// Other threads make it and read it while no worker has it. It allocates nothing in between.
class Tap {
 public:
  enum class Way : std::uint8_t { in, out };
  struct Seen {
    Time at = 0;  ///< by the box's clock
    Side side = Side::host;
    Way way = Way::in;
    std::uint32_t size = 0;  ///< bytes of the frame
    std::uint32_t kept = 0;  ///< bytes of the frame that are kept
  };

  /// Keeps the last `packets` frames, `snap` bytes of each.
  Tap(TapFilter filter, std::size_t packets, std::uint32_t snap, const drivers::Clock& clock);

  /// For the worker. Keeps copies of the frames that the filter matches. Returns how many.
  std::size_t see(Side side, Way way, std::span<rte_mbuf* const> frames);
  /// For the worker. Drops the last copy, because its frame was not sent.
  void take_back();

  /// Oldest first.
  std::vector<Seen> seen() const;
  std::span<const std::uint8_t> bytes(std::size_t i) const;
  std::uint64_t total() const { return total_; }  ///< includes those that are not kept any more

 private:
  bool wanted(std::span<const std::uint8_t> bytes) const;
  std::size_t count() const;
  std::size_t slot(std::size_t i) const;

  TapFilter filter_;
  const drivers::Clock& clock_;
  std::uint32_t snap_;
  std::uint64_t total_ = 0;
  std::vector<Seen> ring_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace longhaul::app
