// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "box/share.hpp"

using namespace longhaul;

TEST_CASE("what the box may have is divided, what a flow may have is not") {
  engine::Settings box;
  box.wan_rate_bps = 100'000'000'000;
  box.custody_box_bytes = 256 << 20;
  box.custody_flow_bytes = 64 << 20;
  box.max_connections = 4097;
  const engine::Settings share = box::share_of(box, 4);
  CHECK(share.wan_rate_bps == 25'000'000'000);
  CHECK(share.custody_box_bytes == 64 << 20);
  CHECK(share.custody_flow_bytes == 64 << 20);
  CHECK(share.custody_mbufs == box.custody_mbufs / 4);
  CHECK(share.max_connections == 1025);
  CHECK(box::record_slots(box, 4) == 4 * share.max_connections);
  box.wan_rate_bps = 3;
  CHECK(box::share_of(box, 4).wan_rate_bps == 1);
  box.wan_rate_bps = 0;  // unlimited
  CHECK(box::share_of(box, 4).wan_rate_bps == 0);
  const engine::Settings alone = box::share_of(box, 1);
  CHECK(alone.max_connections == box.max_connections);
  CHECK(alone.custody_mbufs == box.custody_mbufs);
}
