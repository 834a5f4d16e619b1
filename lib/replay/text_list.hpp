// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace longhaul::replay {

/// Appends a title and a line for each item. Long lists are cut for people; --json has all of them.
template <typename List, typename Line>
void append_list(std::string& text, const char* title, const List& list, Line line) {
  constexpr std::size_t kListed = 20;
  if (list.empty()) return;
  text += fmt::format("\n{}\n", title);
  for (std::size_t i = 0; i < list.size() && i < kListed; ++i) text += fmt::format("  {}\n", line(list[i]));
  if (list.size() > kListed) text += fmt::format("  and {} more\n", list.size() - kListed);
}

}  // namespace longhaul::replay
