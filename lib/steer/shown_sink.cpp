// SPDX-License-Identifier: BSD-3-Clause
#include "steer/shown_sink.hpp"

#include <rte_mbuf.h>

namespace longhaul::steer {

std::uint16_t ShownSink::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  std::uint16_t done = 0;
  while (done < count) {
    std::uint16_t run = 0;
    while (done + run < count && !spreader_.is_shown(frames[done + run])) ++run;
    if (run == 0) {
      rte_pktmbuf_free(frames[done++]);
      continue;
    }
    const std::uint16_t sent = next_.transmit(out, frames + done, run);
    done = static_cast<std::uint16_t>(done + sent);
    if (sent < run) break;
  }
  return done;
}

}  // namespace longhaul::steer
