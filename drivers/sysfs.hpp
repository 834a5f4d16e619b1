// SPDX-License-Identifier: BSD-3-Clause
// Reading the small text files under /proc and /sys. Nothing here throws: what is not there, or may not be read, is
// empty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::drivers {

/// The file's text without trailing spaces and line ends.
std::string text_in(const std::filesystem::path& file);

/// The number that the file begins with.
std::optional<std::int64_t> number_in(const std::filesystem::path& file);

/// What follows "key:" or "key :" in the first line that has it, of a file such as /proc/meminfo.
std::string value_in(const std::filesystem::path& file, std::string_view key);

/// The names in a directory, sorted.
std::vector<std::string> names_in(const std::filesystem::path& directory);

/// The last part of what a symbolic link names: the driver of a device, its IOMMU group.
std::string linked_name(const std::filesystem::path& link);

/// The words of a text, between spaces.
std::vector<std::string> words_of(std::string_view text);

/// The kernel's lists of processors: "0-3,8".
std::set<unsigned> processors_of(std::string_view list);
/// The reverse of processors_of().
std::string list_of(const std::set<unsigned>& processors);

}  // namespace longhaul::drivers
