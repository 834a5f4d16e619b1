// SPDX-License-Identifier: BSD-3-Clause
#include "sim/attack_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/attacker.hpp"
#include "wire/path_mtu.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

// Far from those of the hosts' own connections, by which the judge finds these.
constexpr std::uint32_t kFirstQpn[] = {0x40000, 0x50000};
constexpr std::uint32_t kFirstId[] = {0xa0000000, 0xb0000000};

constexpr std::uint8_t kRnrTimer = 10;

// What the ICRC covers, or nearly: neither all that is before the BTH, nor the BTH's reserved byte.
std::uint64_t print_of(const View& view) {
  constexpr std::size_t kAfterReserved = offsetof(wire::Bth, destination_qpn);
  return fingerprint_without_ack_req(view, view.frame.bth_offset + kAfterReserved) ^ view.frame.bth().opcode;
}

}  // namespace

AttackConnection::AttackConnection(Attacker& attacker, const Manners& manners, unsigned number, unsigned pair)
    : attacker_(attacker), manners_(manners), number_(number), pair_(pair), open_(!manners.announced) {}

std::uint32_t AttackConnection::qpn_of(unsigned host) const {
  return kFirstQpn[host == attacker_.near() ? 0 : 1] + number_;
}

// Apart, so that traffic alone tells its connections from each other.
std::uint32_t AttackConnection::first_psn() const {
  constexpr std::int64_t kApart = 0x50000;
  return wire::psn_add(0x1000, number_ * kApart);
}

std::uint32_t AttackConnection::id_of(unsigned host) const {
  return kFirstId[host == attacker_.near() ? 0 : 1] + (life_ << 16) + number_;
}

wire::PacketBuilder AttackConnection::from(unsigned host) const {
  return attacker_.own(host, pair_, manners_.own_vlan);
}

// ---- RDMA-CM ----------------------------------------------------------------------------------

void AttackConnection::send_cm(unsigned host, wire::CmAttribute attribute) {
  wire::CmMessage message;
  message.attribute = attribute;
  message.transaction_id = (std::uint64_t{number_} << 8 | life_) + 1;
  message.local_comm_id = id_of(host);
  if (attribute != wire::CmAttribute::req) message.remote_comm_id = id_of(1 - host);
  if (attribute == wire::CmAttribute::req || attribute == wire::CmAttribute::rep) {
    message.local_qpn = qpn_of(host);
    message.starting_psn = first_psn();
    message.responder_resources = message.initiator_depth = 16;
    message.rnr_retry_count = kEndlessRnrRetry;
    message.reliable_connected = true;
    message.path_mtu = manners_.path_mtu;
    message.retry_count = manners_.retry_count;
    message.local_ack_timeout = manners_.ack_timeout;
    message.max_cm_retries = 15;
  }
  if (attribute == wire::CmAttribute::dreq) message.remote_qpn = qpn_of(1 - host);
  attacker_.send_cm(host, from(host), message);
}

void AttackConnection::connect() {
  if (manners_.announced) send_cm(attacker_.near(), wire::CmAttribute::req);
}

void AttackConnection::reconnect() {
  ++life_;
  open_ = !manners_.announced;
  next_psn_ = acknowledged_ = expected_ = first_psn();
  msn_ = answered_ = 0;
  connect();
}

void AttackConnection::disconnect(std::uint32_t stray) {
  if (stray == 0) return send_cm(attacker_.near(), wire::CmAttribute::dreq);
  wire::CmMessage message;
  message.attribute = wire::CmAttribute::dreq;
  message.transaction_id = stray;
  message.local_comm_id = stray;
  message.remote_comm_id = stray + 1;
  message.remote_qpn = qpn_of(1 - attacker_.near());
  attacker_.send_cm(attacker_.near(), from(attacker_.near()), message);
}

bool AttackConnection::is_for(unsigned host, const wire::CmMessage& message) const {
  if (message.attribute == wire::CmAttribute::req)
    return host != attacker_.near() && message.local_comm_id == id_of(attacker_.near());
  return message.remote_comm_id == id_of(host) && message.local_comm_id == id_of(1 - host);
}

void AttackConnection::hear(unsigned host, const wire::CmMessage& message) {
  using wire::CmAttribute;
  switch (message.attribute) {
    case CmAttribute::req:
      if (manners_.replies) send_cm(host, CmAttribute::rep);
      return;
    case CmAttribute::rep:
      open_ = true;
      if (manners_.confirms) send_cm(host, CmAttribute::rtu);
      return;
    case CmAttribute::dreq:
      return send_cm(host, CmAttribute::drep);
    default:
      return;
  }
}

// ---- requests ---------------------------------------------------------------------------------

wire::PacketBuilder AttackConnection::request() const {
  return from(attacker_.near()).qpn(qpn_of(1 - attacker_.near())).psn(next_psn_).ack_req();
}

void AttackConnection::use_up(std::uint32_t psns) {
  next_psn_ = wire::psn_add(next_psn_, psns);
  if (wire::psn_lt(reached_, next_psn_)) reached_ = next_psn_;
}

void AttackConnection::write(std::size_t bytes, bool ack_req) {
  if (!open_) return;
  const auto length = static_cast<std::uint32_t>(bytes);
  send_request(request()
                   .opcode(wire::kRcWriteOnly)
                   .ack_req(ack_req)
                   .reth(kWriteRegion, kRKey, length)
                   .payload_size(bytes, static_cast<std::uint8_t>(next_psn_)));
  use_up(1);
}

void AttackConnection::write_at(std::uint32_t psn, std::size_t bytes, std::uint8_t first_byte) {
  const auto length = static_cast<std::uint32_t>(bytes);
  send_request(
      request().psn(psn).opcode(wire::kRcWriteOnly).reth(kWriteRegion, kRKey, length).payload_size(bytes, first_byte));
}

void AttackConnection::read(std::uint32_t length) {
  if (!open_) return;
  send_request(request().opcode(wire::kRcReadRequest).reth(kReadRegion, kRKey, length));
  const std::uint32_t mtu = wire::path_mtu_bytes(manners_.path_mtu);
  use_up(std::max<std::uint32_t>(1, (length + mtu - 1) / mtu));
}

void AttackConnection::fetch_add() {
  if (!open_) return;
  send_request(request().opcode(wire::kRcFetchAdd).atomic_eth(kAtomicRegion, kRKey, 1, 0));
  use_up(1);
}

void AttackConnection::send_request(const wire::PacketBuilder& builder) {
  const auto bytes = builder.build();
  requests_.insert(print_of(View(bytes)));
  attacker_.send(attacker_.near(), bytes);
}

void AttackConnection::send_answer(const wire::PacketBuilder& builder) {
  const auto bytes = builder.build();
  answers_.insert(print_of(View(bytes)));
  attacker_.send(1 - attacker_.near(), bytes);
}

// ---- what boxes make of it --------------------------------------------------------------------

// However it behaves, rules 1 and 2 hold for it too: what arrives is what it sent, and nothing is acknowledged that it
// did not send. It may have promised more itself.
void AttackConnection::check_request(const View& view) {
  if (!requests_.contains(print_of(view)))
    attacker_.complain(fmt::format("a request that an attacker did not send: {}", describe(view)));
}

void AttackConnection::check_answer(const View& view) {
  const bool its_own = answers_.contains(print_of(view));
  if (!its_own && wire::psn_lt(reached_, view.psn()))
    attacker_.complain(fmt::format("an answer for what an attacker did not send: {}", describe(view)));
}

// ---- answers ----------------------------------------------------------------------------------

void AttackConnection::answer(Answer kind, std::uint32_t psn) {
  if (kind == Answer::nothing) return;
  std::uint8_t syndrome = wire::kAckNoCredits;
  if (kind == Answer::rnr_nak) syndrome = wire::rnr_syndrome(kRnrTimer);
  if (kind == Answer::psn_nak) syndrome = wire::nak_syndrome(wire::NakCode::psn_sequence_error);
  if (kind == Answer::fatal_nak) syndrome = wire::nak_syndrome(wire::NakCode::remote_access_error);
  if (kind == Answer::last_ack) psn = wire::psn_add(expected_, -1);
  const unsigned far = 1 - attacker_.near();
  send_answer(from(far).opcode(wire::kRcAcknowledge).qpn(qpn_of(1 - far)).psn(psn).aeth(syndrome, msn_));
}

void AttackConnection::acknowledge_ahead(std::uint32_t ahead) {
  const unsigned far = 1 - attacker_.near();
  const std::uint32_t messages = sent() + ahead;
  send_answer(from(far)
                  .opcode(wire::kRcAcknowledge)
                  .qpn(qpn_of(1 - far))
                  .psn(wire::psn_add(next_psn_, std::int64_t{ahead} - 1))
                  .aeth(wire::kAckNoCredits, messages & 0xffffff));
}

void AttackConnection::notify_congestion() {
  const unsigned far = 1 - attacker_.near();
  constexpr std::uint8_t kReserved[16] = {};  // IBTA Annex A17
  attacker_.send(far, from(far).opcode(wire::kCnp).qpn(qpn_of(1 - far)).payload(kReserved));
}

bool AttackConnection::is_for(unsigned host, const View& view) const { return view.qpn() == qpn_of(host); }

void AttackConnection::hear(unsigned host, const View& view) {
  if (view.frame.opcode == nullptr) return;
  if (host != attacker_.near()) {
    check_request(view);
    return hear_request(view);
  }
  check_answer(view);
  if (view.frame.opcode->has(wire::kHasAeth) && wire::aeth_kind(view.frame.aeth().syndrome) == wire::AethKind::ack &&
      wire::psn_le(acknowledged_, view.psn()))
    acknowledged_ = wire::psn_add(view.psn(), 1);
}

// In order and once, as long as it is polite. What it does not answer it has not had.
void AttackConnection::hear_request(const View& view) {
  const bool next = view.psn() == expected_;
  const bool polite = answered_ < manners_.polite;
  if (!polite && manners_.then != Answer::ack) {
    const bool wants_answer = view.frame.ack_req() || view.frame.opcode->wants_response();
    if (wants_answer && !attacker_.over()) answer(manners_.then, view.psn());
    return;
  }
  if (wire::psn_lt(expected_, view.psn())) return answer(Answer::psn_nak, expected_);
  if (next) {
    const std::uint32_t mtu = wire::path_mtu_bytes(manners_.path_mtu);
    expected_ = wire::psn_add(expected_, std::max<std::int64_t>(1, wire::psns_of(view.frame, mtu)));
    if (view.frame.opcode->ends_message()) msn_ = wire::psn_add(msn_, 1);
  }
  ++answered_;
  if (view.frame.opcode->operation == wire::Operation::read_request) return answer_read(view);
  if (view.frame.ack_req()) answer(Answer::ack, wire::psn_add(expected_, -1));
}

// In one response of the path MTU at most, however long the READ is.
void AttackConnection::answer_read(const View& view) {
  const std::size_t most = wire::path_mtu_bytes(manners_.path_mtu);
  const unsigned far = 1 - attacker_.near();
  send_answer(from(far)
                  .opcode(wire::kRcReadResponseOnly)
                  .qpn(qpn_of(1 - far))
                  .psn(view.psn())
                  .aeth(wire::kAckNoCredits, msn_)
                  .payload_size(std::min<std::size_t>(view.frame.reth().dma_length, most)));
}

}  // namespace longhaul::sim
