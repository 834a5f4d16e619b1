// SPDX-License-Identifier: BSD-3-Clause
// What the workloads are made of.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "test/bench/engine_load/engine_load.hpp"
#include "test/bench/engine_load/flows.hpp"
#include "wire/frame.hpp"

namespace longhaul::bench {

/// Throws std::runtime_error with `what` unless `condition` holds.
void require(bool condition, const char* what);

/// A frame in a new mbuf. They throw when there is none.
rte_mbuf* to_mbuf(const engine::Pools& pools, std::span<const std::uint8_t> bytes);
rte_mbuf* stamped(const FrameTemplate& frame, const engine::Pools& pools, std::uint32_t psn, std::uint32_t msn = 0);

/// A box's defaults, with room for the flows; they need no first answer to be confirmed.
engine::Settings settings_for(const EngineLoadSpec& spec);

/// A WRITE Only with AckReq and a payload of the flow's own, and an ACK without credits.
FrameTemplate write_of(const FlowEnds& ends, std::uint32_t payload);
FrameTemplate ack_of(const FlowEnds& ends);

/// Frames that left the box; freed at the end.
class Out {
 public:
  explicit Out(std::vector<rte_mbuf*> frames) : frames_(std::move(frames)) {}
  ~Out();
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;

  std::size_t size() const { return frames_.size(); }
  std::span<const std::uint8_t> bytes(std::size_t i) const;
  /// Throws when it is no RoCE frame or its ICRC is wrong.
  wire::Frame roce(std::size_t i) const;

 private:
  std::vector<rte_mbuf*> frames_;
};

/// Numbered messages, taken from the flows in turn.
class Schedule {
 public:
  explicit Schedule(std::vector<FlowEnds> flows);

  struct Place {
    std::uint32_t flow;
    std::uint32_t psn;
    std::uint32_t msn;  ///< of its answer
  };
  /// Message `i` of all, when each has `psns` PSNs.
  Place place(std::uint64_t i, std::uint32_t psns = 1) const;

  const std::vector<FlowEnds>& flows() const { return flows_; }

 private:
  std::vector<FlowEnds> flows_;
  std::vector<std::uint32_t> order_;
};

/// Between connections that RDMA-CM has announced to the box.
class Connected : public EngineLoad {
 protected:
  Connected(const EngineLoadSpec& spec, const engine::Pools& pools, Side requester, std::uint8_t path_mtu);

  const Side requester_;
  const Schedule schedule_;
};

std::unique_ptr<EngineLoad> make_writes(const EngineLoadSpec& spec, const engine::Pools& pools, Side requester);
std::unique_ptr<EngineLoad> make_acks(const EngineLoadSpec& spec, const engine::Pools& pools);
std::unique_ptr<EngineLoad> make_read_responses(const EngineLoadSpec& spec, const engine::Pools& pools);
std::unique_ptr<EngineLoad> make_foreign(const EngineLoadSpec& spec, const engine::Pools& pools);
std::unique_ptr<EngineLoad> make_unknown(const EngineLoadSpec& spec, const engine::Pools& pools);

}  // namespace longhaul::bench
