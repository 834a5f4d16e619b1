// SPDX-License-Identifier: BSD-3-Clause
// Replies as text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/reply.hpp"

namespace longhaul::app {

/// "12.5 kframes/s": powers of 1000, three figures; a whole number below 1000 has no decimals.
std::string scaled(double value, const char* unit);
/// "12.5 ms"; "-" for 0.
std::string in_time(double nanoseconds);

std::string status_text(const Json& status);
/// A line for each flow, and how many more there are.
std::string flows_text(const std::vector<Json>& flows, const Json& last);
/// "3.1%  12.5 requests/s  custody is full", a line for each of a reply's `not_accelerated`.
std::string causes_text(const Json& causes, std::string_view indent);
/// The busiest pairs of hosts, a line each, and below each why its requests are not accelerated.
std::string pairs_text(const Json& reply);
/// A line for each peer, and below one that is down what is probably the matter.
std::string peers_text(const Json& reply);
std::string flow_text(const Json& flow);
std::string policy_text(const Json& policy);
std::string progress_text(const Json& progress);
/// "KEY: BEFORE -> AFTER", one per line.
std::string changes_text(const Json& changes);

}  // namespace longhaul::app
