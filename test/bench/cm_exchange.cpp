// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/cm_exchange.hpp"

#include <array>
#include <bit>

#include "wire/builder.hpp"
#include "wire/cm.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kGsiQKey = 0x80010000;  // IBTA vol. 1, 10.2.5

std::vector<std::uint8_t> frame(const std::string& from, const std::string& to, const wire::CmMessage& message) {
  std::array<std::uint8_t, wire::kMadSize> mad{};
  wire::write_cm(message, mad);
  return wire::PacketBuilder()
      .ips(from, to)
      .opcode(wire::kUdSendOnly)
      .qpn(wire::kGsiQpn)
      .deth(kGsiQKey, wire::kGsiQpn)
      .payload(mad)
      .build();
}

std::uint32_t active_id(const CmExchange& exchange) { return 0x1000000 + exchange.number; }
std::uint32_t passive_id(const CmExchange& exchange) { return 0x2000000 + exchange.number; }

}  // namespace

std::vector<std::uint8_t> cm_request(const CmExchange& exchange) {
  wire::CmMessage req;
  req.attribute = wire::CmAttribute::req;
  req.transaction_id = 100 + exchange.number;
  req.local_comm_id = active_id(exchange);
  req.local_qpn = exchange.requester_qpn;
  req.starting_psn = 1;  // of the responder's own requests; it has none
  req.reliable_connected = true;
  req.path_mtu = static_cast<std::uint8_t>(std::bit_width(exchange.path_mtu) - 8);  // 1 is 256
  req.retry_count = 7;
  req.local_ack_timeout = 19;
  return frame(exchange.requester_ip, exchange.responder_ip, req);
}

std::vector<std::uint8_t> cm_reply(const CmExchange& exchange) {
  wire::CmMessage rep;
  rep.attribute = wire::CmAttribute::rep;
  rep.transaction_id = 100 + exchange.number;
  rep.local_comm_id = passive_id(exchange);
  rep.remote_comm_id = active_id(exchange);
  rep.local_qpn = exchange.responder_qpn;
  rep.starting_psn = exchange.requester_starts_at;
  return frame(exchange.responder_ip, exchange.requester_ip, rep);
}

}  // namespace longhaul::bench
