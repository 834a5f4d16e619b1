// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/arguments.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longhaul::app {

Arguments::Arguments(Json request) : rest_(std::move(request)) {
  if (!rest_.is_object() || !rest_.contains("command") || !rest_["command"].is_string())
    throw CommandError("a request is an object with a \"command\", such as {\"command\": \"status\"}", Exit::usage);
  command_ = rest_["command"].get<std::string>();
  rest_.erase("command");
}

void Arguments::fail(std::string_view name, std::string_view expected, const Json& got) const {
  constexpr std::size_t kShown = 60;
  std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  throw CommandError(fmt::format("{}: {}: expected {}, got {}", command_, name, expected, text), Exit::usage);
}

std::optional<Json> Arguments::take(std::string_view name) {
  const auto found = rest_.find(std::string(name));
  if (found == rest_.end()) return std::nullopt;
  Json value = std::move(*found);
  rest_.erase(found);
  return value;
}

std::optional<std::string> Arguments::text(std::string_view name) {
  const auto value = take(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) fail(name, "a string", *value);
  return value->get<std::string>();
}

std::string Arguments::required_text(std::string_view name) {
  const auto value = text(name);
  if (!value) throw CommandError(fmt::format("{}: needs {}", command_, name), Exit::usage);
  return *value;
}

std::optional<std::string> Arguments::choice(std::string_view name, std::span<const std::string_view> choices) {
  const auto value = text(name);
  if (value && std::find(choices.begin(), choices.end(), *value) == choices.end())
    fail(name, fmt::format("one of {}", fmt::join(choices, ", ")), *value);
  return value;
}

std::optional<std::uint64_t> Arguments::number(std::string_view name, std::uint64_t least, std::uint64_t most) {
  const auto value = take(name);
  if (!value) return std::nullopt;
  const bool whole = value->is_number_unsigned() || (value->is_number_integer() && value->get<std::int64_t>() >= 0);
  if (!whole || value->get<std::uint64_t>() < least || value->get<std::uint64_t>() > most)
    fail(name, fmt::format("a whole number from {} to {}", least, most), *value);
  return value->get<std::uint64_t>();
}

bool Arguments::flag(std::string_view name) {
  const auto value = take(name);
  if (!value) return false;
  if (!value->is_boolean()) fail(name, "true or false", *value);
  return value->get<bool>();
}

void Arguments::must_be_empty() const {
  if (!rest_.empty())
    throw CommandError(fmt::format("{}: unknown parameter \"{}\"", command_, rest_.begin().key()), Exit::usage);
}

}  // namespace longhaul::app
