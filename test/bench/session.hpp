// SPDX-License-Identifier: BSD-3-Clause
// One device and one point of the table: sets connections up, fills custody, measures, checks, lets all be answered.
#pragma once

#include <memory>
#include <vector>

#include "test/bench/device.hpp"
#include "test/bench/ring_ports.hpp"
#include "test/bench/roce_stream.hpp"
#include "test/bench/stream.hpp"
#include "test/bench/workload.hpp"

namespace longhaul::bench {

/// What one round gave, chunk by chunk.
struct Round {
  struct Chunk {
    std::uint64_t packets;
    std::uint64_t bytes;                ///< frame bytes of the packets, FCS not included
    std::uint64_t frames;               ///< the packets and all else that went in
    std::optional<std::uint64_t> busy;  ///< TSC cycles, as the device's own loop gives them
    bool preempted;                     ///< the device lost its core meanwhile: neither figure is its alone
    std::uint64_t outside;              ///< TSC cycles from putting the chunk in to seeing that it is done
    bool unseen;                        ///< the generator lost its core meanwhile: outside says nothing
  };
  std::vector<Chunk> chunks;
};

/// How frames come before a device.
struct Chunks {
  std::uint32_t frames = 512;  ///< put into a port at a time; at most what it holds
  /// Their bytes are in memory only, as a NIC leaves them whose DMA fills no cache. Otherwise they are in the cache of
  /// the core that made them, which is like DMA into the last-level cache where the two cores share one.
  bool cold = false;
};

class Session {
 public:
  /// All references must outlive it.
  Session(const Point& point, const Chunks& chunks, Device& device, RingPorts& ports, rte_mempool* pool,
          const Payloads& payloads);

  /// Connections by RDMA-CM, the first message of each answered for real, custody filled.
  void set_up();
  /// At least so many packets, after a few chunks that are not measured.
  Round measure(std::uint64_t packets);
  /// The two that measure() is made of: the chunks before, and one more with what must precede it. `round`, unless
  /// null, gets what was measured.
  void warm_up();
  void measure_chunk(Round* round);
  /// Sees the measured chunks from now on; null: nobody does.
  void set_observer(ChunkObserver* observer) { observer_ = observer; }
  /// Lets everything be answered, and asks the device what is wrong.
  void finish();

  Device& device() { return device_; }
  const Errors& errors() const { return errors_; }
  /// The connections whose requests come from the host side; the point must have some.
  const RoceStream& connections() const { return *connections_.front(); }

 private:
  void connect(RoceStream& stream);
  void step(Part part, Round* round = nullptr);
  Round::Chunk pass(bool measured = false);
  void take_all(ChunkObserver* observer);
  bool take_cm(rte_mbuf* mbuf);
  std::uint64_t pending() const;

  Point point_;
  Chunks chunks_;
  Device& device_;
  RingPorts& ports_;
  rte_mempool* pool_;
  ChunkObserver* observer_ = nullptr;
  Errors errors_;
  std::vector<std::unique_ptr<RoceStream>> connections_;  ///< also in streams_
  std::vector<Stream*> streams_;
  std::unique_ptr<Stream> foreign_;
  Offer offer_;                                    ///< what goes in next
  std::vector<std::vector<std::uint8_t>> cm_due_;  ///< frames of RDMA-CM that are to come out next, in order
  std::size_t cm_come_ = 0;
};

}  // namespace longhaul::bench
