// SPDX-License-Identifier: BSD-3-Clause
// What an operator may ask of a running box and change in it. All of it goes by orders to the workers, in portions, so
// that no frame waits for long.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/box/gatherer.hpp"
#include "app/box/workers.hpp"
#include "app/control/capture.hpp"
#include "app/process/stop_signals.hpp"
#include "config/box_config.hpp"
#include "config/box_keys.hpp"

namespace longhaul::app {

using expose::State;

struct Custody {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< frame bytes
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
  /// `file` is the file that `config` was read from. The gatherer is told of each new configuration. Workers, gatherer
  /// and requests must outlive it.
  BoxControl(Workers& workers, Gatherer& gatherer, const config::BoxConfig& config, std::string file,
             const Requests& requests);

  /// What the last command made of the box: running, draining or bypass.
  State mode() const { return mode_.load(std::memory_order_relaxed); }
  /// SIGTERM came: nothing can be changed any more.
  bool stopping() const { return requests_.stops.load(std::memory_order_relaxed) > 0; }
  /// The configuration as it is now, with all changes since the start.
  config::BoxConfig config() const;
  const std::string& file() const { return file_; }

  /// What the box shows of itself now.
  expose::Snapshot snapshot() { return gatherer_.now(); }
  expose::Snapshot snapshot_with_connections() { return gatherer_.now_with_connections(); }
  Gatherer::Flows flows() { return gatherer_.flows(); }
  Custody custody() const;

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
  Gatherer& gatherer_;
  std::string file_;
  const Requests& requests_;
  std::atomic<State> mode_{State::running};
  std::mutex change_;  ///< one change at a time
  mutable std::mutex config_mutex_;
  config::BoxConfig config_;
  Capture capture_;
};

}  // namespace longhaul::app
