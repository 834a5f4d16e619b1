// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "flow/connection_table.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

std::optional<flow::ConnectionIndex> find(const flow::ConnectionTable& table, Side from, const Bytes& bytes) {
  wire::Frame frame;
  wire::parse(bytes, frame);
  return table.find(from, frame);
}

}  // namespace

TEST_CASE("a connection is found by the frames of each side, and only on that side", "[flow][table]") {
  const Rig eal;
  flow::ConnectionTable table(4);
  const Pair pair;
  const auto index = table.insert(info_of(pair));
  REQUIRE(index);
  CHECK(find(table, Side::host, pair.write(1)) == index);
  CHECK(find(table, Side::wan, pair.ack(1, 1)) == index);
  CHECK_FALSE(find(table, Side::wan, pair.write(1)));
  CHECK_FALSE(find(table, Side::host, pair.ack(1, 1)));
  table.release(*index);
  CHECK_FALSE(find(table, Side::host, pair.write(1)));
}

TEST_CASE("holder() names who has a key: by the far QPN, by the near QPN", "[flow][table]") {
  const Rig eal;
  flow::ConnectionTable table(4);
  const auto index = table.insert(info_of(Pair{}));
  Pair other_near;
  other_near.a_qpn = 0x99;
  CHECK(table.holder(info_of(other_near), Side::host) == index);
  CHECK_FALSE(table.holder(info_of(other_near), Side::wan));
  Pair other_far;
  other_far.b_qpn = 0x99;
  CHECK_FALSE(table.holder(info_of(other_far), Side::host));
  CHECK(table.holder(info_of(other_far), Side::wan) == index);
}

TEST_CASE("a slot is given to nobody who has another connection's QPN, near or far", "[flow][table]") {
  const Rig eal;
  flow::ConnectionTable table(4);
  const Pair pair;
  REQUIRE(table.insert_at(2, info_of(pair)));
  Pair other_near;
  other_near.a_qpn = 0x99;
  CHECK_FALSE(table.insert_at(1, info_of(other_near)));
  Pair other_far;
  other_far.b_qpn = 0x99;
  CHECK_FALSE(table.insert_at(1, info_of(other_far)));
  CHECK_FALSE(table.insert_at(2, info_of(Pair{.a_qpn = 0x98, .b_qpn = 0x98})));
  CHECK(find(table, Side::host, pair.write(1)) == 2);
  CHECK(find(table, Side::wan, pair.ack(1, 1)) == 2);
  CHECK(table.free() == 3);
}

TEST_CASE("the table takes as many connections as was said, and room comes back", "[flow][table]") {
  const Rig eal;
  flow::ConnectionTable table(100);
  Pair pair;
  for (std::uint32_t i = 0; i < 100; ++i) {
    pair.a_qpn = pair.b_qpn = 1000 + i;
    REQUIRE(table.insert(info_of(pair)));
  }
  pair.a_qpn = pair.b_qpn = 5000;
  CHECK_FALSE(table.insert(info_of(pair)));
  table.release(42);
  CHECK(table.insert(info_of(pair)));
}
