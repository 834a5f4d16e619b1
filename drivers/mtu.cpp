// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/mtu.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

std::string remedies(const MtuCapacity& first, const MtuCapacity& second, std::uint32_t mtu) {
  std::string text;
  for (const MtuCapacity* port : {&first, &second}) {
    if (port->mtu < mtu) text += fmt::format("; raise {}: {}", port->port, port->remedy);
  }
  return text;
}

}  // namespace

std::uint32_t agree_on_mtu(const MtuCapacity& first, const MtuCapacity& second, std::optional<std::uint32_t> wanted) {
  const std::uint32_t both = std::min(first.mtu, second.mtu);
  if (wanted) {
    if (both >= *wanted) return *wanted;
    throw std::runtime_error(
        fmt::format("the ports cannot both carry `mtu: {}`: {} carries {}, {} carries {}{}; or set `mtu: {}`", *wanted,
                    first.port, first.mtu, second.port, second.mtu, remedies(first, second, *wanted), both));
  }
  if (first.fixed && second.fixed && first.mtu != second.mtu) {
    throw std::runtime_error(fmt::format(
        "the ports carry different MTUs: {} carries {}, {} carries {}{}; or set `mtu: {}`", first.port, first.mtu,
        second.port, second.mtu, remedies(first, second, std::max(first.mtu, second.mtu)), both));
  }
  const std::uint32_t mtu = first.fixed ? first.mtu : second.fixed ? second.mtu : kDefaultMtu;
  if (both >= mtu) return mtu;
  throw std::runtime_error(
      fmt::format("the ports cannot both carry MTU {}: {} carries {}, {} carries {}{}; or set `mtu: {}`", mtu,
                  first.port, first.mtu, second.port, second.mtu, remedies(first, second, mtu), both));
}

}  // namespace longhaul::drivers
