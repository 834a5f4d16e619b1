// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/pools.hpp"

namespace longhaul::app {

/// Pools that are destroyed before the EAL: declare them after it.
class OwnedPools {
 public:
  explicit OwnedPools(const engine::PoolPlan& plan) : pools_(engine::Pools::create(plan)) {}
  ~OwnedPools() { pools_.destroy(); }
  OwnedPools(const OwnedPools&) = delete;
  OwnedPools& operator=(const OwnedPools&) = delete;
  const engine::Pools& get() const { return pools_; }

 private:
  engine::Pools pools_;
};

}  // namespace longhaul::app
