// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/engine_load/flows.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "wire/cm.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kHosts = 16;  // a side
constexpr std::uint32_t kFirstRequesterQpn = 0x1000;
constexpr std::uint32_t kFirstResponderQpn = 0x210000;
constexpr std::uint32_t kFirstCommId = 1000;

std::vector<std::uint8_t> cm_frame(const std::string& from, const std::string& to, const wire::CmMessage& message) {
  std::array<std::uint8_t, wire::kMadSize> mad{};
  wire::write_cm(message, mad);
  return wire::PacketBuilder()
      .ips(from, to)
      .opcode(wire::kUdSendOnly)
      .qpn(wire::kGsiQpn)
      .deth(0x80010000, 1)
      .payload(mad)
      .build();
}

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

std::vector<std::uint8_t> cm_req(const FlowEnds& flow, std::uint32_t i, std::uint8_t path_mtu) {
  wire::CmMessage message;
  message.attribute = wire::CmAttribute::req;
  message.transaction_id = i + 1;
  message.local_comm_id = kFirstCommId + i;
  message.local_qpn = flow.requester_qpn;
  message.starting_psn = 1;
  message.reliable_connected = true;
  message.path_mtu = path_mtu;
  message.retry_count = 7;
  message.local_ack_timeout = 19;
  return cm_frame(flow.requester_ip, flow.responder_ip, message);
}

std::vector<std::uint8_t> cm_rep(const FlowEnds& flow, std::uint32_t i) {
  wire::CmMessage message;
  message.attribute = wire::CmAttribute::rep;
  message.transaction_id = i + 1;
  message.local_comm_id = 2 * kFirstCommId + 0x100000 + i;
  message.remote_comm_id = kFirstCommId + i;
  message.local_qpn = flow.responder_qpn;
  message.starting_psn = flow.start_psn;
  return cm_frame(flow.responder_ip, flow.requester_ip, message);
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
