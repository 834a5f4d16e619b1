// SPDX-License-Identifier: BSD-3-Clause
// Finding a frame's connection.
#include <algorithm>

#include "flow/connection_table.hpp"
#include "test/bench/engine_load/flows.hpp"
#include "test/bench/micro/micro.hpp"

namespace longhaul::bench {

namespace {

flow::ConnectionInfo info_of(const FlowEnds& ends) {
  flow::ConnectionInfo info;
  info.end(Side::host) = {wire::IpAddress::parse(ends.requester_ip), ends.requester_qpn, 0};
  info.end(Side::wan) = {wire::IpAddress::parse(ends.responder_ip), ends.responder_qpn, 0};
  return info;
}

void lookup(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  // A table that has just room for them, and never less than a box's by default.
  flow::ConnectionTable table(std::max(engine::Settings{}.max_connections, count), "micro");
  const auto ends = make_flows(count);
  // The frames are walked in order, so that what is not in the cache is the table's.
  struct Wanted {
    wire::Frame frame;
    std::uint32_t qpn;
  };
  std::vector<Wanted> wanted;
  for (const FlowEnds& flow : ends)
    if (!table.insert(info_of(flow))) state.SkipWithError("the table is full");
  for (const std::uint32_t i : shuffled(count)) {
    const auto bytes = ends[i].request().opcode(wire::kRcSendOnly).build();
    wire::Frame frame;
    if (wire::parse(bytes, frame) != wire::ParseStatus::roce) state.SkipWithError("a frame does not parse");
    wanted.push_back({frame, ends[i].responder_qpn});
  }
  std::size_t i = 0;
  for (auto _ : state) {
    const auto found = table.find(Side::host, wanted[i].frame, wanted[i].qpn);
    if (!found) state.SkipWithError("a connection was not found");
    benchmark::DoNotOptimize(found);
    if (++i == wanted.size()) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lookup)->ArgName("connections")->Arg(1)->Arg(64)->Arg(4096)->Arg(65536);

}  // namespace

}  // namespace longhaul::bench
