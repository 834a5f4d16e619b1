// SPDX-License-Identifier: BSD-3-Clause
// Real RoCEv2 frames by the million: headers from a template, other values stamped in, and a new ICRC.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/frame.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace longhaul::bench {

/// The values that differ between copies. Fields of headers that the template does not have are ignored.
struct Stamp {
  std::uint32_t qpn = 0;  ///< destination
  std::uint32_t psn = 0;
  std::uint32_t msn = 0;
  std::uint16_t udp_source_port = 0xc000;
  std::span<const std::uint8_t> payload = {};  ///< as many bytes as the template's payload has; empty: the template's
};

class FrameTemplate {
 public:
  /// Throws std::logic_error if `bytes` are not RoCE.
  explicit FrameTemplate(std::vector<std::uint8_t> bytes);

  std::uint16_t size() const { return static_cast<std::uint16_t>(bytes_.size()); }
  std::uint16_t payload_size() const { return frame_.payload_size; }
  /// The frame as it was given. Its data belong to the template.
  const wire::Frame& frame() const { return frame_; }

  /// Writes size() bytes, with the right ICRC.
  void write(std::uint8_t* to, const Stamp& stamp) const;

  /// A copy in a new mbuf, or null if `pool` is empty.
  rte_mbuf* make(rte_mempool* pool, const Stamp& stamp) const;

 private:
  std::vector<std::uint8_t> bytes_;
  wire::Frame frame_;
};

/// Payloads that differ: parts of a megabyte of random bytes.
class Payloads {
 public:
  Payloads();
  /// `size` bytes (at most kLargest), determined by `flow` and `psn`.
  std::span<const std::uint8_t> at(std::uint32_t flow, std::uint32_t psn, std::uint16_t size) const;
  static constexpr std::size_t kLargest = 4096;

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace longhaul::bench
