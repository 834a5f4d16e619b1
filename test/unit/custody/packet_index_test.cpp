// SPDX-License-Identifier: BSD-3-Clause
// The index of custody's packets next to a std::map.
#include "custody/packet_index.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <utility>

using namespace longhaul;
using custody::PacketIndex;

TEST_CASE("an index that is full and changes has what a map has", "[custody][packet_index]") {
  constexpr std::uint64_t kPackets = 64;
  std::mt19937 random(1);
  // Each index hashes with a secret of its own.
  for (unsigned round = 0; round < 50; ++round) {
    PacketIndex index(kPackets);
    std::map<std::pair<std::uint32_t, std::uint32_t>, rte_mbuf*> model;
    const auto check_all = [&] {
      for (std::uint32_t flow = 0; flow < 4; ++flow)
        for (std::uint32_t block = 0; block < 32; ++block) {
          const auto there = model.find({flow, block});
          REQUIRE(index.find(flow, block * PacketIndex::kBlock + 3) ==
                  (there == model.end() ? nullptr : there->second));
        }
    };
    for (std::uintptr_t step = 1; step < 1000; ++step) {
      const std::uint32_t flow = random() % 4;
      const std::uint32_t block = random() % 32;
      if (model.erase({flow, block}) != 0) {
        index.remove(flow, block * PacketIndex::kBlock);
      } else if (model.size() < kPackets) {
        auto* packet = reinterpret_cast<rte_mbuf*>(step);  // never looked at
        index.add(flow, block * PacketIndex::kBlock + 5, packet);
        model[{flow, block}] = packet;
      }
      if (step % 50 == 0) check_all();
    }
  }
}
