// SPDX-License-Identifier: BSD-3-Clause
#include "wire/checksum.hpp"

#include "wire/big_endian.hpp"

namespace longhaul::wire {

std::uint64_t internet_sum(std::span<const std::uint8_t> bytes) noexcept {
  std::uint64_t sum = 0;
  for (; bytes.size() >= sizeof(Be32); bytes = bytes.subspan(sizeof(Be32)))
    sum += *reinterpret_cast<const Be32*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::uint64_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  return sum;
}

std::uint64_t pseudo_header_sum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                std::size_t size) noexcept {
  const auto of = [](const IpAddress& address) {
    constexpr std::size_t kMapped = 12;
    const std::span<const std::uint8_t> bytes(address.bytes);
    return internet_sum(address.is_ipv4() ? bytes.subspan(kMapped) : bytes);
  };
  return of(source) + of(destination) + protocol + size;
}

std::uint16_t internet_checksum(std::uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace longhaul::wire
