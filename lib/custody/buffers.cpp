// SPDX-License-Identifier: BSD-3-Clause
#include "custody/buffers.hpp"

#include <cstring>

namespace longhaul::custody {

rte_mbuf* copy_into(rte_mempool* pool, const rte_mbuf* mbuf) {
  const auto size = static_cast<std::uint16_t>(mbuf->pkt_len);
  if (size + RTE_PKTMBUF_HEADROOM > rte_pktmbuf_data_room_size(pool)) return nullptr;
  rte_mbuf* copy = frame_from(pool, size);
  if (copy == nullptr) return nullptr;
  std::memcpy(rte_pktmbuf_mtod(copy, void*), rte_pktmbuf_mtod(mbuf, const void*), size);
  return copy;
}

}  // namespace longhaul::custody
