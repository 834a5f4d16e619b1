// SPDX-License-Identifier: BSD-3-Clause
// Lines and words of a dump. Dumps come from anywhere, so nothing here reads beyond the given text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::plan::nic {

std::string_view trim(std::string_view text);
/// The words between blanks, at most `most`.
std::vector<std::string_view> words(std::string_view text, std::size_t most = 64);
/// The whole text as a number: decimal, or hexadecimal after 0x.
std::optional<std::uint64_t> number(std::string_view text);
/// The number at the beginning of a line, with at most one point ("25.0 Gbps"); the remainder goes to `rest`.
std::optional<double> leading_number(std::string_view text, std::string_view* rest = nullptr);
/// Letters, digits and any of `more`; at least one character.
bool is_name(std::string_view text, std::string_view more = "_");
bool is_lower_name(std::string_view text);

struct KeyValue {
  std::string_view key;
  std::string_view value;
};
/// "key: value"; nothing if there is no colon.
std::optional<KeyValue> key_value(std::string_view line);

/// The text with '?' in place of everything that a terminal could take for a command.
std::string printable(std::string_view text);

}  // namespace longhaul::plan::nic
