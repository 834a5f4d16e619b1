// SPDX-License-Identifier: BSD-3-Clause
// The box's own buffers, taken and given back without the work that chained or indirect mbufs need.
#pragma once

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "custody/held.hpp"

namespace longhaul::custody {

/// Turns an mbuf just taken from a pool into a frame of `size` bytes. It has one reference and one segment already. The
/// rest is set here, without touching the mbuf's second cache line.
inline void make_frame(rte_mbuf* mbuf, std::uint16_t size) {
  mbuf->data_off = RTE_PKTMBUF_HEADROOM;
  mbuf->ol_flags = 0;
  mbuf->packet_type = 0;
  mbuf->port = RTE_MBUF_PORT_INVALID;
  mbuf->pkt_len = size;
  mbuf->data_len = size;
}

/// A frame of `size` bytes from `pool`, whose buffers have room for it; null when the pool is empty.
inline rte_mbuf* frame_from(rte_mempool* pool, std::uint16_t size) {
  rte_mbuf* mbuf = rte_mbuf_raw_alloc(pool);
  if (mbuf != nullptr) make_frame(mbuf, size);
  return mbuf;
}

/// A copy of a frame of one segment, in a buffer of `pool`. Null when the pool is empty or its buffers are too small.
rte_mbuf* copy_into(rte_mempool* pool, const rte_mbuf* mbuf);

/// Nobody else uses the frame's buffer, and the frame is all that is in it: the mbuf is as its pool wants it. nb_segs
/// tells, without a look at `next` in another cache line.
[[gnu::always_inline]] inline bool is_alone(const rte_mbuf* mbuf) {
  return rte_mbuf_refcnt_read(mbuf) == 1 && RTE_MBUF_DIRECT(mbuf) && mbuf->nb_segs == 1;
}

/// References to frames that are given back together: to free many costs little more than to free one. The user calls
/// flush() before a pool can run short of them.
class BufferReturns {
 public:
  BufferReturns() = default;
  ~BufferReturns() { flush(); }
  BufferReturns(const BufferReturns&) = delete;
  BufferReturns& operator=(const BufferReturns&) = delete;

  /// Takes one reference to a frame of one segment.
  [[gnu::always_inline]] void add(rte_mbuf* mbuf) {
    if (!is_alone(mbuf)) [[unlikely]] {
      rte_pktmbuf_free_seg(mbuf);
      return;
    }
    if (mbuf->pool != pool_ || count_ == kMost) [[unlikely]] {
      flush();
      pool_ = mbuf->pool;
    }
    buffers_[count_++] = mbuf;
  }
  void flush() {
    if (count_ != 0) give_back();
  }

 private:
  static constexpr unsigned kMost = 32;

  [[gnu::noinline]] void give_back() {
    rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(buffers_), count_);
    count_ = 0;
  }

  rte_mempool* pool_ = nullptr;
  unsigned count_ = 0;
  rte_mbuf* buffers_[kMost];
};

/// Buffers for frames that the box makes. The first choice are those of frames that it has just absorbed, which the
/// caches have. Otherwise some are taken from a pool and prefetched before they are needed: another core may have used
/// them last.
class BufferStash {
 public:
  /// `least`: bytes that a frame made here may have.
  BufferStash(rte_mempool* pool, std::uint16_t least)
      : pool_(pool), least_(static_cast<std::uint16_t>(least + RTE_PKTMBUF_HEADROOM)) {}
  ~BufferStash() {
    for (unsigned i = 0; i < count_; ++i) rte_mbuf_raw_free(buffers_[i]);
  }
  BufferStash(const BufferStash&) = delete;
  BufferStash& operator=(const BufferStash&) = delete;

  /// frame() will return one.
  [[gnu::always_inline]] bool has_frame() { return count_ != 0 || refill(); }
  /// As frame_from().
  rte_mbuf* frame(std::uint16_t size) {
    if (!has_frame()) return nullptr;
    rte_mbuf* mbuf = buffers_[--count_];
    make_frame(mbuf, size);
    return mbuf;
  }

  /// Takes over one reference to a frame of one segment, which nobody needs any more. False when it is not wanted here:
  /// others use the buffer too, it is too small, or there are enough.
  [[gnu::always_inline]] bool recycle(rte_mbuf* mbuf) {
    if (count_ == kMost || !is_alone(mbuf) || mbuf->buf_len < least_) return false;
    buffers_[count_++] = mbuf;
    return true;
  }

 private:
  static constexpr unsigned kMost = 64;    ///< a port has that many fewer to receive into
  static constexpr unsigned kRefill = 32;  ///< of the pool's; more would be kept from other workers

  [[gnu::noinline]] bool refill() {
    for (unsigned wanted : {kRefill, 1u}) {
      if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(buffers_), wanted) != 0) continue;
      count_ = wanted;
      for (unsigned i = 0; i < count_; ++i) {
        rte_prefetch0(buffers_[i]);
        rte_prefetch0(reinterpret_cast<const char*>(buffers_[i]) + sizeof(rte_mbuf) + kMbufPrivateSize +
                      RTE_PKTMBUF_HEADROOM);
      }
      return true;
    }
    return false;
  }

  rte_mempool* pool_;
  std::uint16_t least_;
  unsigned count_ = 0;
  rte_mbuf* buffers_[kMost];
};

/// Copies frames into buffers of a pool. It takes and fetches each buffer while it fills the one before: a store to
/// memory that no cache has holds up all that follow.
class Copier {
 public:
  explicit Copier(rte_mempool* pool) : pool_(pool) {}
  ~Copier() {
    if (next_ != nullptr) rte_mbuf_raw_free(next_);
  }
  Copier(Copier&& other) noexcept : pool_(other.pool_), next_(std::exchange(other.next_, nullptr)) {}
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// Buffers left, those in caches of the pool not counted.
  unsigned available() const {
    return rte_mempool_get_ops(pool_->ops_index)->get_count(pool_) + (next_ != nullptr ? 1 : 0);
  }
  /// Of a frame of one segment, for which the pool's buffers have room. Null when there is none left.
  rte_mbuf* copy(const rte_mbuf* mbuf);

 private:
  rte_mempool* pool_;
  rte_mbuf* next_ = nullptr;
};

}  // namespace longhaul::custody
