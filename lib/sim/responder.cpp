// SPDX-License-Identifier: BSD-3-Clause
#include "sim/responder.hpp"

#include <algorithm>

#include "wire/credits.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

using wire::psn_add;
using wire::psn_diff;

Responder::Responder(const ResponderPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet, ResponderWatch& watch)
    : plan_(plan),
      frame_(frame),
      outlet_(outlet),
      watch_(watch),
      expected_(plan.starting_psn),
      early_(plan.places),
      memory_(plan.memory),
      words_(kAtomicWords) {}

// ---- what comes in ----------------------------------------------------------------------------

void Responder::receive(const View& view, Time now) {
  if (dead_ || failed_) return;
  const std::int32_t ahead = psn_diff(view.psn(), expected_);
  watch_.on_received(view, ahead == 0);
  if (ahead > 0 && early_.places()) {
    early_.keep(since_start(view.psn()), view.bytes, now);
  } else if (ahead > 0) {
    nak_gap(now);
  } else if (ahead < 0) {
    repeated(view, now);
  } else {
    accept(view, now);
    if (early_.places()) place_early(now);
  }
}

// What came before its turn follows. Nothing of it was executed or answered before.
void Responder::place_early(Time now) {
  while (!dead_ && !failed_) {
    const std::uint32_t psn = expected_;
    const auto frame = early_.take(since_start(psn));
    if (!frame) break;
    const View view{std::span(*frame)};
    watch_.on_received(view, true);
    accept(view, now);
    if (expected_ == psn) break;  // out of receives
  }
  early_.close_gap(!early_.empty(), now);
}

// Once per gap (9.7.5.1.2).
void Responder::nak_gap(Time now) {
  if (nak_sent_) return;
  nak_sent_ = true;
  send_ack(expected_, wire::nak_syndrome(wire::NakCode::psn_sequence_error), now);
}

void Responder::accept(const View& view, Time now) {
  const wire::OpcodeInfo* opcode = view.frame.opcode;
  const bool begins =
      opcode == nullptr || opcode->position == wire::Position::first || opcode->position == wire::Position::only;
  if (plan_.dead_at != 0 && msn_ + 1 >= plan_.dead_at) {
    dead_ = true;
    return;
  }
  if (plan_.fatal_at != 0 && msn_ + 1 >= plan_.fatal_at && begins) {
    failed_ = true;
    send_ack(expected_, wire::nak_syndrome(plan_.fatal_code), now);
    return;
  }
  if (plan_.odd_nak_at != 0 && msn_ + 1 == plan_.odd_nak_at && begins && !odd_nak_said_) {
    constexpr auto kUndefined = static_cast<wire::NakCode>(0x1d);
    odd_nak_said_ = true;
    send_ack(expected_, wire::nak_syndrome(kUndefined), now);
  }
  if (const auto wrong = wrong_with(view, begins)) {
    watch_.on_malformed(describe(view) + ": " + wrong->what, now);
    failed_ = true;
    send_ack(expected_, wire::nak_syndrome(wrong->code), now);
    return;
  }
  const bool send = opcode != nullptr && opcode->operation == wire::Operation::send;
  const bool wants_receive = (send && begins) || (!send && opcode != nullptr && opcode->has(wire::kHasImmDt));
  if (wants_receive && !take_receive(now)) {
    nak_sent_ = true;  // everything after it is discarded until this packet comes again
    send_ack(expected_, wire::rnr_syndrome(static_cast<std::uint8_t>(plan_.rnr_timer)), now);
    if (plan_.nak_after_rnr) send_ack(expected_, wire::nak_syndrome(wire::NakCode::psn_sequence_error), now);
    return;
  }
  nak_sent_ = false;
  if (opcode != nullptr && opcode->operation == wire::Operation::read_request) {
    const wire::Reth& reth = view.frame.reth();
    const std::uint32_t bytes = reth.dma_length;
    const std::uint32_t psns = std::max(1U, (bytes + plan_.path_mtu - 1) / plan_.path_mtu);
    read(view, reth.virtual_address, bytes, psns, now);
    return;
  }
  const std::uint32_t psn = expected_;
  expected_ = psn_add(expected_, 1);
  watch_.on_accepted(psn, 1, now);
  if (opcode != nullptr && opcode->operation == wire::Operation::atomic_request) {
    const wire::AtomicEth& request = view.frame.atomic_eth();
    const std::uint64_t index = (request.virtual_address - kAtomicRegion) / 8;
    const std::uint64_t original = words_[index];
    const bool add = opcode->code == wire::kRcFetchAdd;
    if (add)
      words_[index] += request.swap_or_add;
    else if (request.compare == original)
      words_[index] = request.swap_or_add;
    current_ = Delivered{.kind = add ? Kind::fetch_add : Kind::cmp_swap,
                         .address = request.virtual_address,
                         .operand = request.swap_or_add,
                         .compare = request.compare};
    complete(now);
    keep({psn, 1, true, request.virtual_address, 8, original});
    answer_atomic(psn, original, now);
    return;
  }
  execute_payload(view, now);
  if (view.frame.ack_req()) acknowledge(now);
}

// IBTA vol. 1, 9.7.4.1, and the responder's error table of 9.9.3; rxe_resp.c answers the same.
std::optional<Responder::Wrong> Responder::wrong_with(const View& view, bool begins) const {
  const auto invalid = [](const char* what) { return Wrong{what, wire::NakCode::invalid_request}; };
  const auto refused = [](const char* what) { return Wrong{what, wire::NakCode::remote_access_error}; };
  if (begins && in_message_) return invalid("inside another message");
  if (!begins && !in_message_) return invalid("of a message that did not begin");
  const wire::OpcodeInfo* opcode = view.frame.opcode;
  if (opcode == nullptr || opcode->operation == wire::Operation::read_request) return std::nullopt;
  if (opcode->operation == wire::Operation::atomic_request) {
    const std::uint64_t index = (view.frame.atomic_eth().virtual_address - kAtomicRegion) / 8;
    return index < words_.size() ? std::nullopt : std::optional(refused("outside of its memory"));
  }
  const bool write = opcode->operation == wire::Operation::write;
  if (!begins && write != (current_.kind == Kind::write)) return invalid("of another kind");
  const std::size_t size = view.frame.payload().size();
  if (!opcode->ends_message() && size != plan_.path_mtu) return invalid("not as long as the path MTU");
  if (!write) return std::nullopt;
  const std::size_t before = begins ? 0 : current_.bytes.size();
  const std::uint64_t address = begins ? std::uint64_t{view.frame.reth().virtual_address} : current_.address;
  const std::uint32_t length = begins ? std::uint32_t{view.frame.reth().dma_length} : current_.size;
  const std::uint64_t at = address - kWriteRegion;
  if (size != 0 && (at > memory_.size() || before + size > memory_.size() - at))
    return refused("outside of its memory");
  if (opcode->ends_message() && before + size != length) return invalid("the WRITE is not as long as it said");
  return std::nullopt;
}

void Responder::read(const View& view, std::uint64_t address, std::uint32_t bytes, std::uint32_t psns, Time now) {
  const std::uint32_t psn = expected_;
  expected_ = psn_add(expected_, psns);
  watch_.on_accepted(psn, psns, now);
  current_ = Delivered{.kind = Kind::read, .address = address, .size = bytes};
  complete(now);
  keep({psn, psns, false, address, bytes, 0});
  answer_read(view.psn(), address, bytes, now);
}

void Responder::execute_payload(const View& view, Time now) {
  const wire::OpcodeInfo* opcode = view.frame.opcode;
  if (opcode == nullptr) {
    const std::size_t begin = view.frame.bth_offset + sizeof(wire::Bth);
    const auto payload = view.bytes.subspan(begin, view.frame.icrc_offset - begin);
    current_ = Delivered{.kind = Kind::unknown, .bytes = {payload.begin(), payload.end()}};
    complete(now);
    return;
  }
  const bool write = opcode->operation == wire::Operation::write;
  if (!in_message_) {
    current_ = Delivered{.kind = write ? Kind::write : Kind::send};
    if (write) {
      current_.address = view.frame.reth().virtual_address;
      current_.size = view.frame.reth().dma_length;
    }
    in_message_ = true;
  }
  const auto payload = view.frame.payload();
  if (write && !payload.empty()) {
    const std::uint64_t at = current_.address + current_.bytes.size() - kWriteRegion;
    std::ranges::copy(payload, memory_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  current_.bytes.insert(current_.bytes.end(), payload.begin(), payload.end());
  if (!opcode->ends_message()) return;
  current_.size = static_cast<std::uint32_t>(current_.bytes.size());
  if (opcode->has(wire::kHasImmDt)) {
    current_.kind = write ? Kind::write_imm : Kind::send_imm;
    current_.data = view.frame.imm_dt().data;
  } else if (opcode->has(wire::kHasIeth)) {
    current_.kind = Kind::send_inv;
    current_.data = view.frame.ieth().r_key;
  }
  complete(now);
}

void Responder::complete(Time now) {
  in_message_ = false;
  msn_ = psn_add(msn_, 1);
  watch_.on_delivered(current_, now);
}

// A repeated request (9.7.5.1.5): only READs and atomics are executed or replayed, all others are acknowledged again.
void Responder::repeated(const View& view, Time now) {
  const wire::OpcodeInfo* opcode = view.frame.opcode;
  if (opcode == nullptr || !opcode->wants_response()) {
    owed_ = 0;
    ack_at_ = kNever;
    send_ack(psn_add(expected_, -1), ack_syndrome(now), now);
    return;
  }
  for (const Resource& resource : resources_) {
    const std::int32_t into = psn_diff(view.psn(), resource.psn);
    if (into < 0 || into >= static_cast<std::int32_t>(resource.psns)) continue;
    const bool atomic = opcode->operation == wire::Operation::atomic_request;
    if (atomic != resource.atomic) return;
    if (atomic) return answer_atomic(resource.psn, resource.original, now);
    const wire::Reth& reth = view.frame.reth();
    const std::uint64_t address = reth.virtual_address;
    const std::uint32_t bytes = reth.dma_length;
    if (address < resource.address || address + bytes > resource.address + resource.bytes) return;
    return answer_read(view.psn(), address, bytes, now);
  }
}

// ---- receives and credits ---------------------------------------------------------------------

std::uint32_t Responder::available(Time now) const {
  const auto back =
      static_cast<std::size_t>(std::ranges::count_if(used_receives_, [now](Time at) { return at <= now; }));
  return plan_.receives - static_cast<std::uint32_t>(used_receives_.size() - back);
}

bool Responder::take_receive(Time now) {
  if (plan_.receives == 0) return true;
  while (!used_receives_.empty() && used_receives_.front() <= now) used_receives_.pop_front();
  if (available(now) == 0) return false;
  used_receives_.push_back(std::max(now, used_receives_.empty() ? 0 : used_receives_.back()) + plan_.refill);
  return true;
}

std::uint8_t Responder::ack_syndrome(Time now) {
  if (!plan_.credits) return wire::kAckNoCredits;
  const std::uint8_t code = wire::credit_code(plan_.receives == 0 ? 1024 : available(now));
  starved_ = code == 0;
  credit_limit_ = std::max(credit_limit_, msn_ + wire::credits_of(code));
  return code;
}

// ---- answers ----------------------------------------------------------------------------------

void Responder::acknowledge(Time now) {
  ++owed_;
  if (owed_ >= plan_.ack_every || plan_.ack_delay == 0)
    flush_ack(now);
  else if (ack_at_ == kNever)
    ack_at_ = now + plan_.ack_delay;
}

void Responder::flush_ack(Time now) {
  owed_ = 0;
  ack_at_ = kNever;
  send_ack(psn_add(expected_, -1), ack_syndrome(now), now);
}

void Responder::send_ack(std::uint32_t psn, std::uint8_t syndrome, Time) {
  wire::PacketBuilder builder = frame_;
  outlet_.put(builder.opcode(wire::kRcAcknowledge).psn(psn).aeth(syndrome, msn_).build());
}

void Responder::answer_atomic(std::uint32_t psn, std::uint64_t original, Time now) {
  owed_ = 0;
  ack_at_ = kNever;
  wire::PacketBuilder builder = frame_;
  outlet_.put(builder.opcode(wire::kRcAtomicAcknowledge)
                  .psn(psn)
                  .aeth(ack_syndrome(now), msn_)
                  .atomic_ack_eth(original)
                  .build());
}

void Responder::answer_read(std::uint32_t psn, std::uint64_t address, std::uint32_t bytes, Time now) {
  owed_ = 0;
  ack_at_ = kNever;
  std::uint32_t done = 0;
  do {
    const std::uint32_t size = std::min(plan_.path_mtu, bytes - done);
    const bool first = done == 0;
    const bool last = done + size == bytes;
    std::vector<std::uint8_t> payload(size);
    read_region(plan_.key, address + done, payload);
    wire::PacketBuilder builder = frame_;
    builder.psn(psn).payload(payload);
    if (first || last) builder.aeth(ack_syndrome(now), msn_);
    builder.opcode(first && last ? wire::kRcReadResponseOnly
                   : first       ? wire::kRcReadResponseFirst
                   : last        ? wire::kRcReadResponseLast
                                 : wire::kRcReadResponseMiddle);
    outlet_.put(builder.build());
    psn = psn_add(psn, 1);
    done += size;
  } while (done < bytes);
}

void Responder::keep(const Resource& resource) {
  resources_.push_back(resource);
  while (resources_.size() > std::max<std::uint32_t>(plan_.resources, 1)) resources_.pop_front();
}

Time Responder::next_deadline() const {
  if (dead_ || failed_) return kNever;
  Time next = std::min(ack_at_, early_.due());
  if (starved_ && !used_receives_.empty()) next = std::min(next, used_receives_.front());
  return next;
}

void Responder::poll(Time now) {
  if (dead_ || failed_) return;
  const bool announce = starved_ && !used_receives_.empty() && used_receives_.front() <= now;
  if (ack_at_ <= now || announce) flush_ack(now);
  if (early_.due() <= now) {
    early_.asked();
    nak_gap(now);
  }
}

}  // namespace longhaul::sim
