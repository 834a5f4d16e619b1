// SPDX-License-Identifier: BSD-3-Clause
// Traffic whose cost is measured, as data: what goes in, and how many flows share it. All frames are real, each is
// another one, and what comes out is checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/pools.hpp"
#include "test/bench/engine_load/bed.hpp"

namespace longhaul::bench {

enum class Kind : std::uint8_t {
  write,            ///< a WRITE into custody, its pseudo-ACK, and the responder's ACK for one that is in custody
  ack,              ///< of that the responder's ACK alone
  read_response,    ///< a packet of the response to a READ in custody
  far_write,        ///< a WRITE of a host beyond the WAN, and our host's ACK: the other box's flow
  foreign,          ///< TCP, in both directions
  unknown_request,  ///< a WRITE of a connection that the box does not know
  unknown_answer,   ///< an ACK of such a connection; it fits each of those between its two hosts
  stray_answer,     ///< an ACK that fits none of those, though all have PSNs near its own
};

struct EngineLoadSpec {
  Kind kind;
  std::uint32_t payload;  ///< bytes; 0 where it has no meaning
  std::uint32_t flows;    ///< that the packets come from in turn, in shuffled order

  /// "write_512/64": kind, payload, flows.
  std::string name() const;
};

/// All that is measured.
std::vector<EngineLoadSpec> engine_loads();

class EngineLoad {
 public:
  /// `packets` of prepare() must be a multiple of this.
  static constexpr std::uint32_t kStep = 128;
  /// So many WRITEs are in custody when the first ACK comes, of all flows together.
  static constexpr std::uint32_t kDepth = 8192;

  /// Connections are set up, what happens once in their lives has happened, custody is as deep as it gets.
  static std::unique_ptr<EngineLoad> make(const EngineLoadSpec& spec, const engine::Pools& pools);
  virtual ~EngineLoad();
  EngineLoad(const EngineLoad&) = delete;
  EngineLoad& operator=(const EngineLoad&) = delete;

  /// Makes the frames of the next `packets` packets. What must precede them and is not to be measured goes through the
  /// box now.
  virtual void prepare(std::uint32_t packets) = 0;

  /// Sends them through the box.
  void run() { bed_.run(std::exchange(turns_, {})); }

  /// Looks at all that came out and frees it. Throws std::runtime_error when it is not what should have.
  virtual void check() = 0;

 protected:
  EngineLoad(const engine::Settings& settings, const engine::Pools& pools) : bed_(settings, pools), pools_(pools) {}

  Bed bed_;
  const engine::Pools& pools_;
  Turns turns_;
};

}  // namespace longhaul::bench
