// SPDX-License-Identifier: BSD-3-Clause
#include "plan/table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace longhaul::plan {
namespace {

constexpr std::string_view kKinds[] = {"calculated", "simulated", "published", "measured"};

constexpr std::size_t kNotesWidth = 120;  // of notes

/// Counts characters, not bytes: UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, Column::Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == Column::Align::left ? text + blanks : blanks + text;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// Breaks a sentence into lines, and indents all but the first.
std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string one = text.substr(at, end - at);
    if (column > 0 && column + 1 + width_of(one) > kNotesWidth) {
      out += "\n  ";
      column = 2;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += one;
    column += width_of(one);
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string_view name_of(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

Cell word(std::string text) {
  Json value = text;
  return {std::move(text), std::move(value)};
}
Cell count(std::uint64_t value) { return {std::to_string(value), value}; }
Cell number(double value, int digits) { return {fmt::format("{:.{}g}", value, digits), value}; }
Cell nothing() { return {"", nullptr}; }

Table::Table(std::string key, std::string title, Kind kind, std::vector<Column> columns)
    : key_(std::move(key)), title_(std::move(title)), kind_(kind), columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> cells) {
  if (cells.size() != columns_.size())
    throw std::logic_error(fmt::format("table {}: {} cells for {} columns", key_, cells.size(), columns_.size()));
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> headings;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    headings.push_back(column.kind ? fmt::format("{} ({})", column.heading, name_of(*column.kind)) : column.heading);
    widths.push_back(width_of(headings.back()));
    for (const auto& row : rows_) widths.back() = std::max(widths.back(), width_of(row[i].text));
  }
  const auto line = [&](auto&& cell) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].heading.empty()) continue;
      out += (out.empty() ? "" : "  ") + padded(cell(i), widths[i], columns_[i].align);
    }
    return trimmed(std::move(out)) + '\n';
  };
  std::string out = fmt::format("{} ({})\n", title_, name_of(kind_));
  out += line([&](std::size_t i) { return headings[i]; });
  out += line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows_) out += line([&](std::size_t i) { return row[i].text; });
  return out;
}

std::string Table::csv() const {
  std::string out;
  for (const Column& column : columns_) out += column.key + ',';
  out += "kind\r\n";
  for (const auto& row : rows_) {
    for (const Cell& cell : row) out += csv_field(cell.value) + ',';
    out += fmt::format("{}\r\n", name_of(kind_));
  }
  return out;
}

Json Table::json() const {
  Json kinds = Json::object();
  for (const Column& column : columns_)
    if (column.kind) kinds[column.key] = name_of(*column.kind);
  Json out = Json::array();
  for (const auto& row : rows_) {
    Json object = Json::object();
    for (std::size_t i = 0; i < columns_.size(); ++i) object[columns_[i].key] = row[i].value;
    object["kind"] = name_of(kind_);
    if (!kinds.empty()) object["kinds"] = kinds;
    out.push_back(std::move(object));
  }
  return out;
}

std::string render(const Report& report, Format format) {
  if (format == Format::csv) return report.tables.empty() ? "" : report.tables.front().csv();
  if (format == Format::json) {
    Json out = report.facts;
    for (const Table& table : report.tables) out[table.key()] = table.json();
    out["notes"] = report.notes;
    if (!report.advice.empty()) {
      out["notes"].push_back(report.advice);
      out["advice"] = report.advice;
    }
    return out.dump(2) + "\n";
  }
  std::string out = report.title + "\n";
  for (const std::string& line : report.lines) out += line + '\n';
  for (const Table& table : report.tables) out += '\n' + table.text();
  if (!report.picture.empty()) out += '\n' + report.picture;
  if (!report.notes.empty()) out += '\n';
  for (const std::string& note : report.notes) out += wrapped(note) + '\n';
  out += report.appendix;
  if (!report.advice.empty()) out += '\n' + wrapped(report.advice) + '\n';
  return out;
}

}  // namespace longhaul::plan
