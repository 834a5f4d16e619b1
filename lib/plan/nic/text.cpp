// SPDX-License-Identifier: BSD-3-Clause
#include "plan/nic/text.hpp"

#include <algorithm>
#include <charconv>

namespace longhaul::plan::nic {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> words(std::string_view text, std::size_t most) {
  std::vector<std::string_view> out;
  while (out.size() < most) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) break;
    text.remove_prefix(first);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::optional<std::uint64_t> number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> leading_number(std::string_view text, std::string_view* rest) {
  std::size_t end = 0;
  bool point = false;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && !point))) {
    point = point || text[end] == '.';
    ++end;
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, value, std::chars_format::fixed);
  if (end == 0 || error != std::errc{} || stop != text.data() + end) return std::nullopt;
  if (rest != nullptr) *rest = text.substr(end);
  return value;
}

bool is_name(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || more.find(c) != std::string_view::npos;
  });
}

bool is_lower_name(std::string_view text) {
  return is_name(text) && is_lower(text.front()) &&
         std::none_of(text.begin(), text.end(), [](char c) { return is_letter(c) && !is_lower(c); });
}

std::optional<KeyValue> key_value(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const KeyValue out{trim(line.substr(0, colon)), trim(line.substr(colon + 1))};
  if (out.key.empty()) return std::nullopt;
  return out;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

}  // namespace longhaul::plan::nic
