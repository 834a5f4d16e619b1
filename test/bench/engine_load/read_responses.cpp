// SPDX-License-Identifier: BSD-3-Clause
// READs of four packets each; their responses come back one READ after the other.
#include <array>
#include <bit>

#include "test/bench/engine_load/parts.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

namespace {

constexpr std::array kOpcodes = {wire::kRcReadResponseFirst, wire::kRcReadResponseMiddle, wire::kRcReadResponseMiddle,
                                 wire::kRcReadResponseLast};
constexpr auto kPackets = static_cast<std::uint32_t>(kOpcodes.size());

// As RDMA-CM encodes it: 1 is 256 bytes.
std::uint8_t path_mtu_code(std::uint32_t bytes) { return static_cast<std::uint8_t>(std::countr_zero(bytes) - 7); }

class ReadResponses final : public Connected {
 public:
  ReadResponses(const EngineLoadSpec& spec, const engine::Pools& pools)
      : Connected(spec, pools, Side::host, path_mtu_code(spec.payload)) {
    for (const FlowEnds& ends : schedule_.flows()) {
      requests_.emplace_back(
          ends.request().opcode(wire::kRcReadRequest).ack_req().reth(0x10000, 7, kPackets * spec.payload).build());
      for (std::uint32_t i = 0; i < kPackets; ++i) {
        auto response = ends.answer();
        response.opcode(kOpcodes[i]).payload_size(spec.payload, static_cast<std::uint8_t>(ends.requester_qpn + i));
        if (kOpcodes[i] != wire::kRcReadResponseMiddle) response.aeth(wire::kAckNoCredits, 0);
        responses_.emplace_back(response.build());
      }
    }
  }

  void prepare(std::uint32_t packets) override {
    const std::uint32_t reads = packets / kPackets;
    for (std::uint32_t i = 0; i < reads; ++i) {
      const auto place = schedule_.place(sent_ + i, kPackets);
      turns_.add(Side::host, stamped(requests_[place.flow], pools_, place.psn));
    }
    run();
    require(Out(bed_.take(Side::wan)).size() == reads, "READs are missing or came twice");
    for (std::uint32_t i = 0; i < packets; ++i) {
      const auto place = schedule_.place(sent_ + i / kPackets, kPackets);
      const FrameTemplate& response = responses_[place.flow * kPackets + i % kPackets];
      turns_.add(Side::wan, stamped(response, pools_, wire::psn_add(place.psn, i % kPackets), place.msn));
    }
    sent_ += reads;
  }

  void check() override {
    const Out out(bed_.take(Side::host));
    require(out.size() == (sent_ - arrived_) * kPackets, "READ responses are missing or came twice");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto place = schedule_.place(arrived_ + i / kPackets, kPackets);
      const wire::Frame frame = out.roce(i);
      require(frame.destination_qpn() == schedule_.flows()[place.flow].requester_qpn &&
                  frame.psn() == wire::psn_add(place.psn, static_cast<std::int64_t>(i % kPackets)),
              "a READ response is not in order");
    }
    arrived_ = sent_;
    require(bed_.engine().custody_packets() == 0, "a READ that was answered is in custody");
  }

 private:
  std::vector<FrameTemplate> requests_;   // by flow
  std::vector<FrameTemplate> responses_;  // kPackets for each flow
  std::uint64_t sent_ = 0;                // READs
  std::uint64_t arrived_ = 0;             // READs whose responses came out
};

}  // namespace

std::unique_ptr<EngineLoad> make_read_responses(const EngineLoadSpec& spec, const engine::Pools& pools) {
  return std::make_unique<ReadResponses>(spec, pools);
}

}  // namespace longhaul::bench
