// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/engine_load/flows.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "wire/cm.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kHosts = 16;  // a side
constexpr std::uint32_t kFirstRequesterQpn = 0x1000;
constexpr std::uint32_t kFirstResponderQpn = 0x210000;

}  // namespace

wire::PacketBuilder FlowEnds::request() const {
  return wire::PacketBuilder().ips(requester_ip, responder_ip).qpn(responder_qpn);
}

wire::PacketBuilder FlowEnds::answer() const {
  return wire::PacketBuilder().ips(responder_ip, requester_ip).qpn(requester_qpn);
}

std::vector<FlowEnds> make_flows(std::uint32_t count) {
  std::vector<FlowEnds> flows;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t start = i % 16 == 0 ? wire::kPsnMask - 1000 : (i * 7919) & (wire::kPsnMask >> 1);
    flows.push_back({"10.1.0." + std::to_string(1 + i % kHosts), "10.2.0." + std::to_string(1 + i / kHosts % kHosts),
                     kFirstRequesterQpn + i, kFirstResponderQpn + i, start});
  }
  return flows;
}

CmExchange exchange_of(const FlowEnds& flow, std::uint32_t i, std::uint8_t path_mtu) {
  return {i,
          flow.requester_ip,
          flow.responder_ip,
          flow.requester_qpn,
          flow.responder_qpn,
          flow.start_psn,
          wire::path_mtu_bytes(path_mtu)};
}

std::vector<std::uint32_t> shuffled(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // std::shuffle may differ between standard libraries; the figures must not.
  std::mt19937 random(1);
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace longhaul::bench
