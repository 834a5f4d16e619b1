// SPDX-License-Identifier: BSD-3-Clause
// Communication management MADs (IBTA vol. 1, 12.6 and 13.4.2): 256 bytes in a UD SEND Only to QP1,
// management class 7. Only the fields that longhaul uses have names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wire/frame.hpp"

namespace longhaul::wire {

inline constexpr std::size_t kMadSize = 256;
inline constexpr std::uint8_t kMadClassCm = 0x07;

/// Attribute IDs of CM MADs, 12.6.1.
enum class CmAttribute : std::uint16_t {
  req = 0x0010,
  mra = 0x0011,
  rej = 0x0012,
  rep = 0x0013,
  rtu = 0x0014,
  dreq = 0x0015,
  drep = 0x0016,
};

/// Enhanced connection establishment: what the vendor of a NIC offers or accepts beyond the specification, such as
/// selective repeat. IBTA vol. 1, release 1.5, 12.6.5 and 12.6.8 (IBTA comment 9434). The MAD's attribute modifier
/// carries the options; their meaning is the vendor's.
struct Ece {
  std::uint32_t vendor_id = 0;           ///< 24 bits; 0: no options
  std::uint32_t attribute_modifier = 0;  ///< the vendor's bits
  bool given() const noexcept { return vendor_id != 0; }
  bool operator==(const Ece&) const = default;
};
inline constexpr std::uint32_t kMostEceVendor = 0xffffff;

/// A CM message in host byte order. Fields that a kind of message does not have are zero.
struct CmMessage {
  CmAttribute attribute{};
  std::uint64_t transaction_id = 0;
  std::uint32_t local_comm_id = 0;   ///< the sender's
  std::uint32_t remote_comm_id = 0;  ///< the receiver's, as the sender knows it; not in REQ

  // REQ and REP (12.6.5, 12.6.8)
  std::uint32_t local_qpn = 0;  ///< the sender's QPN
  std::uint32_t starting_psn =
      0;  ///< the PSN that the *receiver* of this message starts sending with (verified on captures)
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t rnr_retry_count = 0;
  bool end_to_end_flow_control = false;
  Ece ece = {};  ///< offered by a REQ, accepted by a REP

  // REQ only
  bool reliable_connected = false;  ///< transport service type 0
  std::uint8_t path_mtu = 0;        ///< encoded 1..5 = 256..4096 bytes, see path_mtu_bytes()
  std::uint8_t retry_count = 0;
  std::uint8_t local_ack_timeout = 0;  ///< of the primary path, encoded: 4.096 us * 2^n, 5 bits
  std::uint8_t max_cm_retries = 0;
  std::uint16_t p_key = 0;
  std::uint64_t service_id = 0;

  // REJ (12.6.7)
  std::uint16_t reject_reason = 0;
  // DREQ (12.6.10)
  std::uint32_t remote_qpn = 0;  ///< the receiver's QPN (DREQ), "Remote QPN/EECN"
};

/// 256 << (code - 1) for 1..5, otherwise 0.
std::uint32_t path_mtu_bytes(std::uint8_t code) noexcept;

/// The CM message in a parsed frame, or nothing when it is not one: not UD SEND Only to QP1, shorter than a MAD,
/// another class, base version or attribute.
std::optional<CmMessage> parse_cm(const Frame& frame) noexcept;

/// Writes `message` as a MAD into the 256 bytes at `mad` (all other fields zero). For tests and simulated hosts.
void write_cm(const CmMessage& message, std::span<std::uint8_t, kMadSize> mad) noexcept;

}  // namespace longhaul::wire
