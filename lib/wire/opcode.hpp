// SPDX-License-Identifier: BSD-3-Clause
// The BTH opcodes as data (IBTA vol. 1, table 38; CNP: Annex A17.9.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul::wire {

/// The transport service in the top three bits of an opcode.
enum class Service : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, other = 5 };

/// What a packet asks for or answers.
enum class Operation : std::uint8_t {
  send,
  write,
  read_request,
  atomic_request,
  read_response,
  atomic_response,
  acknowledge,
  congestion_notification,
};

/// The position of a packet in its message.
enum class Position : std::uint8_t { first, middle, last, only };

/// Extended headers that follow the BTH, in wire order: DETH, RETH, AtomicETH, AETH, AtomicAckETH, ImmDt, IETH.
enum ExtendedHeader : std::uint8_t {
  kHasDeth = 1 << 0,
  kHasReth = 1 << 1,
  kHasAtomicEth = 1 << 2,
  kHasAeth = 1 << 3,
  kHasAtomicAckEth = 1 << 4,
  kHasImmDt = 1 << 5,
  kHasIeth = 1 << 6,
};

/// Bytes of all extended headers in `set` together. headers.hpp has the layouts; opcode.cpp asserts that both agree.
constexpr std::uint8_t extended_size_of(std::uint8_t set) noexcept {
  constexpr std::uint8_t kSizes[] = {8, 16, 28, 4, 8, 4, 4};  // in the order of ExtendedHeader's bits
  std::uint8_t size = 0;
  for (unsigned bit = 0; bit < sizeof(kSizes); ++bit)
    if ((set >> bit & 1) != 0) size = static_cast<std::uint8_t>(size + kSizes[bit]);
  return size;
}

/// extended_size_of() for every set, so that finding a header is one load.
inline constexpr auto kExtendedSizes = [] {
  std::array<std::uint8_t, 256> sizes{};
  for (std::size_t set = 0; set < sizes.size(); ++set) sizes[set] = extended_size_of(static_cast<std::uint8_t>(set));
  return sizes;
}();

struct OpcodeInfo {
  std::uint8_t code;
  std::string_view name;  ///< as the IBTA names it, e.g. "RC RDMA WRITE First"
  Service service;
  Operation operation;
  Position position;
  std::uint8_t extended;       ///< set of ExtendedHeader
  std::uint8_t extended_size;  ///< bytes of all extended headers together
  bool payload;                ///< may carry payload bytes
  // Derived from the others, so that a query is one load.
  bool ends_message_;
  bool takes_receive_;
  bool wants_response_;

  constexpr bool has(ExtendedHeader header) const noexcept { return (extended & header) != 0; }
  /// A packet from requester to responder.
  constexpr bool is_request() const noexcept { return operation <= Operation::atomic_request; }
  /// A packet from responder to requester.
  constexpr bool is_response() const noexcept {
    return operation >= Operation::read_response && operation <= Operation::acknowledge;
  }
  /// This request packet ends a message: the responder counts one more in its MSN (9.7.7.1).
  constexpr bool ends_message() const noexcept { return ends_message_; }
  /// This request packet uses up a receive of the responder: the end of a SEND or of a WRITE with immediate (9.7.7.2).
  constexpr bool takes_receive() const noexcept { return takes_receive_; }
  /// Answered by data and not by an ACK alone.
  constexpr bool wants_response() const noexcept { return wants_response_; }
};

/// The table's row for `code`, or nullptr when longhaul does not know it.
const OpcodeInfo* find_opcode(std::uint8_t code) noexcept;

/// What the lane must know of an opcode: of a SEND or WRITE of RC, or of its ACK. Of all others is_usual is false.
struct UsualOpcode {
  std::uint8_t extended_size = 0;  ///< as OpcodeInfo's
  bool is_usual : 1 = false;
  bool payload : 1 = false;
  bool ends_message : 1 = false;
  bool takes_receive : 1 = false;
};
extern const std::array<UsualOpcode, 256> kUsualOpcodes;

// Opcodes the project builds or names itself.
inline constexpr std::uint8_t kRcSendOnly = 0x04;
inline constexpr std::uint8_t kRcWriteFirst = 0x06;
inline constexpr std::uint8_t kRcWriteMiddle = 0x07;
inline constexpr std::uint8_t kRcWriteLast = 0x08;
inline constexpr std::uint8_t kRcWriteOnly = 0x0a;
inline constexpr std::uint8_t kRcReadRequest = 0x0c;
inline constexpr std::uint8_t kRcReadResponseFirst = 0x0d;
inline constexpr std::uint8_t kRcReadResponseMiddle = 0x0e;
inline constexpr std::uint8_t kRcReadResponseLast = 0x0f;
inline constexpr std::uint8_t kRcReadResponseOnly = 0x10;
inline constexpr std::uint8_t kRcAcknowledge = 0x11;
inline constexpr std::uint8_t kRcAtomicAcknowledge = 0x12;
inline constexpr std::uint8_t kRcCompareSwap = 0x13;
inline constexpr std::uint8_t kRcFetchAdd = 0x14;
inline constexpr std::uint8_t kUdSendOnly = 0x64;
inline constexpr std::uint8_t kCnp = 0x81;

}  // namespace longhaul::wire
