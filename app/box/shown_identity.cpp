// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/shown_identity.hpp"

#include <rte_version.h>

#include <chrono>

#include "wire/icrc_routine.hpp"

namespace longhaul::app {

expose::Identity identity_of(const config::BoxConfig& config, const std::string& version) {
  expose::Identity out;
  out.name = config.name;
  out.version = version;
  out.dpdk = rte_version();
  out.icrc = wire::icrc_routine().name;
  out.started = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  out.configuration = {{"policy", std::string(name_of(config.engine.policies.fallback))},
                       {"confirm", config.engine.confirm == engine::Confirm::cm ? "cm" : "answer"},
                       {"spread", config.spread_connections ? "connections" : "pairs"},
                       {"idle", config.process.sleep_when_idle ? "sleep" : "poll"},
                       {"workers", std::to_string(config.process.workers())}};
  out.custody_limit_bytes = config.engine.custody_box_bytes;
  out.custody_flow_limit_bytes = config.engine.custody_flow_bytes;
  out.wan_rate_bps = config.engine.wan_rate_bps;
  out.connection_slots = config.engine.max_connections;
  return out;
}

expose::PortState state_of(const drivers::EthdevPort& port) { return {port.device(), port.link_up(), port.stats()}; }

}  // namespace longhaul::app
