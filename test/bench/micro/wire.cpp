// SPDX-License-Identifier: BSD-3-Clause
// Parsing and the ICRC.
#include <rte_mbuf.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "test/bench/micro/micro.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"

namespace longhaul::bench {

namespace {

/// `count` frames with different payloads of `size` bytes, in mbufs as they come from a port.
class Frames {
 public:
  Frames(std::size_t count, std::uint32_t size, std::uint8_t opcode, bool ipv6 = false) {
    std::mt19937 random(1);
    std::vector<std::uint8_t> payload(size);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
      const std::string host = std::to_string(1 + i % 200);
      const auto bytes = wire::PacketBuilder()
                             .ips(ipv6 ? "fd00::" + host : "10.1.0." + host, ipv6 ? "fd00::2" : "10.2.0.2")
                             .qpn(0x1000 + i)
                             .psn(1000 * i)
                             .opcode(opcode)
                             .payload(payload)
                             .build();
      rte_mbuf* mbuf = rte_pktmbuf_alloc(pools().frames);
      if (mbuf == nullptr) throw std::runtime_error("no mbuf is left");
      std::copy(bytes.begin(), bytes.end(),
                reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size()))));
      mbufs_.push_back(mbuf);
    }
  }
  ~Frames() {
    for (rte_mbuf* mbuf : mbufs_) rte_pktmbuf_free(mbuf);
  }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  std::size_t size() const { return mbufs_.size(); }
  wire::ParseStatus parse(std::size_t i, wire::Frame& frame) const {
    return wire::parse({rte_pktmbuf_mtod(mbufs_[i], const std::uint8_t*), mbufs_[i]->data_len}, frame);
  }

 private:
  std::vector<rte_mbuf*> mbufs_;
};

// As many frames as stay in the first-level cache, and as many as a NIC's ring has.
constexpr std::int64_t kHot = 256;
constexpr std::int64_t kRing = 4096;

void parse(benchmark::State& state, std::uint8_t opcode, std::uint32_t payload, bool ipv6) {
  const Frames frames(static_cast<std::size_t>(state.range(0)), payload, opcode, ipv6);
  std::size_t i = 0;
  for (auto _ : state) {
    wire::Frame frame;
    if (frames.parse(i, frame) != wire::ParseStatus::roce) state.SkipWithError("a frame does not parse");
    benchmark::DoNotOptimize(frame);
    if (++i == frames.size()) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(parse, write, wire::kRcWriteOnly, 512, false)->ArgName("frames")->Arg(kHot)->Arg(kRing);
BENCHMARK_CAPTURE(parse, write_ipv6, wire::kRcWriteOnly, 512, true)->ArgName("frames")->Arg(kHot)->Arg(kRing);
BENCHMARK_CAPTURE(parse, ack, wire::kRcAcknowledge, 0, false)->ArgName("frames")->Arg(kHot)->Arg(kRing);

void verify_icrc(benchmark::State& state) {
  const Frames frames(static_cast<std::size_t>(state.range(1)), static_cast<std::uint32_t>(state.range(0)),
                      wire::kRcWriteOnly);
  std::vector<wire::Frame> parsed(frames.size());
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    if (frames.parse(i, parsed[i]) != wire::ParseStatus::roce) state.SkipWithError("a frame does not parse");
    bytes += parsed[i].icrc_offset - parsed[i].ip_offset;
  }
  std::size_t i = 0;
  for (auto _ : state) {
    if (!wire::verify_icrc(parsed[i])) state.SkipWithError("an ICRC is wrong");
    if (++i == parsed.size()) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * (bytes / static_cast<std::int64_t>(parsed.size())));
}
BENCHMARK(verify_icrc)
    ->ArgNames({"payload", "frames"})
    ->ArgsProduct({{64, 128, 256, 512, 1024, 2048, 4096}, {kHot, kRing}});

}  // namespace

}  // namespace longhaul::bench
