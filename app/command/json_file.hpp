// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace longhaul::app {

/// Keys stay in the order in which they were added.
using Json = nlohmann::ordered_json;

/// Replaces `path` as a whole, so that a reader never sees half of it. A device or a pipe, such as /dev/stdout, is
/// written to. Throws std::runtime_error.
void write_atomically(const std::string& path, const std::string& text);
void write_atomically(const std::string& path, const Json& json);

}  // namespace longhaul::app
