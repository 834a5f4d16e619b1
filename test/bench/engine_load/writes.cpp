// SPDX-License-Identifier: BSD-3-Clause
// WRITEs one way, and the responder's ACKs the other way when kDepth more have been sent.
#include "test/bench/engine_load/parts.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint8_t kPathMtu4096 = 5;

class Writes : public Connected {
 public:
  Writes(const EngineLoadSpec& spec, const engine::Pools& pools, Side requester)
      : Connected(spec, pools, requester, kPathMtu4096), passed_(spec.flows) {
    for (const FlowEnds& ends : schedule_.flows()) {
      requests_.push_back(write_of(ends, spec.payload));
      answers_.push_back(ack_of(ends));
    }
  }

  void prepare(std::uint32_t packets) override {
    for (std::uint32_t i = 0; i < packets; ++i) {
      add_request();
      if (answered_ + kDepth < sent_) add_answer();
    }
  }

  void check() override {
    check_requests();
    check_answers();
    require(!near() || bed_.count(Counter::absorbed_acks) == answered_, "an ACK was not absorbed");
    require(bed_.engine().custody_packets() == (near() ? sent_ - answered_ : 0), "custody is not what it should be");
  }

 protected:
  bool near() const { return requester_ == Side::host; }

  void add_request() {
    const auto place = schedule_.place(sent_++);
    turns_.add(requester_, stamped(requests_[place.flow], pools_, place.psn));
  }
  void add_answer() {
    const auto place = schedule_.place(answered_++);
    turns_.add(other(requester_), stamped(answers_[place.flow], pools_, place.psn, place.msn));
  }

  void check_requests() {
    const Out out(bed_.take(other(requester_)));
    require(out.size() == sent_ - arrived_, "WRITEs are missing or came twice");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const wire::Frame frame = out.roce(i);
      const auto place = schedule_.place(arrived_++);
      require(frame.destination_qpn() == schedule_.flows()[place.flow].responder_qpn && frame.psn() == place.psn,
              "a WRITE is not in order");
    }
  }

  // The order of flows within a burst is the box's own.
  void check_answers() {
    const Out out(bed_.take(requester_));
    told_ += out.size();
    require(told_ == (near() ? sent_ : answered_), "ACKs are missing or came twice");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const wire::Frame frame = out.roce(i);
      const std::uint32_t flow = frame.destination_qpn() - schedule_.flows().front().requester_qpn;
      require(flow < passed_.size() && frame.opcode->code == wire::kRcAcknowledge, "an ACK is for nobody");
      const std::int64_t nth = passed_[flow]++;
      require(frame.psn() == wire::psn_add(schedule_.flows()[flow].start_psn, nth) &&
                  frame.aeth().msn == wire::psn_add(1, nth) && frame.aeth().syndrome == wire::kAckNoCredits,
              "an ACK has the wrong PSN, MSN or syndrome");
    }
  }

  std::vector<FrameTemplate> requests_;  // by flow
  std::vector<FrameTemplate> answers_;
  std::uint64_t sent_ = 0;            // WRITEs by requesters
  std::uint64_t arrived_ = 0;         // WRITEs out of the box
  std::uint64_t answered_ = 0;        // ACKs by responders
  std::uint64_t told_ = 0;            // ACKs out of the box
  std::vector<std::int64_t> passed_;  // of those, by flow
};

class Acks final : public Writes {
 public:
  Acks(const EngineLoadSpec& spec, const engine::Pools& pools) : Writes(spec, pools, Side::host) {}

  void prepare(std::uint32_t packets) override {
    while (sent_ < answered_ + kDepth + packets) add_request();
    run();
    check();
    for (std::uint32_t i = 0; i < packets; ++i) add_answer();
  }
};

}  // namespace

std::unique_ptr<EngineLoad> make_writes(const EngineLoadSpec& spec, const engine::Pools& pools, Side requester) {
  return std::make_unique<Writes>(spec, pools, requester);
}

std::unique_ptr<EngineLoad> make_acks(const EngineLoadSpec& spec, const engine::Pools& pools) {
  return std::make_unique<Acks>(spec, pools);
}

}  // namespace longhaul::bench
