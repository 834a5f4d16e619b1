// SPDX-License-Identifier: BSD-3-Clause
// How `longhaul run` takes questions and commands: the socket, DPDK's telemetry, SIGHUP.
#pragma once

#include <memory>
#include <string>

#include "app/control/box_control.hpp"
#include "app/control/commands.hpp"
#include "app/control/server.hpp"
#include "app/control/telemetry.hpp"

namespace longhaul::app {

class Control {
 public:
  /// Makes the socket, if `config` names one. The other arguments must outlive it. Throws config::ConfigError.
  Control(const config::BoxConfig& config, const std::string& file, Workers& workers, Gatherer& gatherer,
          Requests& requests);

  /// Begins to serve. Call in the attendant's thread, before all else.
  void start();
  /// For the attendant, ten times a second: a reload that SIGHUP asked for.
  void attend();
  /// Ends what is under way.
  void stop();

  /// ", control at /run/longhaul/near.sock", or empty.
  std::string describe() const;

 private:
  Requests& requests_;
  std::string socket_;
  BoxControl box_;
  Commands commands_;
  std::unique_ptr<Telemetry> telemetry_;
  std::unique_ptr<ControlServer> server_;
};

}  // namespace longhaul::app
