// SPDX-License-Identifier: BSD-3-Clause
// The client of a box's socket: sends a request and passes the reply on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/protocol/reply.hpp"

namespace longhaul::app {

/// Where boxes listen by default.
inline constexpr const char* kSocketDirectory = "/run/longhaul";

/// Sockets in `directory`, sorted by name, whether or not anything listens there.
std::vector<std::string> sockets_in(const std::string& directory);

/// The only socket in `directory` that a box listens at. Throws CommandError if there is none; with Exit::usage, and a
/// list of them, if there are several.
std::string only_socket_in(const std::string& directory);

/// Sends a request and returns the last line of its reply. `line` gets the lines before it. Throws CommandError if the
/// last line is an error, or if the box is silent.
Json ask(const std::string& socket, const Json& request, const std::function<void(const Json&)>& line = nullptr);

}  // namespace longhaul::app
