// SPDX-License-Identifier: BSD-3-Clause
// The flow that the tests of a far box have, and how they give it requests.
#pragma once

#include <rte_mbuf.h>

#include <catch2/catch.hpp>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/time.hpp"
#include "flow/key_index.hpp"
#include "relay/far_part.hpp"
#include "relay/messages.hpp"
#include "wire/frame.hpp"

namespace longhaul::test {

constexpr Speaker kPeer = speaker_of(3, 0);
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

/// What test/peer has written.
inline nlohmann::json read(const std::string& name) {
  std::ifstream file(TEST_ROOT "/peer/" + name);
  REQUIRE(file);
  return nlohmann::json::parse(file);
}

inline wire::Frame frame_in(const rte_mbuf* mbuf) {
  wire::Frame frame;
  REQUIRE(wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->pkt_len}, frame) == wire::ParseStatus::roce);
  return frame;
}

inline std::string frame_key(const rte_mbuf* mbuf) { return {rte_pktmbuf_mtod(mbuf, const char*), mbuf->pkt_len}; }

/// As the engine gives a request of the flow with this number (kNone: of none) to the far part.
inline void give(relay::FarPart& far, std::uint32_t flow, relay::FarOutlet& outlet, rte_mbuf* mbuf, Time now) {
  const wire::Frame frame = frame_in(mbuf);
  if (flow == relay::FarPart::kNone) return outlet.hand_on(mbuf);
  if (far.request(flow, frame, mbuf, now) != relay::FarPart::Verdict::forward) return rte_pktmbuf_free(mbuf);
  outlet.hand_on(mbuf);
  far.forwarded(flow, now);
}

}  // namespace longhaul::test
