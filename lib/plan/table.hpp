// SPDX-License-Identifier: BSD-3-Clause
// Tables of results, described once: as text for people, as CSV and JSON for programs. Every number says what it is:
// each table has a kind, in its title and in each of its rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace longhaul::plan {

using Json = nlohmann::ordered_json;

/// What a number is.
enum class Kind : std::uint8_t {
  calculated,  ///< by a formula
  simulated,   ///< by the real engine with modelled hosts, in virtual time
  published,   ///< quoted from the literature
  measured,
};
std::string_view name_of(Kind kind);

/// One value twice: as people read it, and as programs do.
struct Cell {
  std::string text;
  Json value;
};

/// Text of a name or a sentence.
Cell word(std::string text);
Cell count(std::uint64_t value);
/// With so many significant digits for people; programs get all of them.
Cell number(double value, int digits = 4);
/// Nothing is known or meant here: empty, null.
Cell nothing();

struct Column {
  enum class Align : std::uint8_t { left, right };
  std::string key;      ///< for programs, with its unit: "bits_per_second"
  std::string heading;  ///< for people: "Gbit/s"; empty: for programs only
  Align align = Align::right;
  std::optional<Kind> kind;  ///< where it is another than the table's
};

class Table {
 public:
  /// `key` names it in JSON, `title` stands above it.
  Table(std::string key, std::string title, Kind kind, std::vector<Column> columns);

  /// As many cells as there are columns; std::logic_error otherwise.
  void add(std::vector<Cell> cells);

  const std::string& key() const { return key_; }
  Kind kind() const { return kind_; }
  bool empty() const { return rows_.empty(); }

  std::string text() const;
  /// RFC 4180, with a line of keys first; the last column is `kind`.
  std::string csv() const;
  /// A list of objects; each has its `kind`, columns of another kind are named in `kinds`.
  Json json() const;

 private:
  std::string key_;
  std::string title_;
  Kind kind_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

enum class Format : std::uint8_t { text, csv, json };

/// What a command answers.
struct Report {
  std::string title;               ///< the question, as it was understood
  Json facts = Json::object();     ///< for programs, at the top level
  std::vector<std::string> lines;  ///< for people, below the title
  std::vector<Table> tables;       ///< CSV has the first only
  std::vector<std::string> notes;  ///< sentences below the tables
  std::string appendix;            ///< for people, at the very end, as it is
};

std::string render(const Report& report, Format format);

}  // namespace longhaul::plan
