// SPDX-License-Identifier: BSD-3-Clause
// Tables of results, described once: as text for people, as CSV and JSON for programs. Each table has a kind, in its
// title and in each of its rows, so that every number says what it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace longhaul::plan {

using Json = nlohmann::ordered_json;

/// The origin of a number.
enum class Kind : std::uint8_t {
  calculated,  ///< by a formula
  simulated,   ///< by the real engine with modelled hosts, in virtual time
  published,   ///< quoted from the literature
  measured,
};
std::string_view name_of(Kind kind);

/// One value in two forms: for people and for programs.
struct Cell {
  std::string text;
  Json value;
};

/// A name or a sentence.
Cell word(std::string text);
Cell count(std::uint64_t value);
/// With this many significant digits for people; programs get all of them.
Cell number(double value, int digits = 4);
/// Nothing is known, or nothing applies: empty, null.
Cell nothing();

struct Column {
  enum class Align : std::uint8_t { left, right };
  std::string key;      ///< for programs, with its unit: "bits_per_second"
  std::string heading;  ///< for people: "Gbit/s"; empty: for programs only
  Align align = Align::right;
  std::optional<Kind> kind;  ///< if it is not the table's
};

class Table {
 public:
  /// `key` is the table's name in JSON, `title` is its heading.
  Table(std::string key, std::string title, Kind kind, std::vector<Column> columns);

  /// Throws std::logic_error unless there are as many cells as columns.
  void add(std::vector<Cell> cells);

  const std::string& key() const { return key_; }
  Kind kind() const { return kind_; }
  bool empty() const { return rows_.empty(); }

  std::string text() const;
  /// RFC 4180, with the keys in the first line; the last column is `kind`.
  std::string csv() const;
  /// A list of objects, each with its `kind`; `kinds` names the columns of another kind.
  Json json() const;

 private:
  std::string key_;
  std::string title_;
  Kind kind_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

enum class Format : std::uint8_t { text, csv, json };

/// The answer of a command.
struct Report {
  std::string title;               ///< the question, as it was understood
  Json facts = Json::object();     ///< for programs, at the top level
  std::vector<std::string> lines;  ///< for people, below the title
  std::vector<Table> tables;       ///< CSV has only the first
  std::string picture;             ///< for people, below the tables, unchanged
  std::vector<std::string> notes;  ///< sentences below those
  std::string appendix;            ///< for people, behind the notes, unchanged
  std::string advice;              ///< what would help and what would not: the last note, and a fact
};

std::string render(const Report& report, Format format);

}  // namespace longhaul::plan
