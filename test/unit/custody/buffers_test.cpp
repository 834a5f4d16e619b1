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
    custody::BufferStash stash(pool.get(), 64);
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

TEST_CASE("a stash makes frames in the buffers of absorbed frames first", "[custody][buffers]") {
  const Rig eal;
  const MbufPool pool(40);
  MbufPool received(100);
  MbufPool small(1, 32);
  {
    custody::BufferStash stash(pool.get(), 64);
    const Bytes bytes(700, 0x5a);
    rte_mbuf* absorbed = received.make(bytes);
    absorbed->ol_flags = RTE_MBUF_F_RX_VLAN;
    rte_pktmbuf_adj(absorbed, 14);
    REQUIRE(stash.recycle(absorbed));
    rte_mbuf* made = stash.frame(64);
    CHECK(made == absorbed);
    CHECK(made->data_off == RTE_PKTMBUF_HEADROOM);
    CHECK(made->ol_flags == 0);
    CHECK(made->pkt_len == 64);
    CHECK(made->data_len == 64);
    CHECK(pool.used() == 0);
    rte_pktmbuf_free(made);
    CHECK(received.used() == 0);

    // Others' buffers, parts of larger frames, and buffers without room stay where they are.
    rte_mbuf* shared = received.make(bytes);
    rte_mbuf_refcnt_update(shared, 1);
    CHECK_FALSE(stash.recycle(shared));
    rte_pktmbuf_free(shared);
    rte_mbuf* clone = rte_pktmbuf_clone(shared, received.get());
    CHECK_FALSE(stash.recycle(clone));
    rte_pktmbuf_free(clone);
    rte_mbuf* chain = received.make(bytes);
    REQUIRE(rte_pktmbuf_chain(chain, shared) == 0);
    CHECK_FALSE(stash.recycle(chain));
    rte_pktmbuf_free(chain);
    rte_mbuf* tiny = small.make(Bytes(20, 1));
    CHECK_FALSE(stash.recycle(tiny));
    rte_pktmbuf_free(tiny);

    unsigned kept = 0;
    rte_mbuf* refused = received.make(bytes);
    for (; stash.recycle(refused); refused = received.make(bytes)) ++kept;
    CHECK(kept == 64);
    rte_pktmbuf_free(refused);
    CHECK(received.used() == kept);
    for (unsigned i = 0; i < kept; ++i) {
      rte_mbuf* one = stash.frame(64);
      CHECK(one->pool == received.get());
      rte_pktmbuf_free(one);
    }
    rte_mbuf* own = stash.frame(64);
    CHECK(own->pool == pool.get());
    rte_pktmbuf_free(own);
  }
  CHECK(pool.used() == 0);
  CHECK(received.used() == 0);
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
