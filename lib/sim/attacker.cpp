// SPDX-License-Identifier: BSD-3-Clause
#include "sim/attacker.hpp"

#include <algorithm>

#include "sim/attack_script.hpp"
#include "sim/attack_table.hpp"
#include "sim/plans.hpp"
#include "sim/work.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

constexpr std::uint64_t kPurpose = 77;  // of its random stream: no other part of a world draws from it
constexpr std::uint16_t kDiscard = 9;   // UDP port, RFC 863

/// A frame of `bytes` that concerns nobody: UDP to the discard port. A few bytes longer where `bytes` is less than the
/// headers take.
std::vector<std::uint8_t> harmless(wire::PacketBuilder builder, std::size_t bytes) {
  builder.opcode(wire::kUdSendOnly).qpn(0x99);
  const std::size_t headers = wire::PacketBuilder(builder).payload_size(0).build().size();
  auto frame = builder.payload_size(bytes - std::min(bytes, headers)).build();
  const std::size_t port = View(frame).frame.udp_offset + offsetof(wire::UdpHeader, destination_port);
  frame[port] = kDiscard >> 8;
  frame[port + 1] = kDiscard & 0xff;
  return frame;
}

}  // namespace

Attacker::Attacker(const Case& c, Time start, Put put, Complain complain, const std::vector<SentFrame>* imitated)
    : plan_(c),
      attack_(attack_of(c)),
      manners_(c.script.empty() ? attack_.manners : manners_of_script(c)),
      start_(start),
      put_(std::move(put)),
      complain_(std::move(complain)),
      imitated_(imitated),
      random_(c.seed, c.attack.kind, kPurpose),
      now_(start),
      next_step_(imitated == nullptr ? start + microseconds(c.attack.at_us) : kNever),
      opened_(attack_.opens.connections == 0) {
  first_guess_ = static_cast<std::uint32_t>(random_.below(0x1000000));
  if (attack_.who != AttackBy::forger) return;
  for (unsigned host = 0; host < 2; ++host)
    for (unsigned n = 0; n < c.connections; ++n)
      for (unsigned life = 0; life <= std::max(c.reconnect, c.come_back); ++life) {
        const Work work(work_plan(c, host, n, life));
        used_psns_.push_back({work.plan().starting_psn, work.positions() + 1});
      }
}

// ---- time -------------------------------------------------------------------------------------

Time Attacker::next_deadline() const {
  if (imitated_ != nullptr)
    return imitated_next_ == imitated_->size() ? kNever : start_ + (*imitated_)[imitated_next_].at;
  return next_step_;
}

void Attacker::poll(Time now) {
  now_ = now;
  if (imitated_ != nullptr) return imitate(now);
  if (!opened_ && next_step_ <= now) return open();
  while (next_step_ <= now) {
    attack_.step(*this, step_++);
    next_step_ = step_ == plan_.attack.steps ? kNever : next_step_ + microseconds(plan_.attack.every_us);
  }
}

// The steps begin when the last of the connections stands.
void Attacker::open() {
  opened_ = true;
  for (unsigned n = 0; n < attack_.opens.connections; ++n) connection(n, attack_.opens.own_pairs ? n : 0);
  constexpr unsigned kRoundTrips = 2;
  next_step_ = now_ + kRoundTrips * 2 * (microseconds(plan_.wan_delay_us) + 2 * plan_.local_ns) + milliseconds(1);
}

void Attacker::imitate(Time now) {
  for (; next_deadline() <= now; ++imitated_next_) {
    const SentFrame& frame = (*imitated_)[imitated_next_];
    put_(frame.host, harmless(own(frame.host, 0), frame.bytes));
  }
}

// ---- what comes -------------------------------------------------------------------------------

void Attacker::hear(unsigned host, const View& view, Time now) {
  if (imitated_ != nullptr || connections_.empty() || !view.intact) return;
  now_ = now;
  if (const auto message = wire::parse_cm(view.frame)) {
    for (const auto& [number, connection] : connections_)
      if (connection->is_for(host, *message)) return connection->hear(host, *message);
    return;
  }
  if (!view.reliable()) return;
  for (const auto& [number, connection] : connections_)
    if (connection->is_for(host, view)) return connection->hear(host, view);
}

// ---- what attacks use -------------------------------------------------------------------------

AttackConnection& Attacker::connection(unsigned number, unsigned pair) {
  auto& connection = connections_[number];
  if (connection == nullptr) {
    connection = std::make_unique<AttackConnection>(*this, manners_, number, pair);
    connection->connect();
  }
  return *connection;
}

void Attacker::write_in_turn(Number step, unsigned connections) {
  connection(static_cast<unsigned>(step % connections)).write(plan_.attack.bytes);
}

wire::PacketBuilder Attacker::own(unsigned host, unsigned pair, bool vlan) const {
  return tenant_frame_from(plan_, host, pair, vlan);
}

wire::PacketBuilder Attacker::forged(unsigned host) const {
  return frame_from(plan_, host).p_key(static_cast<std::uint16_t>(plan_.p_key));
}

std::uint32_t Attacker::guessed_qpn(unsigned host) {
  return qpn_of(host, static_cast<unsigned>(random_.below(plan_.connections)));
}

std::uint32_t Attacker::guessed_psn(Number step, std::uint32_t apart) {
  std::uint32_t psn = wire::psn_add(first_guess_, static_cast<std::int64_t>(step % 0x1000000 * apart));
  for (bool hit = true; hit;) {
    hit = false;
    for (const Range& used : used_psns_)
      if (wire::psn_add(psn, -static_cast<std::int64_t>(used.first)) < used.count) {
        psn = wire::psn_add(used.first, used.count);
        hit = true;
      }
  }
  return psn;
}

void Attacker::send(unsigned host, const std::vector<std::uint8_t>& frame) {
  sent_.push_back({now_ - start_, host, static_cast<std::uint32_t>(frame.size())});
  put_(host, frame);
}

void Attacker::send_cm(unsigned host, wire::PacketBuilder frame, const wire::CmMessage& message) {
  std::vector<std::uint8_t> mad(wire::kMadSize);
  wire::write_cm(message, std::span<std::uint8_t, wire::kMadSize>(mad));
  constexpr std::uint32_t kGsiQKey = 0x80010000;
  send(host, frame.opcode(wire::kUdSendOnly).qpn(wire::kGsiQpn).deth(kGsiQKey, wire::kGsiQpn).payload(mad));
}

}  // namespace longhaul::sim
