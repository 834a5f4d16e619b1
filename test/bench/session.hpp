// SPDX-License-Identifier: BSD-3-Clause
// One device at one point of the table: sets up connections, fills custody, measures, checks, and lets everything be
// answered.
#pragma once

#include <memory>
#include <vector>

#include "test/bench/device.hpp"
#include "test/bench/ring_ports.hpp"
#include "test/bench/roce_stream.hpp"
#include "test/bench/stream.hpp"
#include "test/bench/workload.hpp"

namespace longhaul::bench {

/// The result of one round, chunk by chunk.
struct Round {
  struct Chunk {
    std::uint64_t packets;
    std::uint64_t bytes;                ///< frame bytes of the packets, FCS not included
    std::uint64_t frames;               ///< all frames that went in, with those that are not packets
    std::optional<std::uint64_t> busy;  ///< TSC cycles according to the device's own loop
    bool preempted;                     ///< the device lost its core meanwhile: neither figure is only its own
    std::uint64_t outside;              ///< TSC cycles from putting the chunk in until seeing it done
    bool unseen;                        ///< the generator lost its core meanwhile: `outside` says nothing
  };
  std::vector<Chunk> chunks;
};

/// How a device gets its frames.
struct Chunks {
  std::uint32_t frames = 512;  ///< per port at a time; at most what a port holds
  /// The frames' bytes are only in memory, as from a NIC whose DMA fills no cache. Otherwise they are in the cache of
  /// the core that made them. That is like DMA into the last-level cache, if the two cores share one.
  bool cold = false;
};

class Session {
 public:
  /// All references must outlive it.
  Session(const Point& point, const Chunks& chunks, Device& device, RingPorts& ports, rte_mempool* pool,
          const Payloads& payloads);

  /// Connects by RDMA-CM, has the first message of each connection answered by the responder, and fills custody.
  void set_up();
  /// Measures at least `packets` packets, after a few chunks that are not measured.
  Round measure(std::uint64_t packets);
  /// The two parts of measure(): the chunks before, and one measured chunk with what must precede it. `round` gets the
  /// result unless it is null.
  void warm_up();
  void measure_chunk(Round* round);
  /// From now on `observer` sees the measured chunks; null: nobody does.
  void set_observer(ChunkObserver* observer) { observer_ = observer; }
  /// From now on, of all frames that are offered, `share` are of this stream (0 to 1). They do not count as packets. It
  /// must outlive the session.
  void disturb(Stream& stream, double share);
  /// Lets everything be answered, and asks the device what is wrong.
  void finish();

  Device& device() { return device_; }
  const Errors& errors() const { return errors_; }
  /// The connections whose requests come from the host side. The point must have some.
  const RoceStream& connections() const { return *connections_.front(); }

 private:
  void connect(RoceStream& stream);
  void add_disturbance();
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
  Stream* disturbance_ = nullptr;
  double disturbance_share_ = 0;
  Offer offer_;                                    ///< what goes in next
  std::vector<std::vector<std::uint8_t>> cm_due_;  ///< RDMA-CM frames that must come out next, in order
  std::size_t cm_come_ = 0;
};

}  // namespace longhaul::bench
