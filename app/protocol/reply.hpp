// SPDX-License-Identifier: BSD-3-Clause
// What a command answers to its client: lines of JSON, the last of them {"done": true, ...} or {"error": ...}.
#pragma once

#include <stdexcept>
#include <string>

#include "app/command/json_file.hpp"

namespace longhaul::app {

/// The exit status of `longhaul ctl`.
enum class Exit : int { ok = 0, failed = 1, usage = 2, timed_out = 3 };

/// Why a command was not carried out.
class CommandError : public std::runtime_error {
 public:
  explicit CommandError(const std::string& what, Exit code = Exit::failed) : std::runtime_error(what), exit(code) {}
  Exit exit;
};

/// The client that gave the command is gone, or does not read.
class ClientGone : public std::runtime_error {
  using runtime_error::runtime_error;
};

class Reply {
 public:
  virtual ~Reply() = default;
  /// Throws ClientGone.
  virtual void line(const Json& json) = 0;
  /// False if the client no longer waits, or the process ends. Commands that take long ask this.
  virtual bool wanted() const = 0;
};

}  // namespace longhaul::app
