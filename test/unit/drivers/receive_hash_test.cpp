// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>

#include <catch2/catch.hpp>

#include "drivers/receive_hash.hpp"

using namespace longhaul::drivers;

namespace {

constexpr std::uint64_t kUdp = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;

}  // namespace

TEST_CASE("a NIC is asked to hash by addresses alone, by ports too only where it must") {
  const ReceiveHash mlx5 = receive_hash(RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
  CHECK(mlx5.fields == RTE_ETH_RSS_IP);
  CHECK_FALSE(mlx5.with_ports);
  CHECK_FALSE(mlx5.without_ipv4);
  CHECK_FALSE(mlx5.without_ipv6);

  // What i40e offers: fragments and the rest of IP, but not IPv4 and IPv6 themselves.
  const std::uint64_t rest =
      RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER;
  const ReceiveHash i40e =
      receive_hash(rest | kUdp | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_L2_PAYLOAD);
  CHECK(i40e.fields == (rest | kUdp));
  CHECK(i40e.with_ports);

  const ReceiveHash only_ipv4 = receive_hash(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
  CHECK(only_ipv4.fields == RTE_ETH_RSS_IPV4);
  CHECK_FALSE(only_ipv4.with_ports);
  CHECK(only_ipv4.without_ipv6);
  CHECK_FALSE(only_ipv4.without_ipv4);

  // No field that RoCE frames have: all frames would go to one queue.
  CHECK(receive_hash(rest | RTE_ETH_RSS_TCP).fields == 0);
  CHECK(receive_hash(0).fields == 0);
}
