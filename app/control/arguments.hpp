// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a command, taken out of its request one by one. The command does not know those that are left at the
// end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/protocol/reply.hpp"

namespace longhaul::app {

/// All functions throw CommandError (Exit::usage), which names the argument, what was expected and what came.
class Arguments {
 public:
  explicit Arguments(Json request);

  /// "command".
  const std::string& command() const { return command_; }
  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);
  /// One of `choices`, in the exact spelling.
  std::optional<std::string> choice(std::string_view name, std::span<const std::string_view> choices);
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least, std::uint64_t most);
  /// False if it is missing.
  bool flag(std::string_view name);
  /// Call when all that the command knows has been taken out.
  void must_be_empty() const;

 private:
  std::optional<Json> take(std::string_view name);
  [[noreturn]] void fail(std::string_view name, std::string_view expected, const Json& got) const;

  Json rest_;
  std::string command_;
};

}  // namespace longhaul::app
