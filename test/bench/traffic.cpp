// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/traffic.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "test/bench/cm_exchange.hpp"
#include "test/bench/frame_template.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint16_t kBurst = 32;
constexpr std::size_t kMaxErrors = 10;
constexpr std::uint32_t kRequesterQpn = 0x100;  // plus the flow's number
constexpr std::uint32_t kResponderQpn = 0x8100;

std::string requester_ip() { return "10.1.0.1"; }
std::string responder_ip() { return "10.2.0.1"; }

struct Flow {
  std::uint32_t start;         // PSN of the first request
  std::uint64_t sent = 0;      // requests offered
  std::uint64_t arrived = 0;   // requests at the responder
  std::uint64_t answered = 0;  // pseudo-ACKs or real ACKs at the requester, cumulative
};

rte_mbuf* to_mbuf(rte_mempool* pool, const std::vector<std::uint8_t>& bytes) {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  if (mbuf == nullptr) throw std::runtime_error("benchmark: no mbuf");
  std::copy(bytes.begin(), bytes.end(),
            reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size()))));
  return mbuf;
}

class Traffic {
 public:
  Traffic(const TrafficOptions& options, drivers::Port& host, drivers::Port& wan, rte_mempool* pool,
          const drivers::Clock& clock)
      : options_(options),
        host_(host),
        wan_(wan),
        pool_(pool),
        clock_(clock),
        request_(request_template()),
        ack_(ack_template()) {
    for (std::uint32_t i = 0; i < options.flows; ++i) flows_.push_back(Flow{start_of(i)});
  }

  TrafficResult run() {
    connect();
    confirm();
    offer();
    return result_;
  }

 private:
  // PSNs start near the wrap for every other flow.
  static std::uint32_t start_of(std::uint32_t i) { return i % 2 == 0 ? 1000 * i : wire::kPsnMask - 1000; }

  FrameTemplate request_template() const {
    return FrameTemplate(wire::PacketBuilder()
                             .ips(requester_ip(), responder_ip())
                             .opcode(wire::kRcWriteOnly)
                             .ack_req()
                             .reth(0x10000, 7, options_.payload)
                             .payload_size(options_.payload)
                             .build());
  }
  static FrameTemplate ack_template() {
    return FrameTemplate(wire::PacketBuilder()
                             .ips(responder_ip(), requester_ip())
                             .opcode(wire::kRcAcknowledge)
                             .aeth(wire::kAckNoCredits, 0)
                             .build());
  }

  void connect() {
    for (std::uint32_t i = 0; i < options_.flows; ++i) {
      const CmExchange exchange{i, requester_ip(), responder_ip(), kRequesterQpn + i, kResponderQpn + i, start_of(i)};
      send(host_, to_mbuf(pool_, cm_request(exchange)));
      wait_for(wan_);
      send(wan_, to_mbuf(pool_, cm_reply(exchange)));
      wait_for(host_);
    }
  }

  // One request of each flow, answered for real, lets the box acknowledge the rest.
  void confirm() {
    for (std::uint32_t i = 0; i < options_.flows; ++i) offer_one(i);
    const Time until = clock_.now() + seconds(2);
    while (!std::all_of(flows_.begin(), flows_.end(), [](const Flow& f) { return f.answered == 1; })) {
      pump();
      if (clock_.now() > until) throw std::runtime_error("benchmark: the flows were not confirmed");
    }
    result_.pseudo_acks = result_.delivered = 0;
  }

  void offer() {
    const Time begin = clock_.now();
    const double interval = 1e9 / options_.rate;
    Time last_progress = begin;
    std::uint64_t last_seen = 0;
    std::uint32_t next = 0;
    for (;;) {
      const Time now = clock_.now();
      const auto due = static_cast<std::uint64_t>(static_cast<double>(now - begin) / interval);
      unsigned turn = 0;
      while (result_.offered < std::min(due, options_.requests) && turn++ < kBurst) {
        offer_one(next);
        next = (next + 1) % options_.flows;
        if (++result_.offered == options_.requests)
          result_.offered_per_second =
              static_cast<double>(options_.requests) * 1e9 / static_cast<double>(clock_.now() - begin);
      }
      pump();
      const std::uint64_t seen = result_.delivered + result_.pseudo_acks;
      if (seen != last_seen) last_progress = now;
      last_seen = seen;
      const bool done = result_.offered == options_.requests && result_.delivered == options_.requests &&
                        result_.pseudo_acks == options_.requests && in_flight_.empty();
      if (done) return;
      if (now - last_progress > seconds(5)) {
        error("nothing moved for 5 s");
        return;
      }
    }
  }

  void offer_one(std::uint32_t index) {
    Flow& flow = flows_[index];
    const std::uint32_t psn = wire::psn_add(flow.start, static_cast<std::int64_t>(flow.sent));
    const auto size = static_cast<std::uint16_t>(options_.payload);
    send(host_,
         request_.make(pool_, {.qpn = kResponderQpn + index, .psn = psn, .payload = payloads_.at(index, psn, size)}));
    ++flow.sent;
  }

  void pump() {
    std::array<rte_mbuf*, kBurst> frames;
    std::uint16_t count = wan_.receive(frames.data(), kBurst);
    for (std::uint16_t i = 0; i < count; ++i) at_responder(frames[i]);
    const Time now = clock_.now();
    while (!in_flight_.empty() && in_flight_.front().due <= now) {
      const Answer answer = in_flight_.front();
      in_flight_.pop_front();
      send(wan_, ack_.make(pool_, {.qpn = kRequesterQpn + answer.flow, .psn = answer.psn, .msn = answer.msn}));
    }
    count = host_.receive(frames.data(), kBurst);
    for (std::uint16_t i = 0; i < count; ++i) at_requester(frames[i]);
  }

  // Checks a request; answers it a round trip later.
  void at_responder(rte_mbuf* mbuf) {
    wire::Frame frame;
    if (wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, frame) != wire::ParseStatus::roce ||
        !wire::verify_icrc(frame)) {
      error("a request came out damaged");
    } else if (const std::uint32_t index = frame.destination_qpn() - kResponderQpn; index < flows_.size()) {
      Flow& flow = flows_[index];
      const std::int32_t ahead =
          wire::psn_diff(frame.psn(), wire::psn_add(flow.start, static_cast<std::int64_t>(flow.arrived)));
      if (ahead > 0) {
        error("a request came out beyond a gap");
      } else if (ahead < 0) {
        // A resend that was not needed: the machine stopped the box or us for longer than the box's timer.
        ++result_.repeated;
      } else {
        ++flow.arrived;
        ++result_.delivered;
        in_flight_.push_back({clock_.now() + options_.round_trip, index, frame.psn(),
                              static_cast<std::uint32_t>(flow.arrived) & wire::kPsnMask});
      }
    } else {
      error("a request came out that was not offered");
    }
    rte_pktmbuf_free(mbuf);
  }

  void at_requester(rte_mbuf* mbuf) {
    wire::Frame frame;
    if (wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, frame) != wire::ParseStatus::roce ||
        !wire::verify_icrc(frame) || frame.opcode->operation != wire::Operation::acknowledge) {
      error("an ACK came out damaged");
    } else if (const std::uint32_t index = frame.destination_qpn() - kRequesterQpn; index < flows_.size()) {
      Flow& flow = flows_[index];
      if (frame.psn() != wire::psn_add(flow.start, static_cast<std::int64_t>(flow.answered)) ||
          frame.aeth().msn != ((flow.answered + 1) & wire::kPsnMask) || frame.aeth().syndrome != wire::kAckNoCredits)
        error("an ACK came out of order, twice or with a wrong MSN");
      ++flow.answered;
      ++result_.pseudo_acks;
    } else {
      error("an ACK came out for nobody");
    }
    rte_pktmbuf_free(mbuf);
  }

  void send(drivers::Port& port, rte_mbuf* mbuf) {
    if (mbuf == nullptr) throw std::runtime_error("benchmark: no mbuf for traffic");
    const Time until = clock_.now() + seconds(2);
    while (port.transmit(&mbuf, 1) == 0)
      if (clock_.now() > until) throw std::runtime_error("benchmark: the box takes nothing");
  }

  // Takes and frees one frame.
  void wait_for(drivers::Port& port) {
    rte_mbuf* mbuf = nullptr;
    const Time until = clock_.now() + seconds(2);
    while (port.receive(&mbuf, 1) == 0)
      if (clock_.now() > until) throw std::runtime_error("benchmark: the box does not forward");
    rte_pktmbuf_free(mbuf);
  }

  void error(const char* what) {
    if (result_.errors.size() < kMaxErrors) result_.errors.emplace_back(what);
  }

  struct Answer {
    Time due;
    std::uint32_t flow;
    std::uint32_t psn;
    std::uint32_t msn;
  };

  TrafficOptions options_;
  drivers::Port& host_;
  drivers::Port& wan_;
  rte_mempool* pool_;
  const drivers::Clock& clock_;
  FrameTemplate request_;
  FrameTemplate ack_;
  Payloads payloads_;
  std::vector<Flow> flows_;
  std::deque<Answer> in_flight_;
  TrafficResult result_;
};

}  // namespace

TrafficResult run_traffic(const TrafficOptions& options, drivers::Port& host_end, drivers::Port& wan_end,
                          rte_mempool* pool, const drivers::Clock& clock) {
  return Traffic(options, host_end, wan_end, pool, clock).run();
}

}  // namespace longhaul::bench
