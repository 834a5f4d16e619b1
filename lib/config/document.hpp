// SPDX-License-Identifier: BSD-3-Clause
// A strict reader over yaml-cpp. Each value knows its file, line, column and path. Anything unexpected is a ConfigError
// that states all four.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/time.hpp"
#include "config/config_error.hpp"

namespace longhaul::config {

class Map;

/// One YAML value. Cheap to copy.
class Value {
 public:
  /// The only document of a file. Throws ConfigError when the file cannot be read, is not YAML, or holds several
  /// documents.
  static Value load(const std::string& path);
  /// The same from text; messages show `name` in place of the file's name.
  static Value parse(const std::string& text, const std::string& name);

  /// A mapping with no keys other than these, each at most once.
  Map map(std::initializer_list<std::string_view> keys) const;
  std::vector<Value> list() const;

  std::string text() const;              ///< a scalar that is not empty
  bool is(std::string_view word) const;  ///< whether the value is this scalar
  bool boolean() const;                  ///< true or false; no other spelling
  /// A whole decimal (or 0x) number.
  std::uint64_t integer(std::uint64_t least, std::uint64_t most) const;
  std::uint64_t size(std::uint64_t least, std::uint64_t most) const;  ///< bytes
  Duration duration(Duration least, Duration most) const;             ///< nanoseconds
  Duration distance(Duration most) const;                             ///< nanoseconds one way
  std::uint64_t rate() const;                                         ///< bits per second
  double fraction() const;                                            ///< 0 to 1

  template <typename Enum>
  Enum choice(std::initializer_list<std::pair<std::string_view, Enum>> choices) const {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    return (choices.begin() + static_cast<std::ptrdiff_t>(index_in(names)))->second;
  }

  /// The enumerator whose name is the scalar, from a list of names in the enumerators' order.
  template <typename Enum>
  Enum choice(std::span<const std::string_view> names) const {
    return static_cast<Enum>(index_in(names));
  }

  /// Throws ConfigError: this value's position and path, then `message`.
  [[noreturn]] void fail(const std::string& message) const;
  /// "FILE:LINE:COL: path": the prefix of fail()'s messages, for checks made later.
  std::string position() const;
  /// "expected `what`, got ...".
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  friend class Map;
  Value(YAML::Node node, std::shared_ptr<const std::string> file, std::string path)
      : node_(std::move(node)), file_(std::move(file)), path_(std::move(path)) {}
  std::size_t index_in(std::span<const std::string_view> names) const;
  template <typename Parse>
  auto quantity(Parse read) const;
  void check_range(std::uint64_t value, std::uint64_t least, std::uint64_t most, std::string_view unit) const;
  std::string child_path(std::string_view key) const;

  YAML::Node node_;
  std::shared_ptr<const std::string> file_;
  std::string path_;  ///< "ports.wan.vdev"; empty at the top
};

/// A mapping whose keys have been checked.
class Map {
 public:
  std::optional<Value> find(std::string_view key) const;
  /// Throws ConfigError when the key is missing.
  Value at(std::string_view key) const;

 private:
  friend class Value;
  explicit Map(Value value) : value_(std::move(value)) {}
  Value value_;
  std::vector<std::pair<std::string, Value>> entries_;
};

}  // namespace longhaul::config
