// SPDX-License-Identifier: BSD-3-Clause
#include "sim/strays.hpp"

#include "sim/listener.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint8_t kUcWriteOnly = 0x2a;
// A world whose end takes minutes is not filled with them.
constexpr std::uint64_t kMost = 500;

std::vector<std::uint8_t> cm_frame(wire::PacketBuilder frame, const wire::CmMessage& message) {
  std::vector<std::uint8_t> mad(wire::kMadSize);
  wire::write_cm(message, std::span<std::uint8_t, wire::kMadSize>(mad));
  return frame.opcode(wire::kUdSendOnly).qpn(wire::kGsiQpn).deth(0x80010000, wire::kGsiQpn).payload(mad).build();
}

}  // namespace

Strays::Strays(const StrayPlan& plan, const wire::PacketBuilder& frame, std::vector<Target> targets, std::uint64_t seed,
               std::uint64_t who, Outlet& outlet, Time start)
    : plan_(plan), frame_(frame), targets_(std::move(targets)), random_(seed, who, 55), outlet_(outlet) {
  begin(start);
}

void Strays::begin(Time from) {
  if (plan_.foreign != 0) next_foreign_ = from + random_.below(plan_.foreign);
  if (plan_.forged != 0 && !targets_.empty()) next_forged_ = from + random_.below(plan_.forged);
}

void Strays::aim(std::vector<Target> targets, Time from) {
  targets_ = std::move(targets);
  polls_ = 0;
  begin(from);
}

void Strays::poll(Time now) {
  if (++polls_ > kMost) return stop();
  if (next_foreign_ <= now) {
    next_foreign_ = now + plan_.foreign / 2 + random_.below(plan_.foreign) + 1;
    for (std::uint64_t burst = random_.between(1, 4); burst > 0; --burst) outlet_.put(make_foreign());
  }
  if (next_forged_ <= now) {
    next_forged_ = now + plan_.forged / 2 + random_.below(plan_.forged) + 1;
    ++forged_count_;
    outlet_.put(make_forged());
  }
}

std::vector<std::uint8_t> Strays::make_foreign() {
  ++number_;
  wire::PacketBuilder builder = frame_;
  builder.psn(number_ & 0xffffff).payload_size(random_.below(200), static_cast<std::uint8_t>(number_));
  const auto raw = [&](std::uint16_t ether_type) {
    std::vector<std::uint8_t> bytes(46 + random_.below(200));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.next());
    bytes[12] = static_cast<std::uint8_t>(ether_type >> 8);
    bytes[13] = static_cast<std::uint8_t>(ether_type);
    return bytes;
  };
  constexpr std::uint32_t kNobody = 0xabcdef;
  switch (random_.below(7)) {
    case 0:
      return raw(0x0806);  // ARP
    case 1:
      return raw(0x88cc);  // LLDP
    case 2:
      return raw(wire::kEtherTypeIpv4);  // an IP header that is none
    case 3:
      return builder.opcode(wire::kUdSendOnly).qpn(0x99).build();
    case 4:
      return builder.opcode(kUcWriteOnly).qpn(kNobody).build();
    case 5:
      return builder.opcode(wire::kRcSendOnly).qpn(kNobody).ack_req().build();
    default:
      return builder.opcode(0xe3).qpn(kNobody).build();  // a manufacturer's own
  }
}

std::vector<std::uint8_t> Strays::make_forged() {
  const Target& target = targets_[random_.below(targets_.size())];
  wire::PacketBuilder builder = frame_;
  const auto psn = static_cast<std::uint32_t>(target.own_psn + random_.below(60)) & 0xffffff;
  wire::CmMessage cm;
  cm.local_comm_id = 0xf0000000 + static_cast<std::uint32_t>(random_.below(1000));
  cm.remote_comm_id = 0xf1000000 + static_cast<std::uint32_t>(random_.below(1000));
  cm.transaction_id = 0xf2000000;
  const auto req_for = [&](std::uint64_t service, std::uint32_t starting_psn) {
    cm.attribute = wire::CmAttribute::req;
    cm.local_qpn = target.own_qpn;
    cm.starting_psn = starting_psn;
    cm.reliable_connected = true;
    cm.path_mtu = 3;
    cm.service_id = service;
    return cm_frame(builder, cm);
  };
  switch (random_.below(plan_.reads ? 9 : 8)) {
    case 0: {  // a request with a wrong ICRC
      auto bytes = builder.opcode(wire::kRcSendOnly).qpn(target.peer_qpn).psn(psn).ack_req().payload_size(32).build();
      bytes.back() ^= 0x5a;
      return bytes;
    }
    case 1: {  // an ACK with a wrong ICRC
      auto bytes = builder.opcode(wire::kRcAcknowledge).qpn(target.peer_qpn).psn(psn).aeth(0x1f, 1).build();
      bytes.back() ^= 0x5a;
      return bytes;
    }
    case 2:  // a REQ that names the host's own QPN, for a service that is not there
      return req_for(0xdead, 77);
    case 6:  // for one that is: the other host answers it
      return req_for(kListeningService, 77);
    case 7:
      return req_for(kListeningService, target.peer_psn);
    case 3:  // a DREQ with communication IDs of nobody
      cm.attribute = wire::CmAttribute::dreq;
      cm.remote_qpn = target.peer_qpn;
      return cm_frame(builder, cm);
    case 4:  // a REP to nobody's REQ
      cm.attribute = wire::CmAttribute::rep;
      cm.local_qpn = target.own_qpn;
      return cm_frame(builder, cm);
    case 8: {  // a READ that the responder has answered, by its PSN, and of any length
      const auto answered = static_cast<std::uint32_t>(target.own_psn - 1 - random_.below(60)) & 0xffffff;
      const auto length = static_cast<std::uint32_t>(random_.next() >> random_.between(32, 63));
      return builder.opcode(wire::kRcReadRequest).qpn(target.peer_qpn).psn(answered).reth(0, 1, length).build();
    }
    default:  // an ACK for what was never sent
      return builder.opcode(wire::kRcAcknowledge)
          .qpn(target.peer_qpn)
          .psn((target.peer_psn + 0x600000) & 0xffffff)
          .aeth(0x1f, 9)
          .build();
  }
}

}  // namespace longhaul::sim
