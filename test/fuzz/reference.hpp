// SPDX-License-Identifier: BSD-3-Clause
// A second, slow reader of RoCEv2 frames. It judges lib/wire, and shares nothing with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace longhaul::fuzz {

struct Roce {
  bool known_opcode = false;
  bool ipv6 = false;
  std::size_t tags = 0;
  std::array<unsigned, 2> vids{};  ///< outermost first
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};  ///< IPv4 as ::ffff:a.b.c.d
  std::size_t ip = 0;                          ///< offsets from the first byte of the frame
  std::size_t udp = 0;
  std::size_t bth = 0;
  std::size_t extended = 0;      ///< bytes of extended headers
  std::size_t payload = 0;       ///< offset
  std::size_t payload_size = 0;  ///< padding not included
  std::size_t icrc = 0;
  std::uint8_t opcode = 0;
  std::uint16_t p_key = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  bool ack_req = false;
  std::uint8_t syndrome = 0;     ///< of opcodes with an AETH
  std::uint32_t msn = 0;         ///< of opcodes with an AETH
  std::uint32_t dma_length = 0;  ///< of opcodes with a RETH

  bool is_rc() const { return opcode < 0x20; }
  bool is_answer() const { return opcode >= 0x0d && opcode <= 0x12; }
  bool is_read() const { return opcode == 0x0c; }
  bool is_atomic() const { return opcode == 0x13 || opcode == 0x14; }
  /// For RC requests: a SEND or WRITE last or only, a READ, an atomic.
  bool ends_message() const;
};

/// Nothing if `frame` is not a RoCEv2 frame, or is a damaged one (IBTA vol. 1, chapter 9 and Annex A17; RFC 791, 8200,
/// 768).
std::optional<Roce> read_roce(std::span<const std::uint8_t> frame);

/// Computed byte by byte over a masked copy (Annex A17.3.2), with a table made here.
std::uint32_t slow_icrc(std::span<const std::uint8_t> frame, const Roce& roce);
std::uint32_t carried_icrc(std::span<const std::uint8_t> frame, const Roce& roce);

/// Whether IPv4's header checksum and UDP's, if there is one, are right.
bool checksums_good(std::span<const std::uint8_t> frame, const Roce& roce);

/// A big-endian number of `size` bytes at `at`. The caller knows that they are there.
std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t size);

}  // namespace longhaul::fuzz
