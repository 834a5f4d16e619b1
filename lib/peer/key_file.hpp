// SPDX-License-Identifier: BSD-3-Clause
// Files of pre-shared keys (docs/peer-protocol.md, section 7): one to four keys, each the base64 of 32 bytes on a line
// of its own. Empty lines, and lines that begin with #, are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "peer/keys.hpp"

namespace longhaul::peer {

inline constexpr std::size_t kMostKeys = 4;

/// Throws std::runtime_error that names the file, and what to do: it cannot be read, others than its owner and group
/// may read it, a line is no key, or there are none, too many, or two of the same.
std::vector<PreSharedKey> read_keys(const std::string& path);

/// A new key as a line of a file.
std::string new_key(const Random& random);

}  // namespace longhaul::peer
