// SPDX-License-Identifier: BSD-3-Clause
// What a command says to whoever gave it: lines of JSON, the last of them {"done": true, ...} or {"error": ...}.
#pragma once

#include <stdexcept>
#include <string>

#include "app/command/json_file.hpp"

namespace longhaul::app {

/// What `longhaul ctl` ends with.
enum class Exit : int { ok = 0, failed = 1, usage = 2, timed_out = 3 };

/// Why a command was not carried out.
class CommandError : public std::runtime_error {
 public:
  explicit CommandError(const std::string& what, Exit code = Exit::failed) : std::runtime_error(what), exit(code) {}
  Exit exit;
};

/// Whoever gave the command is gone, or does not read.
class ClientGone : public std::runtime_error {
  using runtime_error::runtime_error;
};

class Reply {
 public:
  virtual ~Reply() = default;
  /// Throws ClientGone.
  virtual void line(const Json& json) = 0;
  /// False: nobody waits any more, or the process ends. Commands that take long ask.
  virtual bool wanted() const = 0;
};

}  // namespace longhaul::app
