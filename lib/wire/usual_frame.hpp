// SPDX-License-Identifier: BSD-3-Clause
// Nearly all frames of a line that RDMA fills have one shape: no VLAN tag, IPv4 without options and whole, no UDP
// checksum, a packet of a SEND or a WRITE, or an ACK. There each header has its fixed place, and a few words tell all
// that the lane (engine/lane.hpp) must know. parse() takes such a frame apart just the same.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/frame.hpp"
#include "wire/headers.hpp"
#include "wire/icrc.hpp"
#include "wire/opcode.hpp"

namespace longhaul::wire {

/// A view of the frame, valid as long as its bytes are. Only for frames that take() has taken.
class UsualFrame {
 public:
  static constexpr std::size_t kIp = sizeof(EthernetHeader);
  static constexpr std::size_t kUdp = kIp + sizeof(Ipv4Header);
  static constexpr std::size_t kBth = kUdp + sizeof(UdpHeader);
  static constexpr std::size_t kExtended = kBth + sizeof(Bth);
  static constexpr std::size_t kLeast = kExtended + kIcrcSize;

  /// Returns false when the frame, which has `size` bytes at `data`, has another shape, or is marked as having met
  /// congestion (RFC 3168).
  [[gnu::always_inline]] bool take(const std::uint8_t* data, std::size_t size) {
    if (size < kExtended + sizeof(Aeth) + kIcrcSize) return false;
    if ((kEthernetAndIp.differs(data) | kFragmentAndProtocol.differs(data) | kPortToVersion.differs(data)) != 0)
      return false;
    const std::uint32_t total = half(data, kIp + offsetof(Ipv4Header, total_length));
    const std::uint32_t udp = half(data, kUdp + offsetof(UdpHeader, length));
    constexpr std::uint8_t kCongestion = 3;
    const std::uint8_t tos = data[kIp + offsetof(Ipv4Header, tos)];
    if (total + kIp > size || udp + sizeof(Ipv4Header) != total || (tos & kCongestion) == kCongestion) return false;
    // For an ACK only an AETH, which counts as its extended header, and nothing behind it.
    data_ = data;
    opcode_ = kUsualOpcodes[data[kBth + offsetof(Bth, opcode)]];
    const std::int32_t padded = static_cast<std::int32_t>(total + kIp - kLeast) - opcode_.extended_size;
    const std::int32_t pad = (data[kBth + offsetof(Bth, flags)] & kBthPadMask) >> kBthPadShift;
    total_ = static_cast<std::uint16_t>(total);
    return opcode_.is_usual && padded >= pad && padded % 4 == 0 && (padded == 0 || opcode_.payload);
  }

  const std::uint8_t* data() const { return data_; }
  /// Of a SEND or WRITE. Otherwise it is an ACK, NAK or RNR NAK.
  bool is_request() const { return opcode_.payload; }
  /// As OpcodeInfo's.
  bool ends_message() const { return opcode_.ends_message; }
  bool takes_receive() const { return opcode_.takes_receive; }
  bool ack_req() const { return (data_[kBth + offsetof(Bth, ack_req)] & kBthAckReq) != 0; }
  std::uint32_t psn() const { return word(data_, kBth + offsetof(Bth, ack_req)) & kLow24; }
  std::uint32_t destination_qpn() const { return word(data_, kBth + offsetof(Bth, reserved)) & kLow24; }
  std::uint16_t p_key() const { return half(data_, kBth + offsetof(Bth, p_key)); }
  /// The IPv4 addresses as they stand in the frame: the source in the first four bytes.
  std::uint64_t addresses() const {
    std::uint64_t both = 0;
    std::memcpy(&both, data_ + kIp + offsetof(Ipv4Header, source), sizeof(both));
    return both;
  }
  // Of an answer.
  std::uint8_t syndrome() const { return data_[kExtended + offsetof(Aeth, syndrome)]; }
  std::uint32_t msn() const { return word(data_, kExtended + offsetof(Aeth, syndrome)) & kLow24; }

  /// As wire::verify_icrc().
  bool verify_icrc() const { return verify_icrc_of_ipv4(data_ + kIp, total_); }
  /// As wire::verify_ipv4_checksum().
  [[gnu::always_inline]] bool verify_ipv4_checksum() const {
    return is_ipv4_sum_good(ipv4_words_sum(data_ + kIp, sizeof(Ipv4Header)));
  }

 private:
  static constexpr std::uint32_t kLow24 = 0xffffff;

  /// Eight bytes that a usual frame has at `offset`, those under the mask at least.
  struct Eight {
    std::size_t offset;
    std::array<std::uint8_t, 8> mask;
    std::array<std::uint8_t, 8> bytes;

    [[gnu::always_inline]] std::uint64_t differs(const std::uint8_t* data) const {
      std::uint64_t found = 0;
      std::memcpy(&found, data + offset, sizeof(found));
      return (found & std::bit_cast<std::uint64_t>(mask)) ^ std::bit_cast<std::uint64_t>(bytes);
    }
  };
  static constexpr std::uint8_t kAll = 0xff;
  static constexpr Eight kEthernetAndIp{
      offsetof(EthernetHeader, ether_type), {kAll, kAll, kAll}, {kEtherTypeIpv4 >> 8, kEtherTypeIpv4& kAll, 0x45}};
  static constexpr Eight kFragmentAndProtocol{
      kIp + offsetof(Ipv4Header, flags_fragment), {0x3f, kAll, 0, kAll}, {0, 0, 0, kIpProtocolUdp}};
  static constexpr Eight kPortToVersion{kUdp + offsetof(UdpHeader, destination_port),
                                        {kAll, kAll, 0, 0, kAll, kAll, 0, kBthVersionMask},
                                        {kRoceUdpPort >> 8, kRoceUdpPort& kAll}};
  static_assert(kPortToVersion.offset + 7 == kBth + offsetof(Bth, flags));

  static std::uint32_t word(const std::uint8_t* data, std::size_t offset) {
    return *reinterpret_cast<const Be32*>(data + offset);
  }
  static std::uint16_t half(const std::uint8_t* data, std::size_t offset) {
    return *reinterpret_cast<const Be16*>(data + offset);
  }

  const std::uint8_t* data_;
  std::uint16_t total_;  // length of the IP packet: a multiple of four, since all its parts are
  UsualOpcode opcode_;
};

}  // namespace longhaul::wire
