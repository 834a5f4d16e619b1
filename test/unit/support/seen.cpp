// SPDX-License-Identifier: BSD-3-Clause
#include "seen.hpp"

#include <array>
#include <map>
#include <stdexcept>

namespace longhaul::test {

namespace {

// IBTA vol. 1, table 38.
const std::map<std::uint8_t, std::string> kNames = {
    {0x00, "send_first"}, {0x01, "send_middle"},    {0x02, "send_last"},     {0x03, "send_last_imm"},
    {0x04, "send_only"},  {0x05, "send_only_imm"},  {0x06, "write_first"},   {0x07, "write_middle"},
    {0x08, "write_last"}, {0x09, "write_last_imm"}, {0x0a, "write_only"},    {0x0b, "write_only_imm"},
    {0x0c, "read"},       {0x0d, "read_first"},     {0x0e, "read_middle"},   {0x0f, "read_last"},
    {0x10, "read_only"},  {0x11, "acknowledge"},    {0x12, "atomic_answer"}, {0x13, "cmp_swap"},
    {0x14, "fetch_add"},  {0x16, "send_last_inv"},  {0x17, "send_only_inv"}, {0x81, "cnp"},
};

// Attribute IDs of CM MADs.
const std::map<unsigned, std::string> kCmNames = {{0x10, "req"}, {0x11, "mra"},  {0x12, "rej"}, {0x13, "rep"},
                                                  {0x14, "rtu"}, {0x15, "dreq"}, {0x16, "drep"}};

unsigned be(const Bytes& bytes, std::size_t at, std::size_t size) {
  unsigned value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes.at(at + i);
  return value;
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
    table[i] = crc;
  }
  return table;
}

bool is_v6(const Bytes& frame, std::size_t ip) { return frame.at(ip) >> 4 == 6; }
std::size_t ip_header_size(const Bytes& frame, std::size_t ip) {
  return is_v6(frame, ip) ? 40 : (frame.at(ip) & 0xfU) * 4U;
}
std::size_t ip_size(const Bytes& frame, std::size_t ip) {
  return is_v6(frame, ip) ? 40 + be(frame, ip + 4, 2) : be(frame, ip + 2, 2);
}

bool ip_checksum_is_good(const Bytes& frame, std::size_t ip) {
  if (is_v6(frame, ip)) return true;
  unsigned sum = 0;
  for (std::size_t i = 0; i < ip_header_size(frame, ip); i += 2) sum += be(frame, ip + i, 2);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace

std::uint32_t independent_icrc(const Bytes& frame, std::size_t ip) {
  static constexpr auto kTable = crc_table();
  const bool v6 = is_v6(frame, ip);
  const std::size_t header = ip_header_size(frame, ip);
  std::uint32_t crc = 0xffffffff;
  const auto add = [&crc](std::uint8_t byte) { crc = crc >> 8 ^ kTable[(crc ^ byte) & 0xff]; };
  for (int i = 0; i < 8; ++i) add(0xff);
  for (std::size_t i = 0; i < ip_size(frame, ip) - 4; ++i) {
    std::uint8_t byte = frame.at(ip + i);
    if (v6 && i == 0) byte |= 0x0f;
    const bool ones = v6 ? (i >= 1 && i <= 3) || i == 7 : i == 1 || i == 8 || i == 10 || i == 11;
    if (ones || i == header + 6 || i == header + 7 || i == header + 12) byte = 0xff;
    add(byte);
  }
  return ~crc;
}

Seen::Seen(Bytes frame) : bytes(std::move(frame)) {
  std::size_t at = 12;
  while (at + 4 < bytes.size() && (be(bytes, at, 2) == 0x8100 || be(bytes, at, 2) == 0x88a8)) at += 4;
  if (bytes.size() < at + 2 + 20 + 8 + 16) return;
  const unsigned type = be(bytes, at, 2);
  if (type != 0x0800 && type != 0x86dd) return;
  ip = at + 2;
  const std::size_t udp = ip + ip_header_size(bytes, ip);
  if (bytes.at(ip + (type == 0x0800 ? 9 : 6)) != 17 || be(bytes, udp + 2, 2) != 4791) return;
  roce = true;
  bth = udp + 8;
  opcode = bytes.at(bth);
  p_key = static_cast<std::uint16_t>(be(bytes, bth + 2, 2));
  qpn = be(bytes, bth + 5, 3);
  ack_req = (bytes.at(bth + 8) & 0x80) != 0;
  psn = be(bytes, bth + 9, 3);
  if (has_aeth()) {
    syndrome = bytes.at(bth + 12);
    msn = be(bytes, bth + 13, 3);
  }
  const std::size_t end = ip + ip_size(bytes, ip) - 4;
  const std::uint32_t stored = bytes.at(end) | std::uint32_t{bytes.at(end + 1)} << 8 |
                               std::uint32_t{bytes.at(end + 2)} << 16 | std::uint32_t{bytes.at(end + 3)} << 24;
  good_icrc = stored == independent_icrc(bytes, ip);
  good_ip_checksum = ip_checksum_is_good(bytes, ip);
}

std::string Seen::line() const {
  if (!roce) return "other";
  const std::string flaws = std::string(good_icrc ? "" : " bad-icrc") + (good_ip_checksum ? "" : " bad-ip-checksum");
  if (opcode == 0x64) {
    const auto name = kCmNames.find(be(bytes, bth + 12 + 8 + 16, 2));
    return (name == kCmNames.end() ? "ud" : name->second) + flaws;
  }
  const auto known = kNames.find(opcode);
  std::string name = known == kNames.end() ? "opcode" + std::to_string(opcode) : known->second;
  if (opcode == 0x11) {
    const unsigned kind = syndrome >> 5;
    const std::string value = std::to_string(syndrome & 0x1f);
    name = kind == 0 ? (syndrome == 0x1f ? "ack" : "ack-credits" + value) : (kind == 1 ? "rnr" + value : "nak" + value);
  }
  return name + " " + std::to_string(psn) + (ack_req ? "!" : "") +
         (opcode == 0x11 ? " msn " + std::to_string(msn) : "") + flaws;
}

std::uint8_t opcode_named(const std::string& name) {
  for (const auto& [code, known] : kNames)
    if (known == name) return code;
  throw std::invalid_argument("no opcode named " + name);
}

}  // namespace longhaul::test
