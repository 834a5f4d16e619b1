// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memory_port.hpp"

#include <sys/types.h>

#include <bit>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

namespace longhaul::drivers {

MemoryPort::Ring MemoryPort::make_ring(std::uint32_t frames) {
  const std::uint32_t size = std::bit_ceil(frames + 1);
  const ssize_t bytes = rte_ring_get_memsize(size);
  if (bytes < 0) throw std::runtime_error(fmt::format("memory port: a ring of {} frames is impossible", frames));
  // Own memory instead of rte_ring_create(): no name to collide, no EAL needed.
  void* memory = std::aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(static_cast<std::size_t>(bytes),
                                                                        static_cast<std::size_t>(RTE_CACHE_LINE_SIZE)));
  if (memory == nullptr) throw std::bad_alloc();
  Ring ring(static_cast<rte_ring*>(memory), [](rte_ring* dying) {
    void* frame = nullptr;
    while (rte_ring_sc_dequeue(dying, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    std::free(dying);
  });
  if (rte_ring_init(ring.get(), "memory", size, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
    throw std::runtime_error(fmt::format("memory port: a ring of {} frames is impossible", frames));
  }
  return ring;
}

std::pair<std::unique_ptr<MemoryPort>, std::unique_ptr<MemoryPort>> MemoryPort::make_wire(const std::string& name,
                                                                                          std::uint32_t frames) {
  Ring forth = make_ring(frames);
  Ring back = make_ring(frames);
  return {std::unique_ptr<MemoryPort>(new MemoryPort(name + " near end", back, forth)),
          std::unique_ptr<MemoryPort>(new MemoryPort(name + " far end", forth, back))};
}

std::uint16_t MemoryPort::receive(rte_mbuf** frames, std::uint16_t count) {
  return static_cast<std::uint16_t>(
      rte_ring_sc_dequeue_burst(in_.get(), reinterpret_cast<void**>(frames), count, nullptr));
}

std::uint16_t MemoryPort::transmit(rte_mbuf** frames, std::uint16_t count) {
  return static_cast<std::uint16_t>(
      rte_ring_sp_enqueue_burst(out_.get(), reinterpret_cast<void**>(frames), count, nullptr));
}

}  // namespace longhaul::drivers
