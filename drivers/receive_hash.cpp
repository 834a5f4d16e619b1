// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/receive_hash.hpp"

#include <rte_ethdev.h>

namespace longhaul::drivers {

ReceiveHash receive_hash(std::uint64_t offered) {
  ReceiveHash hash;
  const auto family = [&](std::uint64_t addresses, std::uint64_t udp) {
    if ((offered & addresses) != 0) {
      hash.fields |= addresses;
    } else if ((offered & udp) != 0) {
      hash.fields |= udp;
      hash.with_ports = true;
    } else {
      return false;
    }
    return true;
  };
  hash.without_ipv4 = !family(RTE_ETH_RSS_IPV4, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
  hash.without_ipv6 = !family(RTE_ETH_RSS_IPV6, RTE_ETH_RSS_NONFRAG_IPV6_UDP);
  // When a family is hashed, the other types of IP without ports cost nothing: they are not RoCE, but they are spread.
  if (hash.fields != 0) hash.fields |= RTE_ETH_RSS_IP & offered;
  return hash;
}

}  // namespace longhaul::drivers
