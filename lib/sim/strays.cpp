// SPDX-License-Identifier: BSD-3-Clause
#include "sim/strays.hpp"

#include "sim/listener.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint8_t kUcWriteOnly = 0x2a;
constexpr std::uint8_t kOfManufacturer = 0xe3;  // an opcode
constexpr std::uint32_t kStranger = 0xabcdef;   // a QPN

// Frames that concern no connection.
enum class Foreign {
  arp,
  lldp,
  broken_ip,
  ud,
  uc,
  rc_to_nobody,
  opcode_of_manufacturer,
  last = opcode_of_manufacturer
};

// Forged frames.
enum class Forged {
  damaged_request,
  damaged_ack,
  req_for_no_service,
  dreq_of_nobody,
  rep_to_nobody,
  ack_of_the_future,
  req_for_service,
  req_with_psn,  // the same, with the first PSN of the other host's requester
  read_again,
  last = read_again
};

constexpr std::uint64_t kForeign = static_cast<std::uint64_t>(Foreign::last) + 1;
constexpr std::uint64_t kForged = static_cast<std::uint64_t>(Forged::last) + 1;

// A limit for worlds that take minutes to end.
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
  constexpr std::uint16_t kLldp = 0x88cc;
  switch (static_cast<Foreign>(random_.below(kForeign))) {
    case Foreign::arp:
      return raw(wire::kEtherTypeArp);
    case Foreign::lldp:
      return raw(kLldp);
    case Foreign::broken_ip:
      return raw(wire::kEtherTypeIpv4);
    case Foreign::ud:
      return builder.opcode(wire::kUdSendOnly).qpn(0x99).build();
    case Foreign::uc:
      return builder.opcode(kUcWriteOnly).qpn(kStranger).build();
    case Foreign::rc_to_nobody:
      return builder.opcode(wire::kRcSendOnly).qpn(kStranger).ack_req().build();
    case Foreign::opcode_of_manufacturer:
      break;
  }
  return builder.opcode(kOfManufacturer).qpn(kStranger).build();
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
  switch (static_cast<Forged>(random_.below(plan_.reads ? kForged : static_cast<std::uint64_t>(Forged::read_again)))) {
    case Forged::damaged_request: {  // a wrong ICRC
      auto bytes = builder.opcode(wire::kRcSendOnly).qpn(target.peer_qpn).psn(psn).ack_req().payload_size(32).build();
      bytes.back() ^= 0x5a;
      return bytes;
    }
    case Forged::damaged_ack: {
      auto bytes = builder.opcode(wire::kRcAcknowledge).qpn(target.peer_qpn).psn(psn).aeth(0x1f, 1).build();
      bytes.back() ^= 0x5a;
      return bytes;
    }
    case Forged::req_for_no_service:  // names the host's own QPN, and so do those below
      return req_for(0xdead, 77);
    case Forged::req_for_service:  // the other host answers it
      return req_for(kListeningService, 77);
    case Forged::req_with_psn:
      return req_for(kListeningService, target.peer_psn);
    case Forged::dreq_of_nobody:  // its communication IDs belong to no connection
      cm.attribute = wire::CmAttribute::dreq;
      cm.remote_qpn = target.peer_qpn;
      return cm_frame(builder, cm);
    case Forged::rep_to_nobody:
      cm.attribute = wire::CmAttribute::rep;
      cm.local_qpn = target.own_qpn;
      return cm_frame(builder, cm);
    case Forged::read_again: {  // the responder has answered this PSN already; the length may be any
      const auto answered = static_cast<std::uint32_t>(target.own_psn - 1 - random_.below(60)) & 0xffffff;
      const auto length = static_cast<std::uint32_t>(random_.next() >> random_.between(32, 63));
      return builder.opcode(wire::kRcReadRequest).qpn(target.peer_qpn).psn(answered).reth(0, 1, length).build();
    }
    case Forged::ack_of_the_future:  // for what was never sent
      break;
  }
  return builder.opcode(wire::kRcAcknowledge)
      .qpn(target.peer_qpn)
      .psn((target.peer_psn + 0x600000) & 0xffffff)
      .aeth(wire::kAckNoCredits, 9)
      .build();
}

}  // namespace longhaul::sim
