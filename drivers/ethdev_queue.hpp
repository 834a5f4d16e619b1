// SPDX-License-Identifier: BSD-3-Clause
// One worker's part of a DPDK port: a transmit queue, and a receive queue unless others receive for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "drivers/port.hpp"

namespace longhaul::drivers {

class EthdevQueue final : public Port {
 public:
  /// `af_packet_limit`: the largest frame in bytes that a net_af_packet device sends; 0 for other drivers.
  EthdevQueue(std::uint16_t port, std::uint16_t number, std::uint32_t af_packet_limit, std::string name)
      : port_(port), number_(number), af_packet_limit_(af_packet_limit), name_(std::move(name)) {}

  /// Says whether the port has a receive queue for this worker.
  void set_receives(bool receives) { receives_ = receives; }

  std::uint16_t receive(rte_mbuf** frames, std::uint16_t count) override;
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) override;
  std::string describe() const override { return name_; }

  /// Frames that were too large for the port. Other threads may call it.
  std::uint64_t oversize() const { return oversize_.load(std::memory_order_relaxed); }

 private:
  std::uint16_t transmit_af_packet(rte_mbuf** frames, std::uint16_t count);

  std::uint16_t port_;
  std::uint16_t number_;
  bool receives_ = false;
  std::uint32_t af_packet_limit_;
  std::string name_;
  std::atomic<std::uint64_t> oversize_{0};
};

}  // namespace longhaul::drivers
