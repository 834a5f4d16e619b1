// SPDX-License-Identifier: BSD-3-Clause
#include "custody/buffers.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "support/mbufs.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

TEST_CASE("a stash has all that its pool has, and says when that is nothing", "[custody][buffers]") {
  const Rig eal;
  constexpr unsigned kBuffers = 40;  // a stash takes 32 at a time, and fewer where there are not as many
  const MbufPool pool(kBuffers);
  std::vector<rte_mbuf*> frames;
  {
    custody::BufferStash stash(pool.get());
    for (unsigned i = 0; i < kBuffers; ++i) {
      REQUIRE(stash.has_frame());
      frames.push_back(stash.frame(64));
      REQUIRE(frames.back()->pool == pool.get());
    }
    CHECK(pool.used() == kBuffers);
    CHECK_FALSE(stash.has_frame());
    CHECK(stash.frame(64) == nullptr);
    rte_pktmbuf_free(frames.back());
    frames.back() = stash.frame(64);
    CHECK(frames.back() != nullptr);
  }
  for (rte_mbuf* frame : frames) rte_pktmbuf_free(frame);
  CHECK(pool.used() == 0);
}
