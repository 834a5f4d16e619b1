// SPDX-License-Identifier: BSD-3-Clause
#include "sim/requester.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "custody/rnr_timer.hpp"
#include "wire/credits.hpp"

namespace longhaul::sim {

namespace {

std::uint8_t send_opcode(const Message& m, bool first, bool last) {
  constexpr std::uint8_t kFirst = 0x00, kMiddle = 0x01, kLast = 0x02, kLastImm = 0x03, kOnly = 0x04, kOnlyImm = 0x05,
                         kLastInv = 0x16, kOnlyInv = 0x17;
  if (!last) return first ? kFirst : kMiddle;
  if (m.kind == Kind::send_imm) return first ? kOnlyImm : kLastImm;
  if (m.kind == Kind::send_inv) return first ? kOnlyInv : kLastInv;
  return first ? kOnly : kLast;
}

std::uint8_t write_opcode(const Message& m, bool first, bool last) {
  constexpr std::uint8_t kLastImm = 0x09, kOnlyImm = 0x0b;
  if (!last) return first ? wire::kRcWriteFirst : wire::kRcWriteMiddle;
  if (m.kind == Kind::write_imm) return first ? kOnlyImm : kLastImm;
  return first ? wire::kRcWriteOnly : wire::kRcWriteLast;
}

Status status_of(std::uint8_t nak_code) {
  switch (static_cast<wire::NakCode>(nak_code)) {
    case wire::NakCode::remote_access_error:
      return Status::remote_access;
    case wire::NakCode::remote_operational_error:
      return Status::remote_operation;
    default:
      return Status::remote_invalid_request;
  }
}

}  // namespace

Requester::Requester(const RequesterPlan& plan, const Work& work, const wire::PacketBuilder& frame, Outlet& outlet,
                     Complain complain)
    : plan_(plan),
      work_(work),
      frame_(frame),
      outlet_(outlet),
      complain_(std::move(complain)),
      random_(work.plan().key, plan.luck, 2),
      rate_(plan.rate),
      early_(plan.places),
      retries_(plan.retry_count),
      rnr_retries_(plan.rnr_retry) {}

void Requester::start(Time now) {
  if (started_) return;
  started_ = true;
  next_burst_ = now;
}

void Requester::flush() {
  if (!ended()) fail(Status::flushed);
}

// ---- sending ----------------------------------------------------------------------------------

// Each message is looked at once: work without a READ may have a million.
std::uint32_t Requester::first_incomplete_read() {
  const auto& all = work_.messages();
  read_ = std::max(read_, first_);
  while (read_ < all.size() && !all[read_].wants_response()) ++read_;
  return read_;
}

// A message that needs a receive beyond what the responder promised (9.7.7.2.5).
bool Requester::limited(const Message& message) const {
  return credits_ && message.needs_receive() && message.number + 1 > credit_limit_;
}

bool Requester::may_send(std::uint32_t position, std::uint32_t assumed_top) const {
  if (position >= work_.positions()) return false;
  const Message& m = work_.at(position);
  if (position >= una_ + plan_.window && position != una_) return false;
  if (m.number >= heard_ + plan_.depth) return false;
  if (plan_.nic_depth != 0 && m.number >= first_ + plan_.nic_depth) return false;
  if (m.number >= plan_.warm_up && heard_ < plan_.warm_up) return false;
  if (m.wants_response() && position >= assumed_top) {
    std::uint32_t outstanding = 0;
    for (std::uint32_t n = first_; n < m.number; ++n)
      if (work_.messages()[n].wants_response()) ++outstanding;
    if (outstanding >= std::max<std::uint32_t>(plan_.initiator_depth, 1)) return false;
  }
  // One packet of the message may go to ask for credits, when everything before it is answered. Once accepted, the
  // message has its receive.
  if (limited(m) && una_ <= m.begin && !(position == m.begin && una_ == m.begin)) return false;
  return true;
}

std::uint32_t Requester::after(std::uint32_t position) const {
  const Message& m = work_.at(position);
  return m.kind == Kind::read ? m.end : position + 1;
}

bool Requester::wants_ack(const Message& message, std::uint32_t position) const {
  const std::uint32_t follows = after(position);
  if (message.wants_response()) return true;
  if (!may_send(follows, std::max(top_, follows))) return true;
  if (plan_.ack_each != 0 && (position - message.begin + 1) % plan_.ack_each == 0) return true;
  if (plan_.ack_habit == kAckLast) return false;
  if (follows == message.end) return true;
  return plan_.ack_habit != 0 && position % plan_.ack_habit == 0;
}

std::vector<std::uint8_t> Requester::packet(const Message& m, std::uint32_t position, bool ack_req) const {
  wire::PacketBuilder builder = frame_;
  const std::uint32_t mtu = work_.plan().path_mtu;
  builder.psn(work_.psn_at(position)).ack_req(ack_req);
  if (m.kind == Kind::read) {
    const std::uint32_t skipped = (position - m.begin) * mtu;
    return builder.opcode(wire::kRcReadRequest).reth(m.address + skipped, kRKey, m.bytes - skipped).build();
  }
  if (m.atomic()) {
    return builder.opcode(m.kind == Kind::fetch_add ? wire::kRcFetchAdd : wire::kRcCompareSwap)
        .atomic_eth(m.address, kRKey, m.operand, m.compare)
        .build();
  }
  const bool first = position == m.begin;
  const bool last = position + 1 == m.end;
  const std::uint32_t offset = (position - m.begin) * mtu;
  std::vector<std::uint8_t> bytes(last ? m.bytes - offset : mtu);
  work_.contents(m, offset, bytes);
  builder.payload(bytes);
  if (m.kind == Kind::unknown) return builder.opcode(kUnknownOpcode).build();
  builder.opcode(m.writes() ? write_opcode(m, first, last) : send_opcode(m, first, last));
  if (m.writes() && first) builder.reth(m.address, kRKey, m.bytes);
  if (last && (m.kind == Kind::send_imm || m.kind == Kind::write_imm)) builder.imm_dt(m.data);
  if (last && m.kind == Kind::send_inv) builder.ieth(m.data);
  return builder.build();
}

void Requester::send_at(std::uint32_t position, Time now) {
  const Message& m = work_.at(position);
  const bool asks = wants_ack(m, position);
  const std::vector<std::uint8_t> bytes = packet(m, position, asks);
  const std::uint32_t follows = after(position);
  rate_.on_sent(bytes.size(), now);
  if (plan_.rate.control == Congestion::round_trip && asks && follows > top_ && !m.wants_response())
    asked_.push_back({follows, now});
  if (position < top_) ++resent_;
  if (follows > top_) {
    top_ = follows;
    first_sent_ = std::min(first_sent_, now);
    last_new_sent_ = now;
    if (m.number == plan_.warm_up && position == m.begin) measured_from_ = now;
    if (plan_.keeps_delays && position == m.begin) begun_.push_back(now);
  }
  if (timer_ == kNever && plan_.ack_timeout != 0) {
    stuck_since_ = now;
    timer_ = timeout_from(now);
  }
  outlet_.put(bytes);
}

Time Requester::next_deadline() const {
  if (!started_ || ended()) return kNever;
  Time next = timer_;
  const bool sendable = again_ || may_send(next_, top_);
  if (sendable) next = std::min(next, std::max({next_burst_, hold_until_, outlet_.free_at(), rate_.free_at()}));
  if (!on_their_way_.empty()) next = std::min(next, on_their_way_.front().at);
  return std::min(next, early_.due());
}

void Requester::poll(Time now) {
  if (!started_ || ended()) return;
  hear(now);
  if (early_.due() <= now) {
    early_.asked();
    response_lost(now);
  }
  if (timer_ <= now) {
    if (now < hold_until_) {
      timer_ = timeout_from(hold_until_);
    } else {
      if (!use_up_timeout(now)) return;
      timer_ = timeout_from(now);
      started_retry_ = true;
      if (plan_.selective)
        again_ = una_;
      else
        next_ = una_;
    }
  }
  if (now < hold_until_ || now < next_burst_ || now < outlet_.free_at() || now < rate_.free_at()) return;
  std::uint32_t budget = plan_.burst;
  if (again_) {
    const std::uint32_t position = *again_;
    again_.reset();
    if (position < top_ && position >= una_) {
      send_at(position, now);
      --budget;
    }
  }
  for (; budget > 0 && may_send(next_, top_); --budget) {
    std::uint32_t position = next_;
    next_ = after(position);
    if (const Message& m = work_.at(position); m.kind == Kind::read && !plan_.tail_repeat) position = m.begin;
    const bool begins = position == work_.at(position).begin;
    send_at(position, now);
    if (begins && plan_.message_time != 0) next_message_ = std::max(now, next_message_) + plan_.message_time;
    if (now < outlet_.free_at() || now < rate_.free_at() || now < next_message_) {
      next_burst_ = std::max(now + plan_.pace, next_message_);
      return;
    }
  }
  next_burst_ = now + std::max<Duration>(plan_.pace, 1);
}

// ---- the application --------------------------------------------------------------------------

// The application asked for a completion of every nth message, and of the last.
void Requester::tell_application(Time now) {
  if (plan_.keeps_delays)
    while (delays_.size() < first_) delays_.push_back(now - begun_[delays_.size()]);
  const auto all = static_cast<std::uint32_t>(work_.messages().size());
  std::uint32_t told = first_;
  if (first_ != all && first_ > plan_.warm_up)
    told = plan_.warm_up + (first_ - plan_.warm_up) / plan_.moderation * plan_.moderation;
  const std::uint32_t before = on_their_way_.empty() ? heard_ : on_their_way_.back().messages;
  if (told > before) on_their_way_.push_back({now + plan_.turnaround, told});
  hear(now);
  // Nobody polls a requester that has ended.
  if (first_ == all) heard_at_ = now + plan_.turnaround;
}

void Requester::hear(Time now) {
  while (!on_their_way_.empty() && on_their_way_.front().at <= now) {
    heard_ = on_their_way_.front().messages;
    heard_at_ = on_their_way_.front().at;
    on_their_way_.pop_front();
  }
}

// ---- answers ----------------------------------------------------------------------------------

void Requester::receive(const View& view, Time now) {
  if (!started_ || ended()) return;
  const std::int32_t signed_position = work_.position_of(view.psn());
  // A NAK may name an unsent PSN only if a box or responder is wrong. Either way it is a ghost (9.7.5.1.3).
  if (signed_position < 0 || static_cast<std::uint32_t>(signed_position) >= top_) return;
  const auto position = static_cast<std::uint32_t>(signed_position);
  if (view.frame.opcode->operation != wire::Operation::acknowledge) {
    on_response(position, view, now);
    return;
  }
  const wire::Aeth& aeth = view.frame.aeth();
  if (wire::aeth_kind(aeth.syndrome) == wire::AethKind::ack)
    on_ack(position, aeth, now);
  else
    on_nak(position, aeth, now);
}

void Requester::learn_credits(const wire::Aeth& aeth) {
  const std::uint8_t code = wire::aeth_value(aeth.syndrome);
  credits_ = code != wire::kAckNoCredits;
  if (credits_) credit_limit_ = std::max<std::uint32_t>(credit_limit_, aeth.msn + wire::credits_of(code));
}

void Requester::on_ack(std::uint32_t position, const wire::Aeth& aeth, Time now) {
  if (position + 1 < una_) return;  // a ghost
  learn_credits(aeth);
  const std::uint32_t number = first_incomplete_read();
  if (early_.places() && number < work_.messages().size() && work_.messages()[number].begin <= position) {
    complete_before(work_.messages()[number].begin, now);
    early_ack_ = std::max(early_ack_, position + 1);
    early_.note_gap(now);
    return;
  }
  complete_before(position + 1, now);
}

void Requester::on_nak(std::uint32_t position, const wire::Aeth& aeth, Time now) {
  if (position < una_) return;
  if (!complete_before(position, now)) return;
  const std::uint8_t value = wire::aeth_value(aeth.syndrome);
  switch (wire::aeth_kind(aeth.syndrome)) {
    case wire::AethKind::rnr_nak:
      if (rnr_retries_ != kEndlessRnrRetry && rnr_retries_-- == 0) return fail(Status::rnr_retry_exceeded);
      hold_until_ = now + custody::kRnrTimer[value];
      next_ = una_;
      again_.reset();
      started_retry_ = true;
      return;
    case wire::AethKind::nak:
      if (value > static_cast<std::uint8_t>(wire::NakCode::invalid_rd_request)) return;  // undefined
      if (value != static_cast<std::uint8_t>(wire::NakCode::psn_sequence_error)) return fail(status_of(value));
      if (!started_retry_ && use_up_retry()) go_back(position, now);
      return;
    case wire::AethKind::ack:
    case wire::AethKind::reserved:
      return;
  }
}

void Requester::on_response(std::uint32_t position, const View& view, Time now) {
  const std::uint32_t number = first_incomplete_read();
  if (number == work_.messages().size()) return;
  const Message& m = work_.messages()[number];
  if (position < m.begin) return;  // of a completed message
  if (!complete_before(m.begin, now)) return;
  if (response_next_ < m.begin) response_next_ = m.begin;
  if (position < response_next_) return;
  if (position > response_next_ && early_.places()) return early_.keep(position, view.bytes, now);
  if (position > response_next_) return response_lost(now);
  on_next_response(m, view, now);
  if (early_.places()) place_early(now);
}

// What came before its turn follows.
void Requester::place_early(Time now) {
  while (!ended()) {
    const std::uint32_t number = first_incomplete_read();
    if (number == work_.messages().size()) break;
    const Message& m = work_.messages()[number];
    const auto frame = early_.take(std::max(response_next_, m.begin));
    if (!frame || !complete_before(m.begin, now)) break;
    response_next_ = std::max(response_next_, m.begin);
    on_next_response(m, View{std::span(*frame)}, now);
  }
  if (const std::uint32_t number = first_incomplete_read(); !ended() && early_ack_ > una_) {
    const bool whole = number == work_.messages().size() || work_.messages()[number].begin >= early_ack_;
    complete_before(whole ? early_ack_ : std::min(early_ack_, work_.messages()[number].begin), now);
  }
  early_.close_gap(!early_.empty() || early_ack_ > una_, now);
}

void Requester::on_next_response(const Message& m, const View& view, Time now) {
  check_response(m, response_next_, view);
  ++response_next_;
  una_ = response_next_;
  if (next_ < una_ && next_ >= m.begin) next_ = una_;
  if (response_next_ == m.end) {
    ++first_;
    next_ = std::max(next_, una_);
  }
  progress(now);
}

void Requester::check_response(const Message& m, std::uint32_t position, const View& view) const {
  using wire::Operation;
  using wire::Position;
  const wire::OpcodeInfo& opcode = *view.frame.opcode;
  if (m.atomic()) {
    if (opcode.operation != Operation::atomic_response) return complain_("an atomic was answered by READ data");
    const std::uint64_t original = view.frame.atomic_ack_eth().original;
    if (original != m.original)
      complain_(fmt::format("atomic {} at psn {} returned {:#x}, not {:#x}: not executed once, in order", m.number,
                            view.psn(), original, m.original));
    return;
  }
  const bool last = position + 1 == m.end;
  const bool ends = opcode.position == Position::last || opcode.position == Position::only;
  if (opcode.operation != Operation::read_response || ends != last)
    return complain_(fmt::format("READ {} was answered by {} at psn {}", m.number, opcode.name, view.psn()));
  const std::uint32_t mtu = work_.plan().path_mtu;
  const std::uint32_t offset = (position - m.begin) * mtu;
  std::vector<std::uint8_t> expected(last ? m.bytes - offset : mtu);
  read_region(work_.plan().key, m.address + offset, expected);
  if (!std::ranges::equal(expected, view.frame.payload()))
    complain_(fmt::format("READ {} brought wrong bytes at psn {}", m.number, view.psn()));
}

// Completes everything before `position`. An unfinished READ or atomic there means that its response was lost
// (9.7.5.1.4). Then it returns false, and the response is requested again.
bool Requester::complete_before(std::uint32_t position, Time now) {
  const std::uint32_t before = una_;
  bool whole = true;
  while (una_ < position) {
    const Message& m = work_.messages()[first_];
    if (m.wants_response()) {
      whole = false;
      break;
    }
    if (m.end > position) {
      una_ = position;
    } else {
      una_ = m.end;
      ++first_;
    }
  }
  if (next_ < una_) next_ = una_;
  if (una_ != before) progress(now);
  if (!whole) response_lost(now);
  return whole;
}

void Requester::progress(Time now) {
  started_retry_ = false;
  timeouts_ = 0;
  stuck_since_ = now;
  note_round_trip(now);
  retries_ = plan_.retry_count;
  rnr_retries_ = plan_.rnr_retry;
  hold_until_ = 0;
  if (again_ && *again_ < una_) again_.reset();
  timer_ = una_ < top_ && plan_.ack_timeout != 0 ? timeout_from(now) : kNever;
  tell_application(now);
}

void Requester::response_lost(Time now) {
  if (started_retry_) return;
  go_back(una_, now);
}

void Requester::go_back(std::uint32_t position, Time now) {
  started_retry_ = true;
  if (plan_.selective)
    again_ = position;
  else
    next_ = position;
  next_burst_ = std::max(next_burst_, now);
}

// Between one and four times the configured value (IBTA vol. 1, 9.7.6.1.3). Timers that all ran alike would coincide
// with the box's own.
Time Requester::timeout_from(Time now) {
  Duration timeout = plan_.ack_timeout;
  if (plan_.first_timeout != 0) timeout = std::min(timeout, plan_.first_timeout << std::min<unsigned>(timeouts_, 20));
  return now + timeout + random_.below(timeout * plan_.timeout_spread / 100 + 1);
}

// What was sent again gives no sample (Karn).
void Requester::note_round_trip(Time now) {
  Duration took = 0;
  for (; !asked_.empty() && asked_.front().end <= una_; asked_.pop_front()) took = now - asked_.front().at;
  if (took != 0 && resent_ == 0) rate_.on_round_trip(took, now);
}

// With adaptive retransmission a queue pair fails after ack_timeout times its retries without progress, however often
// it has asked by then (NVIDIA, "Adaptive Retransmission: Parameters Control").
bool Requester::use_up_timeout(Time now) {
  if (plan_.first_timeout == 0) return use_up_retry();
  if (timeouts_ < 255) ++timeouts_;
  if (plan_.patient || now - stuck_since_ < plan_.ack_timeout * std::max<Duration>(plan_.retry_count, 1)) return true;
  fail(Status::retry_exceeded);
  return false;
}

bool Requester::use_up_retry() {
  if (plan_.patient) return true;
  if (retries_ == 0) {
    fail(Status::retry_exceeded);
    return false;
  }
  --retries_;
  return true;
}

void Requester::fail(Status status) {
  status_ = status;
  timer_ = kNever;
  again_.reset();
}

}  // namespace longhaul::sim
