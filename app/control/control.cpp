// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/control.hpp"

#include <exception>

#include <spdlog/spdlog.h>

namespace longhaul::app {

Control::Control(const config::BoxConfig& config, const std::string& file, Workers& workers, Gatherer& gatherer,
                 Requests& requests)
    : requests_(requests),
      socket_(config.control.socket),
      box_(workers, gatherer, config, file, requests),
      commands_(box_) {
  if (config.control.telemetry) telemetry_ = std::make_unique<Telemetry>(box_, commands_);
  if (!socket_.empty())
    server_ = std::make_unique<ControlServer>(
        config.control, [this](const Json& request, Reply& reply) { commands_.carry_out(request, reply); });
}

void Control::start() {
  if (server_ != nullptr) server_->start();
}

void Control::stop() {
  if (server_ != nullptr) server_->stop();
  telemetry_.reset();
}

std::string Control::describe() const { return server_ == nullptr ? "" : ", control at " + socket_; }

void Control::attend() {
  if (!requests_.reload.exchange(false)) return;
  try {
    if (box_.reload().changes.empty()) spdlog::info("{}: the configuration has not changed", box_.file());
  } catch (const std::exception& error) {
    spdlog::error("reload: {}", error.what());
  }
}

}  // namespace longhaul::app
