// SPDX-License-Identifier: BSD-3-Clause
#include "sim/scene.hpp"

#include <rte_mempool.h>

#include <utility>

#include "base/hash_secret.hpp"
#include "sim/plans.hpp"

namespace longhaul::sim {

namespace {

constexpr Time kEpoch = seconds(1000);

// For a connection learned from traffic, a box cannot tell forged DREQs from true ones. When forged ones fill its
// places, the true one waits for one of CM's later tries, and there may be none. The same where places for DREQs are
// few and a tenant wants them all: `tenants` judges then whether the others' connections close in time.
Duration dreq_limit(const Case& c) {
  constexpr Duration kMargin = milliseconds(200);
  return has_forgers(c) || c.places != 0 ? kNever : milliseconds(c.dreq_hold_ms) + pauses(c) + kMargin;
}

}  // namespace

Scene::Scene(const Case& its_case, const engine::Pools& its_pools, Trace its_trace,
             const std::vector<SentFrame>* its_imitated)
    : plan(its_case),
      pools(its_pools),
      trace(std::move(its_trace)),
      imitated(its_imitated),
      start(kEpoch),
      now(kEpoch),
      judge(kEpoch, milliseconds(its_case.dreq_hold_ms), dreq_limit(its_case)) {
  fix_hash_secret(0x9e37'79b9'7f4a'7c15);  // a case must run in the same way each time
}

std::uint64_t Scene::buffers_in_use() const {
  std::uint64_t sum = rte_mempool_in_use_count(pools.frames);
  for (const rte_mempool* pool : pools.small) sum += rte_mempool_in_use_count(pool);
  sum += rte_mempool_in_use_count(pools.made);
  return sum;
}

}  // namespace longhaul::sim
