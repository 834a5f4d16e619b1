// SPDX-License-Identifier: BSD-3-Clause
// The flow that the tests of a far box have.
#pragma once

#include <cstdint>

#include "base/time.hpp"
#include "flow/key_index.hpp"
#include "relay/messages.hpp"

namespace longhaul::test {

constexpr relay::PeerNumber kPeer = 3;
constexpr std::uint32_t kQpn = 0x77;
constexpr std::uint32_t kRequesterQpn = 0x99;
constexpr std::uint32_t kMtu = 1024;
constexpr Time kStart = seconds(5);

inline flow::KeyIndex::Key request_key() {
  flow::KeyIndex::Key key;
  key.first = wire::IpAddress::parse("10.0.0.1");
  key.second = wire::IpAddress::parse("10.0.0.2");
  key.qpn = kQpn;
  return key;
}

}  // namespace longhaul::test
