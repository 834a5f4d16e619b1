// SPDX-License-Identifier: BSD-3-Clause
// A small mbuf pool, and bytes to mbufs and back.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace longhaul::test {

/// Checks in its destructor that every mbuf came back: a test must free the mbufs that it made.
class MbufPool {
 public:
  explicit MbufPool(unsigned count = 4095, std::uint16_t bytes = 2048) {
    static int number = 0;
    pool_ = rte_pktmbuf_pool_create(("test" + std::to_string(number++)).c_str(), count, 0, 64,
                                    static_cast<std::uint16_t>(bytes + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
    if (pool_ == nullptr) throw std::runtime_error("no memory for a test's pool");
  }
  ~MbufPool() { rte_mempool_free(pool_); }
  MbufPool(const MbufPool&) = delete;
  MbufPool& operator=(const MbufPool&) = delete;

  rte_mbuf* make(std::span<const std::uint8_t> bytes) {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
    if (frame == nullptr) throw std::runtime_error("the test's pool is empty");
    std::memcpy(rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())), bytes.data(), bytes.size());
    return frame;
  }
  /// How many mbufs are in use.
  unsigned used() const { return rte_mempool_in_use_count(pool_); }
  rte_mempool* get() const { return pool_; }

 private:
  rte_mempool* pool_;
};

inline std::vector<std::uint8_t> bytes_of(const rte_mbuf* frame) {
  const auto* data = rte_pktmbuf_mtod(frame, const std::uint8_t*);
  return {data, data + rte_pktmbuf_data_len(frame)};
}

}  // namespace longhaul::test
