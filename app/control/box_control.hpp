// SPDX-License-Identifier: BSD-3-Clause
// What an operator may ask of a running box and change in it. All of it goes by orders to the workers, in portions, so
// that no frame waits for long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/box/box_report.hpp"
#include "app/box/workers.hpp"
#include "app/control/capture.hpp"
#include "app/process/stop_signals.hpp"
#include "config/box_config.hpp"
#include "config/box_keys.hpp"
#include "engine/connection_state.hpp"

namespace longhaul::app {

/// What a box does with new requests.
enum class Mode : std::uint8_t {
  running,   ///< by policy
  draining,  ///< takes nothing new into custody; what is there goes on
  bypass,    ///< forwards everything untouched
};

/// The mode's name in output.
std::string_view name_of(Mode mode);

struct Custody {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< frame bytes
};

struct Flow {
  unsigned worker = 0;
  engine::ConnectionState state;
};

/// What bypass cost.
struct Forgotten {
  std::uint64_t connections = 0;
  std::uint64_t failed_flows = 0;  ///< of those, with acknowledged data undelivered
  std::uint64_t failed_bytes = 0;  ///< their frame bytes

  Forgotten& operator+=(const Forgotten& more) {
    connections += more.connections;
    failed_flows += more.failed_flows;
    failed_bytes += more.failed_bytes;
    return *this;
  }
};

struct Reloaded {
  std::vector<config::KeyChange> changes;
  std::uint64_t connections = 0;  ///< those that have another policy now
};

/// For any thread but a worker's. Throws CommandError if something cannot be done, and WorkerSilent if a worker does
/// not answer.
class BoxControl {
 public:
  /// `file` is the file that `config` was read from. Workers and requests must outlive it.
  BoxControl(Workers& workers, const config::BoxConfig& config, std::string file, const Requests& requests);

  /// Sets who is told of each new configuration. Call before the first change.
  void on_change(std::function<void(const config::BoxConfig&)> told) { told_ = std::move(told); }

  Mode mode() const { return mode_.load(std::memory_order_relaxed); }
  /// SIGTERM came: nothing can be changed any more.
  bool stopping() const { return requests_.stops.load(std::memory_order_relaxed) > 0; }
  std::chrono::nanoseconds uptime() const { return std::chrono::steady_clock::now() - began_; }
  unsigned workers() const { return workers_.count(); }
  /// The configuration as it is now, with all changes since the start.
  config::BoxConfig config() const;
  const std::string& file() const { return file_; }

  BoxReport report() const { return total(workers_.ask_reports()); }
  Custody custody() const;
  using Flows = std::shared_ptr<const std::vector<Flow>>;
  /// The flows of all workers, at most kFreshness old. Clients that ask at the same time share one answer.
  Flows flows();
  static constexpr std::chrono::milliseconds kFreshness{200};

  /// Holds until the next reload or start. `change` may throw. Returns the policies, and how many connections have
  /// another one now.
  std::pair<flow::PolicyTable, std::uint64_t> change_policies(const std::function<void(flow::PolicyTable&)>& change);

  Capture& capture() { return capture_; }

  void drain();
  void resume();
  /// Connections with acknowledged data fail for the reason `why`, and their requesters have a second to learn it. Then
  /// bypass is on. After a complete drain there is no such data, and bypass is on at once.
  Forgotten bypass(std::string_view why);
  void end_bypass();

  /// What a reload of this configuration would change.
  std::vector<config::KeyChange> compare(const config::BoxConfig& with) const;
  /// Reads the file again and takes over what may change at run time. If anything else differs, it changes nothing and
  /// throws a CommandError that names each key. Throws config::ConfigError if the file is wrong.
  Reloaded reload();

 private:
  void must_not_stop() const;
  std::uint64_t apply(const config::BoxConfig& config);
  void set_draining(bool draining);
  template <typename Work>
  Forgotten let_go(Work work);

  Workers& workers_;
  std::function<void(const config::BoxConfig&)> told_;
  std::string file_;
  const Requests& requests_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<Mode> mode_{Mode::running};
  std::mutex change_;  ///< one change at a time
  mutable std::mutex config_mutex_;
  config::BoxConfig config_;
  std::mutex flows_mutex_;
  Capture capture_;
  Flows flows_;
  std::chrono::steady_clock::time_point flows_at_{};
};

}  // namespace longhaul::app
