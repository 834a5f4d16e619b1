// SPDX-License-Identifier: BSD-3-Clause
#include "config/document.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>

#include "base/suggestion.hpp"
#include "config/quantity.hpp"

namespace longhaul::config {
namespace {

std::string at(const std::string& file, const YAML::Mark& mark) {
  // yaml-cpp counts from zero, and gives -1 for an unknown position.
  if (mark.is_null()) return file;
  return fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

std::string describe(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return fmt::format("\"{}\"", node.Scalar());
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    default:
      return "nothing";
  }
}

/// Remembers where the last document began.
class DocumentStart final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }
  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_ = YAML::Mark::null_mark();
};

/// YAML::LoadAll() may never return: yaml-cpp 0.7 finds empty documents without end, at a comma for example.
void refuse_second_document(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  DocumentStart start;
  if (parser.HandleNextDocument(start) && parser.HandleNextDocument(start))
    throw ConfigError(fmt::format("{}: expected one document, got more", at(name, start.mark())));
}

/// The last tab in an indentation up to the line of an error. yaml-cpp's messages do not mention it: "end of map not
/// found".
std::optional<YAML::Mark> tab_before(const std::string& text, const YAML::Mark& error) {
  if (error.is_null()) return std::nullopt;
  std::optional<YAML::Mark> out;
  std::istringstream lines(text);
  std::string line;
  for (int number = 0; number <= error.line && std::getline(lines, line); ++number) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || line.find_first_not_of(" \t") < tab) continue;
    out = YAML::Mark();
    out->line = number;
    out->column = static_cast<int>(tab);
  }
  return out;
}

}  // namespace

Value Value::load(const std::string& path) {
  std::ifstream in(path);
  in.peek();  // opening a directory succeeds; reading its first byte fails
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) throw ConfigError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return parse(text.str(), path);
}

Value Value::parse(const std::string& text, const std::string& name) {
  try {
    refuse_second_document(text, name);
    const YAML::Node document = YAML::Load(text);
    if (document.IsNull()) throw ConfigError(fmt::format("{}: is empty", name));
    return Value(document, std::make_shared<const std::string>(name), "");
  } catch (const YAML::Exception& error) {
    if (const auto tab = tab_before(text, error.mark))
      throw ConfigError(fmt::format("{}: a tab in the indentation: YAML indents with spaces only", at(name, *tab)));
    throw ConfigError(fmt::format("{}: {}", at(name, error.mark), error.msg));
  }
}

void Value::fail(const std::string& message) const { throw ConfigError(fmt::format("{}: {}", position(), message)); }

std::string Value::position() const {
  return fmt::format("{}{}{}", at(*file_, node_.Mark()), path_.empty() ? "" : ": ", path_);
}

void Value::fail_expected(std::string_view what) const {
  fail(fmt::format("expected {}, got {}", what, describe(node_)));
}

std::string Value::child_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Map Value::map(std::initializer_list<std::string_view> keys) const {
  const std::vector<std::string_view> known(keys);
  if (!node_.IsMap()) fail_expected(fmt::format("a mapping of {}", fmt::join(known, ", ")));
  Map out(*this);
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar()) Value(entry.first, file_, path_).fail_expected("a key");
    const std::string key = entry.first.Scalar();
    const Value named(entry.first, file_, child_path(key));
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      named.fail(
          fmt::format("unknown key{} (keys allowed here: {})", did_you_mean(key, known), fmt::join(known, ", ")));
    }
    if (out.find(key))
      named.fail(fmt::format("duplicate key, first used in line {}", out.find(key)->node_.Mark().line + 1));
    out.entries_.emplace_back(key, Value(entry.second, file_, child_path(key)));
  }
  return out;
}

std::vector<Value> Value::list() const {
  if (!node_.IsSequence()) fail_expected("a list");
  std::vector<Value> out;
  for (std::size_t i = 0; i < node_.size(); ++i) out.push_back(Value(node_[i], file_, fmt::format("{}[{}]", path_, i)));
  return out;
}

std::string Value::text() const {
  if (!node_.IsScalar() || node_.Scalar().empty()) fail_expected("text");
  return node_.Scalar();
}

bool Value::boolean() const {
  if (node_.IsScalar() && node_.Scalar() == "true") return true;
  if (node_.IsScalar() && node_.Scalar() == "false") return false;
  fail_expected("true or false");
}

std::uint64_t Value::integer(std::uint64_t least, std::uint64_t most) const {
  if (!node_.IsScalar()) fail_expected("a whole number");
  std::string_view digits = node_.Scalar();
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range)
    value = UINT64_MAX;
  else if (error != std::errc{} || end != digits.data() + digits.size())
    fail_expected("a whole number");
  check_range(value, least, most, "");
  return value;
}

void Value::check_range(std::uint64_t value, std::uint64_t least, std::uint64_t most, std::string_view unit) const {
  if (value >= least && value <= most) return;
  const std::string range =
      most == UINT64_MAX ? fmt::format("at least {}{}", least, unit) : fmt::format("{} to {}{}", least, most, unit);
  fail(fmt::format("out of range: expected {}, got {}", range, describe(node_)));
}

template <typename Parse>
auto Value::quantity(Parse read) const {
  if (!node_.IsScalar()) {
    try {
      read("");  // throws a message that states what is expected
    } catch (const QuantityError& error) {
      const std::string_view words = error.what();
      fail(fmt::format("{}, got {}", words.substr(0, words.find(", got ")), describe(node_)));
    }
  }
  try {
    return read(node_.Scalar());
  } catch (const QuantityError& error) {
    fail(error.what());
  }
}

std::uint64_t Value::size(std::uint64_t least, std::uint64_t most) const {
  const std::uint64_t value = quantity(parse_size);
  check_range(value, least, most, " bytes");
  return value;
}

Duration Value::duration(Duration least, Duration most) const {
  const Duration value = quantity(parse_duration);
  check_range(value, least, most, " ns");
  return value;
}

Duration Value::distance(Duration most) const {
  const Duration value = quantity(parse_distance);
  check_range(value, 0, most, " ns of fibre");
  return value;
}

bool Value::is(std::string_view word) const { return node_.IsScalar() && node_.Scalar() == word; }

std::uint64_t Value::rate() const { return quantity(parse_rate); }
double Value::fraction() const { return quantity(parse_fraction); }

std::size_t Value::index_in(std::span<const std::string_view> names) const {
  if (node_.IsScalar()) {
    const auto found = std::find(names.begin(), names.end(), node_.Scalar());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  fail(fmt::format("expected {}, got {}{}", alternatives(names), describe(node_),
                   node_.IsScalar() ? did_you_mean(node_.Scalar(), names) : ""));
}

std::optional<Value> Map::find(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

Value Map::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  value_.fail(fmt::format("the key \"{}\" is missing", key));
}

}  // namespace longhaul::config
