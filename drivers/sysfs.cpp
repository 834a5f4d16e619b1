// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlank = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace

std::string text_in(const fs::path& file) {
  std::ifstream in(file);
  // Some files can be opened but not read, such as the carrier of an interface that is down: an iterator would throw.
  std::ostringstream text;
  text << in.rdbuf();
  return std::string(trimmed(text.view()));
}

std::optional<std::int64_t> number_in(const fs::path& file) { return parsed<std::int64_t>(text_in(file)); }

std::string value_in(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(std::string_view(line).substr(0, colon)) == key)
      return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string linked_name(const fs::path& link) {
  std::error_code none;
  return fs::read_symlink(link, none).filename();
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::set<unsigned> processors_of(std::string_view list) {
  std::set<unsigned> processors;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const auto first = parsed<unsigned>(item);
    if (!first) continue;  // a word, as in isolcpus=
    const std::size_t dash = item.find('-');
    const auto last = dash == std::string_view::npos ? first : parsed<unsigned>(item.substr(dash + 1));
    for (unsigned i = *first; last && i <= *last; ++i) processors.insert(i);
  }
  return processors;
}

std::string list_of(const std::set<unsigned>& processors) {
  std::string list;
  for (auto at = processors.begin(); at != processors.end();) {
    const unsigned first = *at;
    unsigned last = first;
    while (++at != processors.end() && *at == last + 1) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", first);
    if (last != first) list += fmt::format("-{}", last);
  }
  return list;
}

}  // namespace longhaul::drivers
