// SPDX-License-Identifier: BSD-3-Clause
// Finds a packet's connection among many.
#include <algorithm>
#include <numeric>
#include <random>

#include "engine/settings.hpp"
#include "flow/connection_table.hpp"
#include "test/bench/micro/micro.hpp"
#include "wire/builder.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kFirstQpn = 0x1000;
constexpr std::uint32_t kHosts = 16;  // on each side

std::string host(int network, std::uint32_t number) {
  return "10." + std::to_string(network) + ".0." + std::to_string(1 + number % kHosts);
}

void lookup(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  // A table with just enough room, but at least as large as a box's default.
  flow::ConnectionTable table(std::max(engine::Settings{}.max_connections, count));
  for (std::uint32_t i = 0; i < count; ++i) {
    flow::ConnectionInfo info;
    info.end(Side::host) = {wire::IpAddress::parse(host(1, i)), 2 * (kFirstQpn + i), 0};
    info.end(Side::wan) = {wire::IpAddress::parse(host(2, i / kHosts)), 2 * (kFirstQpn + i) + 1, 0};
    if (!table.insert(info)) state.SkipWithError("the table is full");
  }
  // The frames are walked in order, so that cache misses come from the table.
  struct Wanted {
    std::vector<std::uint8_t> bytes;
    wire::Frame frame;
  };
  std::vector<Wanted> wanted(count);
  for (std::uint32_t place = 0; const std::uint32_t i : shuffled(count)) {
    Wanted& next = wanted[place++];
    next.bytes = wire::PacketBuilder()
                     .ips(host(1, i), host(2, i / kHosts))
                     .qpn(2 * (kFirstQpn + i) + 1)
                     .opcode(wire::kRcSendOnly)
                     .build();
    if (wire::parse(next.bytes, next.frame) != wire::ParseStatus::roce) state.SkipWithError("a frame does not parse");
  }
  std::size_t i = 0;
  for (auto _ : state) {
    const auto found = table.find(Side::host, wanted[i].frame, wanted[i].frame.destination_qpn());
    if (!found) state.SkipWithError("a connection was not found");
    benchmark::DoNotOptimize(found);
    if (++i == wanted.size()) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lookup)->ArgName("connections")->Arg(1)->Arg(64)->Arg(4096)->Arg(65536);

}  // namespace

}  // namespace longhaul::bench
