// SPDX-License-Identifier: BSD-3-Clause
// Ordinary memory in large pages where the kernel has some. In small pages, random access to a table would wait for the
// TLB as long as for the cache line. The memory does not depend on DPDK's hugepages, and comes from the NUMA socket of
// the thread that touches it first.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace longhaul {

template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename Other>
  HugePageAllocator(const HugePageAllocator<Other>&) {}  // NOLINT(google-explicit-constructor): as allocators are

  T* allocate(std::size_t count) {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    static_assert(alignof(T) <= kPage);
    std::size_t bytes = count * sizeof(T);
    // Memory that does not fill a large page is better off in small ones.
    const bool large = bytes >= kPage;
    const std::size_t unit = large ? kPage : alignof(T);
    bytes = (bytes + unit - 1) / unit * unit;
    void* memory = std::aligned_alloc(unit, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: without large pages it is only slower
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }

  bool operator==(const HugePageAllocator&) const = default;
};

}  // namespace longhaul
