// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/engine_load/engine_load.hpp"

#include <stdexcept>
#include <string_view>

#include "test/bench/engine_load/parts.hpp"

namespace longhaul::bench {

namespace {

constexpr std::string_view kNames[] = {
    "write", "ack", "read_response", "far_write", "foreign", "unknown_request", "unknown_answer", "stray_answer"};

std::unique_ptr<EngineLoad> make_cold(const EngineLoadSpec& spec, const engine::Pools& pools) {
  switch (spec.kind) {
    case Kind::write:
      return make_writes(spec, pools, Side::host);
    case Kind::ack:
      return make_acks(spec, pools);
    case Kind::read_response:
      return make_read_responses(spec, pools);
    case Kind::far_write:
      return make_writes(spec, pools, Side::wan);
    case Kind::foreign:
      return make_foreign(spec, pools);
    case Kind::unknown_request:
    case Kind::unknown_answer:
    case Kind::stray_answer:
      return make_unknown(spec, pools);
  }
  throw std::logic_error("no such workload");
}

}  // namespace

EngineLoad::~EngineLoad() = default;

std::string EngineLoadSpec::name() const {
  std::string name(kNames[static_cast<std::size_t>(kind)]);
  if (payload != 0) name += "_" + std::to_string(payload);
  return name + "/" + std::to_string(flows);
}

std::vector<EngineLoadSpec> engine_loads() {
  std::vector<EngineLoadSpec> all;
  for (const std::uint32_t flows : {64u, 4096u})
    for (const auto& [kind, payload] : {std::pair{Kind::write, 64u},
                                        {Kind::write, 512u},
                                        {Kind::write, 1024u},
                                        {Kind::write, 4096u},
                                        {Kind::ack, 0u},
                                        {Kind::read_response, 1024u},
                                        {Kind::far_write, 512u},
                                        {Kind::foreign, 0u},
                                        {Kind::unknown_request, 512u},
                                        {Kind::unknown_answer, 0u}})
      all.push_back({kind, payload, flows});
  // What an ACK of nobody's costs must not depend on how many there are whose it could be: anyone can make them.
  for (const std::uint32_t flows : {1u, 1024u}) all.push_back({Kind::unknown_answer, 0, flows});
  for (const std::uint32_t flows : {1u, 64u, 1024u}) all.push_back({Kind::stray_answer, 0, flows});
  return all;
}

std::unique_ptr<EngineLoad> EngineLoad::make(const EngineLoadSpec& spec, const engine::Pools& pools) {
  auto workload = make_cold(spec, pools);
  for (int round = 0; round < 2; ++round) {
    workload->prepare(kDepth);
    workload->run();
    workload->check();
  }
  return workload;
}

}  // namespace longhaul::bench
