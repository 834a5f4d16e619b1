// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/af_packet.hpp"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

std::uint32_t less(std::uint32_t size, std::size_t header) {
  return size > header ? size - static_cast<std::uint32_t>(header) : 0;
}

}  // namespace

std::uint32_t AfPacketArguments::largest_received() const noexcept {
  // The kernel (tpacket_rcv) aligns the network header to 16 bytes behind its own header and at least 16
  // bytes of link header, and puts the 14 Ethernet bytes before it.
  return less(frame_size, TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - 14);
}

std::uint32_t AfPacketArguments::largest_sent() const noexcept {
  return less(frame_size, TPACKET2_HDRLEN - sizeof(sockaddr_ll));
}

std::optional<AfPacketArguments> parse_af_packet(std::string_view vdev) {
  // eth_ is the driver's older name.
  if (!vdev.starts_with("net_af_packet") && !vdev.starts_with("eth_af_packet")) return std::nullopt;
  AfPacketArguments out;
  std::string_view rest = vdev;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (item.starts_with("iface=")) out.interface = item.substr(6);
    const auto read = [&](std::string_view key, const char* unit, std::uint32_t& to) {
      if (!item.starts_with(key)) return;
      const std::string_view number = item.substr(key.size());
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), to);
      if (error != std::errc{} || end != number.data() + number.size())
        throw std::runtime_error(fmt::format("\"{}\": {} needs a number of {}, got \"{}\"", vdev, key, unit, number));
    };
    read("framesz=", "bytes", out.frame_size);
    read("qpairs=", "queue pairs", out.queue_pairs);
  }
  if (out.interface.empty())
    throw std::runtime_error(fmt::format("\"{}\": needs iface=NAME, a network interface", vdev));
  return out;
}

}  // namespace longhaul::drivers
