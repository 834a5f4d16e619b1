// SPDX-License-Identifier: BSD-3-Clause
// Reads the fixtures: captures in test/pcaps and tables in test/unit/data.
#pragma once

#include <pcap/pcap.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace longhaul::test {

using Bytes = std::vector<std::uint8_t>;

/// All frames of test/pcaps/<name>.pcap, in order: frame N of tshark is element N - 1.
inline std::vector<Bytes> read_capture(const std::string& name) {
  const std::string path = std::string(TEST_ROOT) + "/pcaps/" + name + ".pcap";
  char error[PCAP_ERRBUF_SIZE] = {};
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> file(pcap_open_offline(path.c_str(), error), pcap_close);
  if (!file) throw std::runtime_error(error);
  std::vector<Bytes> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  while (pcap_next_ex(file.get(), &header, &data) == 1) {
    if (header->caplen != header->len) throw std::runtime_error(path + ": cut frame");
    frames.emplace_back(data, data + header->caplen);
  }
  return frames;
}

/// The names of all captures.
inline std::vector<std::string> capture_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TEST_ROOT) + "/pcaps"))
    if (entry.path().extension() == ".pcap") names.push_back(entry.path().stem().string());
  return names;
}

/// One row of a table: column name to text. Numbers are written as tshark writes them (decimal or 0x...).
struct Row {
  std::map<std::string, std::string> cells;

  const std::string& text(const std::string& column) const { return cells.at(column); }
  bool has(const std::string& column) const { return !cells.at(column).empty(); }
  /// Zero if the cell is empty.
  std::uint64_t number(const std::string& column) const {
    return has(column) ? std::stoull(text(column), nullptr, 0) : 0;
  }
  /// A cell of hexadecimal digits without a prefix.
  std::uint64_t hex(const std::string& column) const {
    return has(column) ? std::stoull(text(column), nullptr, 16) : 0;
  }
};

inline std::vector<std::string> split_tabs(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t start = 0;
  for (std::size_t tab; (tab = line.find('\t', start)) != std::string::npos; start = tab + 1)
    cells.push_back(line.substr(start, tab - start));
  cells.push_back(line.substr(start));
  return cells;
}

/// The rows of test/unit/data/<file>, by capture.
inline std::map<std::string, std::vector<Row>> read_table(const std::string& file) {
  std::ifstream in(std::string(TEST_ROOT) + "/unit/data/" + file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::string line;
  std::getline(in, line);
  const auto columns = split_tabs(line);
  std::map<std::string, std::vector<Row>> rows;
  while (std::getline(in, line)) {
    const auto cells = split_tabs(line);
    if (cells.size() != columns.size()) throw std::runtime_error(file + ": bad row: " + line);
    Row row;
    for (std::size_t i = 0; i < columns.size(); ++i) row.cells[columns[i]] = cells[i];
    rows[row.text("capture")].push_back(std::move(row));
  }
  return rows;
}

/// Bytes from hexadecimal digits; white space is skipped.
inline Bytes from_hex(const std::string& text) {
  std::string digits;
  for (const char c : text)
    if (c != ' ' && c != '\n') digits += c;
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

}  // namespace longhaul::test
