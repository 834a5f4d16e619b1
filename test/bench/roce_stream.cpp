// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/roce_stream.hpp"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "wire/builder.hpp"
#include "wire/icrc.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

using wire::Operation;
using wire::psn_add;

namespace {

constexpr std::uint32_t kPairs = 16;  // pairs of hosts
constexpr std::uint32_t kResponderQpns = 1 << 21;
constexpr std::uint32_t kDefaultPathMtu = 4096;

struct Codes {
  std::uint8_t only, first, middle, last;
};
constexpr Codes kSendCodes = {wire::kRcSendOnly, 0x00, 0x01, 0x02};
constexpr Codes kWriteCodes = {wire::kRcWriteOnly, wire::kRcWriteFirst, wire::kRcWriteMiddle, wire::kRcWriteLast};
constexpr Codes kResponseCodes = {wire::kRcReadResponseOnly, wire::kRcReadResponseFirst, wire::kRcReadResponseMiddle,
                                  wire::kRcReadResponseLast};

/// Index into Shapes.
std::size_t shape_of(std::uint16_t packet, std::uint16_t packets) {
  if (packet == 0) return 0;
  return packet + 1 == packets ? 2 : 1;
}

std::uint8_t code_of(const Codes& codes, std::size_t shape, std::uint16_t packets) {
  if (packets == 1) return codes.only;
  return shape == 0 ? codes.first : shape == 1 ? codes.middle : codes.last;
}

// PSNs of every second connection wrap soon.
std::uint32_t own_start(std::uint32_t flow) {
  return flow % 2 == 0 ? 1000 * flow & wire::kPsnMask : wire::kPsnMask - 1000;
}

std::uint16_t source_port_of(std::uint32_t flow) { return static_cast<std::uint16_t>(0xc000 | (flow * 7919 & 0x3fff)); }

}  // namespace

RoceStream::RoceStream(const Point& point, Side requester_side, std::uint32_t qpn_base, rte_mempool* pool,
                       const Treatment& treatment, const Payloads& payloads, Errors& errors)
    : point_(point),
      requester_side_(requester_side),
      qpn_base_(qpn_base),
      pool_(pool),
      treatment_(treatment),
      payloads_(payloads),
      errors_(errors),
      scratch_(Payloads::kLargest + 256) {
  if (point.flows > kResponderQpns) throw std::invalid_argument("too many connections");
  if (const std::uint32_t fewest = fewest_flows(*point.workload, point.custody_packets); point.flows < fewest)
    throw std::invalid_argument(
        fmt::format("{} has too many READs under way for {} connections: take {} or more, or less custody",
                    point.workload->name, point.flows, fewest));
  const bool announced = point.workload->announced;
  if (!announced && point.flows < 2)
    throw std::invalid_argument("of connections that nobody can tell apart there must be two");
  for (const Script& script : point.workload->scripts)
    for (const MessageKind& kind : script)
      if (kind.packets > 1 || kind.operation == Operation::read_request) acknowledged_at_once_ = false;
  for (std::uint32_t i = 0; i < (announced ? std::min(kPairs, point.flows) : 1); ++i) pairs_.push_back(make_pair(i));
  for (std::uint32_t i = 0; i < point.flows; ++i) {
    const Cursor start{start_of(i), 0, 0};
    flows_.push_back({start, start, start});
  }
  stride_ = static_cast<std::uint32_t>(static_cast<double>(point.flows) * 0.618) + 1;
  while (std::gcd(stride_, point.flows) != 1) ++stride_;
}

std::uint32_t RoceStream::start_of(std::uint32_t flow) const {
  return point_.workload->announced ? own_start(flow) : 0;
}

std::string RoceStream::ip(Side side, std::uint32_t pair) const {
  return fmt::format("10.{}.0.{}", side == Side::host ? 1 : 2, pair + 1);
}

bool RoceStream::answered_by_device() const {
  return confirmed_ && treatment_.accelerates() && point_.workload->announced && requester_side_ == Side::host;
}

std::uint32_t RoceStream::responder_qpn(std::uint32_t flow) const { return qpn_base_ + kResponderQpns + flow; }

RoceStream::Pair RoceStream::make_pair(std::uint32_t number) const {
  const std::string requester = ip(requester_side_, number);
  const std::string responder = ip(other(requester_side_), number);
  const wire::MacAddress requester_mac{0x02, 0, 0, 0, 1, static_cast<std::uint8_t>(number)};
  const wire::MacAddress responder_mac{0x02, 0, 0, 0, 2, static_cast<std::uint8_t>(number)};
  const auto asks = [&] { return wire::PacketBuilder().macs(requester_mac, responder_mac).ips(requester, responder); };
  const auto answers = [&] {
    return wire::PacketBuilder().macs(responder_mac, requester_mac).ips(responder, requester);
  };
  Pair pair;
  pair.ack.emplace_back(answers().opcode(wire::kRcAcknowledge).aeth(wire::kAckNoCredits, 0).build());
  for (const Script& script : point_.workload->scripts) {
    std::vector<Shapes>& row = pair.scripts.emplace_back();
    for (const MessageKind& kind : script) {
      Shapes& shapes = row.emplace_back();
      const std::uint32_t length = std::uint32_t{kind.payload} * kind.packets;
      const std::size_t count = std::min<std::size_t>(kind.packets, 3);
      const bool reads = kind.operation == Operation::read_request;
      if (reads) shapes.request.emplace_back(asks().opcode(wire::kRcReadRequest).reth(0x10000, 7, length).build());
      for (std::size_t place = 0; place < count; ++place) {
        // If there are two packets, the second is the last.
        const std::size_t shape = place + 1 == count && count > 1 ? 2 : place;
        if (reads) {
          auto builder = answers().opcode(code_of(kResponseCodes, shape, kind.packets)).payload_size(kind.payload);
          if (shape != 1) builder.aeth(wire::kAckNoCredits, 0);
          shapes.response.emplace_back(builder.build());
          continue;
        }
        const bool writes = kind.operation == Operation::write;
        auto builder = asks()
                           .opcode(code_of(writes ? kWriteCodes : kSendCodes, shape, kind.packets))
                           .payload_size(kind.payload)
                           .ack_req(shape == 2 || kind.packets == 1);
        if (writes && shape == 0) builder.reth(0x10000, 7, length);
        shapes.request.emplace_back(builder.build());
      }
      // Two packets have no middle, but an element in its place.
      for (auto* frames : {&shapes.request, &shapes.response})
        if (kind.packets == 2 && frames->size() == 2) frames->push_back(frames->back());
    }
  }
  return pair;
}

CmExchange RoceStream::exchange(std::uint32_t flow) const {
  const auto pair = static_cast<std::uint32_t>(flow % pairs_.size());
  CmExchange exchange;
  exchange.number = flow;
  exchange.requester_ip = ip(requester_side_, pair);
  exchange.responder_ip = ip(other(requester_side_), pair);
  exchange.requester_qpn = requester_qpn(flow);
  exchange.responder_qpn = responder_qpn(flow);
  exchange.requester_starts_at = start_of(flow);
  exchange.path_mtu = kDefaultPathMtu;
  for (const MessageKind& kind : point_.workload->scripts[script_of(flow)])
    if (kind.packets > 1) exchange.path_mtu = kind.payload;
  return exchange;
}

// ---- what a connection says ---------------------------------------------------------------------

std::size_t RoceStream::place_of(std::uint32_t flow, std::uint32_t message) const {
  return (std::size_t{message} + flow) % point_.workload->scripts[script_of(flow)].size();
}

const MessageKind& RoceStream::kind_of(std::uint32_t flow, std::uint32_t message) const {
  return point_.workload->scripts[script_of(flow)][place_of(flow, message)];
}

const RoceStream::Shapes& RoceStream::shapes_of(std::uint32_t flow, std::uint32_t message) const {
  return pairs_[flow % pairs_.size()].scripts[script_of(flow)][place_of(flow, message)];
}

RoceStream::Built RoceStream::request_at(std::uint32_t flow, const Cursor& at) const {
  const MessageKind& kind = kind_of(flow, at.message);
  const FrameTemplate& frame = shapes_of(flow, at.message).request[shape_of(at.packet, kind.packets)];
  return {&frame,
          {.qpn = responder_qpn(flow),
           .psn = at.psn,
           .udp_source_port = source_port_of(flow),
           .payload = payloads_.at(flow, at.psn, frame.payload_size())}};
}

RoceStream::Built RoceStream::answer_at(std::uint32_t flow, const Cursor& at) const {
  const MessageKind& kind = kind_of(flow, at.message);
  const bool reads = kind.operation == Operation::read_request;
  const FrameTemplate& frame = reads ? shapes_of(flow, at.message).response[shape_of(at.packet, kind.packets)]
                                     : pairs_[flow % pairs_.size()].ack.front();
  return {&frame,
          {.qpn = requester_qpn(flow),
           .psn = reads ? at.psn : psn_add(at.psn, kind.packets - 1),
           .msn = (at.message + 1) & wire::kPsnMask,
           .udp_source_port = source_port_of(flow),
           .payload = payloads_.at(~flow, at.psn, frame.payload_size())}};
}

void RoceStream::advance_request(std::uint32_t flow, Cursor& at) const {
  const MessageKind& kind = kind_of(flow, at.message);
  const bool reads = kind.operation == Operation::read_request;
  at.psn = psn_add(at.psn, reads ? kind.packets : 1);
  if (!reads && ++at.packet < kind.packets) return;
  at.packet = 0;
  ++at.message;
}

void RoceStream::advance_answer(std::uint32_t flow, Cursor& at) const {
  const MessageKind& kind = kind_of(flow, at.message);
  const bool reads = kind.operation == Operation::read_request;
  at.psn = psn_add(at.psn, reads ? 1 : kind.packets);
  if (reads && ++at.packet < kind.packets) return;
  at.packet = 0;
  ++at.message;
}

// ---- into the device ----------------------------------------------------------------------------

void RoceStream::put(const Built& built, Side in, bool counts, Offer& offer) {
  rte_mbuf* mbuf = built.frame->make(pool_, built.stamp);
  if (mbuf == nullptr) throw std::runtime_error("linerate: no mbuf for traffic");
  offer.frames[in].push_back(mbuf);
  if (!counts) return;
  ++offer.packets;
  offer.bytes += built.frame->size();
}

void RoceStream::offer_request(std::uint32_t index, Offer& offer) {
  Flow& flow = flows_[index];
  const MessageKind& kind = kind_of(index, flow.sent.message);
  const bool reads = kind.operation == Operation::read_request;
  put(request_at(index, flow.sent), requester_side_, !reads && !point_.workload->answers_only, offer);
  advance_request(index, flow.sent);
  unanswered_ += reads ? kind.packets : 1;
  ++in_transit_[other(requester_side_)];
}

void RoceStream::offer_first(std::size_t budget, Offer& offer) {
  for (std::size_t i = 0; i < budget && first_ < flows(); ++i) {
    offer_request(first_, offer);
    if (flows_[first_].sent.message > 0) ++first_;
  }
}

void RoceStream::offer_rest(std::size_t budget, Offer& offer) {
  for (std::uint32_t flow = 0; flow < flows(); ++flow)
    while (flows_[flow].sent.packet != 0 && offer.size() < budget) offer_request(flow, offer);
}

void RoceStream::offer(Part part, std::size_t budget, Offer& offer) {
  if (part != Part::requests) offer_answers(budget, offer);
  if (part == Part::answers) return;
  std::size_t responses = 0;  // a chunk of READs must not bring more responses than fit in a chunk
  for (std::size_t i = 0; i < budget && responses < budget; ++i) {
    const MessageKind& kind = kind_of(turn_, flows_[turn_].sent.message);
    if (kind.operation == Operation::read_request) responses += kind.packets;
    offer_request(turn_, offer);
    turn_ = static_cast<std::uint32_t>((std::uint64_t{turn_} + stride_) % flows());
  }
}

void RoceStream::offer_answers(std::size_t budget, Offer& offer) {
  for (std::size_t i = 0; i < budget && pending_packets_ > lag_; ++i) {
    Answer& answer = pending_.front();
    const MessageKind& kind = kind_of(answer.flow, answer.at.message);
    const bool reads = kind.operation == Operation::read_request;
    put(answer_at(answer.flow, answer.at), other(requester_side_), reads || point_.workload->answers_only, offer);
    if (reads || !answered_by_device()) ++in_transit_[requester_side_];
    pending_packets_ -= reads ? 1 : kind.packets;
    const std::uint32_t message = answer.at.message;
    advance_answer(answer.flow, answer.at);
    if (answer.at.message != message) pending_.pop_front();
  }
}

// ---- out of the device --------------------------------------------------------------------------

std::optional<std::uint32_t> RoceStream::flow_of(Side out, const wire::Frame& frame) const {
  const bool to_responder = out != requester_side_;
  const std::uint32_t index = frame.destination_qpn() - (to_responder ? responder_qpn(0) : requester_qpn(0));
  return index < flows() ? std::optional(index) : std::nullopt;
}

bool RoceStream::take(Side out, wire::ParseStatus status, const wire::Frame& parsed, const rte_mbuf*) {
  if (status != wire::ParseStatus::roce) return false;
  const auto flow = flow_of(out, parsed);
  if (!flow) return false;
  if (out == requester_side_)
    at_requester(*flow, parsed);
  else
    at_responder(*flow, parsed);
  return true;
}

bool RoceStream::matches(const Built& built, std::uint32_t flow, Side out, const wire::Frame& frame) {
  const wire::Frame& wanted = built.frame->frame();
  const auto wrong = [&](const char* what) {
    errors_.add(fmt::format("flow {}, PSN {} awaited at the {} side: PSN {} came, {}", flow, built.stamp.psn,
                            name_of(out), frame.psn(), what));
    return false;
  };
  if (frame.psn() != built.stamp.psn) return wrong("out of order, twice or after a loss");
  if (frame.opcode->code != wanted.opcode->code) return wrong("with another opcode");
  if (frame.size != built.frame->size() || frame.ack_req() != wanted.ack_req()) return wrong("altered");
  if (frame.opcode->has(wire::kHasAeth) &&
      (frame.aeth().msn != built.stamp.msn || frame.aeth().syndrome != wire::kAckNoCredits))
    return wrong("with a wrong MSN or syndrome");
  if (!wire::verify_icrc(frame)) return wrong("with a wrong ICRC");
  if ((flow + built.stamp.psn) % kCompareEach == 0) {
    built.frame->write(scratch_.data(), built.stamp);
    treatment_.rewrite(out, scratch_.data());
    if (std::memcmp(scratch_.data(), frame.data, frame.size) != 0) return wrong("with other bytes");
  }
  return true;
}

void RoceStream::at_responder(std::uint32_t index, const wire::Frame& frame) {
  Flow& flow = flows_[index];
  if (!matches(request_at(index, flow.arrived), index, other(requester_side_), frame)) return;
  --in_transit_[other(requester_side_)];
  const Cursor before = flow.arrived;
  advance_request(index, flow.arrived);
  if (flow.arrived.message == before.message) return;
  const MessageKind& kind = kind_of(index, before.message);
  pending_.push_back({index, {psn_add(before.psn, -std::int64_t{before.packet}), before.message, 0}});
  pending_packets_ += kind.packets;
}

void RoceStream::at_requester(std::uint32_t index, const wire::Frame& frame) {
  Flow& flow = flows_[index];
  if (flow.answered.message >= flow.sent.message) {
    errors_.add(fmt::format("flow {}: an answer for PSN {} that nobody asked for", index, frame.psn()));
    return;
  }
  if (!matches(answer_at(index, flow.answered), index, requester_side_, frame)) return;
  const MessageKind& kind = kind_of(index, flow.answered.message);
  unanswered_ -= kind.operation == Operation::read_request ? 1 : kind.packets;
  if (kind.operation == Operation::read_request || !answered_by_device()) --in_transit_[requester_side_];
  advance_answer(index, flow.answered);
}

void RoceStream::after_chunk() {
  for (const Side out : {Side::host, Side::wan})
    if (std::uint64_t& missing = in_transit_[out]; missing != 0) {
      errors_.add(fmt::format("{} {} did not come out of the {} port", missing,
                              out == requester_side_ ? "answers" : "requests", name_of(out)));
      missing = 0;
    }
  if (answered_by_device() && acknowledged_at_once_ && unanswered_ != 0)
    errors_.add(fmt::format("{} requests were not acknowledged at once", unanswered_));
}

}  // namespace longhaul::bench
