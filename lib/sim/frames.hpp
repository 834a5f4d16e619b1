// SPDX-License-Identifier: BSD-3-Clause
// Frames as hosts and judges see them, and the line that a trace prints for each.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/time.hpp"
#include "wire/frame.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace longhaul::sim {

/// Where a host's frames go.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void put(std::span<const std::uint8_t> frame) = 0;
  /// Requests wait until then: the port is still sending earlier frames.
  virtual Time free_at() const { return 0; }
};

/// A frame taken apart. Valid as long as the mbuf's bytes are.
struct View {
  explicit View(const rte_mbuf* mbuf);
  explicit View(std::span<const std::uint8_t> bytes);

  std::span<const std::uint8_t> bytes;
  wire::Frame frame;
  wire::ParseStatus status;
  bool roce = false;    ///< the BTH can be read; with a known opcode also the headers after it
  bool intact = false;  ///< RoCE whose ICRC, IPv4 checksum and UDP checksum (hosts send none) are right

  bool reliable() const;  ///< an RC frame, of a known opcode or not
  std::uint32_t qpn() const { return frame.destination_qpn(); }
  std::uint32_t psn() const { return frame.psn(); }
};

rte_mbuf* to_mbuf(rte_mempool* pool, std::span<const std::uint8_t> bytes);

/// 64 bits that tell frames apart (FNV-1a over words). `without_ack_req` omits what a box may change in a packet that
/// it sends again (AckReq, and with it the ICRC), and the `first` bytes.
std::uint64_t fingerprint(std::span<const std::uint8_t> bytes);
std::uint64_t fingerprint_without_ack_req(const View& view, std::size_t first = 0);

/// "RC RDMA WRITE Only qpn 0x22 psn 7!", "! " for AckReq, with AETH and flaws; "other" for what is not RoCE.
std::string describe(const View& view);

}  // namespace longhaul::sim
