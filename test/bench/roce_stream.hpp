// SPDX-License-Identifier: BSD-3-Clause
// Requesters and responders of RC connections on the two sides of a device.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/side.hpp"
#include "test/bench/cm_exchange.hpp"
#include "test/bench/device.hpp"
#include "test/bench/frame_template.hpp"
#include "test/bench/stream.hpp"
#include "test/bench/workload.hpp"

namespace longhaul::bench {

/// Every request, every answer and its place in the order follow from the connection and the message's number. So each
/// frame can be made again where it comes out, and compared.
///
/// Checked for each frame: ICRC, PSN, opcode, sizes, AckReq, MSN and syndrome, order, and that it comes once. For every
/// kCompareEach-th frame: all its bytes. A box's pseudo-ACK must be the ACK that the responder would have made.
class RoceStream final : public Stream {
 public:
  static constexpr std::uint32_t kCompareEach = 16;

  /// `qpn_base` is the first QPN of this stream, which takes 2^22 of them. All references must outlive it.
  RoceStream(const Point& point, Side requester_side, std::uint32_t qpn_base, rte_mempool* pool,
             const Treatment& treatment, const Payloads& payloads, Errors& errors);

  Side requester_side() const { return requester_side_; }
  std::uint32_t flows() const { return static_cast<std::uint32_t>(flows_.size()); }
  CmExchange exchange(std::uint32_t flow) const;
  /// PSN of the connection's next request.
  std::uint32_t next_psn(std::uint32_t flow) const { return flows_[flow].sent.psn; }
  /// The connection of a frame that leaves the device by `out`, if it is one of these.
  std::optional<std::uint32_t> flow_of(Side out, const wire::Frame& frame) const;

  /// From here on, a device that accelerates must acknowledge a request in the chunk that brought it.
  void set_confirmed() { confirmed_ = true; }
  /// Offers the first message of each flow that has not sent it yet, as far as `budget` goes.
  void offer_first(std::size_t budget, Offer& offer);
  /// Offers the rest of messages that have begun, as far as `budget` goes.
  void offer_rest(std::size_t budget, Offer& offer);

  void offer(Part part, std::size_t budget, Offer& offer) override;
  bool take(Side out, wire::ParseStatus status, const wire::Frame& parsed, const rte_mbuf* mbuf) override;
  void after_chunk() override;
  std::uint64_t pending() const override { return pending_packets_; }
  void set_lag(std::uint64_t packets) override { lag_ = packets; }
  std::uint64_t unanswered() const override { return unanswered_; }

 private:
  /// A position in what a connection sends or gets as answers.
  struct Cursor {
    std::uint32_t psn = 0;
    std::uint32_t message = 0;
    std::uint16_t packet = 0;  ///< in the message, or in a READ's answer
  };
  struct Flow {
    Cursor sent;      ///< next request to send
    Cursor arrived;   ///< next request that the responder expects
    Cursor answered;  ///< next answer that the requester expects
  };
  struct Answer {
    std::uint32_t flow;
    Cursor at;
  };
  /// The frames of one kind of message between one pair of hosts, by position: first or only, middle, last.
  struct Shapes {
    std::vector<FrameTemplate> request;
    std::vector<FrameTemplate> response;  ///< for READs
  };
  struct Pair {
    std::vector<std::vector<Shapes>> scripts;  ///< as in the workload
    std::vector<FrameTemplate> ack;            ///< one element
  };
  struct Built {
    const FrameTemplate* frame;
    Stamp stamp;
  };

  /// Whether the device acknowledges this stream's requests and absorbs the responder's own ACKs.
  bool answered_by_device() const;
  Pair make_pair(std::uint32_t number) const;
  std::uint32_t start_of(std::uint32_t flow) const;
  std::string ip(Side side, std::uint32_t pair) const;
  std::uint32_t requester_qpn(std::uint32_t flow) const { return qpn_base_ + flow; }
  std::uint32_t responder_qpn(std::uint32_t flow) const;
  std::size_t script_of(std::uint32_t flow) const { return flow % point_.workload->scripts.size(); }
  std::size_t place_of(std::uint32_t flow, std::uint32_t message) const;
  const MessageKind& kind_of(std::uint32_t flow, std::uint32_t message) const;
  const Shapes& shapes_of(std::uint32_t flow, std::uint32_t message) const;

  Built request_at(std::uint32_t flow, const Cursor& at) const;
  Built answer_at(std::uint32_t flow, const Cursor& at) const;
  void advance_request(std::uint32_t flow, Cursor& at) const;
  void advance_answer(std::uint32_t flow, Cursor& at) const;

  void offer_request(std::uint32_t flow, Offer& offer);
  void offer_answers(std::size_t budget, Offer& offer);
  void put(const Built& built, Side in, bool counts, Offer& offer);
  void at_responder(std::uint32_t flow, const wire::Frame& frame);
  void at_requester(std::uint32_t flow, const wire::Frame& frame);
  bool matches(const Built& built, std::uint32_t flow, Side out, const wire::Frame& frame);

  Point point_;
  Side requester_side_;
  std::uint32_t qpn_base_;
  rte_mempool* pool_;
  const Treatment& treatment_;
  const Payloads& payloads_;
  Errors& errors_;
  bool acknowledged_at_once_ = true;  ///< every request asks for an ACK, and none has to wait for a READ
  bool confirmed_ = false;

  std::vector<Pair> pairs_;
  std::vector<Flow> flows_;
  std::uint32_t turn_ = 0;    ///< the flow whose turn it is to send
  std::uint32_t stride_ = 1;  ///< from one flow to the next, so that a processor cannot guess the order
  std::uint32_t first_ = 0;   ///< for offer_first()

  std::deque<Answer> pending_;
  std::uint64_t pending_packets_ = 0;
  std::uint64_t lag_ = 0;
  std::uint64_t unanswered_ = 0;
  BySide<std::uint64_t> in_transit_{};  ///< requests, and answers unless absorbed; by the side where they come out
  std::vector<std::uint8_t> scratch_;
};

}  // namespace longhaul::bench
