// SPDX-License-Identifier: BSD-3-Clause
#include "wire/path_mtu.hpp"

#include <bit>

namespace longhaul::wire {

std::uint32_t psns_of(const Frame& frame, std::uint32_t path_mtu) noexcept {
  if (frame.opcode->operation != Operation::read_request) return 1;
  const std::uint32_t bytes = frame.reth().dma_length;
  if (path_mtu == 0) return bytes <= kLeastPathMtu ? 1 : 0;
  return responses_to_read(bytes, path_mtu);
}

std::uint32_t path_mtu_shown_by(const Frame& frame) noexcept {
  const OpcodeInfo& opcode = *frame.opcode;
  const bool full = opcode.position == Position::first || opcode.position == Position::middle;
  const bool carries = opcode.operation == Operation::send || opcode.operation == Operation::write ||
                       opcode.operation == Operation::read_response;
  const std::uint32_t bytes = frame.payload_size;
  if (!full || !carries || bytes < kLeastPathMtu || bytes > kMostPathMtu || !std::has_single_bit(bytes)) return 0;
  return bytes;
}

}  // namespace longhaul::wire
