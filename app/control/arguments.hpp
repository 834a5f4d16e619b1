// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a command, taken out of its request one by one. What is left at the end nobody knows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "app/protocol/reply.hpp"

namespace longhaul::app {

/// All throw CommandError (Exit::usage) that names the argument, what was expected and what came.
class Arguments {
 public:
  explicit Arguments(Json request);

  /// "command".
  const std::string& command() const { return command_; }
  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);
  /// One of these, spelled exactly so.
  std::optional<std::string> choice(std::string_view name, std::initializer_list<std::string_view> choices);
  std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least, std::uint64_t most);
  /// False when it is not there.
  bool flag(std::string_view name);
  /// After all that the command knows were asked for.
  void must_be_empty() const;

 private:
  std::optional<Json> take(std::string_view name);
  [[noreturn]] void fail(std::string_view name, std::string_view expected, const Json& got) const;

  Json rest_;
  std::string command_;
};

}  // namespace longhaul::app
