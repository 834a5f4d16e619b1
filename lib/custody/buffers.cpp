// SPDX-License-Identifier: BSD-3-Clause
#include "custody/buffers.hpp"

#include <cstring>

namespace longhaul::custody {

namespace {

void copy_bytes(rte_mbuf* to, const rte_mbuf* from) {
  std::memcpy(rte_pktmbuf_mtod(to, void*), rte_pktmbuf_mtod(from, const void*), from->pkt_len);
}

/// Custody's bookkeeping, too.
void prefetch_to_write(rte_mbuf* mbuf, std::uint32_t bytes) {
  const auto* begin = reinterpret_cast<const char*>(mbuf);
  const char* end = begin + sizeof(rte_mbuf) + kMbufPrivateSize + RTE_PKTMBUF_HEADROOM + bytes;
  for (const char* at = begin; at < end; at += RTE_CACHE_LINE_SIZE) __builtin_prefetch(at, 1);
}

}  // namespace

rte_mbuf* copy_into(rte_mempool* pool, const rte_mbuf* mbuf) {
  const auto size = static_cast<std::uint16_t>(mbuf->pkt_len);
  if (size + RTE_PKTMBUF_HEADROOM > rte_pktmbuf_data_room_size(pool)) return nullptr;
  rte_mbuf* copy = frame_from(pool, size);
  if (copy != nullptr) copy_bytes(copy, mbuf);
  return copy;
}

rte_mbuf* Copier::copy(const rte_mbuf* mbuf) {
  rte_mbuf* copy = std::exchange(next_, nullptr);
  if (copy == nullptr) copy = rte_mbuf_raw_alloc(pool_);
  if (copy == nullptr) return nullptr;
  // The next frame is probably as large.
  next_ = rte_mbuf_raw_alloc(pool_);
  if (next_ != nullptr) prefetch_to_write(next_, mbuf->pkt_len);
  make_frame(copy, static_cast<std::uint16_t>(mbuf->pkt_len));
  copy_bytes(copy, mbuf);
  return copy;
}

}  // namespace longhaul::custody
