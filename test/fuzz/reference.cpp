// SPDX-License-Identifier: BSD-3-Clause
#include "reference.hpp"

#include <algorithm>
#include <vector>

namespace longhaul::fuzz {

namespace {

constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool mapped(const std::array<std::uint8_t, 16>& address) { return std::equal(kMapped, kMapped + 12, address.begin()); }

/// Bytes of extended headers by opcode (IBTA table 38); -1 if longhaul does not need to know it.
int extended_of(std::uint8_t opcode) {
  const int operation = opcode & 0x1f;
  const bool rc = opcode < 0x20;
  if (!rc && !(opcode >= 0x20 && opcode <= 0x2b))
    return opcode == 0x64 ? 8 : opcode == 0x65 ? 12 : opcode == 0x81 ? 0 : -1;
  switch (operation) {
    case 0x03:
    case 0x05:
    case 0x09:  // immediate
    case 0x0d:
    case 0x0f:
    case 0x10:
    case 0x11:  // AETH
    case 0x16:
    case 0x17:  // invalidate
      return 4;
    case 0x06:
    case 0x0a:
    case 0x0c:
      return 16;
    case 0x0b:
      return 20;
    case 0x12:
      return 12;
    case 0x13:
    case 0x14:
      return 28;
    case 0x15:
      return -1;
    default:
      return operation <= 0x17 ? 0 : -1;
  }
}

bool carries_payload(std::uint8_t opcode) {
  return opcode != 0x0c && opcode != 0x11 && opcode != 0x12 && opcode != 0x13 && opcode != 0x14;
}

bool read_ip(std::span<const std::uint8_t> frame, bool v4, Roce& out, std::size_t& at, std::size_t& end) {
  const std::size_t have = frame.size() - at;
  out.ip = at;
  if (v4) {
    if (have < 20 || frame[at] >> 4 != 4) return false;
    const std::size_t header = (frame[at] & 0xfU) * 4U;
    const std::size_t total = number_at(frame, at + 2, 2);
    if (header < 20 || have < header || total < header || have < total) return false;
    if ((number_at(frame, at + 6, 2) & 0x3fff) != 0 || frame[at + 9] != 17) return false;
    std::copy(kMapped, kMapped + 12, out.source.begin());
    std::copy(kMapped, kMapped + 12, out.destination.begin());
    for (std::size_t i = 0; i < 4; ++i) {
      out.source[12 + i] = frame[at + 12 + i];
      out.destination[12 + i] = frame[at + 16 + i];
    }
    end = at + total;
    at += header;
  } else {
    if (have < 40 || frame[at] >> 4 != 6) return false;
    const std::size_t total = 40 + number_at(frame, at + 4, 2);
    if (have < total || frame[at + 6] != 17) return false;
    for (std::size_t i = 0; i < 16; ++i) {
      out.source[i] = frame[at + 8 + i];
      out.destination[i] = frame[at + 24 + i];
    }
    if (mapped(out.source) || mapped(out.destination)) return false;
    out.ipv6 = true;
    end = at + total;
    at += 40;
  }
  return end <= 65535;
}

/// CRC-32 of IEEE 802.3, bit by bit, of each byte.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
    table[byte] = crc;
  }
  return table;
}

std::uint32_t ones_sum(std::span<const std::uint8_t> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  return sum;
}

bool sums_to_ones(std::uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace

std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes.subspan(at, size)) value = value << 8 | byte;
  return value;
}

bool Roce::ends_message() const {
  static constexpr std::uint8_t kEnds[] = {0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a,
                                           0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17};
  return std::find(std::begin(kEnds), std::end(kEnds), opcode) != std::end(kEnds);
}

std::optional<Roce> read_roce(std::span<const std::uint8_t> frame) {
  Roce out;
  std::size_t at = 12;
  if (frame.size() < 14) return std::nullopt;
  std::uint32_t type = number_at(frame, at, 2);
  unsigned all = 0;
  while (type == 0x8100 || type == 0x88a8) {
    if (all == 2 || frame.size() < at + 6) return std::nullopt;
    ++all;
    const unsigned vid = number_at(frame, at + 2, 2) & 0xfff;
    if (vid != 0) out.vids[out.tags++] = vid;
    at += 4;
    type = number_at(frame, at, 2);
  }
  at += 2;
  std::size_t end = 0;
  if (type != 0x0800 && type != 0x86dd) return std::nullopt;
  if (!read_ip(frame, type == 0x0800, out, at, end)) return std::nullopt;

  if (end - at < 8 + 12 + 4) return std::nullopt;
  if (number_at(frame, at + 2, 2) != 4791 || number_at(frame, at + 4, 2) != end - at) return std::nullopt;
  out.udp = at;
  out.bth = at + 8;
  out.icrc = end - 4;
  if ((frame[out.bth + 1] & 0xf) != 0) return std::nullopt;
  out.opcode = frame[out.bth];
  out.p_key = static_cast<std::uint16_t>(number_at(frame, out.bth + 2, 2));
  out.qpn = number_at(frame, out.bth + 5, 3);
  out.ack_req = frame[out.bth + 8] >> 7 != 0;
  out.psn = number_at(frame, out.bth + 9, 3);
  const int extended = extended_of(out.opcode);
  if (extended < 0) return out;

  out.known_opcode = true;
  out.extended = static_cast<std::size_t>(extended);
  out.payload = out.bth + 12 + out.extended;
  if (out.payload > out.icrc) return std::nullopt;
  const std::size_t padded = out.icrc - out.payload;
  const std::size_t pad = frame[out.bth + 1] >> 4 & 3U;
  if (carries_payload(out.opcode) ? pad > padded || padded % 4 != 0 : pad != 0 || padded != 0) return std::nullopt;
  out.payload_size = padded - pad;
  if (out.is_rc() && out.is_answer() && out.opcode != 0x0e) {
    out.syndrome = frame[out.bth + 12];
    out.msn = number_at(frame, out.bth + 13, 3);
  }
  const std::uint8_t operation = out.opcode & 0x1f;
  if (out.opcode < 0x40 && (operation == 0x06 || operation == 0x0a || operation == 0x0b || operation == 0x0c))
    out.dma_length = number_at(frame, out.bth + 24, 4);
  return out;
}

std::uint32_t slow_icrc(std::span<const std::uint8_t> frame, const Roce& roce) {
  std::vector<std::uint8_t> masked(8, 0xff);
  masked.insert(masked.end(), frame.begin() + static_cast<std::ptrdiff_t>(roce.ip),
                frame.begin() + static_cast<std::ptrdiff_t>(roce.icrc));
  std::uint8_t* ip = masked.data() + 8;
  if (roce.ipv6) {
    ip[0] |= 0x0f;
    ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
  } else {
    ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
  }
  ip[roce.udp - roce.ip + 6] = ip[roce.udp - roce.ip + 7] = 0xff;
  ip[roce.bth - roce.ip + 4] = 0xff;
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : masked) crc = crc >> 8 ^ kTable[(crc ^ byte) & 0xff];
  return ~crc;
}

std::uint32_t carried_icrc(std::span<const std::uint8_t> frame, const Roce& roce) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | frame[roce.icrc + i];
  return value;
}

bool checksums_good(std::span<const std::uint8_t> frame, const Roce& roce) {
  if (!roce.ipv6 && !sums_to_ones(ones_sum(frame.subspan(roce.ip, roce.udp - roce.ip)))) return false;
  if (number_at(frame, roce.udp + 6, 2) == 0) return true;
  const std::size_t length = roce.icrc + 4 - roce.udp;
  const auto addresses = roce.ipv6 ? frame.subspan(roce.ip + 8, 32) : frame.subspan(roce.ip + 12, 8);
  return sums_to_ones(ones_sum(addresses) + 17 + static_cast<std::uint32_t>(length) +
                      ones_sum(frame.subspan(roce.udp, length)));
}

}  // namespace longhaul::fuzz
