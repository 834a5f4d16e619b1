// SPDX-License-Identifier: BSD-3-Clause
// The commands that a running box understands.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/control/arguments.hpp"
#include "app/control/box_control.hpp"
#include "app/protocol/reply.hpp"

namespace longhaul::app {

class Commands {
 public:
  /// `box` must outlive it.
  explicit Commands(BoxControl& box) : box_(box) {}

  /// Carries out a request and writes {"done": true, ...} last. If it throws, the exception says why it could not.
  void carry_out(const Json& request, Reply& reply);
  /// What `status` answers with.
  Json status();
  /// All counters by name, 0 included.
  Json counters();
  Json pairs();
  Json peers();
  static std::vector<std::string_view> names();

 private:
  struct Command;
  static const std::vector<Command>& table();
  /// The counters at the last `status`, from which rates are computed.
  struct Sample {
    Json counted;
    std::chrono::steady_clock::time_point at;
  };

  void flows(Arguments& arguments, Reply& reply);
  void flow(Arguments& arguments, Reply& reply);
  void policy_show(Arguments& arguments, Reply& reply);
  void policy_set(Arguments& arguments, Reply& reply);
  void policy_unset(Arguments& arguments, Reply& reply);
  void policy_default(Arguments& arguments, Reply& reply);
  void change_policies(const std::function<void(flow::PolicyTable&)>& change, Reply& reply);
  void drain(Arguments& arguments, Reply& reply);
  void bypass(Arguments& arguments, Reply& reply);
  void reload(Arguments& arguments, Reply& reply);
  void capture(Arguments& arguments, Reply& reply);
  void config_check(Arguments& arguments, Reply& reply);
  void config_show(Arguments& arguments, Reply& reply);
  Flow flow_of(std::uint64_t id);
  void wait_until_empty(std::optional<std::chrono::milliseconds> patience, Reply& reply);

  BoxControl& box_;
  std::mutex sample_mutex_;
  Sample last_;
};

}  // namespace longhaul::app
