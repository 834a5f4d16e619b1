// SPDX-License-Identifier: BSD-3-Clause
#include "custody/buffers.hpp"

#include <catch2/catch.hpp>
#include <cstring>
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

TEST_CASE("a copier copies as often as its pool has buffers, and counts the one that it has ahead",
          "[custody][buffers]") {
  const Rig eal;
  constexpr unsigned kBuffers = 5;
  const MbufPool pool(kBuffers);
  const MbufPool frames(1);
  rte_mbuf* frame = custody::frame_from(frames.get(), 200);
  REQUIRE(frame != nullptr);
  for (unsigned i = 0; i < 200; ++i) *rte_pktmbuf_mtod_offset(frame, std::uint8_t*, i) = static_cast<std::uint8_t>(i);
  std::vector<rte_mbuf*> copies;
  {
    custody::Copier copier(pool.get());
    for (unsigned i = 0; i < kBuffers; ++i) {
      CHECK(copier.available() == kBuffers - i);
      copies.push_back(copier.copy(frame));
      REQUIRE(copies.back() != nullptr);
      CHECK(copies.back()->data_len == 200);
      CHECK(copies.back()->pkt_len == 200);
      CHECK(std::memcmp(rte_pktmbuf_mtod(copies.back(), void*), rte_pktmbuf_mtod(frame, void*), 200) == 0);
    }
    CHECK(copier.available() == 0);
    CHECK(copier.copy(frame) == nullptr);
    rte_pktmbuf_free(copies.back());
    copies.back() = copier.copy(frame);
    CHECK(copies.back() != nullptr);
    rte_pktmbuf_free(copies.back());
    rte_pktmbuf_free(copies[0]);
    copies = {copies.begin() + 1, copies.end() - 1};
    copies.push_back(copier.copy(frame));  // takes one more for the next time
    CHECK(pool.used() == kBuffers);
  }
  for (rte_mbuf* copy : copies) rte_pktmbuf_free(copy);
  CHECK(pool.used() == 0);
  rte_pktmbuf_free(frame);
}
