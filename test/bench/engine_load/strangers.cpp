// SPDX-License-Identifier: BSD-3-Clause
// What is not the box's: other protocols, and RoCE of connections that it does not know.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "test/bench/engine_load/parts.hpp"

namespace longhaul::bench {

namespace {

/// Each frame must come out as it went in.
class PassThrough : public EngineLoad {
 public:
  void check() override {
    for (const Side side : {Side::host, Side::wan}) {
      auto& expected = expected_[static_cast<int>(side)];
      const Out out(bed_.take(side));
      require(out.size() == expected.size(), "frames are missing or came twice");
      for (std::size_t i = 0; i < out.size(); ++i)
        require(std::ranges::equal(out.bytes(i), expected[i]), "a frame came out altered");
      expected.clear();
    }
  }

 protected:
  PassThrough(const EngineLoadSpec& spec, const engine::Pools& pools) : EngineLoad(settings_for(spec), pools) {}

  void pass(Side from, rte_mbuf* mbuf) {
    const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
    expected_[static_cast<int>(other(from))].emplace_back(bytes, bytes + mbuf->data_len);
    turns_.add(from, mbuf);
  }

 private:
  std::vector<std::vector<std::uint8_t>> expected_[2];  // by the side where it comes out
};

class Foreign final : public PassThrough {
 public:
  Foreign(const EngineLoadSpec& spec, const engine::Pools& pools) : PassThrough(spec, pools) {
    const auto flows = make_flows(spec.flows);
    for (const std::uint32_t i : shuffled(spec.flows)) frames_.push_back(tcp(flows[i], kSizes[i % kSizes.size()]));
  }

  void prepare(std::uint32_t packets) override {
    for (std::uint32_t i = 0; i < packets; ++i, ++sent_) {
      auto& frame = frames_[sent_ % frames_.size()];
      std::fill_n(frame.begin() + kSequence, 4, static_cast<std::uint8_t>(sent_));
      pass(i / Turns::kBurst % 2 == 0 ? Side::host : Side::wan, to_mbuf(pools_, frame));
    }
  }

 private:
  static constexpr std::array<std::size_t, 4> kSizes = {60, 124, 576, 1514};
  static constexpr std::ptrdiff_t kSequence = 38;  // TCP's sequence number

  // A RoCE frame's addresses, ports of the flow's own, and another protocol.
  static std::vector<std::uint8_t> tcp(const FlowEnds& ends, std::size_t size) {
    auto bytes = ends.request().udp_source_port(static_cast<std::uint16_t>(ends.requester_qpn)).build();
    bytes.resize(size, static_cast<std::uint8_t>(ends.responder_qpn));
    auto& ip = *reinterpret_cast<wire::Ipv4Header*>(bytes.data() + sizeof(wire::EthernetHeader));
    constexpr std::uint8_t kTcp = 6;
    ip.protocol = kTcp;
    ip.total_length = static_cast<std::uint16_t>(size - sizeof(wire::EthernetHeader));
    ip.checksum = wire::ipv4_checksum({reinterpret_cast<const std::uint8_t*>(&ip), sizeof(ip)});
    return bytes;
  }

  std::vector<std::vector<std::uint8_t>> frames_;  // in the order in which they are sent
  std::uint64_t sent_ = 0;
};

// Many stacks begin all their QPs with one PSN. Between two hosts no ACK tells then which it is for, and the box learns
// none of them.
std::vector<FlowEnds> alike(std::uint32_t count) {
  auto flows = make_flows(count);
  for (FlowEnds& ends : flows) {
    ends.requester_ip = flows.front().requester_ip;
    ends.responder_ip = flows.front().responder_ip;
    ends.start_psn = 0;
  }
  return flows;
}

class Unknown final : public PassThrough {
 public:
  Unknown(const EngineLoadSpec& spec, const engine::Pools& pools)
      : PassThrough(spec, pools),
        answers_wanted_(spec.kind != Kind::unknown_request),
        astray_(spec.kind == Kind::stray_answer ? kAstray : 0),
        schedule_(alike(spec.flows)) {
    for (const FlowEnds& ends : schedule_.flows()) {
      requests_.push_back(answers_wanted_ ? unasking_write_of(ends) : write_of(ends, spec.payload));
      answers_.push_back(ack_of(ends));
    }
    // The box believes no ACK in its first second.
    pass(Side::host, stamped(requests_.front(), pools_, 0));
    run();
    PassThrough::check();
    bed_.wait(seconds(2));
  }

  void prepare(std::uint32_t packets) override {
    for (std::uint32_t i = 0; i < packets; ++i) {
      const auto place = schedule_.place(sent_ + i);
      pass(Side::host, stamped(requests_[place.flow], pools_, place.psn));
    }
    if (answers_wanted_) {
      run();
      for (std::uint32_t i = 0; i < packets; ++i) {
        const auto place = schedule_.place(sent_ + i);
        pass(Side::wan, stamped(answers_[place.flow], pools_, place.psn + astray_, place.msn));
      }
    }
    sent_ += packets;
  }

  void check() override {
    PassThrough::check();
    require(bed_.count(Counter::connections_learned) == 0, "a connection was learned");
    require(bed_.count(Counter::requests_unlearned) == sent_ + 1, "a request is of a known connection");
    require(!answers_wanted_ || bed_.count(Counter::responses_unlearned) == sent_,
            "an answer is of a known connection");
  }

 private:
  // Further than what is sent, and not so far that nobody there could be meant.
  static constexpr std::uint32_t kAstray = 1 << 16;

  // It asks for no ACK, so the ACK that it gets teaches nothing, also when no other connection is there.
  static FrameTemplate unasking_write_of(const FlowEnds& ends) {
    return FrameTemplate(ends.request().opcode(wire::kRcWriteOnly).reth(0x10000, 7, 0).build());
  }

  const bool answers_wanted_;
  const std::uint32_t astray_;  // added to the PSNs of answers
  const Schedule schedule_;
  std::vector<FrameTemplate> requests_;  // by flow
  std::vector<FrameTemplate> answers_;
  std::uint64_t sent_ = 0;
};

}  // namespace

std::unique_ptr<EngineLoad> make_foreign(const EngineLoadSpec& spec, const engine::Pools& pools) {
  return std::make_unique<Foreign>(spec, pools);
}

std::unique_ptr<EngineLoad> make_unknown(const EngineLoadSpec& spec, const engine::Pools& pools) {
  return std::make_unique<Unknown>(spec, pools);
}

}  // namespace longhaul::bench
