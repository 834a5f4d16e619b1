// SPDX-License-Identifier: BSD-3-Clause
// Reads emitted frames back from their raw bytes, without lib/wire: a test must not judge our encoder by our decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace longhaul::test {

using Bytes = std::vector<std::uint8_t>;
using Lines = std::vector<std::string>;

/// A RoCEv2 frame as a host sees it. If `roce` is false, only `bytes` is valid.
struct Seen {
  Bytes bytes;
  bool roce = false;
  bool good_icrc = false;
  bool good_ip_checksum = false;
  std::size_t ip = 0;   ///< offset of the IP header
  std::size_t bth = 0;  ///< offset of the BTH
  std::uint8_t opcode = 0;
  std::uint16_t p_key = 0;
  std::uint32_t qpn = 0;
  bool ack_req = false;
  std::uint32_t psn = 0;
  std::uint8_t syndrome = 0;  ///< of opcodes with an AETH
  std::uint32_t msn = 0;

  explicit Seen(Bytes frame);
  bool has_aeth() const { return opcode == 0x0d || (opcode >= 0x0f && opcode <= 0x12); }

  /// One short line: "write_only 100!" (! is AckReq), "ack 100 msn 1", "nak0 100 msn 1", "rnr14 100 msn 1", "dreq",
  /// "other". It mentions a wrong ICRC or IP checksum.
  std::string line() const;
};

/// CRC-32 of IEEE 802.3 over what IBTA A17.3.2 lists, from raw bytes, with a table made here.
std::uint32_t independent_icrc(const Bytes& frame, std::size_t ip_offset);

/// Opcode by the short name that Seen::line() uses, e.g. "read_last".
std::uint8_t opcode_named(const std::string& name);

}  // namespace longhaul::test
