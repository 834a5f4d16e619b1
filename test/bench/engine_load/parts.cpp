// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/engine_load/parts.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "wire/icrc.hpp"
#include "wire/psn.hpp"

namespace longhaul::bench {

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("benchmark: ") + what);
}

rte_mbuf* to_mbuf(const engine::Pools& pools, std::span<const std::uint8_t> bytes) {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pools.frames);
  require(mbuf != nullptr, "no mbuf is left");
  std::copy(bytes.begin(), bytes.end(),
            reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size()))));
  return mbuf;
}

rte_mbuf* stamped(const FrameTemplate& frame, const engine::Pools& pools, std::uint32_t psn, std::uint32_t msn) {
  rte_mbuf* mbuf = frame.make(pools.frames, {.qpn = frame.frame().destination_qpn(), .psn = psn, .msn = msn});
  require(mbuf != nullptr, "no mbuf is left");
  return mbuf;
}

engine::Settings settings_for(const EngineLoadSpec& spec) {
  engine::Settings settings;
  settings.max_connections = std::max(settings.max_connections, spec.flows);
  settings.confirm = engine::Confirm::cm;
  return settings;
}

FrameTemplate write_of(const FlowEnds& ends, std::uint32_t payload) {
  return FrameTemplate(ends.request()
                           .opcode(wire::kRcWriteOnly)
                           .ack_req()
                           .reth(0x10000, 7, payload)
                           .payload_size(payload, static_cast<std::uint8_t>(ends.requester_qpn))
                           .build());
}

FrameTemplate ack_of(const FlowEnds& ends) {
  return FrameTemplate(ends.answer().opcode(wire::kRcAcknowledge).aeth(wire::kAckNoCredits, 0).build());
}

Out::~Out() {
  for (rte_mbuf* frame : frames_) rte_pktmbuf_free(frame);
}

std::span<const std::uint8_t> Out::bytes(std::size_t i) const {
  return {rte_pktmbuf_mtod(frames_[i], const std::uint8_t*), frames_[i]->data_len};
}

wire::Frame Out::roce(std::size_t i) const {
  wire::Frame frame;
  require(wire::parse(bytes(i), frame) == wire::ParseStatus::roce && wire::verify_icrc(frame),
          "a frame came out damaged");
  return frame;
}

Schedule::Schedule(std::vector<FlowEnds> flows)
    : flows_(std::move(flows)), order_(shuffled(static_cast<std::uint32_t>(flows_.size()))) {}

Schedule::Place Schedule::place(std::uint64_t i, std::uint32_t psns) const {
  const std::uint32_t flow = order_[i % order_.size()];
  const auto nth = static_cast<std::int64_t>(i / order_.size());
  return {flow, wire::psn_add(flows_[flow].start_psn, nth * psns), wire::psn_add(1, nth)};
}

Connected::Connected(const EngineLoadSpec& spec, const engine::Pools& pools, Side requester, std::uint8_t path_mtu)
    : EngineLoad(settings_for(spec), pools), requester_(requester), schedule_(make_flows(spec.flows)) {
  for (std::uint32_t i = 0; i < spec.flows; ++i) {
    const FlowEnds& ends = schedule_.flows()[i];
    const CmExchange exchange = exchange_of(ends, i, path_mtu);
    turns_.add(requester, to_mbuf(pools, cm_request(exchange)));
    run();
    turns_.add(other(requester), to_mbuf(pools, cm_reply(exchange)));
    run();
  }
  const Out at_host(bed_.take(Side::host));
  const Out at_wan(bed_.take(Side::wan));
  require(bed_.count(Counter::connections_learned) == spec.flows, "the connections were not learned");
}

}  // namespace longhaul::bench
