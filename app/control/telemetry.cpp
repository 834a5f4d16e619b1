// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/telemetry.hpp"

#include <rte_telemetry.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include <spdlog/spdlog.h>

#include "app/control/flow_query.hpp"

namespace longhaul::app {
namespace {

// DPDK's callbacks take no argument of ours, and cannot be unregistered.
struct Served {
  std::mutex mutex;
  BoxControl* box = nullptr;
  Commands* commands = nullptr;
};

Served& served() {
  static Served its;
  return its;
}

std::string telemetry_text(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.substr(0, RTE_TEL_MAX_STRING_LEN - 1);
}

/// A dictionary of telemetry is flat, so nested values get names such as "custody_bytes".
void add(rte_tel_data* data, const std::string& name, const Json& value) {
  if (value.is_object()) {
    for (const auto& [inner, its] : value.items()) add(data, name.empty() ? inner : name + '_' + inner, its);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add(data, name + '_' + std::to_string(i), value[i]);
  } else if (value.is_number_integer()) {
    rte_tel_data_add_dict_u64(data, name.c_str(), value.get<std::uint64_t>());
  } else {
    rte_tel_data_add_dict_string(data, name.c_str(), telemetry_text(value).c_str());
  }
}

int dictionary(rte_tel_data* data, const Json& json) {
  rte_tel_data_start_dict(data);
  add(data, "", json);
  return 0;
}

template <typename Work>
int answer(const char* command, Work work) {
  Served& its = served();
  const std::lock_guard lock(its.mutex);
  if (its.box == nullptr) return -ENODEV;
  try {
    return work(its);
  } catch (const std::exception& error) {
    spdlog::warn("telemetry {}: {}", command, error.what());
    return -EAGAIN;
  }
}

int status(const char* command, const char*, rte_tel_data* data) {
  return answer(command, [data](Served& its) { return dictionary(data, its.commands->status()); });
}

int counters(const char* command, const char*, rte_tel_data* data) {
  return answer(command, [data](Served& its) { return dictionary(data, its.commands->counters()); });
}

// As /ethdev/list: the IDs, here of the flows with most in custody.
int flows(const char* command, const char*, rte_tel_data* data) {
  return answer(command, [data](Served& its) {
    rte_tel_data_start_array(data, RTE_TEL_U64_VAL);
    const auto all = its.box->flows();
    const auto found = FlowQuery().select(*all);
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), RTE_TEL_MAX_ARRAY_ENTRIES); ++i)
      rte_tel_data_add_array_u64(data, found[i]->state.serial);
    return 0;
  });
}

int flow(const char* command, const char* parameters, rte_tel_data* data) {
  return answer(command, [data, parameters](Served& its) {
    const std::string_view text = parameters == nullptr ? "" : parameters;
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc{} || end != text.data() + text.size()) return -EINVAL;
    const auto all = its.box->flows();
    const auto found = std::find_if(all->begin(), all->end(), [id](const Flow& one) { return one.state.serial == id; });
    return found == all->end() ? -ENOENT : dictionary(data, flow_json(*found));
  });
}

}  // namespace

Telemetry::Telemetry(BoxControl& box, Commands& commands) {
  Served& its = served();
  {
    const std::lock_guard lock(its.mutex);
    its.box = &box;
    its.commands = &commands;
  }
  rte_telemetry_register_cmd("/longhaul/status", status, "State, ports, custody, flows by state. Takes no parameters");
  rte_telemetry_register_cmd("/longhaul/counters", counters, "All counters by name. Takes no parameters");
  rte_telemetry_register_cmd("/longhaul/flows", flows,
                             "IDs of at most 512 flows, most custody first. Takes no parameters");
  rte_telemetry_register_cmd("/longhaul/flow", flow, "Everything known about a flow. Parameters: ID");
}

Telemetry::~Telemetry() {
  Served& its = served();
  const std::lock_guard lock(its.mutex);
  its.box = nullptr;
  its.commands = nullptr;
}

}  // namespace longhaul::app
