// SPDX-License-Identifier: BSD-3-Clause
#include "replay/collector.hpp"

#include <rte_mbuf.h>

namespace longhaul::replay {

std::uint16_t Collector::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  for (std::uint16_t i = 0; i < count; ++i) {
    scratch_.clear();
    for (const rte_mbuf* part = frames[i]; part != nullptr; part = part->next) {
      const auto* bytes = rte_pktmbuf_mtod(part, const std::uint8_t*);
      scratch_.insert(scratch_.end(), bytes, bytes + part->data_len);
    }
    output_.write(out, scratch_, now_);
    rte_pktmbuf_free(frames[i]);
  }
  emitted_[out] += count;
  return count;
}

}  // namespace longhaul::replay
