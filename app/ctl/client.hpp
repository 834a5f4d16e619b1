// SPDX-License-Identifier: BSD-3-Clause
// The other end of a box's socket: asks, and hands on what is said.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/protocol/reply.hpp"

namespace longhaul::app {

/// Where boxes listen when nobody says otherwise.
inline constexpr const char* kSocketDirectory = "/run/longhaul";

/// Sockets in `directory`, by name, whether or not anybody listens there.
std::vector<std::string> sockets_in(const std::string& directory);

/// The only one that somebody listens at. Throws CommandError (Exit::usage) that lists them when there are several,
/// CommandError when there is none.
std::string only_socket_in(const std::string& directory);

/// Sends a request and returns the last line of its reply; `line` gets those before it. Throws CommandError when the
/// last line is an error, or the box is silent.
Json ask(const std::string& socket, const Json& request, const std::function<void(const Json&)>& line = nullptr);

}  // namespace longhaul::app
